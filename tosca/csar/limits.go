package csar

import "cmp"

// Limits bound what a package may hold, and what a zip of option 2 around it may. A
// package beyond them is refused before anything of it is parsed. The zero value of
// a field means its default.
type Limits struct {
	// Members is the number of files and folders; default 20000.
	Members int
	// MemberSize and TotalSize are bytes after decompression; defaults 64 GiB
	// and 256 GiB: room for images, which are streamed and never held in memory.
	MemberSize, TotalSize int64
	// Ratio is how many times larger a member of more than 1 MiB may become when
	// decompressed; default 200. Deflate reaches about 1030 on zeros.
	Ratio int64
	// DocumentSize is bytes of a YAML file or of TOSCA.meta, which are read
	// whole; default 2 MiB.
	DocumentSize int64
}

// withDefaults fills in what is left zero.
func (l Limits) withDefaults() Limits {
	return Limits{
		Members:      cmp.Or(l.Members, 20_000),
		MemberSize:   cmp.Or(l.MemberSize, 64<<30),
		TotalSize:    cmp.Or(l.TotalSize, 256<<30),
		Ratio:        cmp.Or(l.Ratio, 200),
		DocumentSize: cmp.Or(l.DocumentSize, 2<<20),
	}
}
