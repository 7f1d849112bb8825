package sshtest_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"al.essio.dev/pkg/shellescape"
	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// FuzzArguments checks that an argument reaches a program unchanged, also where the host quotes it for a trap, and that the
// host does not run its text as shell code.
func FuzzArguments(f *testing.F) {
	for _, arg := range []string{"", "a b", "'", `"$(x)"`, "$$", "$!", "\n", "\\", "a\tb\x7f", "-n", ":wait", "ü", "*", "~", "!", "#"} {
		f.Add(arg)
	}
	got := make(chan []string, 10)
	h, err := sshtest.New(sshtest.Config{Commands: map[string]sshtest.Command{
		"tool": func(_ context.Context, p *sshtest.Process) int { got <- slices.Clone(p.Args); return 0 },
	}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = h.Close() })
	f.Fuzz(func(t *testing.T, arg string) {
		if strings.ContainsAny(arg, "\x00") || strings.ToValidUTF8(arg, "") != arg {
			return // not a possible argument, or not supported by the interpreter
		}
		line := `sh -c 'tool "$@"; trap : TERM; kill $$; tool "$@"; f() { tool "$@" & wait; }; f "$@"; eval "tool \"\$@\""' sh ` + shellescape.Quote(arg)
		out, code := run(t, h, line, "")
		if code != 0 {
			t.Fatalf("%q: %d %s", arg, code, out)
		}
		for range 4 {
			if args := <-got; !slices.Equal(args, []string{"tool", arg}) {
				t.Errorf("the argument %q reached the program as %q", arg, args)
			}
		}
	})
}

// FuzzShell checks that no script makes a host panic or prevents it from closing.
func FuzzShell(f *testing.F) {
	for _, script := range realThing {
		f.Add(script)
	}
	f.Add("if")
	f.Add("trap '' TERM; (a & b) | c; wait $!")
	f.Fuzz(func(t *testing.T, script string) {
		h, err := sshtest.New(sshtest.Config{})
		if err != nil {
			t.Fatal(err)
		}
		client, err := login(t, h, "ubuntu", "ubuntu")
		if err != nil {
			t.Fatal(err)
		}
		session, err := client.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		_ = session.Start(script)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = session.Wait()
		}()
		select {
		case <-ended:
		case <-time.After(300 * time.Millisecond):
			_ = session.Signal(ssh.SIGTERM)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		<-ended
	})
}
