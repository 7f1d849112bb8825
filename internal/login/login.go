// Package login reads the credentials that requests give for machines, for all that log in to one: passwords and keys,
// under the same attribute names everywhere.
package login

import (
	"errors"
	"strings"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Login says as whom one logs in.
type Login struct {
	Username string
	Password vnflcm.Secret // may be missing where there is a PrivateKey
	// PrivateKey, PEM or OpenSSH's form, with its Passphrase if it has one, is tried before the password.
	PrivateKey, Passphrase vnflcm.Secret
}

// Auth checks and translates in one: what was checked is what is used. It returns the credentials in the order in which
// they are tried. The error is every fault (*vnflcm.ParamError, joined); prefix is what the attribute names begin with,
// such as "ssh_".
func (l Login) Auth(prefix string) ([]sshexec.Auth, error) {
	var out []sshexec.Auth
	var faults []error
	key := prefix[strings.LastIndexByte(prefix, '.')+1:] + "private_key"
	fault := func(name, reason string) {
		faults = append(faults, &vnflcm.ParamError{Path: prefix + name, Reason: reason})
	}
	if l.Username == "" {
		fault("username", "is required")
	}
	switch {
	case !l.PrivateKey.IsZero():
		auth, err := l.Key()
		if err != nil {
			// The error is left out: it may quote the key.
			fault("private_key", "must be a private key in PEM or OpenSSH form, with the passphrase that protects it and only then")
			break
		}
		out = append(out, auth)
	case !l.Passphrase.IsZero():
		fault("passphrase", "is of no use without "+key)
	case l.Password.IsZero():
		fault("password", "is required, unless there is a "+key)
	}
	if !l.Password.IsZero() {
		out = append(out, sshexec.Password(l.Password.Reveal()))
	}
	return out, errors.Join(faults...)
}

// Key reads the private key. The error may quote it.
func (l Login) Key() (sshexec.Auth, error) {
	var passphrase []string
	if !l.Passphrase.IsZero() {
		passphrase = append(passphrase, l.Passphrase.Reveal())
	}
	return sshexec.PrivateKey([]byte(l.PrivateKey.Reveal()), passphrase...)
}
