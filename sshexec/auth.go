package sshexec

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/internal/mask"
)

// Auth is one credential. Make it with [Password], [PrivateKey], [PrivateKeyFile], [Certificate], [Agent] or
// [KeyboardInteractive]. It prints as *** in every format, so that a struct that holds one can be logged.
type Auth struct {
	// A function: fmt prints unexported fields of nested structs without asking
	// for their methods. It stops at nested pointers, except that a verb which
	// does not fit (%s) makes it follow a pointer to a struct.
	method func() *authMethod
}

// authMethod is exactly one of: a password, keys, an answer to challenges.
type authMethod struct {
	password *string
	keys     keySource
	answer   func(context.Context, Challenge) ([]string, error)
	// mark is equal only for equal credentials: a caller with other credentials must not use a connection made with
	// these.
	mark [sha256.Size]byte
}

// keySource returns the keys to offer, possibly none, and a function that releases them after the login.
type keySource func(ctx context.Context) (signers []ssh.Signer, done func(), err error)

func newAuth(m authMethod, kind string, content []byte) Auth {
	m.mark = sha256.Sum256(append([]byte(kind+"\x00"), content...))
	return Auth{func() *authMethod { return &m }}
}

// Password logs in with a password. It answers the "password" method and, unless Target.Auth also has a
// [KeyboardInteractive], those "keyboard-interactive" questions whose input is not echoed.
func Password(password string) Auth {
	return newAuth(authMethod{password: &password}, "password", []byte(password))
}

// PrivateKey logs in with a private key in PEM or OpenSSH form. A passphrase is
// needed, and allowed, only for a key that is protected by one: at most one is
// given.
func PrivateKey(pem []byte, passphrase ...string) (Auth, error) {
	signer, err := parsePrivateKey(pem, passphrase)
	if err != nil {
		return Auth{}, fmt.Errorf("sshexec: %w", err)
	}
	return keyAuth(signer), nil
}

func keyAuth(signer ssh.Signer) Auth {
	keys := func(context.Context) ([]ssh.Signer, func(), error) { return []ssh.Signer{signer}, nothing, nil }
	return newAuth(authMethod{keys: keys}, "key", signer.PublicKey().Marshal())
}

func nothing() {}

// PrivateKeyFile logs in with the private key in a file, read at each login. As with ssh, a file that does not exist
// offers no key. The reason why a file cannot be used is reported only if no other credential is accepted.
func PrivateKeyFile(name string, passphrase ...string) Auth {
	keys := func(context.Context) ([]ssh.Signer, func(), error) {
		pem, err := os.ReadFile(name) //nolint:gosec // the caller says which
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nothing, nil
		}
		if err != nil {
			return nil, nothing, err
		}
		signer, err := parsePrivateKey(pem, passphrase)
		if err != nil {
			return nil, nothing, fmt.Errorf("%s: %w", name, err)
		}
		return []ssh.Signer{signer}, nothing, nil
	}
	return newAuth(authMethod{keys: keys}, "file", []byte(name+"\x00"+fmt.Sprint(passphrase)))
}

func parsePrivateKey(pem []byte, passphrase []string) (ssh.Signer, error) {
	if len(passphrase) > 1 {
		return nil, errors.New("more than one passphrase for a private key")
	}
	signer, err := ssh.ParsePrivateKey(pem)
	var locked *ssh.PassphraseMissingError
	switch {
	case err == nil && len(passphrase) > 0 && passphrase[0] != "":
		return nil, errors.New("private key is not protected by a passphrase, but one was given")
	case err == nil:
		return signer, nil
	case !errors.As(err, &locked):
		// The cause may quote the input: it is not repeated.
		return nil, errors.New("private key cannot be read")
	case len(passphrase) == 0:
		return nil, errors.New("private key is protected by a passphrase")
	}
	signer, err = ssh.ParsePrivateKeyWithPassphrase(pem, []byte(passphrase[0]))
	if err != nil {
		return nil, errors.New("private key cannot be read with this passphrase")
	}
	return signer, nil
}

