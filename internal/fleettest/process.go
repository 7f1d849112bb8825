//go:build unix

package fleettest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Process is a process with a Manager.
type Process struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	ended chan struct{}
}

// Start starts the test binary again with the environment variables VNFKIT_PROCESS, which is the name of the process,
// VNFKIT_PROCESS_DIR and env. TestMain asks for the first one. Start returns when the process has said that it is ready. prefix is a
// program that starts it.
func Start(t *testing.T, dir, name string, prefix []string, env ...string) *Process {
	t.Helper()
	argv := append(slices.Clone(prefix), os.Args[0])
	c := &Process{t: t, cmd: exec.CommandContext(context.WithoutCancel(t.Context()), argv[0], argv[1:]...), lines: make(chan string, 100), ended: make(chan struct{})} //nolint:gosec // this test binary
	c.cmd.Env = append(os.Environ(), "VNFKIT_PROCESS="+name, "VNFKIT_PROCESS_DIR="+dir)
	c.cmd.Env = append(c.cmd.Env, env...)
	c.cmd.Stderr = os.Stderr
	var err error
	c.in, err = c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.ended)
		for s := bufio.NewScanner(out); s.Scan(); {
			c.lines <- s.Text()
		}
		close(c.lines)
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		<-c.ended
		_ = c.cmd.Wait()
	})
	c.Await("ready")
	return c
}

// Signal sends a signal to the process.
func (c *Process) Signal(s syscall.Signal) {
	if err := c.cmd.Process.Signal(s); err != nil {
		c.t.Error(err)
	}
}

// Pause stops the process for that long.
func (c *Process) Pause(d time.Duration) {
	c.Signal(syscall.SIGSTOP)
	<-time.After(d)
	c.Signal(syscall.SIGCONT)
}

// Ended returns a channel that is closed when the process has ended.
func (c *Process) Ended() <-chan struct{} { return c.ended }

// Tell writes a line to the process; a process that is dead does not listen.
func (c *Process) Tell(what string) { _, _ = fmt.Fprintln(c.in, what) }

// Await waits until the process says this line. A line that begins with "error" fails the test.
func (c *Process) Await(want string) {
	c.t.Helper()
	timeout := time.After(60 * time.Second)
	for {
		select {
		case line, open := <-c.lines:
			if !open {
				c.t.Fatalf("the process ended before it said %q", want)
			}
			if line == want {
				return
			}
			if strings.HasPrefix(line, "error") {
				c.t.Fatal(line)
			}
		case <-timeout:
			c.t.Fatalf("the process did not say %q", want)
		}
	}
}

// End closes the input of the process, so that it ends if it lives.
func (c *Process) End() {
	c.t.Helper()
	_ = c.in.Close()
	for line := range c.lines {
		if strings.HasPrefix(line, "error") {
			c.t.Error(line)
		}
	}
}
