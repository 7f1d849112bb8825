package csar

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"io"

	"github.com/vnfkit/vnfkit/tosca/problem"
)

// Records of an archive (APPNOTE.TXT 4.3.7, 4.3.16): their signatures, and their sizes without the variable fields.
const (
	localSignature, localSize = "PK\x03\x04", 30
	endSignature, endSize     = "PK\x05\x06", 22
)

// checkExtent refuses an archive with data before its first member or after its end. Readers of zip archives do not
// agree on the content of such a file: some may find another archive in it.
func (p *opening) checkExtent(z *zip.Reader, r io.ReaderAt, size int64) {
	if len(z.File) > 0 && !startsWithMember(z.File[:min(len(z.File), p.limits.Members)], r) {
		p.report.Errorf(problem.Position{}, problem.ExtraData, "there is data before the first member of the archive")
	}
	end := make([]byte, endSize)
	if _, err := r.ReadAt(end, size-endSize-int64(len(z.Comment))); err != nil || !bytes.HasPrefix(end, []byte(endSignature)) ||
		int(binary.LittleEndian.Uint16(end[20:])) != len(z.Comment) {
		p.report.Errorf(problem.Position{}, problem.ExtraData, "there is data behind the end of the archive")
	}
}

// startsWithMember reports whether the local header of one of the members is at the beginning of the archive. Reading a member without a
// local header fails later.
func startsWithMember(files []*zip.File, r io.ReaderAt) bool {
	head := make([]byte, localSize)
	if _, err := r.ReadAt(head, 0); err != nil || !bytes.HasPrefix(head, []byte(localSignature)) {
		return false
	}
	content := localSize + int64(binary.LittleEndian.Uint16(head[26:])) + int64(binary.LittleEndian.Uint16(head[28:]))
	for _, f := range files {
		if offset, err := f.DataOffset(); err != nil || offset == content {
			return true
		}
	}
	return false
}
