package csar

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
)

// nearMiss describes a package without entry definitions that would have them if it had been packed in another way, and the remedy. It
// returns "" for other packages.
func (a *Archive) nearMiss() string {
	for _, name := range slices.Sorted(maps.Keys(a.source.listed.files)) {
		if strings.EqualFold(name, metaFile) {
			return fmt.Sprintf("%s must be named %s: capital letters count", name, metaFile)
		}
		if folder, found := strings.CutSuffix(name, "/"+metaFile); found {
			return fmt.Sprintf("the package is in the folder %s: pack the content of the folder, not the folder", folder)
		}
	}
	return ""
}

// otherFormat describes a file that is no zip archive, and the remedy.
func otherFormat(r io.ReaderAt) string {
	begin := make([]byte, 2)
	if _, err := r.ReadAt(begin, 0); err == nil && bytes.Equal(begin, []byte{0x1f, 0x8b}) {
		return "no zip archive but a gzip file, as the packages of OSM are: unpack it and pack the VNF package as zip"
	}
	return "no zip archive"
}

// dotName reports whether a name would be plain without its first "./".
func dotName(name string) bool {
	rest, found := strings.CutPrefix(name, "./")
	return found && rest == path.Clean(rest)
}
