package sshtest

import (
	"io/fs"
	"os"
	"syscall"

	"github.com/spf13/afero"
)

// writtenFile is a file open for writing. It applies the fault of a full disk and the clock of the host.
type writtenFile struct {
	afero.File
	fs    *userFs
	name  string
	wrote bool
}

func (f *writtenFile) Write(p []byte) (int, error) {
	return f.fit(p, f.File.Write)
}

func (f *writtenFile) WriteString(s string) (int, error) { return f.Write([]byte(s)) }

func (f *writtenFile) WriteAt(p []byte, offset int64) (int, error) {
	return f.fit(p, func(p []byte) (int, error) { return f.File.WriteAt(p, offset) })
}

func (f *writtenFile) fit(p []byte, write func([]byte) (int, error)) (int, error) {
	fit := f.fs.faults.disk(len(p))
	if fit == 0 && len(p) > 0 {
		return 0, &fs.PathError{Op: "write", Path: f.name, Err: syscall.ENOSPC}
	}
	n, err := write(p[:fit])
	f.wrote = true
	if err == nil && fit < len(p) {
		err = &fs.PathError{Op: "write", Path: f.name, Err: syscall.ENOSPC}
	}
	return n, err
}

// Close also sets the time of the file by the clock of the host, if Config.Clock is set.
func (f *writtenFile) Close() error {
	err := f.File.Close()
	if f.wrote && f.fs.ownClock {
		now := f.fs.clock()
		if dating := f.fs.fs.Chtimes(f.name, now, now); !os.IsNotExist(dating) && err == nil {
			err = dating
		}
	}
	return err
}
