package sshtest

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/afero"
	"github.com/spf13/afero/mem"
)

// userFs is an afero.Fs that enforces the permissions of a user.
type userFs struct {
	*files
	user   string
	faults *faults
	umask  os.FileMode
	noProc bool // without /proc
}

func clean(name string) string { return path.Clean("/" + name) }

func (u *userFs) Name() string { return "sshtest" }

func (u *userFs) Create(name string) (afero.File, error) {
	return u.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
}

func (u *userFs) Open(name string) (afero.File, error) { return u.OpenFile(name, os.O_RDONLY, 0) }

func (u *userFs) OpenFile(name string, flag int, perm os.FileMode) (afero.File, error) {
	exclusive := flag&os.O_EXCL != 0
	name, err := u.follow(name, exclusive)
	if err != nil {
		return nil, err
	}
	switch name {
	case "/dev/null":
		return mem.NewFileHandle(mem.CreateFile(name)), nil
	case "/dev/zero":
		return zeros{mem.NewFileHandle(mem.CreateFile(name))}, nil
	}
	writes := flag&(os.O_WRONLY|os.O_RDWR) != 0
	if proc := u.procOf(name); proc != nil && !writes {
		if info, err := proc.Stat(name); err == nil && info.Mode() == 0 {
			return nil, denied("open", name)
		}
		return proc.Open(name)
	}
	if strings.HasPrefix(name, "/root/") && !u.owns(name) {
		return nil, denied("open", name)
	}
	if u.absent(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	info, err := u.fs.Lstat(name)
	made := err != nil
	switch {
	case err != nil && flag&os.O_CREATE == 0:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	case err != nil:
		if err := u.parent("open", name); err != nil {
			return nil, err
		}
	case exclusive && flag&os.O_CREATE != 0:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrExist}
	case writes && info.IsDir():
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EISDIR}
	case writes && !u.owns(name), !writes && !u.mayRead(name):
		return nil, denied("open", name)
	}
	if !writes {
		return u.fs.OpenFile(name, flag, perm)
	}
	if err := u.writable("open", name); err != nil {
		return nil, err
	}
	f, err := u.fs.OpenFile(name, flag, perm&^u.umask)
	if err != nil {
		return nil, err
	}
	if made {
		u.own(name)
	}
	return &writtenFile{File: f, fs: u, name: name, wrote: made}, nil
}

// zeros is /dev/zero.
type zeros struct{ afero.File }

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func (u *userFs) Stat(name string) (os.FileInfo, error) {
	at, err := u.follow(name, false)
	if err != nil {
		return nil, err
	}
	return u.look(at)
}

// look returns information about the file at a path without links in it.
func (u *userFs) look(name string) (os.FileInfo, error) {
	switch {
	case strings.HasPrefix(name, "/root/") && !u.owns(name):
		return nil, denied("stat", name)
	case name == "/dev/null", name == "/dev/zero":
		return mem.GetFileInfo(mem.CreateFile("null")), nil
	case u.absent(name):
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	if proc := u.procOf(name); proc != nil {
		return proc.Stat(name)
	}
	return u.fs.Lstat(name)
}

// procOf returns the simulated /proc for a path below /proc. It returns nil for a path that only a stored file has.
func (u *userFs) procOf(name string) afero.Fs {
	if u.noProc || !within(name, "/proc") {
		return nil
	}
	proc := u.procFs(u.user, name)
	if _, err := proc.Stat(name); err != nil {
		if _, err := u.fs.Lstat(name); err == nil {
			return nil
		}
	}
	return proc
}

// absent reports whether a fault hides a program.
func (u *userFs) absent(name string) bool {
	return name == sftpServerPath && u.faults.current().NoSFTP
}

func (u *userFs) Mkdir(name string, perm os.FileMode) error {
	name, err := u.follow(name, true)
	if err != nil {
		return err
	}
	if _, err := u.fs.Lstat(name); err == nil {
		return &fs.PathError{Op: "mkdir", Path: name, Err: fs.ErrExist}
	}
	if err := u.parent("mkdir", name); err != nil {
		return err
	}
	if err := u.fs.Mkdir(name, perm&^u.umask); err != nil {
		return err
	}
	u.own(name)
	return nil
}

func (u *userFs) MkdirAll(name string, perm os.FileMode) error {
	name = clean(name)
	if info, err := u.Stat(name); err == nil {
		if !info.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: name, Err: syscall.ENOTDIR}
		}
		return nil
	}
	if err := u.MkdirAll(path.Dir(name), perm); err != nil {
		return err
	}
	err := u.Mkdir(name, perm)
	if info, other := u.Stat(name); errors.Is(err, fs.ErrExist) && other == nil && info.IsDir() {
		return nil // another process created the directory meanwhile
	}
	return err
}

