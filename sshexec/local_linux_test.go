//go:build linux

package sshexec_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/sshexec"
)

func localhost(t *testing.T) *sshexec.Host {
	t.Helper()
	return newPool(t, sshexec.Options{}).Local(sshexec.Sudo{})
}

// TestLocal checks that commands on this machine get the same arguments, environment and streams as over SSH, and fail in the same way.
func TestLocal(t *testing.T) {
	host := localhost(t)
	if err := host.Wait(t.Context()); err != nil || host.Name() != "localhost" {
		t.Errorf("%s: %v", host.Name(), err)
	}
	dir := t.TempDir()
	var stdout, stderr bytes.Buffer
	err := host.Exec(t.Context(), sshexec.Command{
		Argv: []string{"/bin/sh", "-c", `printf '%s|%s|%s|' "$1" "$V" "$(pwd -P)"; cat; echo why >&2; exit 3`, "sh", awkwardText},
		Env:  map[string]string{"V": awkwardText}, Dir: dir, Stdin: strings.NewReader("input"), Stdout: &stdout, Stderr: &stderr,
	})
	dir, _ = filepath.EvalSymlinks(dir)
	if diff := cmp.Diff(awkwardText+"|"+awkwardText+"|"+dir+"|input", stdout.String()); diff != "" {
		t.Error(diff)
	}
	var exit *sshexec.ExitError
	if !errors.As(err, &exit) || exit.Code != 3 || exit.Stderr != "why\n" || exit.Host != "localhost" || stderr.String() != "why\n" {
		t.Errorf("got %#v, stderr %q", err, stderr.String())
	}
	err = host.Exec(t.Context(), sshexec.Command{Shell: "kill -s KILL $$"})
	if !errors.As(err, &exit) || exit.Signal != "KILL" || exit.Code != 137 {
		t.Errorf("got %#v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := host.Run(ended, []string{"true"}, nil, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

var awkwardText = strings.Join(awkward, "")

func TestLocalFilesAndTunnel(t *testing.T) {
	host := localhost(t)
	file := sshexec.File{Path: filepath.Join(t.TempDir(), "it's"), Mode: 0o640}
	if err := host.Upload(t.Context(), strings.NewReader(awkwardText), file); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file.Path)
	if err != nil || info.Mode() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if got, err := host.ReadFile(t.Context(), file); err != nil || string(got) != awkwardText {
		t.Errorf("got %q, %v", got, err)
	}
	if conn, err := host.DialContext(t.Context(), "tcp", "127.0.0.1:1"); err == nil {
		_ = conn.Close()
		t.Error("port 1 answers")
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := host.DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

// TestCancelEndsTheGroup checks with real processes that the children of a command end with it, also if they ignore TERM and if the
// command itself has ended.
func TestCancelEndsTheGroup(t *testing.T) {
	for name, text := range map[string]sshexec.Shell{
		"a program":                   "echo begun; exec sleep 600",
		"with a child":                "sleep 600 & echo begun; wait",
		"a child that ignores TERM":   "(trap '' TERM; echo begun; sleep 600) & wait",
		"a command that ignores TERM": "trap '' TERM; echo begun; sleep 600",
		"a child that is left":        "sleep 600 & echo begun",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The pipe stays open while a process has its write end open.
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			host := localhost(t)
			because := errors.New("no longer wanted")
			ctx, cancel := context.WithCancelCause(withinMinutes(t))
			defer cancel(nil)
			begun, said := io.Pipe()
			result := make(chan error, 1)
			go func() {
				result <- host.Exec(ctx, sshexec.Command{
					Shell: "exec 3>" + sshexec.Shell(pipeName(w)) + "; " + text, Stdout: said, Grace: 200 * time.Millisecond,
				})
			}()
			if line, err := bufio.NewReader(begun).ReadString('\n'); err != nil {
				t.Fatalf("%q, %v", line, err)
			}
			_ = w.Close()
			cancel(because)
			if err := <-result; !errors.Is(err, because) {
				t.Errorf("got %v", err)
			}
			if err := r.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, r); err != nil {
				t.Errorf("a process is left: %v", err)
			}
		})
	}
}

func TestTimeout(t *testing.T) {
	host := localhost(t)
	err := host.Exec(withinMinutes(t), sshexec.Command{Argv: []string{"sleep", "600"}, Timeout: 50 * time.Millisecond})
	if !errors.Is(err, sshexec.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if err := host.Exec(t.Context(), sshexec.Command{Argv: []string{"true"}, Timeout: time.Minute}); err != nil {
		t.Error(err)
	}
}

// pipeName returns a path with which another process of this machine can open the file.
func pipeName(f *os.File) string {
	return "/proc/" + strconv.Itoa(os.Getpid()) + "/fd/" + strconv.Itoa(int(f.Fd())) //nolint:gosec // a small number
}

// FuzzPath checks that Command.Dir may be any directory name, also a name that looks like an option or like shell text.
func FuzzPath(f *testing.F) {
	for _, seed := range awkward {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if name == "" || name == "." || name == ".." || len(name) > 200 || strings.ContainsAny(name, "/\x00") {
			return // not a name of a directory
		}
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		host := localhost(t)
		if err := host.Exec(t.Context(), sshexec.Command{Shell: `printf %s "$V" >content`, Dir: dir, Env: map[string]string{"V": name}}); err != nil {
			t.Fatal(err)
		}
		got, err := host.ReadFile(t.Context(), sshexec.File{Path: dir + "/content"})
		if err != nil || string(got) != name {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
