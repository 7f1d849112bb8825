package snapshots

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Storage keeps files, which are encrypted. Their names are paths: tenant-north/instance-1/5f1c.tar.age. Parts of a path have letters, digits,
// and characters that url.PathEscape leaves. It is safe for concurrent use.
type Storage interface {
	// Create begins a file. Other calls do not see it before it is committed.
	Create(ctx context.Context, name string) (File, error)
	// Open opens a file. vnflcm.ErrNotFound: it does not exist.
	Open(ctx context.Context, name string) (io.ReadCloser, error)
	// Remove removes a file, durably, and what processes that were killed have left of files of this name. A missing one is no error.
	Remove(ctx context.Context, name string) error
}

// File is a file that is being written. Commit or Abort ends it.
type File interface {
	io.Writer
	// Commit makes the file visible under its name, durably. It replaces a file of the same name.
	Commit() error
	// Abort removes the file, unless it was committed.
	Abort()
}

// Directory returns a Storage in a folder, which it makes if it is missing (mode 0700; files have mode 0600). Processes on one machine, or on a
// shared file system, may use the same folder.
func Directory(path string) Storage { return directory(path) }

type directory string

func (d directory) path(name string) string {
	return filepath.Join(string(d), filepath.FromSlash(name))
}

// Create implements Storage.
func (d directory) Create(_ context.Context, name string) (File, error) {
	path := d.path(name)
	for tries := 1; ; tries++ {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*"+partial) // mode 0600
		if err == nil {
			return &dirFile{File: file, path: path, root: string(d)}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) || tries == maxTries { // Remove has removed the folder of the instance meanwhile
			return nil, err
		}
	}
}

const (
	partial  = ".partial" // end of the names of files that are not committed
	maxTries = 10
)

// dirFile is a file with another name until it is committed.
type dirFile struct {
	*os.File

	path      string
	root      string // of the storage
	committed bool
}

// Commit implements File.
func (f *dirFile) Commit() error {
	err := errors.Join(f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), f.path)
	}
	f.committed = err == nil
	if err != nil {
		return err
	}
	return f.syncFolders()
}

// syncFolders makes the name of the file durable, and those of its folders, which Create may have made.
func (f *dirFile) syncFolders() error {
	for folder := filepath.Dir(f.path); ; folder = filepath.Dir(folder) {
		if err := syncFolder(folder); err != nil || folder == filepath.Clean(f.root) || folder == filepath.Dir(folder) {
			return err
		}
	}
}

// Abort implements File.
func (f *dirFile) Abort() {
	if !f.committed {
		_ = f.Close() // Commit may have closed it
		_ = os.Remove(f.Name())
	}
}

// Open implements Storage.
func (d directory) Open(_ context.Context, name string) (io.ReadCloser, error) {
	file, err := os.Open(d.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: the file %s is missing", vnflcm.ErrNotFound, d.path(name))
	}
	return file, err
}

// Remove implements Storage. It removes the folder of the instance with its last file.
func (d directory) Remove(_ context.Context, name string) error {
	path := d.path(name)
	files, err := os.ReadDir(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, f := range files {
		own := f.Name() == filepath.Base(path) || strings.HasPrefix(f.Name(), filepath.Base(path)+".") && strings.HasSuffix(f.Name(), partial)
		if !own {
			continue
		}
		if err := os.Remove(filepath.Join(filepath.Dir(path), f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	folder := filepath.Dir(path)
	if os.Remove(folder) == nil { // it was empty
		folder = filepath.Dir(folder)
	}
	if err := syncFolder(folder); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// syncFolder makes a new or removed name in a folder durable.
func syncFolder(path string) error {
	folder, err := os.Open(path) //nolint:gosec // a folder of the storage
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
