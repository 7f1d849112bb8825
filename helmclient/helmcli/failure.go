package helmcli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/internal/admission"
	"github.com/vnfkit/vnfkit/helmclient/internal/violation"
)

// failure is a command that ran and failed.
type failure struct {
	machine, verb string
	code          int
	stderr        string
	ctx           error // the cause, if the context had ended
}

func (e *failure) Error() string {
	text := fmt.Sprintf("%s: %s: exit code %d", e.machine, e.verb, e.code)
	if e.code == exitNoProgram {
		return text + ": the program is not installed"
	}
	if said := e.said(); said != "" {
		text += ": " + said
	}
	return text
}

// Unwrap returns the class of the error, found by helm's messages.
func (e *failure) Unwrap() []error {
	var list []error
	if class := e.class(); class != "" {
		list = append(list, class)
	}
	if e.ctx != nil {
		list = append(list, e.ctx)
	}
	return list
}

// maxLines bounds the lines of standard error in an error text.
const maxLines = 6

// said returns the last lines of standard error that are not warnings, without values that violate the schema of a chart.
func (e *failure) said() string {
	var lines []string
	for line := range strings.Lines(e.stderr) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "WARNING: ") || strings.HasPrefix(line, "level=WARN") {
			continue
		}
		lines = append(lines, strings.TrimPrefix(line, "Error: "))
	}
	return violation.Mask(strings.Join(lines[max(0, len(lines)-maxLines):], "\n"))
}

// classes maps messages of helm, in lower case, to classes; the first match counts. Helm's messages are not meant for
// programs. They have been the same since 3.14; where helm 3 and 4 differ, both texts are given (helm.sh/helm:
// pkg/action, pkg/storage/driver, pkg/kube, pkg/repo).
var classes = []struct {
	class helmclient.Error
	said  []string
}{
	{helmclient.ErrDenied, []string{"provide credentials", "basic credential not found", "unauthorized", "forbidden", "authentication required", "invalid username/password"}},
	{helmclient.ErrUnreachable, []string{"kubernetes cluster unreachable", "connection refused", "no such host", "i/o timeout", "tls handshake timeout",
		"no route to host", "network is unreachable", "connection reset", "x509: ", "no valid certificates", "etcdserver: ", "unexpected eof", "server gave http response", "http: server closed",
		"500 internal server error", "502 bad gateway", "503 service unavailable", "504 gateway timeout", "the server is currently unable", "apiserver not ready", "client.timeout exceeded"}},
	{helmclient.ErrBusy, []string{"another operation (install/upgrade/rollback) is in progress"}},
	{helmclient.ErrExists, []string{"cannot re-use a name that is still in use", "cannot reuse a name that is still in use"}},
	{helmclient.ErrNotFound, []string{"release: not found", "has no deployed releases", "release has no ", "is already deleted"}},
	{helmclient.ErrNotReady, []string{"timed out waiting", "context deadline exceeded", "would exceed context deadline", "resource not ready", "client rate limiter wait", "not ready"}},
	{helmclient.ErrInvalid, []string{`namespaces "`, "no repositories configured", "no repositories found", "\nrepo ", "failed: repo ", "invalid label", "unknown flag", "failed parsing --set", "is an invalid version", "plain http"}},
	{helmclient.ErrInvalidChart, []string{"chart.yaml", "chart.metadata", "template:", "parse error", "execution error at", `executing "`, "don't meet the specifications of the schema",
		"values-schema", "schema", "unable to build kubernetes objects", "error validating", "chart requires kubeversion", "incompatible with kubernetes",
		"not installable", "found in chart.yaml, but missing in charts", "gzip", "not a valid chart", "does not appear to be a gzipped archive", "no chart name found",
		"no chart version found", "not found in ", "path ", "failed to download", "404 not found", "no cached repo", "yaml parse error", "error converting yaml",
		"library charts", "unable to decode", "error unmarshaling json", "improper constraint", "could not locate a version", "manifest unknown", ": not found", "invalid chart reference",
		"failed to load", "chart illegally contains", "chart file", "failed to install crd", " is invalid: ", "cannot be handled as a", "failed to create typed patch object"}},
}

// class is empty if helm printed no known message.
func (e *failure) class() helmclient.Error {
	if e.code == exitNoProgram || e.code == exitNoDirectory {
		return helmclient.ErrInvalid
	}
	if e.code == exitLocked {
		return helmclient.ErrBusy
	}
	if admission.Refused(e.said()) {
		return helmclient.ErrRefused
	}
	text := "\n" + strings.ToLower(e.said())
	for _, c := range classes {
		if slices.ContainsFunc(c.said, func(s string) bool { return strings.Contains(text, s) }) {
			return c.class
		}
	}
	return ""
}
