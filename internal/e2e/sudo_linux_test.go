package e2e_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/sshexec"
)

// TestSudoersListCommands: with a sudoers file that lists programs, sudo runs these and no others, its log has them as they are called,
// and a command is ended by the kill program that the file lists. The option use_pty, the default of newer versions of sudo, must
// not change this: sudo makes a terminal and a session for a command only if sudo has a terminal.
func TestSudoersListCommands(t *testing.T) {
	for name, defaults := range map[string]string{"plain": "Defaults !use_pty\n", "use_pty": "Defaults use_pty\n"} {
		t.Run(name, func(t *testing.T) { sudoersListCommands(t, defaults) })
	}
}

func sudoersListCommands(t *testing.T, defaults string) {
	t.Helper()
	machine := newHost(t, vmhost.Spec{})
	rule := defaults + user + " ALL=(root) NOPASSWD: /usr/bin/printenv, /usr/bin/sleep 300, /usr/local/bin/stubborn, /usr/bin/kill\n"
	// A program whose child ignores TERM and has none of its streams: the session ends, and the process group does not.
	root(t, machine, "sh", "-c", `printf '#!/bin/sh\n(trap "" TERM; exec sleep 600 >/dev/null 2>&1 </dev/null) &\nsleep 600; wait\n' >/usr/local/bin/stubborn; chmod 755 /usr/local/bin/stubborn`)
	root(t, machine, "sh", "-c", `printf %s "$1" >/etc/sudoers.d/login`, "sh", rule)
	to := targetOf(t, machine)
	to.Sudo = sshexec.SudoListed()
	host := newPool(t, sshexec.Options{}).Host(to)
	must(t, host.Wait(within(t, time.Minute)))

	out, err := host.Output(within(t, time.Minute), sshexec.Command{Argv: []string{"printenv", "SUDO_COMMAND"}, Root: true})
	if err != nil || string(out) != "/usr/bin/printenv SUDO_COMMAND\n" {
		t.Errorf("sudo was called for %q: %v", out, err)
	}
	for _, c := range []sshexec.Command{{Argv: []string{"cat", "/etc/shadow"}, Root: true}, {Argv: []string{"sleep", "301"}, Root: true}, {Shell: "id", Root: true}} {
		if err := host.Exec(within(t, time.Minute), c); !errors.Is(err, sshexec.ErrSudo) {
			t.Errorf("%s: %v", c, err)
		}
	}
	var exit *sshexec.ExitError
	if err := host.Exec(within(t, time.Minute), sshexec.Command{Argv: []string{"printenv", "NOT_SET"}, Root: true}); !errors.As(err, &exit) || exit.Code != 1 {
		t.Errorf("a command that fails: %v", err)
	}
	for _, c := range []struct {
		argv      []string
		processes int
	}{{[]string{"sleep", "300"}, 1}, {[]string{"stubborn"}, 2}} {
		running := func() []string {
			processes, err := machine.Processes()
			must(t, err)
			return slices.DeleteFunc(processes, func(line string) bool {
				return !strings.HasPrefix(line, "sleep 300") && !strings.HasPrefix(line, "sleep 600")
			})
		}
		ctx, cancel := context.WithCancel(within(t, time.Minute))
		result := make(chan error, 1)
		go func() {
			result <- host.Exec(ctx, sshexec.Command{Argv: c.argv, Root: true, Grace: 300 * time.Millisecond})
		}()
		await(t, "the command to begin", func() bool { return len(running()) == c.processes })
		cancel()
		err := <-result
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%q, whose context ends: %v", c.argv, err)
		}
		if errors.Is(err, sshexec.ErrDisconnected) { // on a slow machine sudo takes longer than Exec waits for a sign of life
			await(t, "the command to end", func() bool { return len(running()) == 0 })
		}
		if left := running(); len(left) > 0 {
			t.Errorf("%q still runs: %q", c.argv, left)
		}
	}
}
