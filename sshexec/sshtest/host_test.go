package sshtest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"
	"go.uber.org/goleak"
	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// login connects to a host with a plain SSH client.
func login(t *testing.T, h *sshtest.Host, user, password string) (*ssh.Client, error) {
	t.Helper()
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(h.PublicKey()))
	if err != nil {
		t.Fatal(err)
	}
	client, err := ssh.Dial("tcp", h.Addr(), &ssh.ClientConfig{
		User: user, Auth: []ssh.AuthMethod{ssh.Password(password)}, HostKeyCallback: ssh.FixedHostKey(key), Timeout: 5 * time.Second,
	})
	if err == nil {
		t.Cleanup(func() { _ = client.Close() })
	}
	return client, err
}

// run runs a command line and returns its output, standard error after
// standard output, and its exit code.
func run(t *testing.T, h *sshtest.Host, line, stdin string) (string, int) {
	t.Helper()
	client, err := login(t, h, "ubuntu", "ubuntu")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	session, err := client.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	var stdout, stderr bytes.Buffer
	session.Stdin, session.Stdout, session.Stderr = strings.NewReader(stdin), &stdout, &stderr
	err = session.Run(line)
	var exit *ssh.ExitError
	if errors.As(err, &exit) {
		return stdout.String() + stderr.String(), exit.ExitStatus()
	}
	if err != nil && !errors.Is(err, io.EOF) { // EOF: it ended without reading its input
		t.Fatal(err)
	}
	return stdout.String() + stderr.String(), 0
}

