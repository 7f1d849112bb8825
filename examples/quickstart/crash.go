package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// crashAndResume runs the program twice as a child on one state directory: the first is killed in the middle
// of the scale-out, without any chance to clean up; the second resumes.
func crashAndResume(ctx context.Context, o options) error {
	state, err := os.MkdirTemp("", "vnfkit-quickstart-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(state)
	o.state = state
	pause := o.pauseBefore
	if pause == "" {
		pause = "scale_end/join"
	}
	first, err := child(ctx, o, pause)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- first.Wait() }()
	if err := killOncePaused(first, filepath.Join(state, pausedFile), ended); err != nil {
		return err
	}
	fmt.Printf("\n== process %d was killed with SIGKILL in the middle of %s; starting again\n", first.Process.Pid, pause)
	second, err := child(ctx, o, "")
	if err != nil {
		return err
	}
	return second.Wait()
}

// killOncePaused waits until the child says that it has paused. A child that ends by itself never came to
// that step.
func killOncePaused(c *exec.Cmd, paused string, ended <-chan error) error {
	for {
		select {
		case err := <-ended:
			return errors.Join(errors.New("the program ended before it came to the step it was to be killed at"), err)
		case <-time.After(50 * time.Millisecond):
		}
		if _, err := os.Stat(paused); err == nil {
			err := c.Process.Kill()
			<-ended
			return err
		}
	}
}

// child starts this program on the state directory.
func child(ctx context.Context, o options, pause string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	//nolint:gosec // this program itself, with the user's own flags
	c := exec.CommandContext(ctx, self, "-state", o.state, "-pause-before", pause, "-package", o.pkg, "-request", o.request,
		"-masters", strconv.Itoa(o.masters), "-workers", strconv.Itoa(o.workers))
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	return c, c.Start()
}
