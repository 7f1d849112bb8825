package sshexec_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// startupFiles maps descriptions to startup files of login shells that print text.
var startupFiles = map[string]string{
	"prints":                     "echo Welcome; echo be careful >&2",
	"prints no newline":          "printf Welcome; printf careful >&2",
	"prints when it exits":       "trap 'echo bye; echo bye >&2' EXIT",
	"prints much":                "for i in 1 2 3 4 5 6 7 8 9; do printf '%090000d\\n' 0; printf '%090000d\\n' 0 >&2; done",
	"shows the command line":     "set -x; echo \"$BASH_EXECUTION_STRING\"; exec 3>&1; BASH_XTRACEFD=3",
	"shows it without a newline": "printf %s \"$BASH_EXECUTION_STRING\"; printf %s \"$BASH_EXECUTION_STRING\" >&2",
}

// TestLoginShellThatPrints checks that the text that a login shell prints is not in any output, file or event: with a simulated host
// and with OpenSSH and bash, with and without SFTP.
func TestLoginShellThatPrints(t *testing.T) {
	var mu sync.Mutex
	var events []string
	options := sshexec.Options{Observe: func(_ context.Context, e sshexec.CommandEvent) {
		mu.Lock()
		defer mu.Unlock()
		events = append(events, fmt.Sprintf("%+v", e))
	}}
	for does, text := range startupFiles {
		for _, noSFTP := range []bool{false, true} {
			name := fmt.Sprintf("%s/no SFTP %t", does, noSFTP)
			t.Run("simulated/"+name, func(t *testing.T) {
				remote := sshtest.Start(t, sshtest.Config{SudoPassword: "s3cret"})
				put(t, remote, "/home/ubuntu/.bashrc", text)
				remote.SetFaults(sshtest.Faults{NoSFTP: noSFTP})
				to := target(t, remote)
				to.Sudo = sshexec.SudoPassword("s3cret")
				host := newPool(t, options).Host(to)
				useHost(t, host, "/home/ubuntu")
				if used := len(remote.Transfers()) > 0; used == noSFTP {
					t.Errorf("SFTP was used: %t", used)
				}
				got, err := host.Output(withinMinutes(t), sshexec.Command{Argv: []string{"whoami"}, Root: true})
				if err != nil || string(got) != "root\n" {
					t.Errorf("as root: %q, %v", got, err)
				}
			})
			t.Run("real/"+name, func(t *testing.T) {
				if noSFTP && does != "prints" {
					fulltest.SkipVariant(t)
				}
				server := startBashSSHD(t, text, noSFTP)
				useHost(t, newPool(t, options).Host(server.target), t.TempDir())
			})
		}
	}
	if shown := regexp.MustCompile(`sshexec-\w+ \d|Welcome`).FindString(strings.Join(events, "\n")); shown != "" {
		t.Errorf("an event shows %q", shown)
	}
}

// TestLoginShellWithoutExec checks that a login shell that refuses exec, such as rbash, runs commands without exec, and runs each
// command once.
func TestLoginShellWithoutExec(t *testing.T) {
	server := startBashSSHD(t, `exec() { echo "rbash: line 1: exec: restricted" >&2; return 1; }`, false)
	dir := t.TempDir()
	useHost(t, newPool(t, sshexec.Options{}).Host(server.target), dir)
	runs := filepath.Join(dir, "runs")
	got, err := server.host(t).Output(withinMinutes(t), sshexec.Command{Argv: []string{"sh", "-c", "cat; echo run >>" + runs}, Stdin: strings.NewReader("input")})
	if once, _ := os.ReadFile(runs); err != nil || string(got) != "input" || string(once) != "run\n" {
		t.Errorf("got %q, %v; runs: %q", got, err, once)
	}
}

