package packagefolder

import "syscall"

// freeBytes returns how many bytes of the file system of a folder this process may still write.
func freeBytes(dir string) (free int64, known bool) {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true //nolint:gosec,unconvert // a disk has fewer than 2^63 bytes; Bsize is shorter on 32 bits
}
