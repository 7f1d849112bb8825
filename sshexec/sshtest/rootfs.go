package sshtest

import (
	"os"
	"strings"
	"time"

	"github.com/spf13/afero"
)

// rootFs stores files below a directory of the real machine. os.Root does not follow symbolic links out of this directory.
type rootFs struct{ root *os.Root }

func inside(name string) string {
	if name = strings.TrimPrefix(clean(name), "/"); name == "" {
		return "."
	}
	return name
}

func (r rootFs) Name() string { return "root" }

func (r rootFs) Create(name string) (afero.File, error) { return file(r.root.Create(inside(name))) }

func (r rootFs) Open(name string) (afero.File, error) { return file(r.root.Open(inside(name))) }

func (r rootFs) OpenFile(name string, flag int, perm os.FileMode) (afero.File, error) {
	return file(r.root.OpenFile(inside(name), flag, perm.Perm()))
}

// file returns a nil afero.File for an error. A nil *os.File in an afero.File would not compare equal to nil.
func file(f *os.File, err error) (afero.File, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (r rootFs) Mkdir(name string, perm os.FileMode) error {
	return r.root.Mkdir(inside(name), perm.Perm())
}

func (r rootFs) MkdirAll(name string, perm os.FileMode) error {
	return r.root.MkdirAll(inside(name), perm.Perm())
}

func (r rootFs) Remove(name string) error    { return r.root.Remove(inside(name)) }
func (r rootFs) RemoveAll(name string) error { return r.root.RemoveAll(inside(name)) }

func (r rootFs) Rename(from, to string) error { return r.root.Rename(inside(from), inside(to)) }

func (r rootFs) Stat(name string) (os.FileInfo, error) { return r.root.Stat(inside(name)) }

func (r rootFs) Lstat(name string) (os.FileInfo, error) { return r.root.Lstat(inside(name)) }

func (r rootFs) Symlink(target, name string) error { return r.root.Symlink(target, inside(name)) }

func (r rootFs) Readlink(name string) (string, error) { return r.root.Readlink(inside(name)) }

func (r rootFs) Chmod(name string, mode os.FileMode) error {
	return r.root.Chmod(inside(name), mode&(os.ModePerm|os.ModeSticky))
}

func (r rootFs) Chown(name string, uid, gid int) error { return r.root.Chown(inside(name), uid, gid) }

func (r rootFs) Chtimes(name string, accessed, modified time.Time) error {
	return r.root.Chtimes(inside(name), accessed, modified)
}