// startBashSSHD starts a server for a user whose login shell is bash with this startup file.
func startBashSSHD(t *testing.T, startup string, noSFTP bool) *sshd {
	t.Helper()
	var lines []string
	if noSFTP {
		lines = append(lines, "Subsystem sftp /bin/false")
	}
	server := startSSHD(t, lines...)
	home := filepath.Join(server.dir, "home")
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(home, ".bashrc"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("echo >>~/read")
	if err := server.host(t).Run(withinMinutes(t), []string{"true"}, nil, nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(home, "read")); err != nil {
		t.Skip("the login shell of this user is not a bash that reads .bashrc under sshd: ", err)
	}
	write(startup)
	return server
}

// useHost calls everything that reads the output of a command, below a directory of the host.
func useHost(t *testing.T, host *sshexec.Host, dir string) {
	t.Helper()
	ctx := withinMinutes(t)
	var stdout, stderr bytes.Buffer
	err := host.Exec(ctx, sshexec.Command{
		Shell: `cat; printf '%s|' "$V" "$PWD"; echo why >&2; exit 3`, Env: map[string]string{"V": "a\nb"}, Dir: "/tmp",
		Stdin: strings.NewReader("input|"), Stdout: &stdout, Stderr: &stderr,
	})
	exit, ok := errors.AsType[*sshexec.ExitError](err)
	if !ok || exit.Code != 3 {
		t.Fatalf("got %v", err)
	}
	if diff := cmp.Diff([]string{"input|a\nb|/tmp|", "why\n", "why\n"}, []string{stdout.String(), stderr.String(), exit.Stderr}); diff != "" {
		t.Error(diff)
	}
	if out, err := host.Output(ctx, sshexec.Command{Argv: []string{"true"}}); err != nil || len(out) > 0 {
		t.Errorf("a command without output: %q, %v", out, err)
	}
	useFiles(ctx, t, host, dir)
	job, err := host.StartJob(ctx, "job", sshexec.Command{Shell: "echo out; echo err >&2"})
	if err != nil {
		t.Fatal(err)
	}
	var followed bytes.Buffer
	if _, err := job.Follow(ctx, &followed, 0); err != nil || followed.String() != "out\nerr\n" {
		t.Errorf("output of a job: %q, %v", followed.String(), err)
	}
	if jobs, err := host.Jobs(ctx, ""); err != nil || len(jobs) != 1 || jobs[0].Name != "job" {
		t.Errorf("jobs: %v, %v", jobs, err)
	}
	if err := errors.Join(job.Wait(ctx), job.Remove(ctx)); err != nil {
		t.Error(err)
	}
}

func useFiles(ctx context.Context, t *testing.T, host *sshexec.Host, dir string) {
	t.Helper()
	content := noise(1<<20 + 7) // larger than a small file
	for name, content := range map[string][]byte{"small": []byte("content"), "empty": nil, "large": content} {
		file := sshexec.File{Path: path.Join(dir, name)}
		if err := host.Upload(ctx, bytes.NewReader(content), file); err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := host.Download(ctx, &got, file); err != nil || !bytes.Equal(got.Bytes(), content) {
			t.Errorf("%s: downloaded %d bytes, %v", name, got.Len(), err)
		}
		if name == "large" {
			continue
		}
		if read, err := host.ReadFile(ctx, file); err != nil || !bytes.Equal(read, content) {
			t.Errorf("%s: read %q, %v", name, read, err)
		}
	}
	tree := sshexec.Tree{Path: path.Join(dir, "tree")}
	files := sampleTree(nil)
	if err := host.UploadTree(ctx, files, tree); err != nil {
		t.Fatal(err)
	}
	back := t.TempDir()
	if err := host.DownloadTree(ctx, back, tree); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(contents(t, files), contents(t, os.DirFS(back))); diff != "" {
		t.Error(diff)
	}
}

// TestBegin checks that the line of frame is found whatever the pieces of the stream are, and that no other text is mistaken for it.
func TestBegin(t *testing.T) {
	type result struct {
		Output, Group string
		Begun         bool
	}
	for _, tt := range []struct {
		name, said string
		want       result
	}{
		{"nothing before", "MARKER 12 10\ndata\n", result{"data\n", "-10", true}},
		{"a host without /proc", "MARKER 12 \ndata", result{"data", "12", true}},
		{"no output", "hello\nMARKER 12 10\n", result{"", "-10", true}},
		{"no newline before", "helloMARKER 12 10\ndata", result{"data", "-10", true}},
		{"the command line before", "+ exec /bin/sh sh MARKER 0 '' x\nMARKER 12 10\ndata", result{"data", "-10", true}},
		{"the command line and no newline", "sh MARKER 0 '' xMARKER 12 10\ndata", result{"data", "-10", true}},
		{"much before", strings.Repeat("hello\n", 50_000) + "MARKER 12 10\ndata", result{"data", "-10", true}},
		{"the marker in the output", "MARKER 12 10\nMARKER 12 10\n", result{"MARKER 12 10\n", "-10", true}},
		{"no numbers", "MARKER x y\ndata", result{}},
		{"an option", "MARKER 12 -1\ndata", result{}},
		{"half a line", "MARKER 12 1", result{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, step := range []int{1, 2, 7, 32 << 10} {
				var got result
				got.Output, got.Group, got.Begun = sshexec.Begin(tt.said, "MARKER", step)
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("in steps of %d bytes: %s", step, diff)
				}
			}
		})
	}
}

