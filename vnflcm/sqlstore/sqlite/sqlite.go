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

	"github.com/cenkalti/backoff/v5"
	"modernc.org/sqlite" // the driver; this package is the one that links it

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Store is a vnflcm.Store in one file. It is safe for concurrent use, also by several processes. One connection writes,
// other connections read at the same time.
type Store struct {
	readers *sql.DB
	get     *sql.Stmt // of the readers
	writer  *writer
	path    string
	file    fs.FileInfo // of the file that is open
}

// Open opens or creates the database in that file; the folder must exist. The file and those that SQLite creates beside
// it have the mode 0600: Open removes the rights of other users. An empty file is an error, because a Manager would
// take it for a store without instances. Close the store when the Manager has been closed. Writers of several processes
// wait up to 10 s for each other.
func Open(ctx context.Context, path string) (*Store, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := create(ctx, path); err != nil {
			return nil, err
		}
	}
	file, err := inspect(path)
	if err != nil {
		return nil, err
	}
	readers, err := connect(path, maxReaders)
	if err != nil {
		return nil, err
	}
	db, err := connect(path, 1)
	if err != nil {
		return nil, errors.Join(err, readers.Close())
	}
	err = migrate(ctx, db)
	var statements changes
	if err == nil {
		statements, err = prepareChanges(ctx, db)
	}
	var get *sql.Stmt
	if err == nil {
		get, err = readers.PrepareContext(ctx, getQuery)
	}
	if err != nil {
		return nil, errors.Join(wrap("open "+path, err), db.Close(), readers.Close())
	}
	return &Store{readers: readers, get: get, writer: newWriter(ctx, db, statements), path: path, file: file}, nil
}

// Apply implements vnflcm.Store. It returns an error if the file has been removed or replaced since it was opened.
func (s *Store) Apply(ctx context.Context, b vnflcm.Batch) error {
	if now, err := os.Stat(s.path); err != nil || !os.SameFile(s.file, now) {
		return errors.Join(fmt.Errorf("sqlite: %s was removed or replaced while it was open", s.path), err)
	}
	return s.writer.apply(ctx, b)
}

// Close writes the batches that Apply has begun with, and closes the database.
func (s *Store) Close() error {
	s.writer.close()
	<-s.writer.ended
	return errors.Join(s.writer.db.Close(), s.readers.Close())
}

// watchEvery is how often Watch asks whether another process has written.
const watchEvery = 25 * time.Millisecond

// Watch implements vnflcm.Watcher: SQLite counts the commits of other connections.
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

// maxReaders is how many connections read at once; each keeps a file open.
const maxReaders = 5 // one of them may watch

func connect(path string, connections int) (*sql.DB, error) {
	options := url.Values{
		// busy_timeout comes first, because the other pragmas may have to wait too.
		"_pragma": {fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), "journal_mode(WAL)", "synchronous(FULL)"},
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
	db, err := connect(f.Name(), 1)
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

// inspect refuses a file that cannot be a store, and removes the rights of other users.
func inspect(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() == 0 {
		return nil, fmt.Errorf("sqlite: %s is empty: restore it from a backup, or remove it to begin without any instance", path)
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if err := tighten(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("sqlite: other users have rights to the store: %w", err)
		}
	}
	return info, nil
}

func tighten(name string) error {
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	return os.Chmod(name, 0o600)
}

// migrate makes the tables. Processes that open a file at the same time all switch it to write-ahead mode. SQLite does
// not wait for that in spite of busy_timeout, so migrate retries.
func migrate(ctx context.Context, db *sql.DB) error {
	poll := backoff.NewExponentialBackOff()
	poll.InitialInterval, poll.MaxInterval = 5*time.Millisecond, 250*time.Millisecond
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := checkFormat(ctx, db)
		if err == nil {
			_, err = db.ExecContext(ctx, schema)
		}
		if failure, ok := errors.AsType[*sqlite.Error](err); err != nil && (!ok || failure.Code()&0xff != busy) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(poll), backoff.WithMaxElapsedTime(busyTimeout))
	return err
}

// busy is SQLITE_BUSY; the bits above the lowest eight say more.
const busy = 5

// busyTimeout is how long a writer waits for other writers.
const busyTimeout = 10 * time.Second
