package csar

import (
	"fmt"
	"io/fs"
	"syscall"
)

// inodeOf returns what tells a replaced file from the earlier one of the same size and modification time. The
// change time cannot be set by programs.
func inodeOf(info fs.FileInfo) string {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprint(s.Dev, s.Ino, s.Ctim.Sec, s.Ctim.Nsec)
}
