package csar

import (
	"cmp"
	"math"
)

// Limits limit the content of a package, and of the zip of option 2 around it. A package that exceeds them is refused before any file is
// parsed. A field that is 0 has its default.
type Limits struct {
	// Members is the number of files and folders; default 20000.
	Members int
	// MemberSize and TotalSize are bytes after decompression; defaults 64 GiB and 128 GiB, for images, which are streamed and
	// never in memory as a whole.
	MemberSize, TotalSize int64
	// Ratio is the maximum ratio of the decompressed to the compressed size for a member of more than 1 MiB; default 200.
	// Deflate reaches about 1030 on zeros.
	Ratio int64
	// TotalRatio is the maximum ratio of the total size of all members, beyond the first 2 GiB, to the size of the archive;
	// default 25. For a compressed CSAR in a zip of option 2, the size of the zip counts. TotalRatio does not apply to
	// directories. An almost empty disk image of 2 GiB is accepted at any ratio below Ratio.
	TotalRatio int64
	// DocumentSize is the size in bytes of a YAML file or of TOSCA.meta, which are read as a whole; default 2 MiB.
	DocumentSize int64
}

// anyRatio is the total size up to which Limits.TotalRatio does not apply.
const anyRatio = 2 << 30

// total returns the maximum total size of the members of an archive of archiveSize bytes.
func (l Limits) total(archiveSize int64) int64 {
	most := l.TotalSize
	if ratio := max(l.TotalRatio, 1); archiveSize < (math.MaxInt64-anyRatio)/ratio {
		most = min(most, anyRatio+ratio*archiveSize)
	}
	return most
}

// withDefaults sets the defaults of fields that are 0.
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
