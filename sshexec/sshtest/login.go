package sshtest

import (
	"bytes"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/crypto/ssh"
)

// Question is a question of keyboard-interactive and the answer that it accepts.
type Question struct {
	Prompt, Answer string
	Echo           bool // the input is echoed
}

var errDenied = errors.New("permission denied")

// logins decides who may log in.
type logins struct {
	config     Config
	authorized [][]byte
	certified  ssh.CertChecker
}

func newLogins(c Config) (*logins, error) {
	authorized, err := publicKeys("authorized key", c.AuthorizedKeys)
	if err != nil {
		return nil, err
	}
	authorities, err := publicKeys("user CA key", c.TrustedUserCAKeys)
	if err != nil {
		return nil, err
	}
	for _, method := range c.AuthenticationMethods {
		if !slices.Contains([]string{"publickey", "password", "keyboard-interactive"}, method) {
			return nil, fmt.Errorf("sshtest: there is no authentication method %q", method)
		}
	}
	return &logins{config: c, authorized: authorized, certified: ssh.CertChecker{
		Clock: c.Clock,
		IsUserAuthority: func(key ssh.PublicKey) bool {
			return contains(authorities, key)
		},
	}}, nil
}

func publicKeys(what string, lines []string) ([][]byte, error) {
	var keys [][]byte
	for _, line := range lines {
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
		if err != nil {
			return nil, fmt.Errorf("sshtest: %s: %w", what, err)
		}
		keys = append(keys, key.Marshal())
	}
	return keys, nil
}

func contains(keys [][]byte, key ssh.PublicKey) bool {
	return slices.ContainsFunc(keys, func(k []byte) bool { return bytes.Equal(k, key.Marshal()) })
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func (l *logins) password(c ssh.ConnMetadata, password []byte) error {
	if c.User() != l.config.User || !same(string(password), l.config.Password) {
		return errDenied
	}
	return nil
}

func (l *logins) interactive(c ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) error {
	questions := l.config.Challenge
	if len(questions) == 0 {
		questions = []Question{{Prompt: "Password: ", Answer: l.config.Password}}
	}
	var prompts []string
	var echos []bool
	for _, q := range questions {
		prompts, echos = append(prompts, q.Prompt), append(echos, q.Echo)
	}
	answers, err := ask("", "", prompts, echos)
	if err != nil || len(answers) != len(questions) || c.User() != l.config.User {
		return errDenied
	}
	for i, q := range questions {
		if !same(answers[i], q.Answer) {
			return errDenied
		}
	}
	return nil
}

func (l *logins) publicKey(c ssh.ConnMetadata, key ssh.PublicKey) error {
	if c.User() != l.config.User {
		return errDenied
	}
	if _, ok := key.(*ssh.Certificate); ok {
		_, err := l.certified.Authenticate(c, key)
		return err
	}
	if !contains(l.authorized, key) {
		return errDenied
	}
	return nil
}

// keyExchanges are two of the algorithms that OpenSSH 9.2 of Debian 12 offers. Go would prefer ML-KEM, which that
// server does not have; without ML-KEM a login takes a tenth to a fifth less time.
var keyExchanges = []string{ssh.KeyExchangeCurve25519, ssh.KeyExchangeECDHP256}

// serverConfig returns the configuration for one connection. Faults of the host stall or refuse its logins.
func (h *Host) serverConfig(c *client) *ssh.ServerConfig {
	config := &ssh.ServerConfig{}
	config.KeyExchanges = keyExchanges
	h.mu.Lock()
	for _, signer := range h.keys.signers {
		config.AddHostKey(signer)
	}
	h.mu.Unlock()
	methods := h.config.AuthenticationMethods
	callbacks := c.callbacks("publickey", "password", "keyboard-interactive")
	if len(methods) > 0 {
		callbacks = c.sequence(methods)
	}
	config.PublicKeyCallback = callbacks.PublicKeyCallback
	config.PasswordCallback = callbacks.PasswordCallback
	config.KeyboardInteractiveCallback = callbacks.KeyboardInteractiveCallback
	return config
}

// sequence requires the first method and, after it, the remaining methods.
func (c *client) sequence(methods []string) ssh.ServerAuthCallbacks {
	if len(methods) == 1 {
		return c.callbacks(methods[0])
	}
	return c.partly(c.sequence(methods[1:]), methods[0])
}

func (c *client) callbacks(methods ...string) ssh.ServerAuthCallbacks {
	return c.then(&ssh.Permissions{}, nil, methods)
}

func (c *client) partly(next ssh.ServerAuthCallbacks, method string) ssh.ServerAuthCallbacks {
	return c.then(nil, &ssh.PartialSuccessError{Next: next}, []string{method})
}

// then returns the callbacks of methods. They answer a valid credential with done and partial.
func (c *client) then(done *ssh.Permissions, partial error, methods []string) ssh.ServerAuthCallbacks {
	answer := func(err error) (*ssh.Permissions, error) {
		ready := c.host.faults.await(c.ctx, func(f Faults) bool { return f.StallLogin })
		if err != nil || !ready || c.host.faults.current().RefuseLogin {
			return nil, errDenied
		}
		return done, partial
	}
	l := c.host.logins
	var callbacks ssh.ServerAuthCallbacks
	for _, method := range methods {
		switch method {
		case "publickey":
			callbacks.PublicKeyCallback = func(m ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
				return answer(l.publicKey(m, key))
			}
		case "password":
			callbacks.PasswordCallback = func(m ssh.ConnMetadata, password []byte) (*ssh.Permissions, error) {
				return answer(l.password(m, password))
			}
		case "keyboard-interactive":
			callbacks.KeyboardInteractiveCallback = func(m ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
				return answer(l.interactive(m, ask))
			}
		}
	}
	return callbacks
}
