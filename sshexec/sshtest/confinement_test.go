package sshtest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// TestConfinement runs scripts that try to read from or write to the real machine.
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
		if c.Dir != "" { // the host must not follow a link to a file outside of its directory
			if err := os.Symlink(outside, filepath.Join(dir, "tmp", "link")); err != nil {
				t.Fatal(err)
			}
		}
		for _, script := range []string{
			"cat %s", "read -r a < %s; echo $a", "echo pwned > %s", "echo pwned >> %s", "tee %s", "cp %s /tmp/x; cat /tmp/x", "rm -f %s", "mv %s /tmp/y; cat /tmp/y",
			". %s", "source %s", "sh %s", "%s", "exec %s", "exec < %s; cat", "chmod 777 %s", "touch %s",
			"head %s", "grep CANARY %s", "sha256sum %s && echo CANARY-7f3a", "cat <(cat %s)", "eval 'cat <(cat %s)'", "trap 'cat <(cat %s)' EXIT",
			"mapfile -t a < %s; echo ${a[@]}", "[ -e %s ] && echo CANARY-7f3a", "test -O %s && echo CANARY-7f3a", "[[ -G %s ]] && echo CANARY-7f3a",
			"x=$(<%s); echo $x", "find %s -exec cat {} \\;", "ls %s*", "ln -sf %s /tmp/z; cat /tmp/z; echo pwned >/tmp/z", "dd if=%s", "head -c 9 %s", "ln -sfn / /tmp/r; cat /tmp/r%s",
			"nohup cat %s", "setsid cat %s", "xargs -0 cat <%s", "echo %s | xargs cat", "trap 'cat %s' TERM; kill $$; :", "cat %s & wait", "readlink -f %s | xargs cat", "cmp -s %s %s && echo CANARY-7f3a", "echo %s*", "cd $(dirname %s) && cat canary",
		} {
			for _, at := range []string{canary, relative, "/tmp/link/canary", "link/canary"} {
				out, _ := run(t, h, "cd /tmp; "+strings.ReplaceAll(script, "%s", "'"+at+"'"), "pwned\n")
				// A glob without a match expands to the pattern itself.
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
				t.Errorf("%s: the output of %q contains the canary: %s", name, script, out)
			}
		}
		content, err := os.ReadFile(canary)
		if err != nil || string(content) != "CANARY-7f3a\n" {
			t.Errorf("%s: the canary is %q, %v", name, content, err)
		}
		if entries, _ := os.ReadDir(outside); len(entries) != 2 {
			t.Errorf("%s: files were created outside of the host: %v", name, entries)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestNoRealPipe checks that no process substitution creates a named pipe on the real machine, wherever its text comes from.
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
			t.Errorf("%s: a named pipe was created: %s", script, out)
		}
	}
}
