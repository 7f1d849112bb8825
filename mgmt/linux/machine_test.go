package linux_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// TestBecomeRoot runs a command as root, and asks whether that needs a password.
func TestBecomeRoot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		user, asks string // the login user, and the password that sudo asks for
		sudo       sshexec.Sudo
		refused    bool
		needs      bool
	}{
		"sudo does not ask":               {user: "ubuntu"},
		"sudo asks":                       {user: "ubuntu", asks: "pw", sudo: sshexec.SudoPassword("pw"), needs: true},
		"sudo asks, no password":          {user: "ubuntu", asks: "pw", refused: true, needs: true},
		"sudo asks, wrong password":       {user: "ubuntu", asks: "pw", sudo: sshexec.SudoPassword("other"), refused: true, needs: true},
		"root, without a need for sudo":   {user: "root", asks: "pw"},
		"root, whose password is known":   {user: "root", asks: "pw", sudo: sshexec.SudoPassword("pw")},
		"a password that is not required": {user: "ubuntu", sudo: sshexec.SudoPassword("pw")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, _ := login(t, sshtest.Config{User: c.user, Password: "login", SudoPassword: c.asks}, c.sudo)
			if err := m.Run(t.Context(), "true"); errors.Is(err, sshexec.ErrSudo) != c.refused || err != nil && !c.refused {
				t.Errorf("run a command: %v", err)
			}
			if needs, err := m.NeedsPassword(t.Context()); needs != c.needs || err != nil {
				t.Errorf("needs a password: %t, %v", needs, err)
			}
		})
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"Avail\n4096\n": 4096, "812\t/var/lib/etcd\n": 812, "Avail\n-\n": 0} {
		m, _ := machine(t, nil, map[string]sshtest.Command{"df": func(_ context.Context, p *sshtest.Process) int {
			_, _ = io.WriteString(p.Stdout, text)
			return 0
		}})
		if got, err := m.Number(t.Context(), "df"); got != want || (err != nil) != (want == 0) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}

// login returns the machine that a simulated host is.
func login(t *testing.T, c sshtest.Config, sudo sshexec.Sudo) (linux.Machine, *sshtest.Host) {
	t.Helper()
	host, err := sshtest.New(c)
	if err != nil {
		t.Fatal(err)
	}
	pool := sshexec.NewPool(sshexec.Options{})
	t.Cleanup(func() {
		if err := errors.Join(pool.Close(), host.Close()); err != nil {
			t.Error(err)
		}
	})
	return linux.AsRoot(pool.Host(sshexec.Target{Addr: host.Addr(), User: c.User, Auth: []sshexec.Auth{sshexec.Password(c.Password)}, Sudo: sudo,
		HostKeys: sshexec.InsecureIgnoreHostKeys()})), host
}
