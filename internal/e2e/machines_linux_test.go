package e2e_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/sshexec"
)

// sudoers are the two kinds of hosts: sudo asks for the password, or not. Drivers cannot know beforehand,
// so that the password is offered to both.
var sudoers = map[string]bool{"NOPASSWD": false, "sudo asks": true}

func newHost(t *testing.T, s vmhost.Spec) *vmhost.Host {
	t.Helper()
	needSite(t)
	if err := vmhost.SystemdMissing(); s.Systemd && err != nil {
		t.Skip(err)
	}
	s.Name, s.User, s.Password = "node", user, password
	host, err := site.network.Create(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(host.Log())
		}
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	})
	return host
}

func newPool(t testing.TB, o sshexec.Options) *sshexec.Pool {
	t.Helper()
	pool := sshexec.NewPool(o)
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return pool
}

func targetOf(t testing.TB, h *vmhost.Host) sshexec.Target {
	t.Helper()
	key, err := h.HostKey()
	if err != nil {
		t.Fatal(err)
	}
	policy, err := sshexec.PinnedHostKeys(key)
	if err != nil {
		t.Fatal(err)
	}
	return sshexec.Target{Name: h.Name, Addr: h.Address.String(), User: user, HostKeys: policy,
		Auth: []sshexec.Auth{sshexec.Password(password)}, Sudo: sshexec.SudoPassword(password)}
}

// connect logs in to a new host.
func connect(t *testing.T, s vmhost.Spec, o sshexec.Options) (*sshexec.Host, *vmhost.Host) {
	t.Helper()
	machine := newHost(t, s)
	host := newPool(t, o).Host(targetOf(t, machine))
	if err := host.Wait(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	return host, machine
}

func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// await polls a condition.
func await(t testing.TB, what string, done func() bool) {
	t.Helper()
	awaitFor(t, 3*time.Minute, what, done)
}

func awaitFor(t testing.TB, most time.Duration, what string, done func() bool) {
	t.Helper()
	ctx := within(t, most)
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("waiting for %s", what)
		}
	}
}

// root runs a program on the machine without SSH.
func root(t *testing.T, machine *vmhost.Host, argv ...string) string {
	t.Helper()
	out, err := machine.Exec(within(t, time.Minute), argv...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// must fails the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// output runs shell text as the login user and returns what it writes.
func output(t *testing.T, host *sshexec.Host, shell sshexec.Shell) string {
	t.Helper()
	out, err := host.Output(within(t, time.Minute), sshexec.Command{Shell: shell})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// kinds are the kinds of hosts there are: what starts their services, and whose programs they have.
var kinds = []struct {
	name string
	spec vmhost.Spec
	make func(*testing.T, *vmhost.Host)
}{
	{"plain", vmhost.Spec{}, func(*testing.T, *vmhost.Host) {}},
	{"systemd", vmhost.Spec{Systemd: true, AskPassword: true}, func(*testing.T, *vmhost.Host) {}},
	{"busybox", vmhost.Spec{AskPassword: true}, busybox},
	{"busybox without SFTP", vmhost.Spec{NoSFTP: true}, func(t *testing.T, machine *vmhost.Host) {
		t.Helper()
		root(t, machine, "rm", "/usr/lib/openssh/sftp-server")
		busybox(t, machine)
	}},
}

// busybox puts the programs of busybox in the place of those of Debian, but for the ones that let people in.
func busybox(t *testing.T, machine *vmhost.Host) {
	t.Helper()
	root(t, machine, "bash", "-ec", `cp "$(command -v busybox)" /busybox
		for name in $(/busybox --list); do
			case $name in su|login|passwd|chpasswd|adduser|addgroup|ip|busybox|nsenter|unshare|setpriv|run-parts) continue ;; esac
			for dir in /usr/bin /usr/sbin; do if [ -e "$dir/$name" ]; then ln -sf /busybox "$dir/$name"; fi; done
		done
		rm -f /usr/bin/openssl /usr/bin/perl /usr/bin/python3`)
}

// onEveryKind runs a test on a host of every kind.
func onEveryKind(t *testing.T, test func(t *testing.T, host *sshexec.Host, machine *vmhost.Host)) {
	t.Helper()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			host, machine := connect(t, k.spec, sshexec.Options{})
			k.make(t, machine)
			test(t, host, machine)
		})
	}
}

func processes(t *testing.T, machine *vmhost.Host) string {
	t.Helper()
	list, err := machine.Processes()
	must(t, err)
	return strings.Join(list, "\n")
}

// sessions counts the SSH connections of the user.
func sessions(t *testing.T, machine *vmhost.Host) (n int) {
	t.Helper()
	for line := range strings.Lines(processes(t, machine)) {
		if strings.HasPrefix(line, "sshd") && strings.Contains(line, ": "+user+" [priv]") {
			n++
		}
	}
	return n
}

func sha256Of(content []byte) string {
	digest := sha256.Sum256(content)
	return hex.EncodeToString(digest[:])
}
