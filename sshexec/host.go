package sshexec

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

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
	replaced, pause := false, firstPause
	for {
		conn, err := h.pool.connect(ctx, h.target)
		if err != nil {
			return nil, nil, err
		}
		session, release, err := conn.session(ctx)
		switch {
		case errors.Is(err, errDead):
			h.pool.drop(h.target, conn)
			if replaced {
				return nil, nil, fmt.Errorf("%w: %w", ErrConnect, err)
			}
			replaced = true
		case busy(err) && pause <= lastPause && sleep(ctx, pause):
			pause *= 2
		default:
			return session, release, err
		}
	}
}

// OpenSSH counts a session that has ended for a moment longer, and refuses one
// more than it allows. It is asked again for a second or so.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = 640 * time.Millisecond
)

// busy reports whether the host refused a session because it has too many.
func busy(err error) bool {
	var refused *ssh.OpenChannelError
	return errors.As(err, &refused) && (refused.Reason == ssh.ConnectionFailed || refused.Reason == ssh.ResourceShortage)
}

// sleep returns false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
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
