// Package memconn makes connections within the process. Unlike those of net.Pipe they hold what has been written until it
// is read, as TCP does, and either direction can be closed alone. Simulated machines use them in place of the loopback
// interface, which takes four system calls for each message.
package memconn

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// limit is how many bytes one direction holds before a write waits for the reader.
const limit = 1 << 20

// Pair returns the two ends of a connection. near and far are their addresses; either may be nil.
func Pair(near, far net.Addr) (*Conn, *Conn) {
	there, back := newStream(), newStream()
	return &Conn{in: back, out: there, local: near, remote: far}, &Conn{in: there, out: back, local: far, remote: near}
}

// Conn is one end of a connection. It implements net.Conn.
type Conn struct {
	in, out       *stream
	local, remote net.Addr
}

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.in.read(p)
	return n, c.fault("read", err)
}

// Write implements net.Conn.
func (c *Conn) Write(p []byte) (int, error) {
	n, err := c.out.write(p)
	return n, c.fault("write", err)
}

// fault returns the error as those of TCP connections are. The end of the input is io.EOF.
func (c *Conn) fault(op string, err error) error {
	if err == nil || err == io.EOF { //nolint:errorlint // a stream returns io.EOF itself
		return err
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}

// Close implements net.Conn. The other end reads what has been written, and then io.EOF.
func (c *Conn) Close() error {
	c.in.closeReader()
	c.out.closeWriter(net.ErrClosed)
	return nil
}

// CloseWrite ends the output. The input stays open.
func (c *Conn) CloseWrite() error {
	c.out.closeWriter(syscall.EPIPE)
	return nil
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.in.setDeadline(&c.in.reader, t)
	return nil
}

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.out.setDeadline(&c.out.writer, t)
	return nil
}

// stream is one direction of a connection.
type stream struct {
	mu      sync.Mutex
	changed sync.Cond
	data    []byte // written, and not yet read

	reader, writer side
}

// side is what holds for the reading or the writing end of a stream.
type side struct {
	closed   error // the error for calls on this side after it is closed
	deadline time.Time
	timer    *time.Timer
}

func (s *side) expired() bool { return !s.deadline.IsZero() && !time.Now().Before(s.deadline) }

func newStream() *stream {
	s := new(stream)
	s.changed.L = &s.mu
	return s
}

func (s *stream) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.reader.closed != nil:
			return 0, s.reader.closed
		case s.reader.expired():
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		case len(s.data) > 0:
			n := copy(p, s.data)
			if s.data = s.data[n:]; len(s.data) == 0 {
				s.data = nil // many connections are idle most of the time
			}
			s.changed.Broadcast()
			return n, nil
		case s.writer.closed != nil:
			return 0, io.EOF
		}
		s.changed.Wait()
	}
}

func (s *stream) write(p []byte) (written int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.writer.closed != nil:
			return written, s.writer.closed
		case s.reader.closed != nil:
			return written, syscall.EPIPE
		case s.writer.expired():
			return written, os.ErrDeadlineExceeded
		case written == len(p):
			return written, nil
		case len(s.data) < limit:
			n := min(len(p)-written, limit-len(s.data))
			s.data = append(s.data, p[written:written+n]...)
			written += n
			s.changed.Broadcast()
			continue
		}
		s.changed.Wait()
	}
}

func (s *stream) closeReader() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data = nil
	s.close(&s.reader, net.ErrClosed)
}

func (s *stream) closeWriter(reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.close(&s.writer, reason)
}

// close is called under the lock.
func (s *stream) close(of *side, reason error) {
	of.closed = reason
	if of.timer != nil {
		of.timer.Stop()
	}
	s.changed.Broadcast()
}

func (s *stream) setDeadline(of *side, t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of.timer != nil {
		of.timer.Stop()
		of.timer = nil
	}
	of.deadline = t
	if !t.IsZero() && of.closed == nil && time.Until(t) > 0 {
		of.timer = time.AfterFunc(time.Until(t), func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.changed.Broadcast()
		})
	}
	s.changed.Broadcast()
}
