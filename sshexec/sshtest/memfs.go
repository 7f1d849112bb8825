package sshtest

import (
	"io/fs"
	"os"
	"syscall"

	"github.com/spf13/afero"
	"github.com/spf13/afero/mem"
)

// memFs stores files in memory. afero's memory file system has no symbolic links, so a link is a file with the mode of a link
// and its target as content.
type memFs struct{ afero.Fs }

func newMemFs() memFs { return memFs{afero.NewMemMapFs()} }

func (m memFs) Lstat(name string) (os.FileInfo, error) { return m.Stat(name) }

func (m memFs) Symlink(target, name string) error {
	f, err := m.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o777)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if _, err := f.WriteString(target); err != nil {
		return err
	}
	inner, ok := f.(*mem.File)
	if !ok {
		return &fs.PathError{Op: "symlink", Path: name, Err: syscall.ENOTSUP}
	}
	mem.SetMode(inner.Data(), fs.ModeSymlink|fs.ModePerm)
	return nil
}

func (m memFs) Readlink(name string) (string, error) {
	info, err := m.Stat(name)
	if err != nil {
		return "", err
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: syscall.EINVAL}
	}
	target, err := afero.ReadFile(m.Fs, name)
	return string(target), err
}
