// Package jointoken makes bootstrap tokens, with which machines join a cluster, and masks them and certificate keys in
// texts.
package jointoken

import (
	"crypto/rand"
	"errors"
	"math/big"
	"regexp"
	"strings"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// New returns a bootstrap token: 6 and 16 characters of a-z and 0-9, separated by a dot.
func New() string { return RandomText(6) + "." + RandomText(16) }

// RandomText returns n characters of a-z and 0-9.
func RandomText(n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	out := make([]byte, n)
	for i := range out {
		at, err := rand.Int(rand.Reader, big.NewInt(int64(len(letters))))
		if err != nil {
			panic(err) // crypto/rand does not fail
		}
		out[i] = letters[at.Int64()]
	}
	return string(out)
}

// credentialForms matches bootstrap tokens (kubernetes.io, "Bootstrap token format") and certificate keys. A certificate
// key has the form of a CA hash without "sha256:".
var credentialForms = regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b|(sha256:)?\b[0-9a-f]{64}\b`)

// Masked masks credentials in the standard error of kubeadm or of a script, also credentials that the program made itself.
// Readers look at the last line first: it removes the advice that kubeadm prints at the end, and adds a line with the checks that
// have failed before kubeadm began.
func Masked(err error) error {
	e, ok := errors.AsType[*sshexec.ExitError](err)
	if !ok {
		return err
	}
	out := *e
	out.Stderr = MaskedText(adviceForm.ReplaceAllString(out.Stderr, ""))
	if checks := checkForm.FindAllString(out.Stderr, -1); len(checks) > 0 {
		out.Stderr += "\npreflight checks failed: " + strings.Join(checks, "; ")
	}
	return &out
}

// MaskedText masks credentials in a text.
func MaskedText(text string) string {
	return credentialForms.ReplaceAllStringFunc(text, func(found string) string {
		if strings.HasPrefix(found, "sha256:") {
			return found
		}
		return vnflcm.Mask
	})
}

// checkForm matches a line about a check that has failed (kubeadm, preflight/checks.go).
var checkForm = regexp.MustCompile(`\[ERROR [^\]\n]*\]: .*`)

var adviceForm = regexp.MustCompile(`(?m)^To see the stack trace of this error.*\n?`)
