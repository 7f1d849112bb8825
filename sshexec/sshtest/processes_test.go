package sshtest_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"
	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// TestProcesses compares the output of scripts about processes with the output of dash. P stands for any process id.
func TestProcesses(t *testing.T) {
	h := sshtest.Start(t, sshtest.Config{Commands: map[string]sshtest.Command{
		"writes": func(_ context.Context, p *sshtest.Process) int {
			for {
				if _, err := p.Stderr.Write(nil); err != nil {
					return 1
				}
			}
		},
		"idles": func(ctx context.Context, _ *sshtest.Process) int { <-ctx.Done(); return 1 },
	}})
	number := regexp.MustCompile(`\b1[0-9]{3}\b`)
	for _, tt := range []struct {
		name, line, out string
		code            int
	}{
		{"number of the shell", `a=$$; b=$(echo $$); c=$(sh -c 'echo $PPID'); [ $a = $b ] && [ $a = $c ] && echo same; sh -c "[ \$\$ = $a ] || echo other"`, "same\nother\n", 0},
		{"exec keeps it", `sh -c 'echo $$; exec sh -c "echo \$\$"' | uniq`, "P\n", 0},
		{"exec in a subshell does not", `a=$(sh -c 'echo $$; (exec sh -c "echo \$\$")' | uniq | wc -l); echo $a`, "2\n", 0},
		{"env, nohup and setsid keep it", `sh -c 'echo $$; exec env A=1 nohup setsid sh -c "echo \$\$"' | uniq`, "P\n", 0},
		{"kill of a job", `sleep 30 & p=$!; kill -0 $p && kill $p; wait $p; echo $?; kill -0 $p 2>/dev/null || echo gone`, "143\ngone\n", 0},
		{"kill by name and number", `for s in -9 -KILL "-s KILL" "-s SIGKILL"; do sleep 30 & kill $s -- $!; wait $!; echo $?; done`, "137\n137\n137\n137\n", 0},
		{"wait", `(exit 3) & a=$!; { exit 4; } & wait $a; echo $?; wait $!; echo $?; false & wait; echo $?; wait 1; echo $?`, "3\n4\n0\n127\nwait: pid 1 is not a child of this shell\n", 0},
		{"wait for several", `(sleep 0.05; exit 3) & a=$!; (exit 4) & wait $! $a; echo $?`, "3\n", 0},
		{"errexit", `set -e; false & wait $! || echo no; true & wait $!; false & wait $!; echo not here`, "no\n", 1},
		{"a job has no input", `cat & wait; cat`, "in", 0},
		{"a job of several commands", `{ echo a; : >/tmp/begun; sleep 30; echo b; } & until [ -e /tmp/begun ]; do sleep 0.01; done; kill $!; wait $!; echo $?`, "a\n143\n", 0},
		{"killed without a program", `sh -c 'while :; do :; done' & sleep 0.02; kill $!; wait $!; echo $?`, "143\n", 0},
		{"trap", `trap 'echo got' TERM; kill -TERM $$; echo after; trap - TERM; kill -TERM $$; echo not here`, "got\nafter\n", 143},
		{"trap while waiting", `trap 'kill $c' TERM; sleep 30 & c=$!; (sleep 0.05; kill $$) & wait $c; echo $?; wait $c; echo $?`, "143\n143\n", 0},
		{"ignored, also by children", `trap '' HUP; sh -c 'kill -HUP $$; echo still'; sleep 0.05 & kill -HUP $!; wait $!; echo $?`, "still\n0\n", 0},
		{"trap is not for children", `trap 'echo no' TERM; sh -c 'kill $$; echo not here'; echo $?`, "143\n", 0},
		{"KILL has no trap", `sh -c 'trap : KILL; trap "" KILL; kill -9 $$; echo not here'; echo $?`, "137\n", 0},
		{"without end", `cat /dev/zero >/dev/null & a=$!; sha256sum /dev/zero & b=$!; sleep 0.02; kill $a $b; wait $a; wait $b; echo $?`, "143\n", 0},
		{"writes on", `writes & sleep 0.02; kill $!; wait $!; echo $?`, "143\n", 0},
		{"exit trap", `trap 'echo bye $$' EXIT; exit 3`, "bye P\n", 3},
		{"exec leaves no exit trap", `trap 'echo not here' EXIT; exec printf '%s\n' here`, "here\n", 0},
		{"eval", `eval 'sleep 30 & kill $!; wait $!; echo $?'`, "143\n", 0},
		{"source", `echo 'echo $$; sleep 30 & kill $!; wait $!; echo $?' >/tmp/lib.sh; . /tmp/lib.sh; cd /tmp; . ./lib.sh; cat lib.sh | grep -c sleep`, "P\n143\nP\n143\n1\n", 0},
		{"command", `command eval 'echo $$'; command kill -0 $$ && command wait && echo ok`, "P\nok\n", 0},
		{"group", `sh -c 'sleep 30 & sleep 30' & setsid sh -c 'sleep 30 & sleep 30' >/dev/null 2>&1 </dev/null & p=$!; ` +
			`until [ "$(cat /proc/[0-9]*/stat 2>/dev/null | grep -c '(sleep)')" = 4 ]; do :; done; kill -- -$p; wait $p; echo $?; ` +
			`for f in /proc/[0-9]*/stat; do read -r a b c <$f; echo "$b"; done | sort >/tmp/s; uniq /tmp/s | grep -v sort`, "143\n(sh)\n(sleep)\n", 0},
		{"no such process", "kill 4", "kill: (4) - No such process\n", 1},
		{"not yours", `sudo idles & until cat /proc/[0-9]*/stat 2>/dev/null | grep -q '(idles)'; do :; done; kill -0 -- -$$; for f in /proc/[0-9]*/stat; do read -r a b c <$f; if [ "$b" = "(idles)" ]; then kill $a; fi; done`, "kill: (P) - Operation not permitted\n", 1},
		{"nobody's business", `sudo sh -c 'kill -0 $PPID && echo root may'`, "root may\n", 0},
		{"stat", `sh -c 'read -r s </proc/$$/stat; set -- ${s##*) }; echo $# $1; [ $3 = $4 ] && [ $2 = $PPID ] && [ ${20} -ge 0 ] && echo right'`, "50 S\nright\n", 0},
		{"cmdline", `sh -c "tr '\0' ' ' </proc/\$\$/cmdline" 'a b' c`, "sh -c tr '\\0' ' ' </proc/$$/cmdline a b c ", 0},
		{"environ", `A=1 sh -c "grep -c . /proc/\$\$/environ; tr '\0' '\n' </proc/\$\$/environ | grep ^A"`, "1\nA=1\n", 0},
		{"environ of others", `sudo sleep 30 & until cat /proc/[0-9]*/stat 2>/dev/null | grep -q '(sleep)'; do :; done; for f in /proc/[0-9]*/environ; do cat $f >/dev/null; done; kill -9 $!`, "cat: /proc/P/environ: Permission denied\n", 0},
		{"nothing is written there", `sudo sh -c 'echo >/proc/1/stat'`, "", 1},
		{"usage", "kill -s NONE 1", "", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, code := run(t, h, tt.line, "in")
			if tt.out == "" {
				out = ""
			}
			out = number.ReplaceAllString(out, "P")
			if diff := cmp.Diff(fmt.Sprint(tt.code, " ", tt.out), fmt.Sprint(code, " ", out)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestOutlives checks that a program started with setsid or nohup outlives its session and its connection, but not a restart of
// the host.
func TestOutlives(t *testing.T) {
	for _, start := range []string{"setsid", "nohup", "setsid -f", "exec setsid", "sudo setsid", "sudo env A=1 nohup"} {
		h := sshtest.Start(t, sshtest.Config{})
		line := start + ` sh -c 'echo $$ >/tmp/pid; cat; sleep 0.1; echo late; sleep 600' >/tmp/out 2>&1 </tmp/in`
		if !strings.HasSuffix(start, "-f") {
			line += " &"
		}
		run(t, h, "echo in >/tmp/in; "+line, "")
		h.CutConnections()
		eventually(t, func() bool { out, _ := run(t, h, "cat /tmp/out", ""); return out == "in\nlate\n" })
		if _, code := run(t, h, "sudo kill -0 $(cat /tmp/pid)", ""); code != 0 {
			t.Errorf("%s: the program ended with its session", start)
		}
		before, _ := run(t, h, "cat /proc/sys/kernel/random/boot_id; echo >/run/f", "")
		if err := h.Reboot(); err != nil {
			t.Error(err)
		}
		after, _ := run(t, h, "cat /proc/sys/kernel/random/boot_id; ls /run; kill -0 $(cat /tmp/pid) 2>/dev/null || echo gone", "")
		if len(before) != 37 || after == before || !strings.HasSuffix(after, "\ngone\n") || len(after) != 42 {
			t.Errorf("%s: after the restart: %q, before %q", start, after, before)
		}
	}
}

func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the condition was never met")
		}
	}
}

// TestJobsEndWithTheSession checks that background jobs that are not detached end with their session.
func TestJobsEndWithTheSession(t *testing.T) {
	h := sshtest.Start(t, sshtest.Config{})
	out, _ := run(t, h, "sleep 600 >/dev/null & echo $!; sh -c 'sleep 600 & sleep 600' & sleep 0.05", "")
	pid, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil {
		t.Fatal(out)
	}
	eventually(t, func() bool { _, code := run(t, h, fmt.Sprint("kill -0 ", pid), ""); return code == 1 })
	eventually(t, func() bool {
		out, _ := run(t, h, `for f in /proc/[0-9]*/stat; do read -r a b c <$f; echo "$b"; done`, "")
		return out == "(sh)\n"
	})
}

// TestSignals checks that a signal to the session reaches the process group.
func TestSignals(t *testing.T) {
	stopped := make(chan string, 3)
	h := sshtest.Start(t, sshtest.Config{Commands: map[string]sshtest.Command{
		"works": func(ctx context.Context, p *sshtest.Process) int {
			stopped <- "started"
			<-ctx.Done()
			stopped <- p.Args[1]
			return 0
		},
	}})
	for _, tt := range []struct {
		line, signal string
		want         string
	}{
		{"works a", "TERM", "TERM"},
		{"works a; echo not here", "INT", "INT"},
		{"exec works a", "KILL", "KILL"},
		{"trap 'exit 9' TERM; works a & wait", "TERM", "9"},
	} {
		client, err := login(t, h, "ubuntu", "ubuntu")
		if err != nil {
			t.Fatal(err)
		}
		session, err := client.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		if err := session.Start(tt.line); err != nil {
			t.Fatal(err)
		}
		<-stopped
		if err := session.Signal(ssh.Signal(tt.signal)); err != nil {
			t.Fatal(err)
		}
		var exit *ssh.ExitError
		err = session.Wait()
		if !errors.As(err, &exit) || exit.Signal() != tt.want && strconv.Itoa(exit.ExitStatus()) != tt.want {
			t.Errorf("%s: %v", tt.line, err)
		}
		<-stopped
	}
}

func TestRebootEndsWhatRuns(t *testing.T) {
	h := sshtest.Start(t, sshtest.Config{})
	client, err := login(t, h, "ubuntu", "ubuntu")
	if err != nil {
		t.Fatal(err)
	}
	session, err := client.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	if err := session.Start("echo x >/tmp/f; sleep 600"); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { ok, _ := afero.Exists(h.FS(), "/tmp/f"); return ok })
	if err := h.Reboot(); err != nil {
		t.Fatal(err)
	}
	var exit *ssh.ExitError
	if err := session.Wait(); err == nil || errors.As(err, &exit) {
		t.Errorf("got %v", err)
	}
}
