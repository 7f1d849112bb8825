// Package packagefolder keeps the files of VNF packages in a folder that belongs to one Store: it marks the folder, bounds the files and
// the disk that they take, and writes them to the disk before they are named.
package packagefolder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Errors of files. Package onboarding exports them.
var (
	ErrTooLarge = errors.New("the content is too large")
	ErrNoSpace  = errors.New("the disk has no room for the content")
)

// Folder is a folder with the files of packages.
type Folder struct {
	Dir string
	// MaxSize is the size in bytes of the largest file. MinFree is how many bytes of the disk stay free. Only Linux reports free bytes.
	MaxSize, MinFree int64
}

// Path returns the path of a file.
func (f Folder) Path(name string) string { return filepath.Join(f.Dir, name) }

// checkFreeEvery is how many bytes are written between two looks at the free bytes of the disk.
const checkFreeEvery = 64 << 20

// Copy copies content to a file that has some bytes already, and returns how many bytes the file has then. An error of content begins with
// "reading the content".
func (f Folder) Copy(ctx context.Context, to io.Writer, size int64, content io.Reader) (int64, error) {
	buffer := make([]byte, 256<<10)
	for unchecked := int64(0); ; {
		if ctx.Err() != nil {
			return size, context.Cause(ctx)
		}
		n, err := content.Read(buffer)
		if size+int64(n) > f.MaxSize {
			return size, f.TooLarge()
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return size, NoSpace(err)
		}
		size += int64(n)
		if unchecked += int64(n); unchecked >= checkFreeEvery {
			unchecked = 0
			if err := f.CheckFree(0); err != nil {
				return size, err
			}
		}
		if errors.Is(err, io.EOF) {
			return size, nil
		}
		if err != nil {
			return size, fmt.Errorf("reading the content after %d bytes: %w", size, err)
		}
	}
}

// TooLarge returns the error of a file that is larger than MaxSize.
func (f Folder) TooLarge() error {
	return fmt.Errorf("%w: %w: at most %d bytes are accepted", vnflcm.ErrInvalidRequest, ErrTooLarge, f.MaxSize)
}

// CheckFree returns ErrNoSpace if fewer bytes than MinFree would be free beside so many new ones.
func (f Folder) CheckFree(size int64) error {
	free, known := freeBytes(f.Dir)
	if known && free-size < f.MinFree {
		return fmt.Errorf("%w: %d bytes are free, of which %d stay free", ErrNoSpace, free, f.MinFree)
	}
	return nil
}

// Place moves a file to another name, and writes the name to the disk.
func (f Folder) Place(from, name string) error {
	path := f.Path(name)
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return NoSpace(err)
	}
	if err := os.Rename(f.Path(from), path); err != nil {
		return NoSpace(err)
	}
	return errors.Join(NoSpace(syncFolder(folder)), NoSpace(syncFolder(filepath.Dir(folder))))
}

// syncFolder writes the names in a folder to the disk.
func syncFolder(name string) error {
	f, err := os.Open(name) //nolint:gosec // a folder of the packages
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) { // a file system that cannot
		err = nil
	}
	return errors.Join(err, f.Close())
}

// List returns the files in folders below Dir.
func (f Folder) List(folders ...string) (list []string, err error) {
	for _, folder := range folders {
		err = errors.Join(err, fs.WalkDir(os.DirFS(f.Dir), folder, func(name string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) { // it was removed meanwhile
				return nil
			}
			if err == nil && d.Type().IsRegular() {
				list = append(list, filepath.FromSlash(name))
			}
			return err
		}))
	}
	return list, err
}

// NoSpace returns an error of a file as ErrNoSpace if the disk is full, and without the path.
func NoSpace(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", ErrNoSpace, HidePath(err))
	}
	return HidePath(err)
}

// HidePath returns the error of a file without its path, because clients see it.
func HidePath(err error) error {
	if fault, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("the file of the content: %s: %w", fault.Op, fault.Err)
	}
	if fault, ok := errors.AsType[*os.LinkError](err); ok {
		return fmt.Errorf("the file of the content: %s: %w", fault.Op, fault.Err)
	}
	return err
}
