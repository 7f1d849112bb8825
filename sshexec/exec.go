package sshexec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// Exec runs c and waits for its end. The error is an *[ExitError] if the command ran and failed, and wraps [ErrDisconnected] if the
// connection broke while the command ran. If ctx ends, Exec sends TERM and, after Command.Grace, KILL to the command and its process
// group, and the error wraps the cause of ctx. Exec never starts a started command again.
//
// When ctx has ended, Exec waits for the end of the command as long as the host answers. If the host does not answer
// for 0.8 s, Exec returns an error that also wraps ErrDisconnected, and the pool continues to end the command in the
// background, within the times stated above.
func (h *Host) Exec(ctx context.Context, c Command) error {
	return h.exec(ctx, c, true)
}

// Run runs a command as the login user. Unlike Exec it has only parameters of standard types, so that an interface in another
// package can have this method.
func (h *Host) Run(ctx context.Context, argv []string, stdin io.Reader, stdout, stderr io.Writer) error {
	return h.Exec(ctx, Command{Argv: argv, Stdin: stdin, Stdout: stdout, Stderr: stderr})
}

// outputBytes bounds what Output and ReadFile return, and a line that a script
// of this package prints.
const outputBytes = 1 << 20

// Output runs c and returns its standard output. More than 1 MiB is an error
// that wraps [ErrTooLarge], a *[LimitError]. c.Stdout must be nil.
func (h *Host) Output(ctx context.Context, c Command) ([]byte, error) {
	if c.Stdout != nil {
		return nil, h.fail(errors.New("the command of Output has a Stdout already"))
	}
	var out bounded
	c.Stdout = &out
	err := h.Exec(ctx, c)
	return out.Bytes(), err
}

// bounded is a buffer that refuses to grow without end.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > outputBytes {
		return 0, &LimitError{What: "bytes of output", Limit: outputBytes}
	}
	return b.Buffer.Write(p)
}

// exec runs c. A command that ends another command is not stoppable, and does not wait for a free session.
func (h *Host) exec(ctx context.Context, c Command, stoppable bool) error {
	inv, err := h.invocation(c)
	if err != nil {
		return h.fail(err)
	}
	event := CommandEvent{Host: h.target.Name, Command: inv.shown, Root: c.Root, User: c.User}
	h.pool.options.Observe(ctx, event)
	start := time.Now()
	err = h.perform(ctx, c, inv, stoppable)
	if _, refused := errors.AsType[*noExecError](err); refused {
		inv.line = strings.TrimPrefix(inv.line, replaceShell)
		err = h.perform(ctx, c, inv, stoppable)
	}
	event.Done, event.Duration, event.Err = true, time.Since(start), err
	h.pool.options.Observe(ctx, event)
	return err
}

// open opens the session of a command. A command that ends another command gets little time: it does not wait for a
// blocked connection.
func (h *Host) open(ctx context.Context, stoppable bool) (session, error) {
	if stoppable {
		return h.machine.session(ctx, false)
	}
	ctx, cancel := context.WithTimeout(ctx, killMargin)
	defer cancel()
	return h.machine.session(ctx, true)
}

func (h *Host) perform(ctx context.Context, c Command, inv invocation, stoppable bool) error {
	session, err := h.open(ctx, stoppable)
	if err != nil {
		return h.fail(err)
	}
	r := newProcess(h, inv, session)
	defer r.close()
	if c.Timeout > 0 {
		limit, cancel := context.WithTimeoutCause(ctx, c.Timeout, timeout(c.Timeout))
		defer cancel()
		ctx = limit
	}
	caller := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := r.connect(c, cancel); err != nil {
		return h.fail(fmt.Errorf("%w: %w", ErrDisconnected, err))
	}
	defer r.detach()
	if c.begun != nil {
		defer func() { *c.begun = r.gate.hasBegun() }()
	}
	if !h.pool.spawn(func() { r.done <- r.run() }) {
		return h.fail(ErrClosed)
	}
	go r.feed(ctx, c.Stdin, cancel)
	defer r.awaitFeed()
	defer cancel(nil) // ends feed for a command that never began
	select {
	case err := <-r.done:
		// A failed stream of the caller changes the result of the command. A context that ends only now does not.
		if cause := context.Cause(ctx); cause != nil && caller.Err() == nil {
			return h.fail(fmt.Errorf("%s: %w", inv.shown, cause))
		}
		return r.outcome(err)
	case <-ctx.Done():
		err := fmt.Errorf("%s: %w", inv.shown, context.Cause(ctx))
		if errors.Is(err, errEndless) && !r.gate.hasBegun() {
			session.signal(ssh.SIGKILL) // only the login shell runs, which has nothing to clean up
			return h.fail(err)
		}
		if !r.end(ctx, c, stoppable) {
			err = fmt.Errorf("%w: %w", err, errSilent)
		}
		return h.fail(err)
	}
}

// timeout returns the cause for a command that exceeds its Timeout. The cause is also a context.DeadlineExceeded.
func timeout(limit time.Duration) error {
	return fmt.Errorf("%w: no end within %v: %w", ErrTimeout, limit, context.DeadlineExceeded)
}
