package sshtest

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// The package comment describes the permissions.

func (u *userFs) owns(name string) bool {
	if u.user == "root" {
		return true
	}
	owner, _, _ := strings.Cut(u.owner(name), ":")
	return owner == u.user
}

func (u *userFs) mayRead(name string) bool {
	if u.owns(name) {
		return true
	}
	if name == "/root" || strings.HasPrefix(name, "/root/") {
		return false
	}
	info, err := u.fs.Lstat(name)
	return err != nil || info.Mode().Perm()&0o004 != 0
}

// mayWrite returns the result of test -w for a file.
func (u *userFs) mayWrite(name string, info os.FileInfo) bool {
	return (u.owns(name) || info.IsDir() && info.Mode().Perm()&0o002 != 0) && u.writable("access", name) == nil
}

func denied(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: syscall.EACCES}
}

// writable checks that no fault prevents changing name, for any user.
func (u *userFs) writable(op, name string) error {
	if u.faults.readOnly(name) {
		return &fs.PathError{Op: op, Path: name, Err: syscall.EROFS}
	}
	return nil
}

// parent checks that the directory of name exists and that the user may change its entries.
func (u *userFs) parent(op, name string) error {
	dir := path.Dir(name)
	info, err := u.fs.Lstat(dir)
	if err != nil {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	if !info.IsDir() {
		return &fs.PathError{Op: op, Path: name, Err: syscall.ENOTDIR}
	}
	if !u.owns(dir) && info.Mode().Perm()&0o002 == 0 {
		return denied(op, name)
	}
	return u.writable(op, name)
}

// taking checks that the user may remove or rename the file at name.
func (u *userFs) taking(op, name string) error {
	if err := u.parent(op, name); err != nil {
		return err
	}
	dir := path.Dir(name)
	if info, err := u.fs.Lstat(dir); err == nil && info.Mode()&fs.ModeSticky != 0 && !u.owns(dir) && !u.owns(name) {
		return &fs.PathError{Op: op, Path: name, Err: syscall.EPERM}
	}
	return nil
}

// own makes the user the owner of a new file in a directory of another user, such as /tmp.
func (u *userFs) own(name string) {
	if !u.owns(name) {
		u.setOwner(name, u.user+":"+u.user)
	}
}
