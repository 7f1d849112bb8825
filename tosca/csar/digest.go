package csar

import (
	"bytes"
	"context"
	"crypto"
	"crypto/sha256"
	_ "crypto/sha512" // SHA-384 and SHA-512
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/vnfkit/vnfkit/tosca/problem"
)

// digestOf returns the digest of a package from the digests of its files.
func digestOf(sums map[string]string) string {
	all := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		// Names have no control characters, so a name cannot contain a line.
		_, _ = fmt.Fprintf(all, "%s  %s\n", sums[name], name)
	}
	return "sha256:" + hex.EncodeToString(all.Sum(nil))
}

// file reads a file once for all of its digests, and returns the hexadecimal SHA-256. It reports a file that cannot be read.
func (p *pass) file(fsys fs.FS, name string) (string, error) {
	sha := sha256.New()
	var to io.Writer = sha
	want := p.want[name]
	if want != nil {
		to = io.MultiWriter(sha, want.raw.writer(), &crlf{to: want.text.writer(), skip: len(want.text) == 0})
	}
	err := p.copy(to, fsys, name)
	switch {
	case err == nil:
	case p.ctx.Err() != nil:
		return "", err
	case broken(err):
		p.report.Errorf(problem.Position{File: name}, problem.Unreadable, "%v", err)
		return "", nil
	default:
		return "", fmt.Errorf("csar: read %s: %w", name, err)
	}
	if want != nil {
		want.done = true
	}
	return hex.EncodeToString(sha.Sum(nil)), nil
}

func (p *pass) copy(to io.Writer, fsys fs.FS, name string) error {
	f, err := fsys.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	buffer := buffers.Get().(*[64 << 10]byte)
	defer buffers.Put(buffer)
	_, err = io.CopyBuffer(writerOnly{to}, contextReader{p.ctx, f}, buffer[:])
	return err
}

var buffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// writerOnly hides the ReadFrom method of a writer, so that io.CopyBuffer uses the buffer.
type writerOnly struct{ io.Writer }

// contextReader stops reading when its context ends.
type contextReader struct {
	ctx context.Context //nolint:containedctx // lives as long as one read
	r   io.Reader
}

func (c contextReader) Read(b []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(b)
}

// hashes are unfinished digests by algorithm.
type hashes map[crypto.Hash]hash.Hash

func (h hashes) add(algorithm crypto.Hash) {
	if h[algorithm] == nil {
		h[algorithm] = algorithm.New()
	}
}

func (h hashes) writer() io.Writer {
	var all []io.Writer
	for _, one := range h {
		all = append(all, one)
	}
	return io.MultiWriter(all...)
}

func (h hashes) sums() map[crypto.Hash][]byte {
	out := map[crypto.Hash][]byte{}
	for algorithm, one := range h {
		out[algorithm] = one.Sum(nil)
	}
	return out
}

// hashOf returns the algorithm of a name in any notation of packages, for example "SHA-256" or "sha256". It returns 0 for an unknown or
// too weak algorithm.
func hashOf(algorithm string) crypto.Hash {
	switch strings.ReplaceAll(strings.ToLower(algorithm), "-", "") {
	case "sha256":
		return crypto.SHA256
	case "sha384":
		return crypto.SHA384
	case "sha512":
		return crypto.SHA512
	}
	return 0
}

// crlf writes text with the line ends that CMS requires (RFC 8551 3.1.1).
type crlf struct {
	to   io.Writer
	skip bool
	cr   bool // the last byte was a carriage return
}

func (c *crlf) Write(b []byte) (int, error) {
	n := len(b)
	for !c.skip && len(b) > 0 {
		at := bytes.IndexByte(b, '\n')
		if at < 0 {
			c.cr = b[len(b)-1] == '\r'
			_, err := c.to.Write(b)
			return n, err
		}
		line, end := b[:at], "\r\n"
		if at > 0 && b[at-1] == '\r' || at == 0 && c.cr {
			end = "\n"
		}
		if _, err := c.to.Write(line); err != nil {
			return 0, err
		}
		if _, err := io.WriteString(c.to, end); err != nil {
			return 0, err
		}
		c.cr, b = false, b[at+1:]
	}
	return n, nil
}
