package e2e_test

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/sshexec"
)

// keygen makes a key with ssh-keygen and returns the name of its file.
func keygen(t testing.TB, dir, name, passphrase string, args ...string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	run(t, "ssh-keygen", append([]string{"-q", "-N", passphrase, "-C", name, "-f", file}, args...)...)
	return file
}

// run runs a program of this machine and returns what it writes.
func run(t testing.TB, program string, args ...string) string {
	t.Helper()
	var said strings.Builder
	cmd := exec.CommandContext(within(t, time.Minute), program, args...)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %q: %v: %s%s", program, args, err, out, said.String())
	}
	return string(out)
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(name) //nolint:gosec // of the test
	must(t, err)
	return content
}

// privateKey reads a key that keygen made.
func privateKey(t testing.TB, file string, passphrase ...string) sshexec.Auth {
	t.Helper()
	auth, err := sshexec.PrivateKey(read(t, file), passphrase...)
	must(t, err)
	return auth
}

// startAgent runs a real ssh-agent and returns its socket.
func startAgent(t *testing.T, keys ...string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent") //nolint:usetesting // short: the name of a socket is bounded
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	agent := exec.CommandContext(t.Context(), "ssh-agent", "-D", "-a", socket) //nolint:gosec // our own arguments
	must(t, agent.Start())
	t.Cleanup(func() {
		_ = agent.Process.Kill()
		_ = agent.Wait()
	})
	await(t, "the agent", func() bool {
		conn, err := new(net.Dialer).DialContext(t.Context(), "unix", socket)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	for _, key := range keys {
		add := exec.CommandContext(within(t, time.Minute), "ssh-add", "-q", key) //nolint:gosec // our own arguments
		add.Env = append(os.Environ(), "SSH_AUTH_SOCK="+socket)
		if out, err := add.CombinedOutput(); err != nil {
			t.Fatalf("ssh-add: %v: %s", err, out)
		}
	}
	return socket
}

// TestCredentials: every kind of credentials, as OpenSSH's own programs make them, at a host that takes keys
// only.
func TestCredentials(t *testing.T) {
	needSite(t)
	dir := t.TempDir()
	plain := keygen(t, dir, "ed25519", "", "-t", "ed25519")
	rsa := keygen(t, dir, "rsa", "", "-t", "rsa", "-b", "2048")
	ecdsa := keygen(t, dir, "ecdsa", "it's a \"passphrase\"", "-t", "ecdsa")
	pem := keygen(t, dir, "pem", "old form", "-t", "rsa", "-b", "2048", "-m", "PEM")
	stranger := keygen(t, dir, "stranger", "", "-t", "ed25519")
	ca := keygen(t, dir, "ca", "", "-t", "ed25519")
	certified := keygen(t, dir, "certified", "", "-t", "ed25519")
	run(t, "ssh-keygen", "-q", "-s", ca, "-I", "it", "-n", user, "-V", "-1m:+5m", certified+".pub")
	expired := keygen(t, dir, "expired", "", "-t", "ed25519")
	run(t, "ssh-keygen", "-q", "-s", ca, "-I", "it", "-n", user, "-V", "-5m:-1m", expired+".pub")
	certificate := func(key string) sshexec.Auth {
		auth, err := sshexec.Certificate(read(t, key+"-cert.pub"), read(t, key))
		must(t, err)
		return auth
	}
	machine := newHost(t, vmhost.Spec{
		Config: []string{"PasswordAuthentication no", "TrustedUserCAKeys /etc/ssh/user_ca.pub", "MaxAuthTries 3"},
		Files:  map[string]string{"/etc/ssh/user_ca.pub": string(read(t, ca+".pub"))},
		AuthorizedKeys: []string{string(read(t, plain+".pub")), string(read(t, rsa+".pub")),
			string(read(t, ecdsa+".pub")), string(read(t, pem+".pub"))},
	})
	target := targetOf(t, machine)
	must(t, machine.Listening(within(t, time.Minute)))
	nobody := sshexec.Agent(filepath.Join(dir, "no such agent"))
	for _, c := range []struct {
		name string
		auth []sshexec.Auth
		want error
	}{
		{"private key", []sshexec.Auth{privateKey(t, plain)}, nil},
		{"RSA key", []sshexec.Auth{privateKey(t, rsa)}, nil},
		{"key with a passphrase", []sshexec.Auth{privateKey(t, ecdsa, "it's a \"passphrase\"")}, nil},
		{"key with a passphrase, PEM", []sshexec.Auth{privateKey(t, pem, "old form")}, nil},
		{"key file", []sshexec.Auth{sshexec.PrivateKeyFile(plain)}, nil},
		{"no key file, then a key", []sshexec.Auth{sshexec.PrivateKeyFile(filepath.Join(dir, "none")), privateKey(t, plain)}, nil},
		{"no key file", []sshexec.Auth{sshexec.PrivateKeyFile(filepath.Join(dir, "none"))}, sshexec.ErrAuth},
		{"agent", []sshexec.Auth{sshexec.Agent(startAgent(t, stranger, plain))}, nil},
		{"agent with a certificate", []sshexec.Auth{sshexec.Agent(startAgent(t, certified))}, nil},
		{"empty agent", []sshexec.Auth{sshexec.Agent(startAgent(t))}, sshexec.ErrAuth},
		{"empty agent, then a key", []sshexec.Auth{sshexec.Agent(startAgent(t)), privateKey(t, plain)}, nil},
		{"no agent, then a key", []sshexec.Auth{nobody, privateKey(t, plain)}, nil},
		{"the same key in agent and file", []sshexec.Auth{sshexec.Agent(startAgent(t, stranger)), privateKey(t, stranger), sshexec.PrivateKeyFile(stranger), privateKey(t, plain)}, nil},
		{"certificate", []sshexec.Auth{certificate(certified)}, nil},
		{"expired certificate", []sshexec.Auth{certificate(expired)}, sshexec.ErrAuth},
		{"a stranger's key", []sshexec.Auth{privateKey(t, stranger)}, sshexec.ErrAuth},
		{"password where none is taken", []sshexec.Auth{sshexec.Password(password)}, sshexec.ErrAuth},
		{"password first, then a key", []sshexec.Auth{sshexec.Password(password), privateKey(t, plain)}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			target := target
			target.Auth = c.auth
			err := newPool(t, sshexec.Options{}).Host(target).Run(within(t, time.Minute), []string{"true"}, nil, nil, nil)
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), password) {
				t.Errorf("the password is in the error: %v", err)
			}
		})
	}
}

