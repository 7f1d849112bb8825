package csar

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"

	"github.com/vnfkit/vnfkit/tosca/problem"
)

// compareSum checks the digest of a file that was read to its end. All reads of a file must return the same content. Otherwise a directory
// or a hostile fs.FS could return one content to the pass that computes the package's digest, and other content to the driver that uses
// the file.
func (a *Archive) compareSum(name, sum string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	known, ok := a.sums[name]
	if a.sums == nil {
		if known, ok = a.early[name]; !ok {
			a.early[name] = sum
			return nil
		}
	}
	if !ok || known != sum {
		return changed(name)
	}
	return nil
}

// remember stores the digests from a pass over all files. If files were read with other content before, it returns a problem.List.
func (a *Archive) remember(sums map[string]string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.sums
	if known == nil {
		known = a.early
	}
	var faults problem.List
	for name, sum := range known {
		if sums[name] != sum {
			faults = append(faults, changed(name))
		}
	}
	if faults != nil {
		return faults.Sorted()
	}
	a.sums, a.early = sums, nil
	return nil
}

func changed(name string) problem.Problem {
	return problem.Problem{
		Position: problem.Position{File: name}, Severity: problem.Error,
		Code: problem.Changed, Message: "the content is not the one that was read from the package before",
	}
}

// checkedFile computes the digest of a file while the file is read, and compares it at the end.
type checkedFile struct {
	fs.File
	archive *Archive
	name    string
	size    int64 // size in the list of members
	hash    hash.Hash
	hashed  int64 // position of File, up to which the content is hashed
}

// check returns f with a check of its content. It returns a directory unchanged.
func (a *Archive) check(name string, f fs.File) fs.File {
	size, isFile := a.source.listed.files[name]
	if !isFile {
		return f
	}
	c := &checkedFile{File: f, archive: a, name: name, size: size, hash: sha256.New()}
	if seeker, ok := f.(io.Seeker); ok {
		return &seekableFile{checkedFile: c, seeker: seeker}
	}
	return c
}

// Read reads from the file. It returns the last bytes only if the content equals the content that was read before. It also recognises the
// end by the size, for callers that read exactly this number of bytes.
func (f *checkedFile) Read(b []byte) (int, error) {
	n, err := f.File.Read(b)
	_, _ = f.hash.Write(b[:n]) // Write of a hash never fails
	f.hashed += int64(n)
	if n > 0 && f.hashed >= f.size || errors.Is(err, io.EOF) {
		if err := f.archive.compareSum(f.name, hex.EncodeToString(f.hash.Sum(nil))); err != nil {
			return 0, err
		}
	}
	return n, err
}

// seekableFile is a checkedFile of a file system whose files are io.Seekers. It also reads the bytes that the caller skips, for the
// digest.
type seekableFile struct {
	*checkedFile
	seeker io.Seeker
	pos    int64 // position of the caller's next Read
}

// Read reads from the position of the caller.
func (f *seekableFile) Read(b []byte) (int, error) {
	if f.pos < f.hashed {
		if _, err := f.seeker.Seek(0, io.SeekStart); err != nil {
			return 0, err
		}
		f.hash.Reset()
		f.hashed = 0
	}
	if _, err := io.CopyN(io.Discard, f.checkedFile, f.pos-f.hashed); err != nil {
		return 0, err
	}
	n, err := f.checkedFile.Read(b)
	f.pos += int64(n)
	return n, err
}

// Seek sets the position of the next Read.
func (f *seekableFile) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += f.pos
	case io.SeekEnd:
		info, err := f.Stat()
		if err != nil {
			return 0, err
		}
		offset += info.Size()
	default:
		return 0, fmt.Errorf("csar: seek %s: whence %d", f.name, whence)
	}
	if offset < 0 {
		return 0, &fs.PathError{Op: "seek", Path: f.name, Err: fs.ErrInvalid}
	}
	f.pos = offset
	return offset, nil
}
