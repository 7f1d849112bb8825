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
)

// DialContext connects to addr through the SSH connection. The host resolves addr, so an API in the host's network can be reached even
// if only port 22 of the host is open. DialContext can be used with net/http, client-go and etcd clients. The connection supports
// deadlines and closing only the writing side (CloseWrite).
func (h *Host) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := h.machine.dial(ctx, network, addr)
	if err != nil {
		return nil, h.fail(err)
	}
	return conn, nil
}

func (r *remote) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	for replaced := 0; ; replaced++ {
		conn, err := r.connection(ctx)
		if err != nil {
			return nil, err
		}
		through, err := conn.tunnel(ctx, network, addr)
		if err == nil {
			return through, nil
		}
		if ctx.Err() != nil || !errors.Is(err, errGone) || replaced == maxReplaced {
			return nil, fmt.Errorf("%w: through the host to %s: %w", ErrConnect, addr, err)
		}
		r.pool.retire(r.target, conn, 0)
	}
}

func (c *connection) tunnel(ctx context.Context, network, addr string) (net.Conn, error) {
	if !c.use() {
		return nil, errGone
	}
	channel, err := c.client.DialContext(ctx, network, addr)
	if err != nil {
		c.leave()
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		return nil, c.openFailure(err)
	}
	return newTunnel(channel, c), nil
}

// tunnel is a connection through a host. The channel of x/crypto/ssh has no deadlines, and does not distinguish the end by the other
// side from the end of the SSH connection. tunnel uses a pipe with deadlines for each direction and distinguishes the two ends.
type tunnel struct {
	channel     net.Conn
	conn        *connection
	read, write net.Conn      // the ends of the pipes for Read and Write
	in, out     net.Conn      // the other ends, copied from and to the channel
	flushed     chan struct{} // closed when all written data has been sent
	closed      chan struct{} // closed by Close, ends the copying
	ending      atomic.Int32  // the first reason for the end of reading
	once        sync.Once
}

// Reasons for the end of reading from a tunnel.
const (
	notYet  int32 = iota
	saidAll       // the other side has closed
	cutOff        // the SSH connection has ended
)

func newTunnel(channel net.Conn, c *connection) *tunnel {
	t := &tunnel{channel: channel, conn: c, flushed: make(chan struct{}), closed: make(chan struct{})}
	t.read, t.in = net.Pipe()
	t.write, t.out = net.Pipe()
	var pumping sync.WaitGroup
	pumping.Go(func() {
		_, _ = io.Copy(t.in, channel)
		if c.wire.ended.Load() {
			t.ending.CompareAndSwap(notYet, cutOff)
		}
		t.ending.CompareAndSwap(notYet, saidAll)
		_ = t.in.Close()
	})
	pumping.Go(func() {
		defer close(t.flushed)
		_, _ = io.Copy(channel, t.out)
		_ = t.out.Close() // the other side does not read any more, so Write fails
		_ = closeWrite(channel)
	})
	go func() {
		select {
		case <-t.closed:
		case <-c.dead:
			t.ending.CompareAndSwap(notYet, cutOff)
		}
		_ = channel.Close()
		_ = t.in.Close()
		_ = t.out.Close()
		pumping.Wait()
		c.leave()
	}()
	return t
}

func closeWrite(conn net.Conn) error {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return conn.Close()
}

// Read returns io.EOF if the other side has closed the connection, and an error that wraps [ErrDisconnected] if the SSH connection
// ended before.
func (t *tunnel) Read(p []byte) (int, error) {
	n, err := t.read.Read(p)
	if err == io.EOF && t.ending.Load() == cutOff { //nolint:errorlint // net.Pipe does not wrap io.EOF
		err = &net.OpError{Op: "read", Net: "ssh", Addr: t.RemoteAddr(), Err: ErrDisconnected}
	}
	return n, err
}

func (t *tunnel) Write(p []byte) (int, error) { return t.write.Write(p) }

// CloseWrite sends the end of the data to the other side.
func (t *tunnel) CloseWrite() error { return t.write.Close() }

// Close waits a limited time until written data is sent, and ends both directions.
func (t *tunnel) Close() error {
	t.once.Do(func() {
		_ = t.read.Close()
		_ = t.write.Close()
		late := time.AfterFunc(defaultGrace, func() { _ = t.channel.Close() })
		go func() {
			<-t.flushed
			late.Stop()
			close(t.closed)
		}()
	})
	return nil
}

func (t *tunnel) LocalAddr() net.Addr  { return t.channel.LocalAddr() }
func (t *tunnel) RemoteAddr() net.Addr { return t.channel.RemoteAddr() }

func (t *tunnel) SetDeadline(at time.Time) error {
	return errors.Join(t.read.SetReadDeadline(at), t.write.SetWriteDeadline(at))
}

func (t *tunnel) SetReadDeadline(at time.Time) error  { return t.read.SetReadDeadline(at) }
func (t *tunnel) SetWriteDeadline(at time.Time) error { return t.write.SetWriteDeadline(at) }
