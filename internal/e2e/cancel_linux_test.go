package e2e_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/sshexec"
)

// TestCancel: a command whose context ends leaves no process on the host.
func TestCancel(t *testing.T) {
	host, machine := connect(t, vmhost.Spec{}, sshexec.Options{})
	for _, c := range []struct {
		name    string
		command sshexec.Command
	}{
		{"a program", sshexec.Command{Argv: []string{"sleep", "600"}}},
		{"a program of root", sshexec.Command{Argv: []string{"sleep", "600"}, Root: true}},
		{"with children", sshexec.Command{Shell: "sleep 600 & sleep 600; wait"}},
		{"with children, root", sshexec.Command{Shell: "sleep 600 & sleep 600; wait", Root: true}},
		{"TERM is ignored", sshexec.Command{Shell: "trap '' TERM; sleep 600", Grace: 300 * time.Millisecond}},
		{"TERM is ignored, root", sshexec.Command{Shell: "trap '' TERM; sleep 600", Root: true, Grace: 300 * time.Millisecond}},
		{"a child ignores TERM, root", sshexec.Command{Shell: "(trap '' TERM; sleep 600) & sleep 600; wait", Root: true, Grace: 300 * time.Millisecond}},
	} {
		t.Run(c.name, func(t *testing.T) {
			because := errors.New("no longer wanted")
			ctx, cancel := context.WithCancelCause(within(t, time.Minute))
			result := make(chan error, 1)
			go func() { result <- host.Exec(ctx, c.command) }()
			await(t, "the command to begin", func() bool { return sleeping(t, machine) > 0 })
			cancel(because)
			if err := <-result; !errors.Is(err, because) {
				t.Errorf("got %v", err)
			}
			await(t, "the command to end", func() bool { return sleeping(t, machine) == 0 })
			if err := host.Run(within(t, time.Minute), []string{"true"}, nil, nil, nil); err != nil {
				t.Errorf("the connection is spoilt: %v", err)
			}
		})
	}
}

func sleeping(t *testing.T, machine *vmhost.Host) (n int) {
	t.Helper()
	processes, err := machine.Processes()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range processes {
		if strings.HasPrefix(line, "sleep 600") {
			n++
		}
	}
	return n
}
