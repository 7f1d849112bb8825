package csar

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

	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// Digest returns "sha256:" and the hexadecimal digest over the names and
// contents of all files, the same for a CSAR and for the directory it was made
// from: pin a package by it. It reads the whole package once, as a stream, and
// remembers the result.
func (a *Archive) Digest(ctx context.Context) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.digest != "" {
		return a.digest, nil
	}
	all := sha256.New()
	buffer := make([]byte, 32<<10)
	for _, name := range slices.Sorted(maps.Keys(a.source.listed.files)) {
		sum, err := a.hashFile(ctx, name, sha256.New(), buffer)
		if err != nil {
			return "", err
		}
		// Names have no control characters, so that lines cannot be forged.
		_, _ = fmt.Fprintf(all, "%s  %s\n", sum, name)
	}
	a.digest = "sha256:" + hex.EncodeToString(all.Sum(nil))
	return a.digest, nil
}

// hashFile returns the hexadecimal digest of a file, read as a stream; buffer may be nil.
func (a *Archive) hashFile(ctx context.Context, name string, h hash.Hash, buffer []byte) (string, error) {
	f, err := a.Open(name)
	if err != nil {
		return "", fmt.Errorf("csar: %w", err)
	}
	defer f.Close()
	if _, err := io.CopyBuffer(h, contextReader{ctx, f}, buffer); err != nil {
		return "", fmt.Errorf("csar: read %s: %w", name, err)
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
// returns a problem.List with all that are missing or differ. It is nil for a package
// that states none. Entries that are URLs are outside the package and passed over.
func (a *Archive) Verify(ctx context.Context) error {
	r := &report.Report{}
	for _, e := range a.meta.Artifacts {
		if e.Hash == "" || strings.Contains(e.Name, "://") {
			continue
		}
		if err := a.verify(ctx, e, r); err != nil {
			return err
		}
	}
	return r.Err()
}

// verify checks one file; the error is a cancelled context or a failing disk.
func (a *Archive) verify(ctx context.Context, e ArtifactEntry, r *report.Report) error {
	if !a.Has(e.Name) {
		r.Errorf(e.Pos, problem.MissingFile, "%s is not in the package", e.Name)
		return nil
	}
	h := hashOf(e.Algorithm)
	if h == nil {
		r.Errorf(e.Pos, problem.HashAlgorithm, "%s has a digest in %q; known are SHA-256, SHA-384 and SHA-512", e.Name, e.Algorithm)
		return nil
	}
	sum, err := a.hashFile(ctx, e.Name, h, nil)
	if err != nil {
		return err
	}
	if !strings.EqualFold(sum, e.Hash) {
		r.Errorf(e.Pos, problem.HashMismatch, "%s has the digest %s, stated is %s", e.Name, sum, e.Hash)
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
