package sshtest

import (
	"io/fs"
	"syscall"

	"github.com/spf13/afero"
)

// writtenFile is a file open for writing, on a disk that may be full.
type writtenFile struct {
	afero.File
	fs   *userFs
	name string
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
	n, err := write(p[:fit])
	if err == nil && fit < len(p) {
		err = &fs.PathError{Op: "write", Path: f.name, Err: syscall.ENOSPC}
	}
	return n, err
}
