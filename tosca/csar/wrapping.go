package csar

import (
	"archive/zip"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/tosca/internal/cms"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// wrapping is the zip of option 2 (SOL004 5.1) around a CSAR, with a signature over the CSAR as a file and the certificate of the signer.
type wrapping struct {
	csar string // the member that is the package
	// signatures and certificates are the contents of members by name.
	signatures, certificates map[string][]byte
	// tapped reads the CSAR through tap, for the pass over the whole package.
	tapped *zip.Reader
	tap    *tap
}

// signed reports whether there is a signature over the CSAR. It does not say whether the signature is valid.
func (w *wrapping) signed() bool { return w != nil && len(w.signatures) > 0 }

// Suffixes of the files beside the CSAR. SOL004 5.1 defines .cms and .cert; real packages also use the other suffixes.
var (
	signatureSuffixes   = []string{".cms", ".p7s", ".p7m", ".sig"}
	certificateSuffixes = []string{".cert", ".crt", ".cer", ".pem"}
)

// unwrap opens the CSAR inside an archive of option 2. It returns any other source unchanged.
func (p *opening) unwrap(ctx context.Context, s *source) (*source, error) {
	name := s.listed.wrapped()
	if name == "" || p.report.Errors() > 0 {
		return s, nil
	}
	w := &wrapping{csar: name, signatures: map[string][]byte{}, certificates: map[string][]byte{}}
	if err := p.readBeside(s, w); err != nil {
		return s, err
	}
	r, size, closer, err := randomAccess(ctx, s, name)
	if err != nil {
		return s, p.report.Take(err)
	}
	outer := s.close
	s.close = func() error { return errors.Join(closer(), outer()) }
	inner, err := p.openInner(w, r, size)
	switch {
	case errors.Is(err, errNested) || broken(err):
		p.report.Errorf(problem.Position{File: name}, problem.NotPackage, "the package in the archive cannot be opened: %v", err)
		return s, nil
	case err != nil:
		return s, fmt.Errorf("csar: read %s: %w", name, err)
	}
	inner.close = s.close
	return inner, nil
}

// errNested: a zip of option 2 contains another zip of option 2.
var errNested = errors.New("it holds another one instead of being one")

// opened ends the use of the context for opening the package.
func (s *source) opened() {
	if s.wrapping == nil {
		return
	}
	if z, ok := s.wrapping.tap.from.(*inflated); ok {
		z.opened()
	}
}

// openInner reads the directory of the CSAR and lists its members.
func (p *opening) openInner(w *wrapping, r io.ReaderAt, size int64) (*source, error) {
	z, err := newZip(r, size)
	if err != nil {
		return nil, err
	}
	w.tap = &tap{from: r, size: size}
	if w.tapped, err = newZip(w.tap, size); err != nil {
		return nil, err
	}
	p.checkExtent(z, r, size)
	p.packed = min(p.packed, size)
	m := p.listZip(z, size)
	if m.wrapped() != "" {
		return nil, errNested
	}
	return &source{fsys: z, listed: m, wrapping: w}, nil
}

// wrapped returns the only CSAR in the root of an archive that is not a package itself. It returns "" if the archive has no CSAR or
// several.
func (m *members) wrapped() string {
	if _, isPackage := m.files[metaFile]; isPackage {
		return ""
	}
	found := ""
	for name := range m.files {
		switch suffix := strings.ToLower(path.Ext(name)); {
		case strings.Contains(name, "/"):
		case suffix == ".yaml", suffix == ".yml", suffix == ".csar" && found != "":
			return ""
		case suffix == ".csar":
			found = name
		}
	}
	return found
}

// readBeside reads signatures and certificates beside the CSAR. Other files there are not signed, and are never read.
func (p *opening) readBeside(s *source, w *wrapping) error {
	for _, name := range s.listed.order {
		if s.listed.dirs[name] {
			continue
		}
		suffix := strings.ToLower(path.Ext(name))
		var into map[string][]byte
		switch {
		case name == w.csar:
			continue
		case slices.Contains(signatureSuffixes, suffix):
			into = w.signatures
		case slices.Contains(certificateSuffixes, suffix):
			into = w.certificates
		default:
			p.report.Warnf(problem.Position{File: name}, problem.Unlisted, "neither a signature nor a certificate beside %s: it is not read", w.csar)
			continue
		}
		if len(into) == maxBeside {
			p.report.Errorf(problem.Position{File: name}, problem.TooLarge, "more than %d such files beside %s", maxBeside, w.csar)
			return nil
		}
		content, err := readDocument(s.fsys, name, maxSignatureSize)
		if err != nil {
			if err := p.report.Take(err); err != nil {
				return err
			}
			continue
		}
		into[name] = content
	}
	return nil
}

// maxBeside limits the signatures, and the files of certificates, beside a CSAR.
const maxBeside = 16

// parseCertificates reads the certificates beside the CSAR.
func (w *wrapping) parseCertificates(j judge) []*x509.Certificate {
	var all []*x509.Certificate
	for _, name := range slices.Sorted(maps.Keys(w.certificates)) {
		list, err := cms.ParseCertificates(w.certificates[name])
		if err != nil {
			j.fault(problem.Position{File: name}, problem.BadCertificate, "%v", err)
		}
		all = append(all, list...)
	}
	return all
}

// randomAccess returns a reader for a member that reads at any offset without unpacking the member: a stored member is a section of the
// archive, and a deflated member is decompressed as far as needed.
func randomAccess(ctx context.Context, s *source, name string) (r io.ReaderAt, size int64, closer func() error, err error) {
	size = s.listed.files[name]
	if z, ok := s.fsys.(*zip.Reader); ok {
		r, err := rawMember(ctx, z, name)
		return r, size, nothing, err
	}
	f, err := s.fsys.Open(name)
	if err != nil {
		return nil, 0, nil, fmt.Errorf("csar: %w", err)
	}
	r, ok := f.(io.ReaderAt)
	if !ok {
		return nil, 0, nil, errors.Join(unreadable(name, errors.New("its file system cannot read at any place of it")), f.Close())
	}
	return r, size, f.Close, nil
}

func rawMember(ctx context.Context, z *zip.Reader, name string) (io.ReaderAt, error) {
	i := slices.IndexFunc(z.File, func(f *zip.File) bool { return strings.TrimPrefix(f.Name, "./") == name })
	if i < 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	f := z.File[i]
	raw, err := f.OpenRaw()
	if err != nil {
		return nil, unreadable(name, err)
	}
	packed, ok := raw.(io.ReaderAt) // raw is a section of the archive
	switch {
	case !ok:
		return nil, unreadable(name, errors.ErrUnsupported)
	case f.Method == zip.Store:
		return packed, nil
	}
	return newInflated(ctx, packed, int64(f.CompressedSize64), int64(f.UncompressedSize64)), nil //nolint:gosec // both are within the limits
}
