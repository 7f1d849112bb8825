//go:build !linux

package csar

import "io/fs"

// inodeOf returns nothing: the fields of other systems have other names.
func inodeOf(fs.FileInfo) string { return "" }
