package sshtest_test

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// TestLikeTheRealThing runs the same scripts on a simulated host and with the programs of this machine, and compares the results.
func TestLikeTheRealThing(t *testing.T) {
	for _, script := range realThing {
		script = "umask 022; { " + script + "\n} 2>/dev/null"
		command := exec.CommandContext(t.Context(), "/bin/sh", "-c", script)
		command.Dir = t.TempDir()
		var out bytes.Buffer
		command.Stdout = &out
		err := command.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		h := sshtest.Start(t, sshtest.Config{})
		got, code := run(t, h, script, "")
		if diff := cmp.Diff(normalizeSpaces(out.String()), normalizeSpaces(got)); diff != "" || code != command.ProcessState.ExitCode() {
			t.Errorf("%s\nsimulated exit code %d, real exit code %d (-real +simulated)\n%s", script, code, command.ProcessState.ExitCode(), diff)
		}
	}
}

// normalizeSpaces replaces runs of spaces by one and removes spaces at the start of a line, because wc pads its columns.
func normalizeSpaces(text string) string {
	for strings.Contains(text, "  ") {
		text = strings.ReplaceAll(text, "  ", " ")
	}
	return strings.ReplaceAll(text, "\n ", "\n")
}
