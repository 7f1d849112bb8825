package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
)

// Remedies for a file that is no store.
const (
	orRestore = ": restore it from a backup"
	orRemove  = orRestore + ", or remove it to begin without any instance"
)

// sides are the suffixes of the files that SQLite has beside the database while it is open: the journal of the latest changes, and what
// processes share.
var sides = []string{"-wal", "-shm"}

// isNew reports whether there is no store yet. A journal without its database is an error: SQLite would remove it.
func isNew(path string) (bool, error) {
	journal, errJournal := os.Stat(path + sides[0]) // first: another process makes the database before its journal
	_, err := os.Stat(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if errJournal == nil && journal.Size() > 0 {
		name := filepath.Base(journal.Name())
		return false, fmt.Errorf("sqlite: %s is missing, but %s, with its latest changes, is there%s, or remove %s to begin without any instance", path, name, orRestore, name)
	}
	return true, nil
}

// smallestFile is the size in bytes of the smallest SQLite database, with one page. SQLite takes less for an empty database.
const smallestFile = 512

// inspect refuses a file that cannot be a store, and changes nothing. It does not open the file itself: closing it would remove the locks
// of this process.
func inspect(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("sqlite: %s is a folder", path)
	case info.Size() == 0:
		return fmt.Errorf("sqlite: %s is empty%s", path, orRemove)
	case info.Size() < smallestFile:
		return fmt.Errorf("sqlite: %s is no SQLite database%s", path, orRemove)
	}
	return patiently(ctx, func() error { return checkFormat(ctx, path) })
}

// Codes of SQLite. The bits above the lowest eight say more.
const (
	codeBusy      = 5
	codeCorrupt   = 11
	codeNoFile    = 26
	codeOfFailure = 0xff
)

// codeOf returns the code of an error of SQLite, 0 for another error.
func codeOf(err error) int {
	failure, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return 0
	}
	return failure.Code() & codeOfFailure
}

// checkFormat refuses a file that does not have the tables of this version.
func checkFormat(ctx context.Context, path string) error {
	db, err := connect(path, 1) // without write-ahead mode, which would change the file of another program
	if err != nil {
		return err
	}
	var version, tables int
	err = db.QueryRowContext(ctx, `SELECT (SELECT user_version FROM pragma_user_version), count(*) FROM sqlite_master WHERE name = 'vnfkit_records'`).
		Scan(&version, &tables)
	err = errors.Join(err, db.Close())
	switch {
	case codeOf(err) == codeNoFile:
		return fmt.Errorf("sqlite: %s is no SQLite database%s: %w", path, orRemove, err)
	case codeOf(err) == codeCorrupt:
		return fmt.Errorf("sqlite: %s is damaged%s: %w", path, orRestore, err)
	case err != nil:
		return wrap("open "+path, err)
	case tables == 0:
		return fmt.Errorf("sqlite: %s is the database of another program: it has no table vnfkit_records", path)
	case version > format:
		return fmt.Errorf("sqlite: %s was written by a newer version of vnfkit (format %d, this version knows %d): use that version", path, version, format)
	case version < format:
		return fmt.Errorf("sqlite: %s has the format %d of an earlier version of vnfkit, which this version cannot read: begin with a new file", path, version)
	}
	return nil
}

// tighten removes the rights of other users.
func tighten(path string) error {
	for _, suffix := range append([]string{""}, sides...) {
		info, err := os.Stat(path + suffix)
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			err = os.Chmod(path+suffix, 0o600)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("sqlite: other users have rights to the store: %w", err)
		}
	}
	return nil
}

// openFiles are the files of an open store, the database first.
type openFiles []openFile

type openFile struct {
	name string
	info fs.FileInfo // when it was opened
}

// filesOf returns the files of a store that is open.
func filesOf(path string) (openFiles, error) {
	var files openFiles
	for _, suffix := range append([]string{""}, sides...) {
		info, err := os.Stat(path + suffix)
		switch {
		case suffix != "" && errors.Is(err, fs.ErrNotExist): // the file system has no write-ahead mode
			continue
		case err != nil:
			return nil, err
		}
		files = append(files, openFile{path + suffix, info})
	}
	return files, nil
}

// check returns an error if a file has another content now than this process has open.
func (f openFiles) check() error {
	for _, opened := range f {
		if now, err := os.Stat(opened.name); err != nil || !os.SameFile(opened.info, now) {
			return errors.Join(fmt.Errorf("sqlite: %s was removed or replaced while it was open: end every process that uses the store, restore the store from a backup and start again", opened.name), err)
		}
	}
	return nil
}
