//go:build !linux

package csar

import "io/fs"

// inodeOf returns "": other systems have no portable fields for inode and change time.
func inodeOf(fs.FileInfo) string { return "" }