// Certificate logs in with a private key and a certificate for it, in the form
// of a file id_ed25519-cert.pub ("ssh-ed25519-cert-v01@openssh.com AAAA...").
func Certificate(certificate, pem []byte, passphrase ...string) (Auth, error) {
	key, _, _, _, err := ssh.ParseAuthorizedKey(certificate)
	if err != nil {
		return Auth{}, errors.New("sshexec: certificate cannot be read")
	}
	cert, ok := key.(*ssh.Certificate)
	if !ok || cert.CertType != ssh.UserCert {
		return Auth{}, fmt.Errorf("sshexec: a user certificate is needed, not a key or certificate of type %s", key.Type())
	}
	signer, err := parsePrivateKey(pem, passphrase)
	if err != nil {
		return Auth{}, fmt.Errorf("sshexec: %w", err)
	}
	certified, err := ssh.NewCertSigner(cert, signer)
	if err != nil {
		return Auth{}, errors.New("sshexec: the certificate is for another private key")
	}
	return keyAuth(certified), nil
}

// Challenge is one request of a host in "keyboard-interactive" authentication. A host may send several during one
// login.
type Challenge struct {
	Host              string // Target.Name
	User              string
	Name, Instruction string // from the host, often empty
	Questions         []Question
}

// Question is one question of a [Challenge].
type Question struct {
	Text string
	Echo bool // whether the input may be shown: it is not a secret
}

// KeyboardInteractive logs in by answering the questions of the host, such as one-time codes. answer returns one answer
// per question; its error ends the login. Its context belongs to the connection that is being made.
func KeyboardInteractive(answer func(ctx context.Context, c Challenge) ([]string, error)) Auth {
	// Functions cannot be compared: each one is another credential.
	return newAuth(authMethod{answer: answer}, "interactive", []byte(rand.Text()))
}

// Sudo says how the login user becomes root. Its zero value is for hosts where
// sudo asks for no password. It prints as *** in every format.
type Sudo struct {
	secret *string // a pointer to a string: fmt does not follow it when nested
	listed bool
}

// SudoPassword is for hosts where sudo asks for the user's password. The
// password is written to the standard input of sudo, and only once sudo has
// asked for it. It is never part of a command line.
func SudoPassword(password string) Sudo { return Sudo{secret: &password} }

// SudoListed is for hosts whose sudoers file lists the commands that the user may run, without a password:
//
//	deploy ALL=(root) NOPASSWD: /usr/bin/systemctl restart nginx, /usr/bin/kill
//
// sudo runs the command itself then, and the log of sudo has it as it is in Argv. Otherwise sudo runs /bin/sh, which reports its
// process group and runs the command, and the file has to allow /bin/sh, that is everything.
//
// This is so for commands with Argv, and without Env and Dir. Commands with Shell, Env or Dir, and all transfers of files as
// root, still need /bin/sh, as do [Host.StartJob] and the other calls that run scripts. A command that sudo refuses is an
// [ErrSudo], which is recognised by what sudo says in English. A command whose context ends is ended with kill, which the file has
// to list; without it the command continues. The file may set use_pty.
func SudoListed() Sudo { return Sudo{listed: true} }

// Format prints *** for every verb.
func (Auth) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(mask.Text)) }

// MarshalText returns ***, which covers JSON, YAML and slog.
func (Auth) MarshalText() ([]byte, error) { return []byte(mask.Text), nil }

// UnmarshalText always fails: a credential cannot come back from ***.
func (*Auth) UnmarshalText([]byte) error { return errMasked }

// Format prints *** for every verb.
func (Sudo) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(mask.Text)) }

// MarshalText returns ***, which covers JSON, YAML and slog.
func (Sudo) MarshalText() ([]byte, error) { return []byte(mask.Text), nil }

// UnmarshalText always fails: a password cannot come back from ***.
func (*Sudo) UnmarshalText([]byte) error { return errMasked }

var errMasked = errors.New("sshexec: credentials cannot be decoded from text")
