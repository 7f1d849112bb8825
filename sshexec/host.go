package sshexec

import (
	"context"
	"errors"
	"fmt"
	"net"

	"golang.org/x/crypto/ssh"
)

// Host is one machine. It is safe for concurrent use.
type Host struct {
	pool   *Pool
	target Target
}

// Name returns how messages call the machine.
func (h *Host) Name() string { return h.target.Name }

// session opens a session. A connection that turns out to be dead is replaced
// once: nothing has been asked of the host yet.
func (h *Host) session(ctx context.Context) (*ssh.Session, func(), error) {
	for attempt := 0; ; attempt++ {
		conn, err := h.pool.connect(ctx, h.target)
		if err != nil {
			return nil, nil, err
		}
		session, release, err := conn.session(ctx, h.pool)
		if !errors.Is(err, errDead) {
			return session, release, err
		}
		h.pool.drop(h.target, conn)
		if attempt > 0 {
			return nil, nil, fmt.Errorf("%w: %w", ErrConnect, err)
		}
	}
}

// DialContext connects to addr as the host sees it, through the SSH connection:
// an API of the host is reached where only port 22 is. The connection knows no
// deadlines; close it instead.
func (h *Host) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	for attempt := 0; ; attempt++ {
		conn, err := h.pool.connect(ctx, h.target)
		if err != nil {
			return nil, h.fail(err)
		}
		through, err := conn.client.DialContext(ctx, network, addr)
		if err == nil {
			return through, nil
		}
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		} else if errors.Is(conn.openFailure(err), errDead) && attempt == 0 {
			h.pool.drop(h.target, conn)
			continue
		}
		return nil, h.fail(fmt.Errorf("%w: through the host to %s: %w", ErrConnect, addr, err))
	}
}
