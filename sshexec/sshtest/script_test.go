package sshtest_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

func TestScript(t *testing.T) {
	initialize := sshtest.Call{
		Argv: []string{"kubeadm", "init"}, User: "root", Dir: "/tmp", Stdin: "a\nb\n", Env: map[string]string{"MODE": "x"},
		Stdout: "out\n", Stderr: "err\n", Code: 3,
	}
	join := sshtest.Call{Argv: []string{"/usr/bin/kubeadm", "join"}, Do: func(_ context.Context, p *sshtest.Process) int {
		_, _ = io.WriteString(p.Stdout, "done\n")
		return 0
	}}
	tests := []struct {
		name  string
		calls []sshtest.Call
		any   bool
		line  string
		out   string
		want  string // all failures
	}{
		{name: "as expected", calls: []sshtest.Call{initialize, join}, line: `cd /tmp; printf 'a\nb\n' | sudo MODE=x kubeadm init; echo $?; kubeadm join`, out: "out\n3\ndone\nerr\n"},
		{name: "any order", any: true, calls: []sshtest.Call{{Argv: []string{"a"}}, {Argv: []string{"b"}}, {Argv: []string{"b"}}}, line: `b && a && b && echo ok`, out: "ok\n"},
		{
			name: "all wrong", calls: []sshtest.Call{initialize}, line: `printf 'a\nc\n' | kubeadm reset --force; echo $?`,
			out: "126\nkubeadm: the test did not expect this\n",
			want: `sshtest: host host: call 1 of the script is another one (- expected, + came):
  argv:
      "kubeadm"
    - "init"
    + "reset"
    + "--force"
  environment MODE:
    - x
    + 
  user:
    - root
    + ubuntu
  directory:
    - /tmp
    + /home/ubuntu
  stdin:
      a
    - b
    + c
      
`,
		},
		{
			name: "long input", calls: []sshtest.Call{{Argv: []string{"a"}, Stdin: "1\n2\n3\n4\n5\n6\n7\n8\n9\n"}}, line: "seq 9 | tr 5 x | a", out: "a: the test did not expect this\n",
			want: "sshtest: host host: call 1 of the script is another one (- expected, + came):\n  stdin:\n      ...\n      2\n      3\n      4\n    - 5\n    + x\n      6\n      7\n      8\n      ...\n",
		},
		{name: "one too many", calls: []sshtest.Call{{Argv: []string{"a"}}}, line: "a; a x", out: "a: the test did not expect this\n", want: `sshtest: host host: one call more than the script has: ["a" "x"]`},
		{
			name: "another program", calls: []sshtest.Call{{Argv: []string{"a"}}, {Argv: []string{"b"}}}, line: "b", out: "b: the test did not expect this\n",
			want: "sshtest: host host: call 1 of the script is another one (- expected, + came):\n  argv:\n    - \"a\"\n    + \"b\"\n\nsshtest: call 2 of the script never came: [\"b\"]",
		},
		{name: "never came", calls: []sshtest.Call{{Argv: []string{"a"}}, {Argv: []string{"b", "c"}}}, line: "a", want: `sshtest: call 2 of the script never came: ["b" "c"]`},
		{
			name: "none fits", any: true, calls: []sshtest.Call{{Argv: []string{"a"}}, {Argv: []string{"a", "y"}}}, line: "a; a x", out: "a: the test did not expect this\n",
			want: "sshtest: host host: no call of the script fits:\n call 2 (- expected, + came):\n  argv:\n      \"a\"\n    - \"y\"\n    + \"x\"\n\n" +
				`sshtest: call 2 of the script never came: ["a" "y"]`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := &notes{TB: t}
			script := sshtest.Script
			if tt.any {
				script = sshtest.ScriptAnyOrder
			}
			h := sshtest.Start(t, sshtest.Config{Commands: script(n, tt.calls...)})
			out, _ := run(t, h, tt.line, "")
			if diff := cmp.Diff(tt.out, out); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.want, strings.Join(n.end(), "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestScriptWaits(t *testing.T) {
	answer := make(chan struct{})
	h := sshtest.Start(t, sshtest.Config{Commands: sshtest.Script(t, sshtest.Call{Argv: []string{"a"}, Stdout: "late\n", Wait: answer})})
	out := make(chan string, 1)
	go func() {
		text, _ := run(t, h, "a", "")
		out <- text
	}()
	eventually(t, func() bool { return len(h.Commands()) == 1 })
	select {
	case text := <-out:
		t.Errorf("the program did not wait: %q", text)
	default:
	}
	close(answer)
	if text := <-out; text != "late\n" {
		t.Errorf("got %q", text)
	}
}
