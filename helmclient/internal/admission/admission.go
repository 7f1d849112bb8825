// Package admission recognizes that an API server refuses an object whose sender has the rights to create it.
package admission

import (
	"slices"
	"strings"
)

// webhooks are messages about admission webhooks and policies (k8s.io/apiserver/pkg/admission). A webhook that denies a
// request chooses the status itself; one that does not answer is a status 500.
var webhooks = []string{`admission webhook "`, "failed calling webhook", "validatingadmissionpolicy "}

// Refused reports whether a message of an API server, or of helm that quotes it, is about an admission check: a webhook, a
// policy, a quota, Pod Security, a limit, or a namespace that is being deleted. The message of a user without the rights
// begins with the name of the user (k8s.io/apiserver/pkg/endpoints/handlers/responsewriters).
func Refused(message string) bool {
	text := strings.ToLower(message)
	if slices.ContainsFunc(webhooks, func(s string) bool { return strings.Contains(text, s) }) {
		return true
	}
	_, why, found := strings.Cut(text, " is forbidden: ")
	return found && !strings.HasPrefix(why, `user "`)
}
