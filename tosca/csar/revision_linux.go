package csar

import (
	"fmt"
	"io/fs"
	"syscall"
)

// inodeOf returns inode and change time. They differ if a file is replaced by a file with the same size and modification time, because
// programs cannot set the change time.
func inodeOf(info fs.FileInfo) string {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprint(s.Dev, s.Ino, s.Ctim.Sec, s.Ctim.Nsec)
}
