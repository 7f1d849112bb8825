package sshexec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Exec runs c and waits for its end. The error is an *[ExitError] when the
// command ran and failed; it wraps [ErrDisconnected] when the connection broke
// while it ran, and the cause of ctx when ctx ended: then the command was sent
// TERM and, after Command.Grace, KILL. A command that was started is never
// started again.
func (h *Host) Exec(ctx context.Context, c Command) error {
	return h.exec(ctx, c, true)
}

// Run runs a command as the login user. It is Exec for callers that want to
// depend on standard types only.
func (h *Host) Run(ctx context.Context, argv []string, stdin io.Reader, stdout, stderr io.Writer) error {
	return h.Exec(ctx, Command{Argv: argv, Stdin: stdin, Stdout: stdout, Stderr: stderr})
}

// outputBytes bounds what Output and ReadFile return.
const outputBytes = 1 << 20

// Output runs c and returns its standard output. More than 1 MiB is an error
// that wraps [ErrTooLarge]. c.Stdout must be nil.
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
		return 0, fmt.Errorf("output %w: more than %d bytes", ErrTooLarge, outputBytes)
	}
	return b.Buffer.Write(p)
}

// fail names the host in an error that does not do so yet.
func (h *Host) fail(err error) error {
	var key *HostKeyError
	if errors.As(err, &key) {
		return err
	}
	return &HostError{Host: h.target.Name, Err: err}
}

func (h *Host) exec(ctx context.Context, c Command, stoppable bool) error {
	inv, err := h.invocation(c)
	if err != nil {
		return h.fail(err)
	}
	return h.observed(ctx, c, inv, stoppable)
}

func (h *Host) observed(ctx context.Context, c Command, inv invocation, stoppable bool) error {
	event := CommandEvent{Host: h.target.Name, Command: inv.shown, Root: c.Root}
	h.pool.options.Observe(event)
	start := time.Now()
	err := h.perform(ctx, c, inv, stoppable)
	event.Done, event.Duration, event.Err = true, time.Since(start), err
	h.pool.options.Observe(event)
	return err
}

func (h *Host) perform(ctx context.Context, c Command, inv invocation, stoppable bool) error {
	caller := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	session, release, err := h.session(ctx)
	if err != nil {
		return h.fail(err)
	}
	defer release()
	input, err := session.StdinPipe()
	if err != nil {
		return h.fail(fmt.Errorf("%w: %w", ErrDisconnected, err))
	}
	stderr := &tail{masker: inv.masker}
	r := &process{
		host: h, inv: inv, session: session, input: input, stderr: stderr,
		started: make(chan struct{}), done: make(chan error, 1), fed: make(chan struct{}),
	}
	r.connect(c, cancel)
	defer r.detach()
	if !h.pool.spawn(func() { r.done <- r.run() }) {
		return h.fail(ErrClosed)
	}
	go r.feed(ctx, c.Stdin, cancel)
	defer r.awaitFeed()
	defer cancel(nil) // ends the feeding of a command that never began
	select {
	case err := <-r.done:
		// A stream of the caller that failed spoils the outcome; a context that
		// ends just now does not.
		if cause := context.Cause(ctx); cause != nil && caller.Err() == nil {
			return h.fail(fmt.Errorf("%s: %w", inv.shown, cause))
		}
		return r.outcome(err)
	case <-ctx.Done():
		r.stop(ctx, c, stoppable)
		return h.fail(fmt.Errorf("%s: %w", inv.shown, context.Cause(ctx)))
	}
}
