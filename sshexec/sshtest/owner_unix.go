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

// Sys returns a *syscall.Stat_t, because the SFTP server and the interpreter's tests -O and -G read the owner from this type.
func (o ownedInfo) Sys() any { return o.sys }

func withOwner(info fs.FileInfo, uid, gid int) fs.FileInfo {
	return ownedInfo{info, &syscall.Stat_t{Uid: uint32(uid), Gid: uint32(gid)}} //nolint:gosec // small numbers that users assigned
}