// TestKeyboardInteractive: PAM asks for the password; and a host that wants a key and then the password.
func TestKeyboardInteractive(t *testing.T) {
	needSite(t)
	key := keygen(t, t.TempDir(), "key", "", "-t", "ed25519")
	typed := func(answer string) sshexec.Auth {
		return sshexec.KeyboardInteractive(func(_ context.Context, c sshexec.Challenge) ([]string, error) {
			answers := make([]string, len(c.Questions))
			for i, q := range c.Questions {
				if q.Echo || c.User != user {
					return nil, errors.New("not the question that was expected")
				}
				answers[i] = answer
			}
			return answers, nil
		})
	}
	for _, s := range []struct {
		name   string
		config []string
		want   map[string]error
	}{
		{"password by questions", []string{"PasswordAuthentication no", "KbdInteractiveAuthentication yes"},
			map[string]error{"answers": nil, "wrong answers": sshexec.ErrAuth, "password": nil, "key": nil}},
		{"key and questions", []string{"KbdInteractiveAuthentication yes", "AuthenticationMethods publickey,keyboard-interactive"},
			map[string]error{"answers": sshexec.ErrAuth, "key": sshexec.ErrAuth, "key, answers": nil, "answers, key": nil, "key, password": nil, "key, wrong answers": sshexec.ErrAuth}},
		{"key and password", []string{"AuthenticationMethods publickey,password"},
			map[string]error{"key, password": nil, "password": sshexec.ErrAuth}},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			machine := newHost(t, vmhost.Spec{Config: s.config, AuthorizedKeys: []string{string(read(t, key+".pub"))}})
			must(t, machine.Listening(within(t, time.Minute)))
			for name, want := range s.want {
				target := targetOf(t, machine)
				target.Auth = nil
				for kind := range strings.SplitSeq(name, ", ") {
					target.Auth = append(target.Auth, map[string]sshexec.Auth{"answers": typed(password), "wrong answers": typed("wrong"),
						"password": sshexec.Password(password), "key": privateKey(t, key)}[kind])
				}
				err := newPool(t, sshexec.Options{}).Host(target).Run(within(t, time.Minute), []string{"true"}, nil, nil, nil)
				if !errors.Is(err, want) {
					t.Errorf("%s: got %v, want %v", name, err, want)
				}
			}
		})
	}
}

