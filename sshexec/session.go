package sshexec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/internal/retry"
)

// machine is the implementation of a [Host]: a machine behind SSH, or this machine.
type machine interface {
	// session opens a session. An urgent session does not wait for a slot.
	session(ctx context.Context, urgent bool) (session, error)
	// dial opens a connection from the machine.
	dial(ctx context.Context, network, addr string) (net.Conn, error)
}

// session is one command, or one use of a subsystem.
type session interface {
	stdin() (io.WriteCloser, error)
	start(line string, stdout, stderr io.Writer) error
	// wait waits for the end of the command and returns nil, an *ssh.ExitError or an *exec.ExitError. Any other error means that
	// the outcome is unknown.
	wait() error
	// subsystem starts a subsystem in place of a command.
	subsystem(name string) (io.WriteCloser, io.Reader, error)
	// signal sends a signal to the command and its children. It reports whether it could be sent.
	signal(ssh.Signal) bool
	// answers sends a request to the machine. The channel is closed when the machine answers.
	answers() <-chan struct{}
	// close ends the session and releases its slot. Further calls do nothing.
	close()
}

// remote is a machine behind SSH.
type remote struct {
	pool   *Pool
	target Target
	// vouched is the connection whose host key the policy of this target trusts. Another caller with another policy may have
	// opened the connection.
	vouched atomic.Pointer[connection]
}

func (r *remote) connection(ctx context.Context) (*connection, error) {
	if err := r.target.validate(); err != nil {
		return nil, err
	}
	conn, err := r.pool.connect(ctx, r.target)
	if err != nil || r.vouched.Load() == conn {
		return conn, err
	}
	if err := r.target.HostKeys.accept(ctx, r.target, conn.hostKey); err != nil {
		return nil, err
	}
	r.vouched.Store(conn)
	return conn, nil
}

// maxReplaced limits the dead or refusing connections that one call replaces.
const maxReplaced = 2

// session opens a session. If the connection is dead, session replaces it, because no command has been sent yet. It also uses
// another connection if the host refuses sessions for about a second; sessions of the old connection continue.
func (r *remote) session(ctx context.Context, urgent bool) (session, error) {
	var asked *connection
	replaced, pause := 0, firstPause
	for {
		conn, err := r.connection(ctx)
		if err != nil {
			return nil, err
		}
		if conn != asked { // another caller may have replaced the connection
			asked, pause = conn, firstPause
		}
		s, err := conn.session(ctx, urgent)
		switch {
		case err == nil:
			return s, nil
		case busy(err) && pause <= lastPause && retry.Pause(ctx, pause) == nil:
			pause *= 2
			continue
		case ctx.Err() != nil && !errors.Is(err, context.Cause(ctx)):
			return nil, fmt.Errorf("%w: open a session: %w: %w", ErrConnect, context.Cause(ctx), err)
		case ctx.Err() != nil || !busy(err) && !errors.Is(err, errGone) || replaced == maxReplaced:
			return nil, fmt.Errorf("%w: open a session: %w", ErrConnect, err)
		}
		r.pool.retire(r.target, conn, conn.allowed(err))
		replaced++
	}
}

// OpenSSH still counts a session for a moment after its end, and then refuses a session too many. Retry for about a second.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = 640 * time.Millisecond
)

// busy reports whether the host refused a session because it has too many.
func busy(err error) bool {
	var refused *ssh.OpenChannelError
	return errors.As(err, &refused) && (refused.Reason == ssh.ConnectionFailed || refused.Reason == ssh.ResourceShortage)
}

var errGone = errors.New("the connection has ended")

// session opens a session on the connection.
func (c *connection) session(ctx context.Context, urgent bool) (session, error) {
	if !c.use() {
		return nil, errGone
	}
	slot := func() {}
	if !urgent {
		select {
		case c.slots <- struct{}{}:
			slot = func() { <-c.slots }
		case <-ctx.Done():
			c.leave()
			return nil, context.Cause(ctx)
		case <-c.gone:
			c.leave()
			return nil, errGone
		}
	}
	release := func() {
		slot()
		c.leave()
	}
	s, err := c.openSession(ctx, release)
	if err != nil {
		return nil, err
	}
	return &remoteSession{Session: s, conn: c, release: release}, nil
}

// openSession opens an SSH session. It calls release unless it returns a session. x/crypto/ssh does not accept a context, and a host
// that violates the protocol can block the call for as long as the connection lives, so openSession does not wait for it.
func (c *connection) openSession(ctx context.Context, release func()) (*ssh.Session, error) {
	type opened struct {
		session *ssh.Session
		err     error
	}
	result := make(chan opened)
	go func() {
		s, err := c.client.NewSession()
		select {
		case result <- opened{s, err}:
			return
		case <-ctx.Done():
		case <-c.dead:
		}
		if err == nil {
			c.promptly(func() { _ = s.Close() })
		}
		release()
	}()
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-c.dead:
		return nil, errGone
	case o := <-result:
		if o.err != nil {
			release()
			return nil, c.openFailure(o.err)
		}
		c.count(1)
		return o.session, nil
	}
}

// openFailure distinguishes a host that refuses a channel from a dead connection.
func (c *connection) openFailure(err error) error {
	var refused *ssh.OpenChannelError
	if errors.As(err, &refused) {
		return err
	}
	_ = c.client.Close()
	return errGone
}

func (c *connection) count(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open += n
	c.peak = max(c.peak, c.open)
}

// allowed returns the number of sessions that the host has allowed if err is the refusal of a further session, and 0 for any other
// error.
func (c *connection) allowed(err error) int {
	if !busy(err) {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(1, c.peak)
}

// remoteSession is a session on a connection.
type remoteSession struct {
	*ssh.Session
	conn    *connection
	release func()
	once    sync.Once
}

func (s *remoteSession) stdin() (io.WriteCloser, error) { return s.StdinPipe() }

func (s *remoteSession) start(line string, stdout, stderr io.Writer) error {
	s.Stdout, s.Stderr = stdout, stderr
	return s.Start(line)
}

func (s *remoteSession) wait() error { return s.Wait() }

func (s *remoteSession) subsystem(name string) (io.WriteCloser, io.Reader, error) {
	in, err := s.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := s.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	return in, out, s.RequestSubsystem(name)
}

func (s *remoteSession) signal(signal ssh.Signal) bool {
	return s.conn.promptly(func() { _ = s.Signal(signal) })
}

func (s *remoteSession) answers() <-chan struct{} {
	answered := make(chan struct{})
	s.conn.pool.spawn(func() {
		if _, _, err := s.conn.client.SendRequest(keepAliveRequest, true, nil); err == nil {
			close(answered)
		}
	})
	return answered
}

func (s *remoteSession) close() {
	s.once.Do(func() {
		s.conn.promptly(func() {
			_ = s.Close()
			s.conn.count(-1)
			s.release()
		})
	})
}
