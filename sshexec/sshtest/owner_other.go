//go:build !unix

package sshtest

import "io/fs"

func withOwner(info fs.FileInfo, _, _ int) fs.FileInfo { return info }
