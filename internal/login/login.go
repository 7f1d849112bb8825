// Package login has the attributes by which requests say as whom one logs in to a machine. Each set of names is a type, and types
// convert into each other: login.Login(ssh).
package login

import (
	"errors"
	"strings"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Login has the credentials for logging in to a machine. The user must be allowed to use sudo.
type Login struct {
	Username string `json:"username"`
	// Password is for SSH, and for sudo if that asks. It may be missing where there is a PrivateKey.
	Password vnflcm.Secret `json:"password"`
	// PrivateKey is in PEM or OpenSSH's form. It is tried before the password.
	PrivateKey vnflcm.Secret `json:"private_key"`
	Passphrase vnflcm.Secret `json:"passphrase"` // of the private key
}

// SSH is a Login whose attribute names begin with ssh_.
type SSH struct {
	Username   string        `json:"ssh_username"`
	Password   vnflcm.Secret `json:"ssh_password"`
	PrivateKey vnflcm.Secret `json:"ssh_private_key"`
	Passphrase vnflcm.Secret `json:"ssh_passphrase"`
}

// Validate reports every fault (*vnflcm.ParamError, joined), by the attributes' names after prefix, such as "ssh_".
// Values are left out.
func (l Login) Validate(prefix string) error {
	_, err := l.Auth(prefix)
	return err
}

// Auth checks and converts in one step, so that exactly the checked values are used. It returns the credentials in the
// order in which they are tried. The error is every fault (*vnflcm.ParamError, joined); prefix is the beginning of the
// attribute names, such as "ssh_".
func (l Login) Auth(prefix string) ([]sshexec.Auth, error) {
	var faults []error
	key := prefix[strings.LastIndexByte(prefix, '.')+1:] + "private_key"
	fault := func(name, reason string) {
		faults = append(faults, &vnflcm.ParamError{Path: prefix + name, Reason: reason})
	}
	if l.Username == "" {
		fault("username", "is required")
	}
	if l.PrivateKey.IsZero() && !l.Passphrase.IsZero() {
		fault("passphrase", "is of no use without "+key)
	} else if l.PrivateKey.IsZero() && l.Password.IsZero() {
		fault("password", "is required, unless there is a "+key)
	}
	out, err := l.Credentials()
	if err != nil { // it is left out: it may quote the key
		fault("private_key", "must be a private key in PEM or OpenSSH form, with the passphrase that protects it and only then")
	}
	return out, errors.Join(faults...)
}

// Credentials returns the credentials in the order in which they are tried. The error may quote the key.
func (l Login) Credentials() (out []sshexec.Auth, err error) {
	if !l.PrivateKey.IsZero() {
		key, err := l.key()
		if err != nil {
			return nil, err
		}
		out = append(out, key)
	}
	if !l.Password.IsZero() {
		out = append(out, sshexec.Password(l.Password.Reveal()))
	}
	return out, nil
}

// key reads the private key. The error may quote it.
func (l Login) key() (sshexec.Auth, error) {
	var passphrase []string
	if !l.Passphrase.IsZero() {
		passphrase = append(passphrase, l.Passphrase.Reveal())
	}
	return sshexec.PrivateKey([]byte(l.PrivateKey.Reveal()), passphrase...)
}
