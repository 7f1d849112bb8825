package sshexec_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/sshexec"
)

// TestSudoLineInARealShell runs the command line for sudo in a real shell, with a sudo that prints its options. The words after the
// options must reach the command.
func TestSudoLineInARealShell(t *testing.T) {
	if _, err := exec.LookPath("/bin/sh"); err != nil {
		t.Skip("no /bin/sh on this machine")
	}
	bin := t.TempDir()
	fake := "#!/bin/sh\nwhile [ \"$1\" != -- ]; do echo \"option $1\"; shift; done; shift; exec \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "sudo"), []byte(fake), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	dir := t.TempDir()
	c := sshexec.Command{
		Shell: `printf '%s|' "$V" "$PWD"; set | grep -c '^_sshexec' || :; cat`, Root: true, Dir: dir, Env: map[string]string{"V": "it's\n\\n $x"},
	}
	for sudo, options := range map[*sshexec.Sudo]string{
		new(sshexec.Sudo{}):                 "option -H\noption -n\n",
		new(sshexec.SudoPassword("s3cret")): "option -H\noption -S\noption -p\noption PROMPT\n",
	} {
		line, env, err := sshexec.CommandLine(offline("u", *sudo), c)
		if err != nil {
			t.Fatal(err)
		}
		want := options + "it's\n\\n $x|" + dir + "|0\nrest"
		if got := string(realShell(t, line, []byte(env+"rest"))); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if strings.Contains(line, "it's") {
			t.Errorf("a value is on the command line: %s", line)
		}
	}
}
