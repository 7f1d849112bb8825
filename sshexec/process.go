package sshexec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/internal/mask"
)

// process is a running command.
type process struct {
	host    *Host
	inv     invocation
	session session
	input   io.WriteCloser
	output  *gate // gate of standard output
	gate    *gate // gate of standard error
	stderr  *mask.Tail
	sudo    *sudoSays     // nil unless sudo runs the command directly
	outlets []*outlet     // for standard output, for standard error with the gate, and for the caller's Stderr
	wanted  bool          // the caller reads standard output
	done    chan error    // receives the end of the command
	fed     chan struct{} // closed when feed has ended
	left    bool          // the command is being ended in the background, which closes the session
}

func newProcess(h *Host, inv invocation, s session) *process {
	return &process{
		host: h, inv: inv, session: s, stderr: newTail(inv.masker),
		done: make(chan error, 1), fed: make(chan struct{}),
	}
}

// connect connects the streams of the session to the gates and to the writers of the caller.
func (r *process) connect(c Command, cancel context.CancelCauseFunc) (err error) {
	r.input, err = r.session.stdin()
	if err != nil {
		return err
	}
	stderr := &outlet{w: c.Stderr, failed: cancel}
	stream := io.MultiWriter(r.stderr, stderr)
	if r.inv.listed {
		r.sudo = &sudoSays{user: r.host.target.User, to: stream}
		stream = r.sudo
	}
	r.gate = newGate(r.inv, stream)
	r.gate.prompt, r.gate.answer = []byte(r.inv.prompt), r.answer
	r.output, r.wanted = newGate(r.inv, c.Stdout), c.Stdout != nil
	r.outlets = []*outlet{{w: r.output, failed: cancel}, {w: r.gate, failed: cancel}, stderr}
	return nil
}

// answer writes the password for the first question of sudo. A second question means that the password is wrong: answer then ends the
// input, because further attempts may lock the account.
func (r *process) answer(attempt int) {
	if attempt > 1 {
		_ = r.input.Close()
		return
	}
	_, _ = io.WriteString(r.input, *r.host.target.Sudo.secret+"\n")
}

func (r *process) run() error {
	if err := r.session.start(r.inv.line, r.outlets[0], r.outlets[1]); err != nil {
		return err
	}
	return r.session.wait()
}

// feed writes environment and standard input once the command has begun. Before, sudo would read the input as the password. OpenSSH
// also drops an end of input that arrives before the command starts, so the command would wait forever.
func (r *process) feed(ctx context.Context, stdin io.Reader, cancel context.CancelCauseFunc) {
	defer close(r.fed)
	select {
	case <-r.gate.begun:
	case <-ctx.Done():
		return
	}
	defer func() { _ = r.input.Close() }()
	if _, err := io.WriteString(r.input, r.inv.env); err != nil || stdin == nil {
		return
	}
	source := &source{r: &while{ctx, stdin}} // stops reading when ctx ends
	if _, err := io.Copy(r.input, source); err != nil && source.err != nil {
		cancel(fmt.Errorf("read standard input: %w", source.err))
	}
}

// source records the error of reading, which the result of io.Copy does not distinguish from an error of writing.
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

// feedGrace is the time for which the end of a command waits for a Read of its standard input, so that the caller can use the reader
// again.
const feedGrace = 100 * time.Millisecond

func (r *process) awaitFeed() {
	r.close()
	timer := time.NewTimer(feedGrace)
	defer timer.Stop()
	select {
	case <-r.fed:
	case <-timer.C:
	}
}

// close closes the session, unless the background still needs it.
func (r *process) close() {
	if !r.left {
		r.session.close()
	}
}

// detach stops writing to the caller's writers. The gate stays open, because ending the command needs its process group.
func (r *process) detach() {
	r.outlets[0].close()
	r.outlets[2].close()
}

func (r *process) outcome(err error) error {
	out := r.result(err)
	_, _, ended := exitStatus(err)
	if ended && !r.gate.hasBegun() && r.gate.attempts == 0 && strings.Contains(r.printed(), "exec: ") {
		return &noExecError{out}
	}
	return out
}

// noExecError is the error of a login shell that does not allow exec, such as rbash. The command has not begun, and sudo has not asked
// for a password.
type noExecError struct{ error }

func (e *noExecError) Unwrap() error { return e.error }

func (r *process) result(err error) error {
	code, signal, ended := exitStatus(err)
	said, refused, code := r.sudo.end(code)
	for _, o := range r.outlets {
		o.close() // nothing writes to the caller's writers after this
	}
	begun := r.gate.hasBegun()
	switch {
	case !ended:
		return r.host.fail(fmt.Errorf("%s: %w: %w", r.inv.shown, ErrDisconnected, err))
	case !begun && r.inv.sudo && signal == "":
		return r.host.fail(fmt.Errorf("%s: %w: %s", r.inv.shown, ErrSudo, lastLine(r.printed())))
	case refused:
		return r.host.fail(fmt.Errorf("%s: %w: %s", r.inv.shown, ErrSudo, r.inv.masker.Mask(said)))
	case !begun && err == nil:
		return r.host.fail(fmt.Errorf("%s: %w: it printed %q and exited", r.inv.shown, errNoShell, lastLine(r.printed())))
	case err == nil && r.wanted && !r.output.hasBegun():
		return r.host.fail(fmt.Errorf("%s: %w", r.inv.shown, errNoOutput))
	case err == nil:
		return nil
	}
	said = r.stderr.String()
	if !begun { // the login shell could not run /bin/sh
		said = r.printed()
	}
	return &ExitError{Host: r.host.target.Name, Command: r.inv.shown, Code: code, Signal: signal, Stderr: said}
}

// printed returns the output of the login shell and sudo before the command.
func (r *process) printed() string {
	if said := r.gate.printed(r.inv.masker); strings.TrimSpace(said) != "" {
		return said
	}
	return r.output.printed(r.inv.masker)
}

var (
	errNoShell  = errors.New("the login shell of the user does not run commands")
	errNoOutput = errors.New("the command ran, but its standard output did not arrive: the login shell leads it elsewhere")
)

// exitStatus returns the exit code and the signal of an ended command. ended is false if the outcome is unknown.
func exitStatus(err error) (code int, signal string, ended bool) {
	var remote *ssh.ExitError
	var local *exec.ExitError
	switch {
	case err == nil:
		return 0, "", true
	case errors.As(err, &remote):
		return remote.ExitStatus(), remote.Signal(), true
	case errors.As(err, &local):
		code, signal = localStatus(local.ProcessState)
		return code, signal, true
	}
	return 0, "", false
}

// outlet copies output to a writer of the caller. If the writer fails, outlet ends the command. It does not write after a failure or
// after the end of the command.
type outlet struct {
	mu     sync.Mutex
	w      io.Writer
	failed context.CancelCauseFunc
}

// Write never fails, because the command would block if its output were not read any more.
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

// buffers is a pool of copy buffers, because there are many commands and most of them produce little output.
var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// ReadFrom implements io.ReaderFrom. Sessions copy their two output streams with it.
func (o *outlet) ReadFrom(r io.Reader) (int64, error) {
	buffer, _ := buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(buffer)
	return io.CopyBuffer(struct{ io.Writer }{o}, r, buffer[:])
}

func (o *outlet) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.w = nil
}
