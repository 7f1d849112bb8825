package sshtest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

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
		{"umask told", "umask; umask 027; umask; sh -c umask; sudo sh -c umask", "", "0022\n0027\n0027\n0027\n", 0},
		{"umask of programs", "cd /tmp; umask 077; sh -c 'mkdir d; touch d/t; cp d/t d/c; seq 1 | tee d/e >/dev/null; mkdir -m 755 d/m; install -m 644 d/t d/i'; stat -c '%a %n' d d/*; rm -r d", "",
			"700 /tmp/d\n600 /tmp/d/c\n600 /tmp/d/e\n644 /tmp/d/i\n755 /tmp/d/m\n600 /tmp/d/t\n", 0},
		{"umask", "umask 077; echo > /tmp/u; stat -c %a /tmp/u; rm /tmp/u", "", "600\n", 0},
		{"cat passes stdin", "read -r a; echo \"[$a]\"; cat", "one\ntwo\nthree", "[one]\ntwo\nthree", 0},
		{"env", "env -i A=1 sh -c 'echo $A$USER'", "", "1\n", 0},
		{"background", "(echo a) & wait; echo b", "", "a\nb\n", 0},
		{"names", "hostname; whoami; uname -n; cat /etc/hostname; pwd; echo ~root ~", "", "node1\nubuntu\nnode1\nnode1\n/home/ubuntu\n/root /home/ubuntu\n", 0},
		{"timeout", "timeout 0.05 sleep 30", "", "", 124},
		{"flock", "flock -o /tmp/l sh -c ': >/tmp/locked; sleep 0.05; echo a' & until [ -e /tmp/locked ]; do sleep 0.01; done; flock /tmp/l echo b; wait; rm /tmp/locked", "", "a\nb\n", 0},
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

func TestLargeInputThatNobodyReads(t *testing.T) {
	h := sshtest.Start(t, sshtest.Config{})
	if err := afero.WriteFile(h.FS(), "/tmp/large", make([]byte, 1<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, code := run(t, h, "true < /tmp/large; exec < /tmp/large; echo done", strings.Repeat("x", 1<<20)); out != "done\n" || code != 0 {
		t.Errorf("%d %q", code, out)
	}
}
