package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/cenkalti/backoff/v5"
	"modernc.org/sqlite" // the driver; this package is the one that links it

	"github.com/vnfkit/vnfkit/vnflcm/sqlstore"
)

// Open opens or creates the database in that file (mode 0600; the folder must be there). Close the store when the
// Manager has been closed. Writers wait up to 10 s for each other.
func Open(ctx context.Context, path string) (*sqlstore.Store, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the caller's own path
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	options := url.Values{
		// busy_timeout first: the other pragmas may have to wait too.
		"_pragma": {fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), "journal_mode(WAL)", "synchronous(FULL)"},
		"_txlock": {"immediate"},
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: options.Encode()}).String())
	if err != nil {
		return nil, err
	}
	store := sqlstore.New(db)
	if err := migrate(ctx, store); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return store, nil
}

// migrate makes the table. Processes that open a new file at the same time all switch it to write-ahead mode,
// for which SQLite does not wait, whatever busy_timeout says.
func migrate(ctx context.Context, store *sqlstore.Store) error {
	poll := backoff.NewExponentialBackOff()
	poll.InitialInterval, poll.MaxInterval = 5*time.Millisecond, 250*time.Millisecond
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := store.Migrate(ctx)
		if failure, ok := errors.AsType[*sqlite.Error](err); err != nil && (!ok || failure.Code()&0xff != busy) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(poll), backoff.WithMaxElapsedTime(busyTimeout))
	return err
}

// busy is SQLITE_BUSY; the bits above the lowest eight say more.
const busy = 5

// busyTimeout is how long a writer waits for others.
const busyTimeout = 10 * time.Second
