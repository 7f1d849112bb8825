package tosca

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"strings"
)

// Digest returns "sha256:" and the hexadecimal digest over the names and
// contents of all files, the same for a CSAR and for the directory it was made
// from: pin a package by it. It reads the whole package once, as a stream, and
// remembers the result.
func (p *Package) Digest(ctx context.Context) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.digest != "" {
		return p.digest, nil
	}
	all := sha256.New()
	buffer := make([]byte, 32<<10)
	for _, name := range slices.Sorted(maps.Keys(p.source.listed.files)) {
		sum, err := p.hashFile(ctx, name, sha256.New(), buffer)
		if err != nil {
			return "", err
		}
		// Names have no control characters, so that lines cannot be forged.
		_, _ = fmt.Fprintf(all, "%s  %s\n", sum, name)
	}
	p.digest = "sha256:" + hex.EncodeToString(all.Sum(nil))
	return p.digest, nil
}

// hashFile returns the hexadecimal digest of a file, read as a stream; buffer may be nil.
func (p *Package) hashFile(ctx context.Context, name string, h hash.Hash, buffer []byte) (string, error) {
	f, err := p.Open(name)
	if err != nil {
		return "", fmt.Errorf("tosca: %w", err)
	}
	defer f.Close()
	if _, err := io.CopyBuffer(h, contextReader{ctx, f}, buffer); err != nil {
		return "", fmt.Errorf("tosca: read %s: %w", name, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// contextReader stops reading when its context ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(b []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(b)
}

// Verify reads every file for which TOSCA.meta states a digest, as a stream, and
// returns a Problems with all that are missing or differ. It is nil for a package
// that states none. Entries that are URLs are outside the package and passed over.
func (p *Package) Verify(ctx context.Context) error {
	r := &report{}
	for _, a := range p.meta.Artifacts {
		if a.Hash == "" || strings.Contains(a.Name, "://") {
			continue
		}
		if err := p.verify(ctx, a, r); err != nil {
			return err
		}
	}
	return r.err()
}

// verify checks one file; the error is a cancelled context or a failing disk.
func (p *Package) verify(ctx context.Context, a ArtifactEntry, r *report) error {
	if !p.hasFile(a.Name) {
		r.errorf(a.Pos, CodeMissingFile, "%s is not in the package", a.Name)
		return nil
	}
	h := hashOf(a.Algorithm)
	if h == nil {
		r.errorf(a.Pos, CodeHashAlgorithm, "%s has a digest in %q; known are SHA-256, SHA-384 and SHA-512", a.Name, a.Algorithm)
		return nil
	}
	sum, err := p.hashFile(ctx, a.Name, h, nil)
	if err != nil {
		return err
	}
	if !strings.EqualFold(sum, a.Hash) {
		r.errorf(a.Pos, CodeHashMismatch, "%s has the digest %s, stated is %s", a.Name, sum, a.Hash)
	}
	return nil
}

// hashOf makes the hash of an algorithm name as packages write it: "SHA-256",
// "sha256"; nil when it is not known.
func hashOf(algorithm string) hash.Hash {
	switch strings.ReplaceAll(strings.ToLower(algorithm), "-", "") {
	case "sha256":
		return sha256.New()
	case "sha384":
		return sha512.New384()
	case "sha512":
		return sha512.New()
	}
	return nil
}
