package sshexec_test

import (
	"bytes"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/sshexec"
)

func offline(user string, sudo sshexec.Sudo) *sshexec.Host {
	return sshexec.NewPool(sshexec.Options{}).Host(sshexec.Target{Addr: "192.0.2.1", User: user, Sudo: sudo})
}

func TestCommandLineGolden(t *testing.T) {
	tests := []struct {
		name    string
		user    string
		sudo    sshexec.Sudo
		command sshexec.Command
		line    string
		env     string
	}{
		{
			name: "argv", user: "u",
			command: sshexec.Command{Argv: []string{"kubeadm", "init", "--config=/tmp/a b.yaml", ""}},
			line:    `exec /bin/sh -c ` + sshexec.Frame + ` sh MARKER 0 '' kubeadm init '--config=/tmp/a b.yaml' ''`,
		},
		{
			name: "shell", user: "u",
			command: sshexec.Command{Shell: `echo "it's" | cat`},
			line:    `exec /bin/sh -c ` + sshexec.Frame + ` sh MARKER 0 '' /bin/sh -c 'echo "it'"'"'s" | cat'`,
		},
		{
			name: "environment and directory", user: "u",
			command: sshexec.Command{Argv: []string{"x"}, Dir: "/a b", Env: map[string]string{"B": "1\n2", "A": "it's"}},
			line:    `exec /bin/sh -c ` + sshexec.Frame + ` sh MARKER 2 '/a b' x`,
			env:     "export A='it'\"'\"'s'\nexport B=1\"$_sshexec_nl\"2\n",
		},
		{
			name: "root without a password", user: "u",
			command: sshexec.Command{Argv: []string{"x", "y"}, Root: true},
			line:    `exec sudo -H -n -- /bin/sh -c ` + sshexec.Frame + ` sh MARKER 0 '' x y`,
		},
		{
			name: "root with a password", user: "u", sudo: sshexec.SudoPassword("s3cret"),
			command: sshexec.Command{Shell: "x; y", Root: true},
			line:    `exec sudo -H -S -p PROMPT -- /bin/sh -c ` + sshexec.Frame + ` sh MARKER 0 '' /bin/sh -c 'x; y'`,
		},
		{
			name: "root as root", user: "root",
			command: sshexec.Command{Argv: []string{"x"}, Root: true},
			line:    `exec /bin/sh -c ` + sshexec.Frame + ` sh MARKER 0 '' x`,
		},
		{
			name: "another user", user: "u", sudo: sshexec.SudoPassword("s3cret"),
			command: sshexec.Command{Argv: []string{"x"}, User: "www-data"},
			line:    `exec sudo -H -S -p PROMPT -u www-data -- /bin/sh -c ` + sshexec.Frame + ` sh MARKER 0 '' x`,
		},
		{
			name: "another user as root", user: "root",
			command: sshexec.Command{Argv: []string{"x"}, User: "www-data"},
			line:    `exec sudo -H -n -u www-data -- /bin/sh -c ` + sshexec.Frame + ` sh MARKER 0 '' x`,
		},
		{
			name: "the login user", user: "u",
			command: sshexec.Command{Argv: []string{"x"}, User: "u"},
			line:    `exec /bin/sh -c ` + sshexec.Frame + ` sh MARKER 0 '' x`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			line, env, err := sshexec.CommandLine(offline(tt.user, tt.sudo), tt.command)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{tt.line, tt.env}, []string{line, env}); diff != "" {
				t.Error(diff)
			}
			if strings.Contains(line, "s3cret") {
				t.Error("the password is on the command line")
			}
			if strings.Contains(sshexec.Frame, "\n") {
				t.Error("frame has more than one line, which csh does not accept")
			}
		})
	}
}

// realShell runs a command line on this machine as sshd does. It returns the output after the line of frame.
func realShell(t *testing.T, line string, stdin []byte) []byte {
	t.Helper()
	if _, err := exec.LookPath("/bin/sh"); err != nil {
		t.Skip("no /bin/sh on this machine")
	}
	c := exec.CommandContext(t.Context(), "/bin/sh", "-c", line)
	c.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, stderr.String(), line)
	}
	begun := begunLine.FindIndex(out)
	if begun == nil {
		t.Fatalf("the output lacks the line of frame: %q\n%s", out, line)
	}
	return slices.Delete(out, begun[0], begun[1])
}

var begunLine = regexp.MustCompile(`(?m)^MARKER [0-9]+ [0-9]*\n`)

var awkward = []string{
	"", " ", "plain", "a b", "it's", `"`, `\`, `\\`, `\n`, "\n", "\n\n", "a\nb\n", "\r\n", "\t", "$HOME", "`id`", "$(id)", "*", "~", "!", "-n", "--",
	"\xff\xfe", "\x80\x81\x82\x88", "\x01\x7f", "é", "'\"'\"'", "';id;'", "_sshexec_nl", `"$_sshexec_nl"`, "%s", "#", "&", "|",
}

func FuzzQuoting(f *testing.F) {
	for i, seed := range awkward {
		f.Add(seed, awkward[(i+7)%len(awkward)], awkward[(i+13)%len(awkward)])
	}
	f.Fuzz(func(t *testing.T, arg, value, input string) {
		c := sshexec.Command{Argv: []string{"/bin/sh", "-c", `printf "%s|%s|" "$1" "$V"; cat`, "sh", arg}, Env: map[string]string{"V": value}}
		line, env, err := sshexec.CommandLine(offline("u", sshexec.Sudo{}), c)
		if strings.ContainsRune(arg+value, 0) {
			if err == nil {
				t.Fatal("a NUL byte was accepted")
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		got := realShell(t, line, []byte(env+input))
		if want := arg + "|" + value + "|" + input; string(got) != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func FuzzShellText(f *testing.F) {
	for _, seed := range awkward {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		// The text in a here-document shows what the shell got. The end mark is a letter that the text does not
		// contain: dash loses bytes after a partial end mark.
		end := strings.IndexFunc("ABCDEFGHIJKLMNOPQRSTUVWXYZ", func(r rune) bool { return !strings.ContainsRune(text, r) })
		if strings.ContainsRune(text, 0) || end < 0 {
			t.Skip("cannot be asked in this way")
		}
		marker := string(rune('A' + end))
		line, _, err := sshexec.CommandLine(offline("u", sshexec.Sudo{}), sshexec.Command{Shell: sshexec.Shell("cat <<'" + marker + "'\n" + text + "\n" + marker + "\n")})
		if err != nil {
			t.Fatal(err)
		}
		if got := realShell(t, line, nil); string(got) != text+"\n" {
			t.Errorf("got %q, want %q", got, text+"\n")
		}
	})
}
