package sshexec_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/sshexec"
)

// Lines writes the output of several hosts in whole lines.
func ExampleLines() {
	lines := sshexec.NewLines(os.Stdout)
	web, db := lines.Of("web-1"), lines.Of("db-1")
	fmt.Fprint(web, "starting ")
	fmt.Fprint(db, "ready\n")
	fmt.Fprint(web, "nginx\nstarted")
	web.Close()
	db.Close()
	// Output:
	// db-1: ready
	// web-1: starting nginx
	// web-1: started
}

func TestLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 64<<10)
	for name, c := range map[string]struct {
		writes []string
		want   string
	}{
		"nothing":                {nil, ""},
		"empty lines":            {[]string{"\n\n"}, "h: \nh: \n"},
		"pieces":                 {[]string{"a", "b\nc", "", "\r\n"}, "h: ab\nh: c\r\n"},
		"no end":                 {[]string{"a\nb"}, "h: a\nh: b\n"},
		"a line as long":         {[]string{long, "\n"}, "h: " + long + "\nh: \n"},
		"a longer line":          {[]string{long + "y\nz\n"}, "h: " + long + "\nh: y\nh: z\n"},
		"a line that is endless": {[]string{long, long, "y"}, "h: " + long + "\nh: " + long + "\nh: y\n"},
	} {
		var got bytes.Buffer
		out := sshexec.NewLines(&got).Of("h")
		for _, w := range c.writes {
			if n, err := out.Write([]byte(w)); n != len(w) || err != nil {
				t.Errorf("%s: %d, %v", name, n, err)
			}
		}
		if err := errors.Join(out.Close(), out.Close()); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(c.want, got.String()); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// TestLinesAtOnce checks that no line contains output of two hosts, also if a command writes both of its streams to one writer.
func TestLinesAtOnce(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	lines := sshexec.NewLines(&got)
	var all sync.WaitGroup
	for _, name := range []string{"a", "b", "c"} {
		out := lines.Of(name)
		for range 2 {
			all.Go(func() {
				for range 200 {
					_, _ = out.Write([]byte(strings.Repeat(name, 20) + "\n"))
				}
			})
		}
	}
	all.Wait()
	for line := range strings.Lines(got.String()) {
		if name, text, _ := strings.Cut(line, ": "); text != strings.Repeat(name, 20)+"\n" {
			t.Errorf("%q", line)
		}
	}
}

// TestLinesReportErrors checks that a failure of the caller's writer ends the command.
func TestLinesReportErrors(t *testing.T) {
	t.Parallel()
	out := sshexec.NewLines(failing{}).Of("h")
	if _, err := out.Write([]byte("a\n")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("%v", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }
