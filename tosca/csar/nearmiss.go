package csar

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// nearMiss describes a package without entry definitions that would have them if it had been packed in another way, and the remedy. It
// returns "" for other packages.
func (a *Archive) nearMiss() string {
	for _, name := range slices.Sorted(maps.Keys(a.source.listed.files)) {
		if folder, found := strings.CutSuffix(name, "/"+metaFile); found {
			return wrongFolder(folder)
		}
	}
	if folder := a.onlyFolder(); folder != "" && len(a.yamlIn(folder)) == 1 {
		return wrongFolder(folder)
	}
	return ""
}

func wrongFolder(folder string) string {
	return fmt.Sprintf("the package is in the folder %s: pack the content of the folder, not the folder", folder)
}

// onlyFolder returns the folder that all members are in, "" if they are in several folders.
func (a *Archive) onlyFolder() string {
	only := ""
	for name := range a.source.listed.files {
		folder, _, found := strings.Cut(name, "/")
		if !found || only != "" && folder != only {
			return ""
		}
		only = folder
	}
	return only
}

// misnamedMeta returns the member whose name differs from that of TOSCA.meta only in case, "" without one. There is at most one, because
// a package with several of them is refused.
func (m *members) misnamedMeta() string {
	for name := range m.files {
		if strings.EqualFold(name, metaFile) && name != metaFile {
			return name
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
