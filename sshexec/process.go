package sshexec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// process is a command on its way.
type process struct {
	host    *Host
	inv     invocation
	session *ssh.Session
	input   io.WriteCloser
	gate    *gate  // nil without sudo
	group   string // process group of a command of root that was signalled
	stderr  *tail
	outlets []*outlet
	started chan struct{} // closed when the host has accepted the command
	done    chan error    // receives the end of the command
	fed     chan struct{} // closed when nothing is written to input any more
}

// connect leads the output of the session to where it belongs.
func (r *process) connect(c Command, cancel context.CancelCauseFunc) {
	stdout := &outlet{w: c.Stdout, failed: cancel}
	var said io.Writer = r.stderr
	if c.Stderr != nil {
		said = io.MultiWriter(r.stderr, c.Stderr)
	}
	if r.inv.sudo {
		r.gate = newGate(r.inv, said, r.answer)
		said = r.gate
	}
	stderr := &outlet{w: said, failed: cancel}
	r.outlets = []*outlet{stdout, stderr}
	r.session.Stdout, r.session.Stderr = stdout, stderr
}

// answer gives sudo the password once. Asked again, it ends the input: the
// password is wrong and further attempts may lock the account.
func (r *process) answer(attempt int) {
	if attempt > 1 {
		_ = r.input.Close()
		return
	}
	_, _ = io.WriteString(r.input, *r.host.target.Sudo.secret+"\n")
}

func (r *process) run() error {
	if err := r.session.Start(r.inv.line); err != nil {
		return err
	}
	close(r.started)
	return r.session.Wait()
}

// feed writes environment and standard input. Not before the host has accepted
// the command: OpenSSH forgets an end of input that comes earlier, and the
// command waits for it for ever. And under sudo not before the command has
// begun: sudo would take the input for the password.
func (r *process) feed(ctx context.Context, stdin io.Reader, cancel context.CancelCauseFunc) {
	defer close(r.fed)
	begun := r.started
	if r.gate != nil {
		begun = r.gate.begun
	}
	select {
	case <-begun:
	case <-ctx.Done():
		return
	}
	defer func() { _ = r.input.Close() }()
	if _, err := io.WriteString(r.input, r.inv.env); err != nil || stdin == nil {
		return
	}
	source := &source{r: stdin}
	if _, err := io.Copy(r.input, source); err != nil && source.err != nil {
		cancel(fmt.Errorf("read standard input: %w", source.err))
	}
}

// source remembers that reading failed, which io.Copy mixes with writing.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// feedGrace is how long the end of a command waits for a Read of its standard
// input to return, so that the caller can use the reader again.
const feedGrace = 100 * time.Millisecond

func (r *process) awaitFeed() {
	_ = r.session.Close()
	timer := time.NewTimer(feedGrace)
	defer timer.Stop()
	select {
	case <-r.fed:
	case <-timer.C:
	}
}

// detach makes sure that nothing is written to the caller's writers any more.
func (r *process) detach() {
	for _, o := range r.outlets {
		o.close()
	}
}

func (r *process) outcome(err error) error {
	for _, o := range r.outlets {
		o.close() // also: what the writers have is safe to read from here on
	}
	var exit *ssh.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		return r.host.fail(fmt.Errorf("%s: %w: %w", r.inv.shown, ErrDisconnected, err))
	case r.gate != nil && !r.gate.open:
		said := lastLine(r.inv.masker.mask(string(r.gate.held)))
		return r.host.fail(fmt.Errorf("%s: %w: %s", r.inv.shown, ErrSudo, said))
	case err == nil:
		return nil
	}
	return &ExitError{
		Host:    r.host.target.Name,
		Command: r.inv.shown,
		Code:    exit.ExitStatus(),
		Signal:  exit.Signal(),
		Stderr:  r.stderr.text(),
	}
}

// outlet leads output to a writer of the caller. A writer that fails ends the
// command; nothing reaches it afterwards, nor once the command has ended.
type outlet struct {
	mu     sync.Mutex
	w      io.Writer
	failed context.CancelCauseFunc
}

// Write never fails: a reader that stops reading would block the command.
func (o *outlet) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.w == nil {
		return len(p), nil
	}
	if _, err := o.w.Write(p); err != nil {
		o.w = nil
		o.failed(err)
	}
	return len(p), nil
}

func (o *outlet) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.w = nil
}
