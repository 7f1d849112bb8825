//go:build !linux

package packagefolder

// freeBytes is not known on this system.
func freeBytes(string) (free int64, known bool) { return 0, false }
