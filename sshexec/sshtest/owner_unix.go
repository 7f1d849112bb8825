//go:build unix

package sshtest

import (
	"io/fs"
	"strings"
	"syscall"
)

type ownedInfo struct {
	fs.FileInfo
	sys *syscall.Stat_t
}

// Sys returns what the tests -O and -G of the interpreter insist on.
func (o ownedInfo) Sys() any { return o.sys }

func withOwner(info fs.FileInfo, owner string) fs.FileInfo {
	stat := &syscall.Stat_t{Uid: 1000, Gid: 1000}
	if strings.HasPrefix(owner, "root:") {
		stat.Uid, stat.Gid = 0, 0
	}
	return ownedInfo{info, stat}
}
