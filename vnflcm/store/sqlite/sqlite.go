package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver; this package is the one that links it

	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/internal/selection"
)

// Store is a store.Store in one file. It is safe for concurrent use, also by several processes. One connection writes, five
// read at the same time, and two more read lists for clients (Query.Background). Every call returns an error if the file has been
// removed or replaced since it was opened, and Apply also for the files that SQLite has beside it.
type Store struct {
	readers *sql.DB
	lists   *sql.DB   // reads lists for clients
	get     *sql.Stmt // of the readers
	writer  *writer
	files   openFiles
}

// Open opens or creates the database in that file; the folder must exist. The file and those that SQLite creates beside
// it have the mode 0600: Open removes the rights of other users. A file that is empty, damaged, no database, of another program or of
// another version of vnfkit is an error, and unchanged; so is a journal without its database. Close the store when the Manager
// has been closed. Writers of several processes wait up to 10 s for each other.
func Open(ctx context.Context, path string) (*Store, error) {
	missing, err := isNew(path)
	if err == nil && missing {
		err = create(ctx, path)
	}
	if err == nil {
		err = inspect(ctx, path)
	}
	if err == nil {
		err = tighten(path)
	}
	if err != nil {
		return nil, err
	}
	readers, err := connect(path, maxReaders, writeAhead)
	if err != nil {
		return nil, err
	}
	lists, err := connect(path, maxListReaders, writeAhead)
	if err != nil {
		return nil, errors.Join(err, readers.Close())
	}
	db, err := connect(path, 1, writeAhead)
	if err != nil {
		return nil, errors.Join(err, readers.Close(), lists.Close())
	}
	err = migrate(ctx, db)
	var statements changes
	if err == nil {
		statements, err = prepareChanges(ctx, db)
	}
	var get *sql.Stmt
	if err == nil {
		get, err = readers.PrepareContext(ctx, selection.One(placeholder))
	}
	var files openFiles
	if err == nil {
		files, err = filesOf(path)
	}
	if err != nil {
		return nil, errors.Join(wrap("open "+path, err), db.Close(), readers.Close(), lists.Close())
	}
	return &Store{readers: readers, lists: lists, get: get, writer: newWriter(ctx, db, statements), files: files}, nil
}

// Apply implements store.Store. It acknowledges no batch that may be in a removed file, which ends with the process.
func (s *Store) Apply(ctx context.Context, b store.Batch) error {
	if err := s.files.check(); err != nil {
		return err
	}
	if err := s.writer.apply(ctx, b); err != nil {
		return err
	}
	return s.files.check()
}

// Close writes the batches that Apply has begun with, and closes the database.
func (s *Store) Close() error {
	s.writer.close()
	<-s.writer.ended
	return errors.Join(s.writer.db.Close(), s.readers.Close(), s.lists.Close())
}

// watchEvery is how often Watch asks whether another process has written.
const watchEvery = 25 * time.Millisecond

// Watch implements store.Watcher: SQLite counts the commits of other connections.
func (s *Store) Watch(ctx context.Context, changed func()) error {
	conn, err := s.readers.Conn(ctx)
	if err != nil {
		return wrap("watch", err)
	}
	defer func() { _ = conn.Close() }() // back into the pool
	every := time.NewTicker(watchEvery)
	defer every.Stop()
	var seen int64
	for {
		var now int64
		if err := conn.QueryRowContext(ctx, `PRAGMA data_version`).Scan(&now); err != nil {
			return errors.Join(context.Cause(ctx), wrap("watch", err))
		}
		if now != seen {
			seen = now
			changed()
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-every.C:
		}
	}
}

// maxReaders and maxListReaders are how many connections read at once; each keeps a file open.
const (
	maxReaders     = 5 // one of them may watch
	maxListReaders = 2
)

// writeAhead makes SQLite put changes into a journal, so that readers do not wait for writers.
const writeAhead = "journal_mode(WAL)"

func connect(path string, connections int, pragmas ...string) (*sql.DB, error) {
	options := url.Values{
		// busy_timeout comes first, because the other pragmas may have to wait too.
		"_pragma": append([]string{fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), "synchronous(FULL)"}, pragmas...),
		"_txlock": {"immediate"},
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: options.Encode()}).String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

// create makes the file under another name first: a file of that name is never without its table, so that an empty one is
// known to be damaged. Of several processes that do this at once, one wins.
func create(ctx context.Context, path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // a leftover does no harm
	if err := f.Close(); err != nil {
		return err
	}
	db, err := connect(f.Name(), 1, writeAhead)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, schema)
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// migrate makes the tables.
func migrate(ctx context.Context, db *sql.DB) error {
	return patiently(ctx, func() error {
		_, err := db.ExecContext(ctx, schema)
		return err
	})
}

// patiently calls do again while the file is in use. Processes that open a file at the same time all switch it to write-ahead mode,
// and SQLite does not wait for that in spite of busy_timeout.
func patiently(ctx context.Context, do func() error) error {
	busy := func(err error) bool { return codeOf(err) == codeBusy }
	return retry.Policy{First: 5 * time.Millisecond, Most: 250 * time.Millisecond, Within: busyTimeout, If: busy}.Do(ctx, do)
}

// busyTimeout is how long a writer waits for other writers.
const busyTimeout = 10 * time.Second
