// Package crash shows what a program is worth that is killed: it pauses before a step, and kills and restarts
// the program there.
package crash

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/vnfkit/vnfkit/examples/internal/cli"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// paused is the file in the state directory that says that the program has paused.
const paused = "paused"

// Say tells the user something, as fmt.Printf formats it.
type Say func(format string, args ...any)

// shown is the environment variable of children of Show.
const shown = "VNFKIT_SHOWN"

// IsShown reports whether this process is a child of Show: the user has not called it, and cannot continue its state.
func IsShown() bool { return os.Getenv(shown) != "" }

// PauseBefore stops before the step of that name ("join", or "scale_end/join") for as long as the program
// runs. An empty name stops nowhere.
func PauseBefore(say Say, name, state string) vnflcm.Interceptor {
	return func(ctx context.Context, step vnflcm.StepInfo, next func(context.Context) error) error {
		if name == "" || name != step.Name && name != step.Phase+"/"+step.Name {
			return next(ctx)
		}
		remedy := fmt.Sprintf(": kill or interrupt this program, process %d, and run it again without -pause-before", os.Getpid())
		if IsShown() {
			remedy = ""
		}
		say("paused before %s/%s%s", step.Phase, step.Name, remedy)
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
		return explained(ctx, err)
	}
	say("process %d was killed with SIGKILL before %s; starting again", first.Process.Pid, pause)
	second, err := start(ctx, append([]string{"-state", state}, args...))
	if err != nil {
		return err
	}
	return explained(ctx, second.Wait())
}

// explained returns the error of a program whose child has ended with err.
func explained(ctx context.Context, err error) error {
	exit, isExit := errors.AsType[*exec.ExitError](err)
	switch {
	case isExit && exit.Exited():
		return cli.Explained{Code: exit.ExitCode()}
	case isExit && ctx.Err() != nil: // a second interrupt, as a terminal sends it to the child, ends the child at once
		return context.Cause(ctx)
	}
	return err
}

// start runs this program.
func start(ctx context.Context, args []string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, self, args...) //nolint:gosec // this program itself, with the user's own flags
	c.Stdout, c.Stderr, c.Env = os.Stdout, os.Stderr, append(os.Environ(), shown+"=1")
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 10 * time.Second
	return c, c.Start()
}

// killOncePaused waits until the child has paused, and kills it. A child that ends before is an error.
func killOncePaused(c *exec.Cmd, file string) error {
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for {
		select {
		case err := <-ended:
			if err == nil {
				err = errors.New("the program ended without the step of -pause-before")
			}
			return err
		case <-time.After(50 * time.Millisecond):
		}
		if _, err := os.Stat(file); err == nil {
			err := c.Process.Kill()
			<-ended
			return err
		}
	}
}
