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
	// method is a function, because fmt prints unexported fields of nested structs without calling their Format methods. A
	// pointer to a struct would not be enough: fmt follows it for a verb that does not fit, such as %s.
	method func() *authMethod
}

// authMethod has exactly one of password, keys and answer.
type authMethod struct {
	password *string
	keys     keySource
	answer   func(context.Context, Challenge) ([]string, error)
	// mark identifies the credential. It is part of the key of a connection, so that a caller with other credentials does
	// not use the connection.
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

// PrivateKey logs in with a private key in PEM or OpenSSH form. Pass a passphrase if, and only if, the key is protected by one. More
// than one passphrase is an error.
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
		pem, err := os.ReadFile(name) //nolint:gosec // the caller chooses the file
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
		// Do not wrap the cause, because it may quote the key.
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

// Certificate logs in with a private key and a certificate for this key, in the form of a file id_ed25519-cert.pub
// ("ssh-ed25519-cert-v01@openssh.com AAAA...").
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
	Echo bool // the answer may be displayed while it is typed; it is not a secret
}

// KeyboardInteractive logs in by answering the questions of the host, for example for one-time codes. answer returns one answer per
// question. If it returns an error, the login ends. answer gets the context of the connection attempt.
func KeyboardInteractive(answer func(ctx context.Context, c Challenge) ([]string, error)) Auth {
	// Functions cannot be compared, so each call makes another credential.
	return newAuth(authMethod{answer: answer}, "interactive", []byte(rand.Text()))
}

// Sudo configures how the login user becomes root. The zero value is for hosts where sudo does not ask for a password. A Sudo prints
// as *** in every format.
type Sudo struct {
	secret *string // a pointer, because fmt does not follow a nested pointer to a string
	listed bool
}

// SudoPassword is for hosts where sudo asks for the user's password. The package writes the password to the standard input of sudo,
// and only after sudo has asked for it. The password is never part of a command line.
func SudoPassword(password string) Sudo { return Sudo{secret: &password} }

// SudoListed is for hosts whose sudoers file lists the commands that the user may run, without a password:
//
//	deploy ALL=(root) NOPASSWD: /usr/bin/systemctl restart nginx, /usr/bin/kill
//
// With SudoListed sudo runs the command directly, and the log of sudo contains Argv. Without SudoListed sudo runs /bin/sh, which
// reports its process group and runs the command, so the file has to allow /bin/sh, and with it every command.
//
// SudoListed applies to commands with Argv and without Env and Dir. Commands with Shell, Env or Dir, all file transfers as root,
// [Host.StartJob] and other calls that run scripts still need /bin/sh. If sudo refuses a command, the error wraps [ErrSudo]; the
// package recognises the English messages of sudo. To end a command whose context has ended, the package runs kill, which the file
// has to list; otherwise the command continues. The file may set use_pty.
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
