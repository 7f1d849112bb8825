//go:build unix

package sshtest

import (
	"io/fs"
	"syscall"
)

type ownedInfo struct {
	fs.FileInfo
	sys *syscall.Stat_t
}

// Sys returns what SFTP, and the tests -O and -G of the interpreter, insist on.
func (o ownedInfo) Sys() any { return o.sys }

func withOwner(info fs.FileInfo, uid, gid int) fs.FileInfo {
	return ownedInfo{info, &syscall.Stat_t{Uid: uint32(uid), Gid: uint32(gid)}} //nolint:gosec // small numbers of our own
}
