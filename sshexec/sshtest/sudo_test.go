package sshtest_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

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
