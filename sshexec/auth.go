package sshexec

import (
	"errors"
	"fmt"

	"golang.org/x/crypto/ssh"
)

// Auth is one way to log in. Make it with [Password] or [PrivateKey]. It prints
// as *** in every format, so that a struct that holds one can be logged.
type Auth struct {
	// A function: fmt prints unexported fields of nested structs without asking
	// for their methods. It stops at nested pointers, except that a verb which
	// does not fit (%s) makes it follow a pointer to a struct.
	method func() *authMethod
}

type authMethod struct {
	signer   ssh.Signer
	password string
}

func newAuth(m authMethod) Auth { return Auth{func() *authMethod { return &m }} }

// Password logs in with a password. It answers the "password" method as well as
// those "keyboard-interactive" prompts that do not echo what is typed.
func Password(password string) Auth { return newAuth(authMethod{password: password}) }

// PrivateKey logs in with an unencrypted private key in PEM or OpenSSH form.
func PrivateKey(pem []byte) (Auth, error) {
	signer, err := ssh.ParsePrivateKey(pem)
	if err != nil {
		var locked *ssh.PassphraseMissingError
		if errors.As(err, &locked) {
			return Auth{}, errors.New("sshexec: private key is protected by a passphrase")
		}
		// The cause may quote the input: it is not repeated.
		return Auth{}, errors.New("sshexec: private key cannot be read")
	}
	return newAuth(authMethod{signer: signer}), nil
}

// sshMethods keeps the order in which the kinds of credentials first appear.
// One method carries all credentials of its kind, because x/crypto/ssh tries
// each kind only once.
func sshMethods(auths []Auth) []ssh.AuthMethod {
	var signers []ssh.Signer
	var passwords []string
	for _, a := range auths {
		if m := a.method(); m.signer != nil {
			signers = append(signers, m.signer)
		} else {
			passwords = append(passwords, m.password)
		}
	}
	keys := ssh.PublicKeys(signers...)
	typed := passwordMethods(passwords)
	switch {
	case len(passwords) == 0:
		return []ssh.AuthMethod{keys}
	case len(signers) == 0:
		return typed
	case auths[0].method().signer != nil:
		return append([]ssh.AuthMethod{keys}, typed...)
	default:
		return append(typed, keys)
	}
}

func passwordMethods(passwords []string) []ssh.AuthMethod {
	if len(passwords) == 0 {
		return nil
	}
	next := 0
	plain := func() (string, error) {
		next++
		return passwords[(next-1)%len(passwords)], nil
	}
	round := 0
	interactive := func(_, _ string, questions []string, echos []bool) ([]string, error) {
		answers := make([]string, len(questions))
		for i, echo := range echos {
			if echo {
				return nil, errors.New("the host asks for more than a password")
			}
			answers[i] = passwords[round%len(passwords)]
		}
		if len(questions) > 0 {
			round++
		}
		return answers, nil
	}
	return []ssh.AuthMethod{
		ssh.RetryableAuthMethod(ssh.PasswordCallback(plain), len(passwords)),
		ssh.RetryableAuthMethod(ssh.KeyboardInteractive(interactive), len(passwords)),
	}
}

// Sudo says how the login user becomes root. Its zero value is for hosts where
// sudo asks for no password. It prints as *** in every format.
type Sudo struct {
	secret *string // a pointer to what is no struct: fmt never follows it when nested
}

// SudoPassword is for hosts where sudo asks for the user's password. The
// password is written to the standard input of sudo, and only once sudo has
// asked for it. It is never part of a command line.
func SudoPassword(password string) Sudo { return Sudo{&password} }

const masked = "***"

// Format prints *** whatever the verb.
func (Auth) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(masked)) }

// MarshalText returns ***, which covers JSON, YAML and slog.
func (Auth) MarshalText() ([]byte, error) { return []byte(masked), nil }

// UnmarshalText always fails: a credential cannot come back from ***.
func (*Auth) UnmarshalText([]byte) error { return errMasked }

// Format prints *** whatever the verb.
func (Sudo) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(masked)) }

// MarshalText returns ***, which covers JSON, YAML and slog.
func (Sudo) MarshalText() ([]byte, error) { return []byte(masked), nil }

// UnmarshalText always fails: a password cannot come back from ***.
func (*Sudo) UnmarshalText([]byte) error { return errMasked }

var errMasked = errors.New("sshexec: credentials cannot be decoded from text")
