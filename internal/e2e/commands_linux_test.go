package e2e_test

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/sshexec"
)

const hostile = "a 'b' \"c\" $HOME $(id) `id` ; & | \\ \\n * ~ !x\n\ttwo\r\n"

// TestCommands: what a command is given arrives byte for byte, and the password arrives nowhere.
func TestCommands(t *testing.T) {
	large := strings.Repeat("x y\n", 16<<10) // 64 KiB
	for name, ask := range sudoers {
		t.Run(name, func(t *testing.T) {
			host, _ := connect(t, vmhost.Spec{AskPassword: ask}, sshexec.Options{})
			show := []string{"sh", "-c", `printf '%s|' "$(id -un)" "$@"; printf '%s|' "$V"; pwd; cat`, "sh"}
			for _, c := range []struct {
				name    string
				command sshexec.Command
				want    string
			}{
				{"arguments", sshexec.Command{Argv: append(show, hostile, "", "-x")}, user + "|" + hostile + "||-x||/home/" + user + "\n"},
				{"environment", sshexec.Command{Argv: show, Env: map[string]string{"V": hostile}}, user + "|" + hostile + "|/home/" + user + "\n"},
				{"directory", sshexec.Command{Argv: show, Dir: "/var/log"}, user + "||/var/log\n"},
				{"stdin", sshexec.Command{Argv: []string{"cat"}, Stdin: strings.NewReader(large + hostile)}, large + hostile},
				{"root", sshexec.Command{Argv: append(show, hostile), Root: true, Env: map[string]string{"V": hostile}, Stdin: strings.NewReader(hostile)},
					"root|" + hostile + "|" + hostile + "|/home/" + user + "\n" + hostile},
				{"shell as root", sshexec.Command{Shell: "id -u; pwd", Root: true, Dir: "/etc"}, "0\n/etc\n"},
				{"64 KiB argument", sshexec.Command{Argv: []string{"printf", "%s", large}}, large},
				{"64 KiB argument as root", sshexec.Command{Argv: []string{"printf", "%s", large}, Root: true}, large},
				{"64 KiB variable as root", sshexec.Command{Argv: []string{"sh", "-c", `printf %s "$V"`}, Root: true, Env: map[string]string{"V": large}}, large},
				{"no stdin", sshexec.Command{Argv: []string{"cat"}, Root: true}, ""},
			} {
				t.Run(c.name, func(t *testing.T) {
					got, err := host.Output(within(t, time.Minute), c.command)
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(c.want, string(got)); diff != "" {
						t.Error(diff)
					}
				})
			}
			t.Run("sudo tee never gets the password", func(t *testing.T) {
				tee := sshexec.Command{Argv: []string{"tee", "/root/tee"}, Root: true, Stdin: strings.NewReader("content\n")}
				if err := host.Exec(within(t, time.Minute), tee); err != nil {
					t.Fatal(err)
				}
				got, err := host.ReadFile(t.Context(), sshexec.File{Path: "/root/tee", Root: true})
				if err != nil || string(got) != "content\n" {
					t.Errorf("got %q, %v", got, err)
				}
			})
		})
	}
}

// TestExitErrors: codes and signals of real programs, and tunnels.
func TestExitErrors(t *testing.T) {
	host, machine := connect(t, vmhost.Spec{AskPassword: true}, sshexec.Options{})
	for _, root := range []bool{false, true} {
		err := host.Exec(within(t, time.Minute), sshexec.Command{Shell: "echo why >&2; exit 42", Root: root})
		if exit, ok := errors.AsType[*sshexec.ExitError](err); !ok || exit.Code != 42 || exit.Stderr != "why\n" {
			t.Errorf("root %t: got %#v", root, err)
		}
		err = host.Exec(within(t, time.Minute), sshexec.Command{Shell: "kill -KILL $$", Root: root})
		if exit, ok := errors.AsType[*sshexec.ExitError](err); !ok || exit.Signal != "KILL" && exit.Code != 137 {
			t.Errorf("root %t: got %#v", root, err)
		}
	}
	through, err := host.DialContext(within(t, time.Minute), "tcp", net.JoinHostPort("127.0.0.1", "22"))
	if err != nil {
		t.Fatal(err)
	}
	defer through.Close()
	banner := make([]byte, 8)
	if _, err := io.ReadFull(through, banner); err != nil || string(banner) != "SSH-2.0-" {
		t.Errorf("through %s: got %q, %v", machine.Name, banner, err)
	}
}

// TestUser: commands as another user, whom sudo makes.
func TestUser(t *testing.T) {
	onEveryKind(t, func(t *testing.T, host *sshexec.Host, _ *vmhost.Host) {
		for _, other := range []string{"www-data", user, "root"} {
			got, err := host.Output(within(t, time.Minute), sshexec.Command{User: other, Dir: "/tmp", Env: map[string]string{"V": hostile},
				Argv: []string{"sh", "-c", `printf '%s|' "$(id -un)" "$V" "$1"; cat`, "sh", hostile}, Stdin: strings.NewReader(hostile)})
			if want := other + "|" + hostile + "|" + hostile + "|" + hostile; err != nil || string(got) != want {
				t.Errorf("as %s: got %q, want %q, %v", other, got, want, err)
			}
		}
		if err := host.Exec(within(t, time.Minute), sshexec.Command{User: "nobody-knows", Argv: []string{"true"}}); !errors.Is(err, sshexec.ErrSudo) {
			t.Errorf("a user who is not there: %v", err)
		}
	})
}

// TestTimeout: a command that takes too long is killed, whichever user runs it, and leaves no process or file.
func TestTimeout(t *testing.T) {
	onEveryKind(t, func(t *testing.T, host *sshexec.Host, machine *vmhost.Host) {
		for _, c := range []sshexec.Command{{}, {Root: true}, {User: "www-data"}} {
			c.Shell, c.Timeout, c.Grace = `(trap "" TERM; sleep 600; sleep 600) & sleep 600`, 500*time.Millisecond, 300*time.Millisecond
			if err := host.Exec(within(t, time.Minute), c); !errors.Is(err, sshexec.ErrTimeout) {
				t.Errorf("root %t, user %q: got %v", c.Root, c.User, err)
			}
			if n := sleeping(t, machine); n > 0 {
				t.Errorf("root %t, user %q: %d processes are left:\n%s", c.Root, c.User, n, root(t, machine, "ps", "-o", "pid,ppid,pgid,user,args"))
			}
		}
	})
}

// TestShells: users whose login shell is another one.
func TestShells(t *testing.T) {
	machine := newHost(t, vmhost.Spec{})
	host := newPool(t, sshexec.Options{}).Host(targetOf(t, machine))
	for _, shell := range []string{"/bin/dash", "/bin/bash", "/usr/bin/rbash"} {
		root(t, machine, "usermod", "--shell", shell, user)
		must(t, machine.CutConnections(within(t, time.Minute)))
		must(t, host.Wait(within(t, time.Minute)))
		got, err := host.Output(within(t, time.Minute), sshexec.Command{Argv: []string{"printf", "%s", hostile}, Root: true, Env: map[string]string{"V": hostile}})
		if err != nil || string(got) != hostile {
			t.Errorf("%s: got %q, %v", shell, got, err)
		}
	}
}