// TestJumpHosts: a chain of hosts, each with its own credentials and host key, in which any can refuse.
func TestJumpHosts(t *testing.T) {
	needSite(t)
	key := keygen(t, t.TempDir(), "key", "", "-t", "ed25519")
	outer := newHost(t, vmhost.Spec{Config: []string{"PasswordAuthentication no"}, AuthorizedKeys: []string{string(read(t, key+".pub"))}})
	middle, inner := newHost(t, vmhost.Spec{}), newHost(t, vmhost.Spec{AskPassword: true})
	// Only its neighbour reaches each of the two.
	root(t, inner, "ip", "route", "add", "unreachable", site.network.Gateway().String())
	root(t, middle, "ip", "route", "add", "unreachable", site.network.Gateway().String())
	root(t, inner, "ip", "route", "add", "unreachable", outer.Address.String())
	for _, m := range []*vmhost.Host{outer, middle, inner} {
		_ = m.Listening(within(t, time.Second))
	}
	chain := func() (first, second, third *sshexec.Target) {
		a, b, c := targetOf(t, outer), targetOf(t, middle), targetOf(t, inner)
		a.Name, b.Name, c.Name = "outer", "middle", "inner"
		a.Auth = []sshexec.Auth{privateKey(t, key)}
		c.Via, b.Via = &b, &a
		return &a, &b, &c
	}
	t.Run("all let in", func(t *testing.T) {
		_, _, target := chain()
		pool := newPool(t, sshexec.Options{})
		host := pool.Host(*target)
		must(t, host.Wait(within(t, time.Minute)))
		got, err := host.Output(within(t, time.Minute), sshexec.Command{Shell: "echo $SSH_CLIENT; id -u", Root: false})
		if err != nil || !strings.HasPrefix(string(got), middle.Address.String()+" ") {
			t.Errorf("got %q, %v", got, err)
		}
		must(t, host.Upload(within(t, time.Minute), strings.NewReader("content"), sshexec.File{Path: "/etc/far", Root: true}))
		// A second host behind the same chain shares the jump hosts' connections.
		other := *target
		other.ID = "another"
		must(t, pool.Host(other).Run(within(t, time.Minute), []string{"true"}, nil, nil, nil))
		if n := sessions(t, outer); n != 1 {
			t.Errorf("%d connections to the outer jump host", n)
		}
		must(t, middle.CutConnections(within(t, time.Minute)))
		must(t, host.Run(within(t, time.Minute), []string{"true"}, nil, nil, nil))
	})
	for _, c := range []struct {
		name   string
		change func(outer, middle, inner *sshexec.Target)
		want   error
		who    string
	}{
		{"outer key refused", func(o, _, _ *sshexec.Target) { o.Auth = []sshexec.Auth{sshexec.Password(password)} }, sshexec.ErrAuth, "outer"},
		{"middle password refused", func(_, m, _ *sshexec.Target) { m.Auth = []sshexec.Auth{sshexec.Password("wrong")} }, sshexec.ErrAuth, "middle"},
		{"inner password refused", func(_, _, i *sshexec.Target) { i.Auth = []sshexec.Auth{sshexec.Password("wrong")} }, sshexec.ErrAuth, "inner"},
		{"middle is another machine", func(o, m, _ *sshexec.Target) { m.HostKeys = o.HostKeys }, sshexec.ErrHostKey, "middle"},
		{"inner is another machine", func(o, _, i *sshexec.Target) { i.HostKeys = o.HostKeys }, sshexec.ErrHostKey, "inner"},
		{"inner port is closed", func(_, _, i *sshexec.Target) { i.Addr += ":2222" }, sshexec.ErrConnect, "inner"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o, m, i := chain()
			c.change(o, m, i)
			err := newPool(t, sshexec.Options{}).Host(*i).Run(within(t, time.Minute), []string{"true"}, nil, nil, nil)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.who) {
				t.Errorf("got %v, want %v of %s", err, c.want, c.who)
			}
		})
	}
}