func (u *userFs) Remove(name string) error {
	name, err := u.follow(name, true)
	if err != nil {
		return err
	}
	info, err := u.fs.Lstat(name)
	if err != nil {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	if err := u.taking("remove", name); err != nil {
		return err
	}
	if info.IsDir() {
		if entries, err := afero.ReadDir(u.fs, name); err != nil || len(entries) > 0 {
			return &fs.PathError{Op: "remove", Path: name, Err: syscall.ENOTEMPTY}
		}
	}
	u.moved(name, "")
	return u.fs.Remove(name)
}

func (u *userFs) RemoveAll(name string) error {
	name, err := u.follow(name, true)
	if err != nil {
		return err
	}
	if _, err := u.fs.Lstat(name); err != nil {
		return nil
	}
	if name == "/" {
		return denied("remove", name)
	}
	if err := u.taking("remove", name); err != nil {
		return err
	}
	u.moved(name, "")
	return u.fs.RemoveAll(name)
}

func (u *userFs) Rename(from, to string) error {
	from, err := u.follow(from, true)
	if err != nil {
		return err
	}
	if to, err = u.follow(to, true); err != nil {
		return err
	}
	moving, err := u.fs.Lstat(from)
	if err != nil {
		return &fs.PathError{Op: "rename", Path: from, Err: fs.ErrNotExist}
	}
	if err := u.taking("rename", from); err != nil {
		return err
	}
	if err := u.parent("rename", to); err != nil {
		return err
	}
	if from == to {
		return nil
	}
	if err := u.replaceable(moving, to); err != nil {
		return err
	}
	u.keepOwner(from)
	if err := u.fs.Rename(from, to); err != nil {
		return err
	}
	u.moved(from, to)
	return nil
}

// keepOwner stores the current owner of a file before it is moved to a directory whose owner would be used otherwise.
func (u *userFs) keepOwner(name string) { u.setOwner(name, u.owner(name)) }

// replaceable checks that a file may replace the one at a path: a directory may replace only an empty directory.
func (u *userFs) replaceable(moving os.FileInfo, to string) error {
	info, err := u.fs.Lstat(to)
	switch {
	case err != nil:
		return nil
	case u.taking("rename", to) != nil:
		return u.taking("rename", to)
	case info.IsDir() && !moving.IsDir():
		return &fs.PathError{Op: "rename", Path: to, Err: syscall.EISDIR}
	case info.IsDir():
		return u.Remove(to)
	case moving.IsDir():
		return &fs.PathError{Op: "rename", Path: to, Err: syscall.ENOTDIR}
	}
	return nil
}

func (u *userFs) Chmod(name string, mode os.FileMode) error {
	name, err := u.follow(name, false)
	if err != nil {
		return err
	}
	if _, err := u.fs.Lstat(name); err != nil {
		return &fs.PathError{Op: "chmod", Path: name, Err: fs.ErrNotExist}
	}
	if !u.owns(name) {
		return denied("chmod", name)
	}
	if err := u.writable("chmod", name); err != nil {
		return err
	}
	return u.fs.Chmod(name, mode)
}

// Chown always fails, because a host has owners by name. The program chown and SFTP change the owner.
func (u *userFs) Chown(name string, _, _ int) error { return denied("chown", clean(name)) }

func (u *userFs) Chtimes(name string, accessed, modified time.Time) error {
	name, err := u.follow(name, false)
	if err != nil {
		return err
	}
	if !u.owns(name) {
		return denied("touch", name)
	}
	if err := u.writable("touch", name); err != nil {
		return err
	}
	return u.fs.Chtimes(name, accessed, modified)
}
