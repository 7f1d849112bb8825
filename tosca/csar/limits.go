package csar

import (
	"cmp"
	"math"
)

// Limits bound the content of a package, and of the zip of option 2 around it. A package that exceeds them is refused
// before any of it is parsed. The zero value of a field means its default.
type Limits struct {
	// Members is the number of files and folders; default 20000.
	Members int
	// MemberSize and TotalSize are bytes after decompression; defaults 64 GiB
	// and 128 GiB: room for images, which are streamed and never held in memory.
	MemberSize, TotalSize int64
	// Ratio is how many times larger a member of more than 1 MiB may become when
	// decompressed; default 200. Deflate reaches about 1030 on zeros.
	Ratio int64
	// TotalRatio is how many times larger than the file all members together may be,
	// beyond the first 2 GiB; default 25. It is for archives only, and counts a
	// compressed CSAR in a zip of option 2 by the size of the zip. A disk image of
	// 2 GiB that is almost empty is accepted at any ratio below Ratio.
	TotalRatio int64
	// DocumentSize is bytes of a YAML file or of TOSCA.meta, which are read
	// whole; default 2 MiB.
	DocumentSize int64
}

// anyRatio is the size up to which Limits.TotalRatio does not count.
const anyRatio = 2 << 30

// total is how many bytes the members of an archive of that size may have together.
func (l Limits) total(archiveSize int64) int64 {
	most := l.TotalSize
	if ratio := max(l.TotalRatio, 1); archiveSize < (math.MaxInt64-anyRatio)/ratio {
		most = min(most, anyRatio+ratio*archiveSize)
	}
	return most
}

// withDefaults fills in what is left zero.
func (l Limits) withDefaults() Limits {
	return Limits{
		Members:      cmp.Or(l.Members, 20_000),
		MemberSize:   cmp.Or(l.MemberSize, 64<<30),
		TotalSize:    cmp.Or(l.TotalSize, 128<<30),
		Ratio:        cmp.Or(l.Ratio, 200),
		TotalRatio:   cmp.Or(l.TotalRatio, 25),
		DocumentSize: cmp.Or(l.DocumentSize, 2<<20),
	}
}
