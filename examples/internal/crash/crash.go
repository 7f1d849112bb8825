// Package crash shows what a program is worth that is killed: it pauses before a step, and kills and restarts
// the program there.
package crash

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// paused is the file in the state directory that says that the program has paused.
const paused = "paused"

// Say tells the user something, as fmt.Printf formats it.
type Say func(format string, args ...any)

// PauseBefore stops before the step of that name ("join", or "scale_end/join") for as long as the program
// runs. An empty name stops nowhere.
func PauseBefore(say Say, name, state string) vnflcm.Interceptor {
	return func(ctx context.Context, step vnflcm.StepInfo, next func(context.Context) error) error {
		if name == "" || name != step.Name && name != step.Phase+"/"+step.Name {
			return next(ctx)
		}
		say("paused before %s/%s: kill or interrupt this program, process %d, and run it again without -pause-before",
			step.Phase, step.Name, os.Getpid())
		// Show kills the program as soon as the file exists: the line above is printed by then.
		if err := os.WriteFile(filepath.Join(state, paused), nil, 0o600); err != nil {
			return err
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}
}

// Show runs this program twice as a child, with -state, -pause-before and the given arguments, on a temporary
// state directory: the first is killed where it pauses, without a chance to clean up; the second resumes.
func Show(ctx context.Context, say Say, pause string, args []string) error {
	state, err := os.MkdirTemp("", "vnfkit-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(state) }()
	first, err := start(ctx, append([]string{"-state", state, "-pause-before", pause}, args...))
	if err != nil {
		return err
	}
	if err := killOncePaused(first, filepath.Join(state, paused)); err != nil {
		return err
	}
	say("process %d was killed with SIGKILL before %s; starting again", first.Process.Pid, pause)
	second, err := start(ctx, append([]string{"-state", state}, args...))
	if err != nil {
		return err
	}
	return second.Wait()
}

// start runs this program.
func start(ctx context.Context, args []string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, self, args...) //nolint:gosec // this program itself, with the user's own flags
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 10 * time.Second
	return c, c.Start()
}

// killOncePaused waits until the child has paused. One that ends by itself never came to that step.
func killOncePaused(c *exec.Cmd, file string) error {
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for {
		select {
		case err := <-ended:
			return errors.Join(errors.New("the program ended before it came to the step it was to be killed at"), err)
		case <-time.After(50 * time.Millisecond):
		}
		if _, err := os.Stat(file); err == nil {
			err := c.Process.Kill()
			<-ended
			return err
		}
	}
}
