package sshtest_test

import (
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pkg/sftp"
	"github.com/spf13/afero"
	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// try logs in as ubuntu and checks any host key.
func try(h *sshtest.Host, auth ...ssh.AuthMethod) error {
	client, err := ssh.Dial("tcp", h.Addr(), &ssh.ClientConfig{
		User: "ubuntu", Auth: auth, HostKeyCallback: ssh.InsecureIgnoreHostKey(), Timeout: time.Minute, //nolint:gosec // host keys are not tested here
	})
	if err == nil {
		err = client.Close()
	}
	return err
}

func signer(t *testing.T, key sshtest.Key) ssh.Signer {
	t.Helper()
	signer, err := ssh.ParsePrivateKey(key.PEM)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

func TestLogin(t *testing.T) {
	h := sshtest.Start(t, sshtest.Config{User: "admin", Password: "p"})
	for _, tt := range []struct {
		user, password string
		ok             bool
	}{{"admin", "p", true}, {"admin", "q", false}, {"root", "p", false}, {"ubuntu", "ubuntu", false}} {
		if _, err := login(t, h, tt.user, tt.password); (err == nil) != tt.ok {
			t.Errorf("%s/%s: %v", tt.user, tt.password, err)
		}
	}
}

func TestKeysAndCertificates(t *testing.T) {
	for _, algorithm := range []string{ssh.KeyAlgoED25519, ssh.KeyAlgoRSA, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521} {
		key, other, ca := sshtest.NewKey(t, algorithm), sshtest.NewKey(t, ssh.KeyAlgoED25519), sshtest.NewKey(t, ssh.KeyAlgoED25519)
		h := sshtest.Start(t, sshtest.Config{AuthorizedKeys: []string{key.Public}, TrustedUserCAKeys: []string{ca.Public}})
		certified := func(ca sshtest.Key, user string) ssh.Signer {
			public, _, _, _, err := ssh.ParseAuthorizedKey([]byte(ca.SignUser(t, other.Public, user)))
			if err != nil {
				t.Fatal(err)
			}
			both, err := ssh.NewCertSigner(public.(*ssh.Certificate), signer(t, other))
			if err != nil {
				t.Fatal(err)
			}
			return both
		}
		for _, tt := range []struct {
			name string
			with ssh.Signer
			ok   bool
		}{
			{"key", signer(t, key), true},
			{"unknown key", signer(t, other), false},
			{"certificate", certified(ca, "ubuntu"), true},
			{"certificate of another user", certified(ca, "root"), false},
			{"certificate of an unknown authority", certified(key, "ubuntu"), false},
		} {
			if err := try(h, ssh.PublicKeys(tt.with)); (err == nil) != tt.ok {
				t.Errorf("%s %s: %v", algorithm, tt.name, err)
			}
		}
	}
}

func TestQuestionsAndTwoFactors(t *testing.T) {
	key := sshtest.NewKey(t, ssh.KeyAlgoED25519)
	questions := []sshtest.Question{{Prompt: "Password: ", Answer: "p"}, {Prompt: "Code: ", Answer: "123456", Echo: true}}
	h := sshtest.Start(t, sshtest.Config{
		AuthorizedKeys: []string{key.Public}, Challenge: questions,
		AuthenticationMethods: []string{"publickey", "keyboard-interactive"},
	})
	answers := func(given ...string) ssh.AuthMethod {
		return ssh.KeyboardInteractive(func(_, _ string, prompts []string, echos []bool) ([]string, error) {
			if len(prompts) > 0 && (!slices.Equal(prompts, []string{"Password: ", "Code: "}) || !slices.Equal(echos, []bool{false, true})) {
				t.Errorf("asked %q %v", prompts, echos)
			}
			return given[:len(prompts)], nil
		})
	}
	public := ssh.PublicKeys(signer(t, key))
	for _, tt := range []struct {
		name string
		auth []ssh.AuthMethod
		ok   bool
	}{
		{"both", []ssh.AuthMethod{public, answers("p", "123456")}, true},
		{"wrong code", []ssh.AuthMethod{public, answers("p", "1")}, false},
		{"key only", []ssh.AuthMethod{public}, false},
		{"answers only", []ssh.AuthMethod{answers("p", "123456")}, false},
		{"password", []ssh.AuthMethod{ssh.Password("ubuntu")}, false},
	} {
		if err := try(h, tt.auth...); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// presented returns the host key that the host presents to a client with only these algorithms.
func presented(t *testing.T, h *sshtest.Host, algorithms ...string) ssh.PublicKey {
	t.Helper()
	var got ssh.PublicKey
	client, err := ssh.Dial("tcp", h.Addr(), &ssh.ClientConfig{
		User: "ubuntu", Auth: []ssh.AuthMethod{ssh.Password("ubuntu")}, HostKeyAlgorithms: algorithms,
		HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error { got = key; return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = client.Close()
	return got
}

func line(key ssh.PublicKey) string { return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))) }

func TestHostKeys(t *testing.T) {
	ed, ec, ca := sshtest.NewKey(t, ssh.KeyAlgoED25519), sshtest.NewKey(t, ssh.KeyAlgoECDSA256), sshtest.NewKey(t, ssh.KeyAlgoED25519)
	h := sshtest.Start(t, sshtest.Config{
		HostKey: ed.PEM, HostKeys: [][]byte{ec.PEM}, HostCertificates: []string{ca.SignHost(t, ed.Public, "node1")},
	})
	if got := h.PublicKeys(); !slices.Equal(got, []string{ed.Public, ec.Public}) || h.PublicKey() != ed.Public {
		t.Errorf("got %q", got)
	}
	if got := line(presented(t, h, ssh.KeyAlgoECDSA256)); got != ec.Public {
		t.Errorf("ECDSA: %s", got)
	}
	certificate, ok := presented(t, h, ssh.CertAlgoED25519v01).(*ssh.Certificate)
	if !ok || line(certificate.SignatureKey) != ca.Public || !slices.Equal(certificate.ValidPrincipals, []string{"node1"}) {
		t.Errorf("certificate: %v", certificate)
	}

	open, err := login(t, h, "ubuntu", "ubuntu")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.ReplaceHostKey(); err != nil {
		t.Fatal(err)
	}
	if got := line(presented(t, h, ssh.KeyAlgoED25519)); got == ed.Public || got != h.PublicKey() {
		t.Errorf("after the replacement: %s", got)
	}
	if got := line(presented(t, h, ssh.KeyAlgoECDSA256)); got == ec.Public {
		t.Errorf("after the replacement: %s", got)
	}
	if session, err := open.NewSession(); err != nil || session.Run("true") != nil {
		t.Errorf("the open connection: %v", err)
	}
}

func TestConfigsThatCannotWork(t *testing.T) {
	key := sshtest.NewKey(t, ssh.KeyAlgoED25519)
	for name, c := range map[string]sshtest.Config{
		"host key": {HostKey: []byte("x")}, "further host key": {HostKeys: [][]byte{nil}}, "authorized key": {AuthorizedKeys: []string{"x"}},
		"authority": {TrustedUserCAKeys: []string{"x"}}, "method": {AuthenticationMethods: []string{"gssapi"}},
		"certificate": {HostCertificates: []string{key.Public}}, "certificate of no key": {HostCertificates: []string{key.SignHost(t, key.Public)}},
		"directory": {Dir: "/none/none"},
	} {
		if h, err := sshtest.New(c); err == nil {
			t.Errorf("%s: no error", name)
			_ = h.Close()
		}
	}
}

func TestJumpHost(t *testing.T) {
	target := sshtest.Start(t, sshtest.Config{Name: "target"})
	jump := sshtest.Start(t, sshtest.Config{Name: "jump", Dial: new(net.Dialer).DialContext})
	client, err := login(t, jump, "ubuntu", "ubuntu")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := client.Dial("tcp", target.Addr())
	if err != nil {
		t.Fatal(err)
	}
	if err := speak(conn); err != nil {
		t.Error(err)
	}
	closed := sshtest.Start(t, sshtest.Config{})
	if client, err = login(t, closed, "ubuntu", "ubuntu"); err != nil {
		t.Fatal(err)
	}
	var refused *ssh.OpenChannelError
	if _, err := client.Dial("tcp", target.Addr()); !errors.As(err, &refused) || refused.Reason != ssh.Prohibited {
		t.Errorf("got %v", err)
	}
}

// TestStartupFile checks that the login shell reads .bashrc before each command and before the SFTP server, and that no other
// shell reads it.
func TestStartupFile(t *testing.T) {
	h := sshtest.Start(t, sshtest.Config{})
	if err := afero.WriteFile(h.FS(), "/home/ubuntu/.bashrc", []byte("echo hello; V=v\nreturn 0\necho not here\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, code := run(t, h, `echo "$V"; sh -c 'echo "[$V]"'`, "")
	if want := "hello\nv\n[]\n"; out != want || code != 0 {
		t.Errorf("got %q, %d, want %q", out, code, want)
	}
	client, err := login(t, h, "ubuntu", "ubuntu")
	if err != nil {
		t.Fatal(err)
	}
	if s, err := sftp.NewClient(client); err == nil {
		_ = s.Close()
		t.Error("SFTP works although the login shell prints")
	}
}
