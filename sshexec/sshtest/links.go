package sshtest

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/spf13/afero"
)

// storage stores the files. Its callers resolve symbolic links before, with files.follow.
type storage interface {
	afero.Fs
	Lstat(name string) (os.FileInfo, error)
	Symlink(target, name string) error
	Readlink(name string) (string, error)
}

// maxLinks limits the symbolic links in the path of a file.
const maxLinks = 40

// follow resolves the symbolic links in the directories of name. If last is false, it also resolves a link that is the file
// itself. The target of an absolute link starts at the root of the host, not of the real machine.
func (f *files) follow(name string, last bool) (string, error) {
	at, left := "/", strings.Split(strings.Trim(clean(name), "/"), "/")
	for links := 0; len(left) > 0; {
		next := path.Join(at, left[0])
		left = left[1:]
		info, err := f.fs.Lstat(next)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 || last && len(left) == 0 {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", &fs.PathError{Op: "open", Path: name, Err: syscall.ELOOP}
		}
		target, err := f.fs.Readlink(next)
		if err != nil {
			return "", err
		}
		if path.IsAbs(target) {
			at = "/"
		}
		left = append(strings.Split(strings.Trim(target, "/"), "/"), left...)
	}
	return at, nil
}

// LstatIfPossible implements afero.Lstater.
func (u *userFs) LstatIfPossible(name string) (os.FileInfo, bool, error) {
	info, err := u.lstat(name)
	return info, true, err
}

func (u *userFs) lstat(name string) (os.FileInfo, error) {
	at, err := u.follow(name, true)
	if err != nil {
		return nil, err
	}
	return u.look(at)
}

// SymlinkIfPossible implements afero.Linker.
func (u *userFs) SymlinkIfPossible(target, name string) error {
	at, err := u.follow(name, true)
	if err != nil {
		return err
	}
	if _, err := u.fs.Lstat(at); err == nil {
		return &fs.PathError{Op: "symlink", Path: name, Err: fs.ErrExist}
	}
	if err := u.parent("symlink", at); err != nil {
		return err
	}
	if err := u.fs.Symlink(target, at); err != nil {
		return err
	}
	u.own(at)
	return nil
}

// ReadlinkIfPossible implements afero.LinkReader.
func (u *userFs) ReadlinkIfPossible(name string) (string, error) {
	at, err := u.follow(name, true)
	if err != nil {
		return "", err
	}
	return u.fs.Readlink(at)
}
