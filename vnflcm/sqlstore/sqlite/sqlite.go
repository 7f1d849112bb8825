// Package sqlite opens the embedded database that keeps the state of a Manager in one file, without cgo and
// without anything to install:
//
//	store, err := sqlite.Open(ctx, "/var/lib/vnfm/state.db")
//	manager, err := vnflcm.New(vnflcm.Config{Store: store, ...})
//
// The file is in write-ahead mode, so readers do not wait for writers. Several processes on one machine may
// share it.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"

	_ "modernc.org/sqlite" // the driver; this package is the one that links it

	"github.com/vnfkit/vnfkit/vnflcm/sqlstore"
)

// Open opens or creates the database in that file (mode 0600).
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
		"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)"},
		"_txlock": {"immediate"},
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: options.Encode()}).String())
	if err != nil {
		return nil, err
	}
	store := sqlstore.New(db)
	if err := store.Migrate(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return store, nil
}