// TestLoginShellWithoutTheCommand checks that the error contains a limited part of the login shell's output if the shell does not run
// the command.
func TestLoginShellWithoutTheCommand(t *testing.T) {
	const endless = "while :; do echo Welcome; done"
	for _, tt := range []struct {
		name, startup string
		root          bool
		want          []string
		is            error
	}{
		{"exits", "echo This account is not available.; exit 0", false, []string{"does not run commands", `printed "This account is not available."`}, nil},
		{"fails", "echo This account is not available.; exit 1", false, []string{"exit code 1: This account is not available."}, nil},
		{"fails before sudo", "echo This account is not available.; exit 1", true, []string{"sudo refused: This account is not available."}, sshexec.ErrSudo},
		{"prints without end", endless, false, []string{"does not stop printing", "more than 1048576 bytes before the command"}, sshexec.ErrTooLarge},
		{"prints errors without end", "exec 1>&2; " + endless, true, []string{"does not stop printing"}, sshexec.ErrTooLarge},
		{"leads the output elsewhere", "exec >/dev/null", false, []string{"its standard output did not arrive"}, nil},
	} {
		check := func(t *testing.T, host *sshexec.Host) {
			t.Helper()
			out, err := host.Output(withinMinutes(t), sshexec.Command{Argv: []string{"echo", "hello"}, Root: tt.root})
			if err == nil || len(out) > 0 || tt.is != nil && !errors.Is(err, tt.is) || errors.Is(err, sshexec.ErrDisconnected) {
				t.Errorf("got %q, %v", out, err)
			}
			for _, want := range tt.want {
				if !strings.Contains(fmt.Sprint(err), want) {
					t.Errorf("%q is not in the error %v", want, err)
				}
			}
		}
		t.Run("simulated/"+tt.name, func(t *testing.T) {
			host, remote := connect(t, sshtest.Config{})
			put(t, remote, "/home/ubuntu/.bashrc", tt.startup)
			check(t, host)
		})
		if tt.root {
			continue // root needs no sudo
		}
		t.Run("real/"+tt.name, func(t *testing.T) {
			check(t, startBashSSHD(t, tt.startup, false).host(t))
		})
	}
}

// TestLoginShellThatShowsThePrompt checks that the password is sent when sudo asks, and not when the login shell prints the command line
// with the prompt. Otherwise a command that needs no password would read the password as its input.
func TestLoginShellThatShowsThePrompt(t *testing.T) {
	for name, asks := range map[string]string{
		"sudo asks":      `printf %s "$prompt" >&2; read -r password; [ "$password" = s3cret ] || exit 1; `,
		"sudo asks not":  "",
		"sudo asks late": `sleep 0.1; printf 'a lecture\n%s' "$prompt" >&2; read -r password; [ "$password" = s3cret ] || exit 1; `,
	} {
		for shows, startup := range map[string]string{
			"traced": "set -x", "printed": `echo "$BASH_EXECUTION_STRING" >&2`, "no newline": `printf %s "$BASH_EXECUTION_STRING" >&2`,
		} {
			t.Run(name+"/"+shows, func(t *testing.T) {
				bin := t.TempDir()
				fake := "#!/bin/sh\nprompt=$4; while [ \"$1\" != -- ]; do shift; done; shift; " + asks + "exec \"$@\"\n"
				if err := os.WriteFile(filepath.Join(bin, "sudo"), []byte(fake), 0o755); err != nil { //nolint:gosec // a program
					t.Fatal(err)
				}
				server := startBashSSHD(t, "PATH="+bin+":$PATH; "+startup, false)
				server.target.Sudo = sshexec.SudoPassword("s3cret")
				got, err := server.host(t).Output(withinMinutes(t), sshexec.Command{
					Shell: `cat; printf %s "$V"`, Env: map[string]string{"V": "value"}, Stdin: strings.NewReader("input|"), User: "someone",
				})
				if err != nil || string(got) != "input|value" {
					t.Errorf("got %q, %v", got, err)
				}
			})
		}
	}
}
