// Package jointoken makes the bootstrap tokens with which machines join a cluster, and keeps them, and certificate keys, out of texts.
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

// New makes a bootstrap token: 6 and 16 characters of a-z and 0-9.
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

// credentialForms are bootstrap tokens (kubernetes.io, "Bootstrap token format") and certificate keys, which
// have the form of a CA hash but no "sha256:" before them.
var credentialForms = regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b|(sha256:)?\b[0-9a-f]{64}\b`)

// Masked takes credentials out of what kubeadm or a script printed, also those that they made themselves, and the
// advice that kubeadm ends with: the last line is what a reader sees first.
func Masked(err error) error {
	e, ok := errors.AsType[*sshexec.ExitError](err)
	if !ok {
		return err
	}
	out := *e
	out.Stderr = MaskedText(adviceForm.ReplaceAllString(out.Stderr, ""))
	return &out
}

// MaskedText takes credentials out of a text.
func MaskedText(text string) string {
	return credentialForms.ReplaceAllStringFunc(text, func(found string) string {
		if strings.HasPrefix(found, "sha256:") {
			return found
		}
		return vnflcm.Mask
	})
}

var adviceForm = regexp.MustCompile(`(?m)^To see the stack trace of this error.*\n?`)
