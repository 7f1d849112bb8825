package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/sshexec"
)

const hostile = "a 'b' \"c\" $HOME $(id) `id` ; & | \\ \\n * ~ !x\n\ttwo\r\n"

// sudoers are the two kinds of hosts: sudo asks for the password, or not. Drivers cannot know beforehand,
// so that the password is offered to both.
var sudoers = map[string]bool{"NOPASSWD": false, "sudo asks": true}

func newHost(t *testing.T, s vmhost.Spec) *vmhost.Host {
	t.Helper()
	needSite(t)
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

func newPool(t *testing.T, o sshexec.Options) *sshexec.Pool {
	t.Helper()
	pool := sshexec.NewPool(o)
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return pool
}

func targetOf(t *testing.T, h *vmhost.Host) sshexec.Target {
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
	if err := host.Wait(within(t, 10*time.Second)); err != nil {
		t.Fatal(err)
	}
	return host, machine
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

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
					got, err := host.Output(within(t, 10*time.Second), c.command)
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
				if err := host.Exec(within(t, 10*time.Second), tee); err != nil {
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

// TestUpload: files of the user and of root arrive whole, with mode and owner, or not at all.
func TestUpload(t *testing.T) {
	content := strings.Repeat(hostile, 50<<10) // 2.6 MB
	for name, ask := range sudoers {
		t.Run(name, func(t *testing.T) {
			host, machine := connect(t, vmhost.Spec{AskPassword: ask}, sshexec.Options{})
			for _, f := range []sshexec.File{
				{Path: "/home/" + user + "/it's $(id).bin", Mode: 0o640},
				{Path: "/etc/of root", Mode: 0o600, Root: true},
				{Path: "/etc/given away", Mode: 0o444, Root: true, Owner: user + ":" + user},
			} {
				if err := host.Upload(within(t, 20*time.Second), strings.NewReader(content), f); err != nil {
					t.Fatal(err)
				}
				got, err := afero.ReadFile(machine.FS(), f.Path)
				if err != nil || string(got) != content {
					t.Errorf("%s: %d bytes, %v", f.Path, len(got), err)
				}
				stat, err := host.Output(t.Context(), sshexec.Command{Argv: []string{"stat", "-c", "%a %U", f.Path}})
				owner := user
				if f.Root && f.Owner == "" {
					owner = "root"
				}
				if want := fmt.Sprintf("%o %s\n", f.Mode, owner); err != nil || string(stat) != want {
					t.Errorf("%s: got %q, want %q, %v", f.Path, stat, want, err)
				}
			}
			wrong := sshexec.File{Path: "/etc/wrong", Root: true, SHA256: strings.Repeat("0", 64)}
			if err := host.Upload(t.Context(), io.MultiReader(strings.NewReader("x")), wrong); !errors.Is(err, sshexec.ErrDigest) {
				t.Errorf("wrong digest: got %v", err)
			}
			if _, err := machine.FS().Stat(wrong.Path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the file of the wrong digest is there: %v", err)
			}
			var forbidden *sshexec.HostError
			if err := host.Upload(t.Context(), strings.NewReader("x"), sshexec.File{Path: "/etc/not-ours"}); !errors.As(err, &forbidden) {
				t.Errorf("a file of root's written by another user: %v", err)
			}
			if left, err := afero.Glob(machine.FS(), "/etc/.*sshexec*"); err != nil || len(left) > 0 {
				t.Errorf("left: %q, %v", left, err)
			}
		})
	}
}

// TestManySessions: more callers than OpenSSH lets one connection have sessions (10).
func TestManySessions(t *testing.T) {
	host, _ := connect(t, vmhost.Spec{}, sshexec.Options{})
	var callers sync.WaitGroup
	for i := range 40 {
		callers.Go(func() {
			var out bytes.Buffer
			err := host.Exec(within(t, 30*time.Second), sshexec.Command{Argv: []string{"echo", strconv.Itoa(i)}, Stdout: &out, Root: i%2 == 0})
			if err != nil || out.String() != strconv.Itoa(i)+"\n" {
				t.Errorf("caller %d: %q, %v", i, out.String(), err)
			}
		})
	}
	callers.Wait()
}

// TestExitErrors: codes and signals of real programs, and tunnels.
func TestExitErrors(t *testing.T) {
	host, machine := connect(t, vmhost.Spec{AskPassword: true}, sshexec.Options{})
	for _, root := range []bool{false, true} {
		err := host.Exec(within(t, 10*time.Second), sshexec.Command{Shell: "echo why >&2; exit 42", Root: root})
		if exit, ok := errors.AsType[*sshexec.ExitError](err); !ok || exit.Code != 42 || exit.Stderr != "why\n" {
			t.Errorf("root %t: got %#v", root, err)
		}
		err = host.Exec(within(t, 10*time.Second), sshexec.Command{Shell: "kill -KILL $$", Root: root})
		if exit, ok := errors.AsType[*sshexec.ExitError](err); !ok || exit.Signal != "KILL" && exit.Code != 137 {
			t.Errorf("root %t: got %#v", root, err)
		}
	}
	through, err := host.DialContext(within(t, 5*time.Second), "tcp", net.JoinHostPort("127.0.0.1", "22"))
	if err != nil {
		t.Fatal(err)
	}
	defer through.Close()
	banner := make([]byte, 8)
	if _, err := io.ReadFull(through, banner); err != nil || string(banner) != "SSH-2.0-" {
		t.Errorf("through %s: got %q, %v", machine.Name, banner, err)
	}
}