func TestShell(t *testing.T) {
	h := sshtest.Start(t, sshtest.Config{Name: "node1", Commands: map[string]sshtest.Command{
		"kubeadm": func(_ context.Context, p *sshtest.Process) int {
			_, _ = fmt.Fprintf(p.Stdout, "%s %q\n", p.User, p.Args[1:])
			return 0
		},
	}})
	for name, text := range map[string]string{
		"/home/ubuntu/script.sh": "#!/bin/bash\nset -euo pipefail\nadd() { echo $(($1 + $2)); }\na=(x y)\necho \"$0 $1 ${a[1]} $V $(add 1 2)\"\nexit 4\n",
		"/home/ubuntu/lib.sh":    "greet() { echo \"hello $1\"; }\n",
		"/usr/local/bin/tool":    "#!/usr/bin/env bash\necho \"tool $*\"\n",
	} {
		if err := afero.WriteFile(h.FS(), name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name, line, stdin, out string
		code                   int
	}{
		{"empty", "", "", "", 0},
		{"pipeline", "printf 'b\\na\\nb\\n' | sort -u | tr a-z A-Z", "", "A\nB\n", 0},
		{"exit code", "exit 7", "", "", 7},
		{"script by path", "V=v ./script.sh arg", "", "./script.sh arg y v 3\n", 4},
		{"script by bash", "V=v bash -e script.sh arg", "", "script.sh arg y v 3\n", 4},
		{"sh -c", `sh -c 'echo "$0 $1"' zero one`, "", "zero one\n", 0},
		{"bash -s", "bash -s one two", "echo \"$# $2\"\n", "2 two\n", 0},
		{"source", ". ./lib.sh; greet you", "", "hello you\n", 0},
		{"source without a slash", "source lib.sh && greet you", "", "hello you\n", 0},
		{"in PATH", "tool a b", "", "tool a b\n", 0},
		{"registered", "sudo kubeadm init 'a b'", "", "root [\"init\" \"a b\"]\n", 0},
		{"registered by path", "/usr/bin/kubeadm reset", "", "ubuntu [\"reset\"]\n", 0},
		{"command -v", "command -v kubeadm tool nothing || echo none; type nothing || echo none", "", "none\nnone\n", 0},
		{"command -v found", "command -v kubeadm; which tool", "", "/usr/bin/kubeadm\n/usr/local/bin/tool\n", 0},
		{"command runs", "command cat lib.sh | wc -l", "", "1\n", 0},
		{"exec of a builtin", `exec echo "$HOME"`, "", "/home/ubuntu\n", 0},
		{"sudo of a builtin", "sudo sh -c 'echo $HOME; id -u; echo $UID'; id -u", "", "/root\n0\n0\n1000\n", 0},
		{"here document", "cat <<EOF | grep -v x\na\nx\n$HOME\nEOF", "", "a\n/home/ubuntu\n", 0},
		{"redirections", "cd /tmp && echo x > f && echo y >> f && cat < f 2>/dev/null; rm f; ls", "", "x\ny\n", 0},
		{"globbing", "mkdir /tmp/g; touch /tmp/g/1.c /tmp/g/2.c; cd /tmp/g; echo *.c; rm -r /tmp/g", "", "1.c 2.c\n", 0},
		{"umask told", "umask; umask 027; umask", "", "0022\n0027\n", 0},
		{"umask", "umask 077; echo > /tmp/u; stat -c %a /tmp/u; rm /tmp/u", "", "600\n", 0},
		{"cat passes stdin", "read -r a; echo \"[$a]\"; cat", "one\ntwo\nthree", "[one]\ntwo\nthree", 0},
		{"env", "env -i A=1 sh -c 'echo $A$USER'", "", "1\n", 0},
		{"background", "(echo a) & wait; echo b", "", "a\nb\n", 0},
		{"names", "hostname; whoami; uname -n; cat /etc/hostname; pwd; echo ~root ~", "", "node1\nubuntu\nnode1\nnode1\n/home/ubuntu\n/root /home/ubuntu\n", 0},
		{"timeout", "timeout 0.05 sleep 30", "", "", 124},
		{"flock", "flock -o /tmp/l sh -c 'sleep 0.05; echo a' & sleep 0.01; flock /tmp/l echo b; wait", "", "a\nb\n", 0},
		{"flock of a lock that is held", "flock /tmp/l timeout 0.05 flock /tmp/l true", "", "", 124},
		{"install", "echo x > /tmp/i; sudo install -D -m 640 -o root -g daemon /tmp/i /opt/a/b; stat -c '%a %U:%G %s' /opt/a/b", "", "640 root:daemon 2\n", 0},
		{"cut and grep", "printf 'a:1\\nab:2\\n' | grep -E '^a:' | cut -d: -f2", "", "1\n", 0},
		{"head and tail", "seq 5 | tail -n +2 | head -2; seq 3 | tail -1", "", "2\n3\n3\n", 0},
		{"chmod", "echo x > /tmp/c; chmod u+x,go-r /tmp/c; stat -c %a /tmp/c; rm /tmp/c", "", "700\n", 0},
		{"sha256sum", "printf x | sha256sum", "", "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881  -\n", 0},
		{"permission to write", "echo x > /etc/f", "", "/etc/f: Permission denied\n", 1},
		{"permission to read", "echo k | sudo tee /etc/k >/dev/null; sudo chmod 600 /etc/k; cat /etc/k", "", "cat: /etc/k: Permission denied\n", 1},
		{"chown gives", "sudo mkdir /opt/mine; sudo chown ubuntu /opt/mine; echo x > /opt/mine/f; cat /opt/mine/f", "", "x\n", 0},
		{"no such file", "cat /none", "", "cat: /none: No such file or directory\n", 1},
		{"no parent", "mkdir /tmp/a/b", "", "mkdir: /tmp/a/b: No such file or directory\n", 1},
		{"syntax error", "if", "", "sh:1:1: `if` must be followed by a statement list\n", 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, code := run(t, h, tt.line, tt.stdin)
			if tt.name == "permission to write" {
				out = out[max(0, strings.Index(out, "/etc/f")):]
			}
			if diff := cmp.Diff(fmt.Sprint(tt.code, " ", tt.out), fmt.Sprint(code, " ", out)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestConfinement tries to reach the real machine from a script.
func TestConfinement(t *testing.T) {
	outside := t.TempDir()
	canary := filepath.Join(outside, "canary")
	if err := os.WriteFile(canary, []byte("CANARY-7f3a\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	relative := strings.Repeat("../", 30) + strings.TrimPrefix(canary, "/")
	dir := filepath.Join(outside, "world")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", outside+":"+os.Getenv("PATH"))
	t.Setenv("CANARY_VARIABLE", "CANARY-7f3a")
	for name, c := range map[string]sshtest.Config{"memory": {}, "directory": {Dir: dir}} {
		h, err := sshtest.New(c)
		if err != nil {
			t.Fatal(err)
		}
		if c.Dir != "" { // a link that leads out must not be followed
			if err := os.Symlink(outside, filepath.Join(dir, "tmp", "link")); err != nil {
				t.Fatal(err)
			}
		}
		for _, script := range []string{
			"cat %s", "read -r a < %s; echo $a", "echo pwned > %s", "echo pwned >> %s", "tee %s", "cp %s /tmp/x; cat /tmp/x", "rm -f %s", "mv %s /tmp/y; cat /tmp/y",
			". %s", "source %s", "sh %s", "%s", "exec %s", "exec < %s; cat", "chmod 777 %s", "touch %s",
			"head %s", "grep CANARY %s", "sha256sum %s && echo CANARY-7f3a", "cat <(cat %s)", "eval 'cat <(cat %s)'", "trap 'cat <(cat %s)' EXIT",
			"mapfile -t a < %s; echo ${a[@]}", "[ -e %s ] && echo CANARY-7f3a", "test -O %s && echo CANARY-7f3a", "[[ -G %s ]] && echo CANARY-7f3a",
			"x=$(<%s); echo $x", "find %s", "ls %s*", "echo %s*", "cd $(dirname %s) && cat canary",
		} {
			for _, at := range []string{canary, relative, "/tmp/link/canary", "link/canary"} {
				out, _ := run(t, h, "cd /tmp; "+strings.ReplaceAll(script, "%s", "'"+at+"'"), "pwned\n")
				// A glob without a match is the pattern itself.
				if strings.Contains(out, "CANARY-7f3a") {
					t.Errorf("%s: %q reads the canary: %s", name, script, out)
				}
			}
		}
		for _, script := range []string{
			"command -v canary", "type canary", "hash canary", "canary", "which canary", "command canary", "builtin command -v canary", "command command -v canary",
			"set; env; export", "cat /proc/self/environ", "echo ~daemon ~$(whoami)", "echo $CANARY_VARIABLE", "/bin/bash -c 'cat " + canary + "'",
			"declare -p", "echo $HOME $UID $EUID $TMPDIR $PWD", "ls -la " + outside,
		} {
			out, _ := run(t, h, script, "")
			if strings.Contains(out, "CANARY") || strings.Contains(out, outside+"/canary") && !strings.Contains(script, outside) {
				t.Errorf("%s: %q knows the canary: %s", name, script, out)
			}
		}
		content, err := os.ReadFile(canary)
		if err != nil || string(content) != "CANARY-7f3a\n" {
			t.Errorf("%s: the canary is %q, %v", name, content, err)
		}
		if entries, _ := os.ReadDir(outside); len(entries) != 2 {
			t.Errorf("%s: something was made outside: %v", name, entries)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestNoRealPipe: the interpreter makes a real named pipe for a process
// substitution, wherever the text of it comes from.
func TestNoRealPipe(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	h := sshtest.Start(t, sshtest.Config{})
	for _, script := range []string{
		"echo <(:)", "eval 'echo <(:)'", "trap 'echo <(:)' EXIT", "echo 'echo <(:)' > /tmp/s; . /tmp/s", "export TMPDIR=" + temp + "; eval 'echo <(:)'",
		"TMPDIR=" + temp + " sh -c \"eval 'echo <(:)'\"", "sudo sh -c \"eval 'echo >(:)'\"",
	} {
		out, _ := run(t, h, script, "")
		if strings.Contains(out, temp) {
			t.Errorf("%s: a pipe was made: %s", script, out)
		}
	}
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

func TestSudoPassword(t *testing.T) {
	h := sshtest.Start(t, sshtest.Config{SudoPassword: "right"})
	for _, tt := range []struct {
		line, stdin, out string
		code             int
	}{
		{"sudo -S -p ASK: cat", "right\nrest", "restASK:", 0},
		{"sudo -S -p ASK: cat", "wrong\nright\nrest", "restASK:Sorry, try again.\nASK:", 0},
		{"sudo -S -p ASK: cat", "wrong\n", "ASK:Sorry, try again.\nASK:sudo: no password was provided\n", 1},
		{"sudo -n true", "", "sudo: a password is required\n", 1},
		{"sudo true", "", "sudo: a terminal is required to read the password\n", 1},
	} {
		out, code := run(t, h, tt.line, tt.stdin)
		if diff := cmp.Diff(fmt.Sprint(tt.code, tt.out), fmt.Sprint(code, out)); diff != "" {
			t.Errorf("%s: %s", tt.line, diff)
		}
	}
}

func TestRecords(t *testing.T) {
	h := sshtest.Start(t, sshtest.Config{Commands: map[string]sshtest.Command{
		"tool": func(context.Context, *sshtest.Process) int { return 3 },
	}})
	run(t, h, "cd /tmp; A=1 sudo tool x; cat /dev/null", "")
	type short struct {
		Argv      []string
		User, Dir string
		BuiltIn   bool
		Code      int
		Finished  bool
	}
	var got []short
	for _, r := range h.Commands() {
		got = append(got, short{r.Argv, r.User, r.Dir, r.BuiltIn, r.Code, r.Finished})
		if r.Start.IsZero() || r.End.Before(r.Start) {
			t.Errorf("times of %q: %v, %v", r.Argv, r.Start, r.End)
		}
	}
	want := []short{
		{[]string{"sudo", "tool", "x"}, "ubuntu", "/tmp", true, 3, true},
		{[]string{"tool", "x"}, "root", "/tmp", false, 3, true},
		{[]string{"cat", "/dev/null"}, "ubuntu", "/tmp", true, 0, true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// failures counts instead of failing the test.
type failures struct {
	testing.TB
	count atomic.Int32
}

func (f *failures) Errorf(string, ...any) { f.count.Add(1) }

func TestUnexpectedCommandFailsTheTest(t *testing.T) {
	f := &failures{TB: t}
	h := sshtest.Start(f, sshtest.Config{})
	if _, code := run(t, h, "helm version", ""); code != 127 {
		t.Errorf("exit code %d", code)
	}
	if f.count.Load() != 1 {
		t.Errorf("the test failed %d times", f.count.Load())
	}
	run(t, h, "command -v helm", "")
	if f.count.Load() != 1 {
		t.Error("looking for a program counts as running it")
	}
}

func TestCutBeforeACommandStarts(t *testing.T) {
	var ran atomic.Bool
	h := sshtest.Start(t, sshtest.Config{Commands: map[string]sshtest.Command{
		"tool": func(context.Context, *sshtest.Process) int { ran.Store(true); return 0 },
	}})
	h.OnCommand(func(r sshtest.Record) {
		if r.Argv[0] == "tool" {
			h.CutConnections()
		}
	})
	client, err := login(t, h, "ubuntu", "ubuntu")
	if err != nil {
		t.Fatal(err)
	}
	session, err := client.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	var exit *ssh.ExitError
	if err := session.Run("tool; tool"); err == nil || errors.As(err, &exit) {
		t.Errorf("got %v", err)
	}
	if err := h.Close(); err != nil { // waits for what runs
		t.Error(err)
	}
	if ran.Load() {
		t.Error("the program ran although the connection was cut before")
	}
}

func TestRefuse(t *testing.T) {
	h := sshtest.Start(t, sshtest.Config{})
	h.Refuse(true)
	if _, err := login(t, h, "ubuntu", "ubuntu"); err == nil {
		t.Error("a host that is down let somebody in")
	}
	h.Refuse(false)
	if _, err := login(t, h, "ubuntu", "ubuntu"); err != nil {
		t.Error(err)
	}
}

func TestHostSurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	first := sshtest.Start(t, sshtest.Config{Dir: dir})
	run(t, first, "sudo sh -c 'echo kept > /etc/kept'", "")
	second := sshtest.Start(t, sshtest.Config{Dir: dir, HostKey: first.HostKeyPEM()})
	if out, _ := run(t, second, "cat /etc/kept", ""); out != "kept\n" || first.PublicKey() != second.PublicKey() {
		t.Errorf("got %q", out)
	}
}

func TestLargeInputThatNobodyReads(t *testing.T) {
	h := sshtest.Start(t, sshtest.Config{})
	if err := afero.WriteFile(h.FS(), "/tmp/large", make([]byte, 1<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, code := run(t, h, "true < /tmp/large; exec < /tmp/large; echo done", strings.Repeat("x", 1<<20)); out != "done\n" || code != 0 {
		t.Errorf("%d %q", code, out)
	}
}
