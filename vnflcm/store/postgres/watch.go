package postgres

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/vnfkit/vnfkit/internal/retry"
)

const (
	channel = "vnfkit_changed"
	// noticeEvery bounds how often a process sends a notice.
	noticeEvery = 50 * time.Millisecond
	// noticeTimeout bounds the time for sending one.
	noticeTimeout = 5 * time.Second
	// checkEvery is how often Watch asks whether its connection is alive, which has no other traffic.
	checkEvery = 15 * time.Second
)

// notify asks for a notice and does not wait for it.
func (s *Store) notify() {
	select {
	case s.notices <- struct{}{}:
	default: // one waits to be sent, and will be sent after the commit that this one is about
	}
}

// sendNotices sends the notifications that notify requests: the first one at once, later ones together. NOTIFY is not
// part of the transactions of Apply because PostgreSQL commits transactions with a NOTIFY one after the other.
func (s *Store) sendNotices() {
	for {
		select {
		case <-s.open.Done():
			return
		case <-s.notices:
		}
		// A notice that cannot be sent is lost; so are the connections of watchers, who look when they are connected again.
		ctx, cancel := context.WithTimeout(s.open, noticeTimeout)
		_, _ = s.pool.Exec(ctx, `SELECT pg_notify('`+channel+`', '')`)
		cancel()
		if retry.Pause(s.open, noticeEvery) != nil {
			return
		}
	}
}

// Watch implements store.Watcher with a separate connection. It connects again when the connection is lost. It returns
// an error if the server refuses the connection permanently, for example because of a wrong password, or when the store
// is closed.
func (s *Store) Watch(ctx context.Context, changed func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.open, func() { cancel(errClosed) })() //nolint:contextcheck // Close ends Watch too
	poll := backoff.NewExponentialBackOff()
	poll.InitialInterval, poll.MaxInterval = 50*time.Millisecond, 5*time.Second
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := s.listenOnce(ctx, func() {
			poll.Reset()
			changed()
		})
		if refusedForGood(err) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(poll), backoff.WithMaxElapsedTime(0))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return wrap(ctx, "watch", err)
}

// listenOnce calls changed when it listens, and for each notice, until the connection is lost.
func (s *Store) listenOnce(ctx context.Context, changed func()) (err error) {
	conn, err := pgx.ConnectConfig(ctx, s.listen)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(closing) // the server notices by itself
	}()
	if _, err := conn.Exec(ctx, `LISTEN `+channel, pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	changed() // for records written while the connection was lost
	for {
		waiting, cancel := context.WithTimeout(ctx, checkEvery)
		_, err := conn.WaitForNotification(waiting)
		cancel()
		switch {
		case err == nil:
			changed()
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case pgconn.Timeout(err) && !conn.IsClosed():
			if err := ping(ctx, conn); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

func ping(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return conn.Ping(ctx)
}

// refusedForGood reports whether connecting again is useless: wrong credentials, or an unknown database.
func refusedForGood(err error) bool {
	failure, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (strings.HasPrefix(failure.Code, "28") || failure.Code == "3D000")
}
