package sshexec_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// logIn tries one command with credentials.
func logIn(t *testing.T, remote *sshtest.Host, auths ...sshexec.Auth) error {
	t.Helper()
	to := target(t, remote)
	to.Auth = auths
	return newPool(t, sshexec.Options{}).Host(to).Run(withinMinutes(t), []string{"true"}, nil, nil, nil)
}

// privateKey returns a key in plain form, and protected by the passphrase "open sesame".
func privateKey(t *testing.T) (plain, locked []byte, public ssh.PublicKey, private ed25519.PrivateKey) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	open, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	closed, err := ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte("open sesame"))
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(open), pem.EncodeToMemory(closed), signer.PublicKey(), private
}

func must(t *testing.T) func(sshexec.Auth, error) sshexec.Auth {
	return func(a sshexec.Auth, err error) sshexec.Auth {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
}

func TestKeys(t *testing.T) {
	plain, locked, public, _ := privateKey(t)
	remote := sshtest.Start(t, sshtest.Config{AuthorizedKeys: []string{string(ssh.MarshalAuthorizedKey(public))}})
	file := filepath.Join(t.TempDir(), "id")
	if err := os.WriteFile(file, locked, 0o600); err != nil {
		t.Fatal(err)
	}
	key, wrong := must(t)(sshexec.PrivateKey(plain)), sshexec.Password("wrong")
	missing := sshexec.PrivateKeyFile(file + ".none")
	for name, auths := range map[string][]sshexec.Auth{
		"alone":                        {key},
		"after a wrong password":       {wrong, key},
		"second password":              {wrong, sshexec.Password("ubuntu")},
		"with a passphrase":            {must(t)(sshexec.PrivateKey(locked, "open sesame"))},
		"from a file":                  {sshexec.PrivateKeyFile(file, "open sesame")},
		"a file that is missing":       {missing, key},
		"a file that cannot be opened": {sshexec.PrivateKeyFile(file, "wrong"), key},
	} {
		if err := logIn(t, remote, auths...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range map[string]struct {
		auths []sshexec.Auth
		want  string
	}{
		"only a file that is missing": {[]sshexec.Auth{missing}, "no key to offer"},
		"only a file that is locked":  {[]sshexec.Auth{sshexec.PrivateKeyFile(file)}, file + ": private key is protected by a passphrase"},
		"a wrong password, a fault":   {[]sshexec.Auth{wrong, sshexec.PrivateKeyFile(file, "x")}, "cannot be read with this passphrase"},
	} {
		if err := logIn(t, remote, c.auths...); !errors.Is(err, sshexec.ErrAuth) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestKeysRefused(t *testing.T) {
	plain, locked, public, _ := privateKey(t)
	other, _, _, _ := privateKey(t)
	ca := sshtest.NewKey(t, ssh.KeyAlgoED25519)
	line := string(ssh.MarshalAuthorizedKey(public))
	for name, c := range map[string]struct {
		make func() (sshexec.Auth, error)
		want string
	}{
		"nonsense":              {func() (sshexec.Auth, error) { return sshexec.PrivateKey([]byte("secret nonsense")) }, "cannot be read"},
		"locked":                {func() (sshexec.Auth, error) { return sshexec.PrivateKey(locked) }, "protected by a passphrase"},
		"wrong passphrase":      {func() (sshexec.Auth, error) { return sshexec.PrivateKey(locked, "wrong") }, "with this passphrase"},
		"needless passphrase":   {func() (sshexec.Auth, error) { return sshexec.PrivateKey(plain, "x") }, "not protected"},
		"two passphrases":       {func() (sshexec.Auth, error) { return sshexec.PrivateKey(locked, "x", "y") }, "more than one"},
		"certificate: nonsense": {func() (sshexec.Auth, error) { return sshexec.Certificate([]byte("x"), plain) }, "certificate cannot be read"},
		"certificate: a key":    {func() (sshexec.Auth, error) { return sshexec.Certificate([]byte(line), plain) }, "ssh-ed25519"},
		"certificate of a host": {func() (sshexec.Auth, error) { return sshexec.Certificate([]byte(ca.SignHost(t, line, "h")), plain) }, "user certificate"},
		"of another key":        {func() (sshexec.Auth, error) { return sshexec.Certificate([]byte(ca.SignUser(t, line, "u")), other) }, "another private key"},
	} {
		_, err := c.make()
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCertificate(t *testing.T) {
	plain, _, public, _ := privateKey(t)
	ca := sshtest.NewKey(t, ssh.KeyAlgoED25519)
	remote := sshtest.Start(t, sshtest.Config{TrustedUserCAKeys: []string{ca.Public}})
	line := string(ssh.MarshalAuthorizedKey(public))
	if err := logIn(t, remote, must(t)(sshexec.Certificate([]byte(ca.SignUser(t, line, "ubuntu")), plain))); err != nil {
		t.Error(err)
	}
	for name, auth := range map[string]sshexec.Auth{
		"another user":   must(t)(sshexec.Certificate([]byte(ca.SignUser(t, line, "root")), plain)),
		"another signer": must(t)(sshexec.Certificate([]byte(sshtest.NewKey(t, ssh.KeyAlgoED25519).SignUser(t, line, "ubuntu")), plain)),
		"the key alone":  must(t)(sshexec.PrivateKey(plain)),
	} {
		if err := logIn(t, remote, auth); !errors.Is(err, sshexec.ErrAuth) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// serveAgent calls handle for each connection to a socket.
func serveAgent(t *testing.T, handle func(net.Conn)) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "agent")
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				handle(conn)
				_ = conn.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
	})
	return socket
}

func TestAgent(t *testing.T) {
	_, _, public, private := privateKey(t)
	remote := sshtest.Start(t, sshtest.Config{AuthorizedKeys: []string{string(ssh.MarshalAuthorizedKey(public))}})
	keyring := agent.NewKeyring()
	socket := serveAgent(t, func(conn net.Conn) { _ = agent.ServeAgent(keyring, conn) })
	password := sshexec.Password("ubuntu")

	// An agent without keys, and a missing agent, do not prevent a login with another credential.
	t.Setenv("SSH_AUTH_SOCK", "")
	for name, a := range map[string]sshexec.Auth{
		"empty": sshexec.Agent(socket), "missing": sshexec.Agent(socket + ".none"), "not set": sshexec.Agent(""),
		"broken": sshexec.Agent(serveAgent(t, func(net.Conn) {})),
	} {
		if err := logIn(t, remote, a, password); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := logIn(t, remote, a); !errors.Is(err, sshexec.ErrAuth) {
			t.Errorf("%s, alone: %v", name, err)
		}
	}
	if err := keyring.Add(agent.AddedKey{PrivateKey: private}); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSH_AUTH_SOCK", socket)
	for name, a := range map[string]sshexec.Auth{"by socket": sshexec.Agent(socket), "by environment": sshexec.Agent("")} {
		if err := logIn(t, remote, a); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAgentThatDoesNotAnswer checks that the end of the context ends a login that waits for an agent.
func TestAgentThatDoesNotAnswer(t *testing.T) {
	ctx, cancel := context.WithCancel(withinMinutes(t))
	silent := serveAgent(t, func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 1<<10))
		cancel()
		_, _ = conn.Read(make([]byte, 1))
	})
	to := target(t, sshtest.Start(t, sshtest.Config{}))
	to.Auth = []sshexec.Auth{sshexec.Agent(silent), sshexec.Password("ubuntu")}
	host := newPool(t, sshexec.Options{}).Host(to)
	if err := host.Run(ctx, []string{"true"}, nil, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestKeyboardInteractive(t *testing.T) {
	remote := sshtest.Start(t, sshtest.Config{Challenge: []sshtest.Question{
		{Prompt: "Password: ", Answer: "ubuntu"}, {Prompt: "Code: ", Answer: "123456", Echo: true},
	}})
	var asked sshexec.Challenge
	answers := []string{"ubuntu", "123456"}
	auth := sshexec.KeyboardInteractive(func(_ context.Context, c sshexec.Challenge) ([]string, error) {
		asked = c
		return answers, nil
	})
	if err := logIn(t, remote, auth); err != nil {
		t.Error(err)
	}
	want := sshexec.Challenge{Host: "node1", User: "ubuntu", Questions: []sshexec.Question{{Text: "Password: "}, {Text: "Code: ", Echo: true}}}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
	for name, wrong := range map[string][]string{"wrong": {"ubuntu", "0"}, "too few": {"ubuntu"}} {
		answers = wrong
		if err := logIn(t, remote, auth); !errors.Is(err, sshexec.ErrAuth) {
			t.Errorf("%s: %v", name, err)
		}
	}
	errStolen := errors.New("the token was stolen")
	err := logIn(t, remote, sshexec.KeyboardInteractive(func(context.Context, sshexec.Challenge) ([]string, error) { return nil, errStolen }))
	if !errors.Is(err, sshexec.ErrAuth) || !strings.Contains(err.Error(), errStolen.Error()) {
		t.Errorf("got %v", err)
	}
}

// TestTwoFactors logs in with a key and then a code.
func TestTwoFactors(t *testing.T) {
	plain, _, public, _ := privateKey(t)
	remote := sshtest.Start(t, sshtest.Config{
		AuthorizedKeys:        []string{string(ssh.MarshalAuthorizedKey(public))},
		Challenge:             []sshtest.Question{{Prompt: "Code: ", Answer: "123456", Echo: true}},
		AuthenticationMethods: []string{"publickey", "keyboard-interactive"},
	})
	key := must(t)(sshexec.PrivateKey(plain))
	code := sshexec.KeyboardInteractive(func(context.Context, sshexec.Challenge) ([]string, error) { return []string{"123456"}, nil })
	for name, auths := range map[string][]sshexec.Auth{"in order": {key, code}, "the other way round": {code, key}} {
		if err := logIn(t, remote, auths...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := logIn(t, remote, key); !errors.Is(err, sshexec.ErrAuth) {
		t.Errorf("the key alone: %v", err)
	}
}

// TestConnectionsAreNotLent checks that a caller does not get a connection that was opened with other credentials.
func TestConnectionsAreNotLent(t *testing.T) {
	remote := sshtest.Start(t, sshtest.Config{})
	pool := newPool(t, sshexec.Options{})
	to := target(t, remote)
	if err := pool.Host(to).Wait(withinMinutes(t)); err != nil {
		t.Fatal(err)
	}
	to.Auth = []sshexec.Auth{sshexec.Password("guessed")}
	if err := pool.Host(to).Run(withinMinutes(t), []string{"true"}, nil, nil, nil); !errors.Is(err, sshexec.ErrAuth) {
		t.Errorf("other credentials: %v", err)
	}
	to = target(t, remote)
	strict, err := sshexec.PinnedHostKeys(sshtest.NewKey(t, ssh.KeyAlgoED25519).Public)
	if err != nil {
		t.Fatal(err)
	}
	to.HostKeys = strict
	if err := pool.Host(to).Run(withinMinutes(t), []string{"true"}, nil, nil, nil); !errors.Is(err, sshexec.ErrHostKey) {
		t.Errorf("another policy: %v", err)
	}
}
