package csar

import (
	"archive/zip"
	"compress/flate"
	"context"
	"crypto"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/tosca/internal/cms"
	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// findings are the results of one pass over the whole package.
type findings struct {
	digest   string
	sums     map[string]string // SHA-256 by file
	faults   error             // a problem.List, nil without faults
	warnings problem.List
	signers  []Signer
}

// Verify reads the whole package once, as a stream. It returns a problem.List with every file that differs from TOSCA.meta, the manifest
// or the file's signature and, for a package of option 2, with the faults of the signature over the CSAR. It returns nil for a package
// without digests and signatures. Faults that Integrity treats as warnings are in Warnings afterwards. Verify skips entries that are
// URLs. The result is cached, also for Digest.
func (a *Archive) Verify(ctx context.Context) error {
	if a.integrity.Policy == Off {
		return nil
	}
	f, err := a.findings(ctx)
	if err != nil {
		return err
	}
	return f.faults
}

// Judge returns the faults for which Open and Verify with i would refuse the package, without opening it again. It reads the package if
// needed. Afterwards Signers and Warnings have the result, and Digest does not read the package again. So a caller can open and parse a
// package with the policy Off and call Judge later, or repeatedly, because certificates expire.
func (a *Archive) Judge(ctx context.Context, i Integrity) error {
	i, err := i.withDefaults()
	if err != nil || i.Policy == Off {
		return err
	}
	if err := a.startPass(ctx); err != nil {
		return err
	}
	defer func() { <-a.passing }()
	other, r := newArchive(a.source, a.limits, i), &report.Report{}
	other.strict = a.strict
	if err := other.load(ctx, r); err != nil {
		return err
	}
	f, err := other.findings(ctx)
	if err == nil {
		err = a.remember(f.sums)
	}
	if err == nil {
		err = f.faults
	}
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.signers, a.warnings, a.checked = other.signers, append(slices.Clone(a.listing), r.Warnings()...), f
	return nil
}

// Digest returns "sha256:" and the hexadecimal digest over the names and contents of all files. Use it to pin a package: the digest is the
// same for a CSAR, for the directory from which it was created, and for the zip of option 2 around it. Digest reads the package as Verify
// does. For a package that Verify refuses, it returns the error of Verify.
func (a *Archive) Digest(ctx context.Context) (string, error) {
	f, err := a.findings(ctx)
	if err != nil {
		return "", err
	}
	if f.faults != nil {
		return "", f.faults
	}
	return f.digest, nil
}

// startPass waits until no other pass reads the package. The caller ends its pass by receiving from a.passing.
func (a *Archive) startPass(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case a.passing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// findings returns the results of the pass over the package. It reads the package only once.
func (a *Archive) findings(ctx context.Context) (*findings, error) {
	if err := a.startPass(ctx); err != nil {
		return nil, err
	}
	defer func() { <-a.passing }()
	if a.checked != nil {
		return a.checked, nil
	}
	f, err := a.pass(ctx)
	if err == nil {
		err = a.remember(f.sums)
	}
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.checked = f
	return f, nil
}

// pass reads the whole package and checks it.
func (a *Archive) pass(ctx context.Context) (*findings, error) {
	r := &report.Report{}
	j := judge{integrity: a.integrity, report: r}
	p := &pass{archive: a, ctx: ctx, report: r, want: map[string]*wanted{}}
	var said []statement
	var over []*signature
	if a.integrity.Policy != Off {
		said, over = a.statements(j), a.overCSAR(j)
	}
	for _, s := range said {
		p.wants(s)
	}
	for _, s := range over {
		p.whole = append(p.whole, s.cms.Digests()...)
	}
	sums, err := p.read()
	if err != nil {
		return nil, err
	}
	f := &findings{digest: digestOf(sums), sums: sums}
	var common []*x509.Certificate
	if len(said) > 0 {
		common = a.packageCertificates(j)
	}
	for _, s := range said {
		f.signers = append(f.signers, a.compare(s, p.want[s.name], common, j)...)
	}
	for _, s := range over {
		f.signers = append(f.signers, s.verify(j, p.wholeSums)...)
	}
	f.faults, f.warnings = r.Err(), r.Warnings()
	return f, nil
}

// compare checks a file against the statements about it.
func (a *Archive) compare(s statement, read *wanted, common []*x509.Certificate, j judge) []Signer {
	if read == nil || !read.done {
		return nil // the file cannot be read, which has been reported
	}
	if s.hash != 0 {
		if sum := hex.EncodeToString(read.raw.sums()[s.hash]); !strings.EqualFold(sum, s.Hash) {
			j.fault(s.Pos, problem.HashMismatch, "%s has the digest %s, stated is %s", s.Name, sum, s.Hash)
		}
	}
	if s.signature == nil {
		return nil
	}
	s.signature.certificates = a.certificatesOf(s, common, j)
	return s.signature.verify(j, read.raw.sums(), read.text.sums())
}

// overCSAR returns the signatures over a CSAR of option 2.
func (a *Archive) overCSAR(j judge) []*signature {
	w := a.source.wrapping
	if w == nil {
		return nil
	}
	certificates := w.parseCertificates(j)
	var out []*signature
	for _, name := range slices.Sorted(maps.Keys(w.signatures)) {
		pos := problem.Position{File: name}
		signed, err := cms.Parse(w.signatures[name])
		if err != nil {
			j.fault(pos, problem.BadCMS, "the signature over %s: %v", w.csar, err)
			continue
		}
		out = append(out, &signature{cms: signed, certificates: certificates, pos: pos, file: name, signed: w.csar})
	}
	return out
}

// pass is one reading of a whole package.
type pass struct {
	archive *Archive
	ctx     context.Context //nolint:containedctx // lives as long as one call
	report  *report.Report
	// want are the files that need more digests than the package's digest.
	want map[string]*wanted
	// whole are the requested digest algorithms for the CSAR as a file.
	whole     []crypto.Hash
	wholeSums map[crypto.Hash][]byte
}

// wanted are the digests of a file: of its bytes and, for signatures over text, of its text with normalized line ends.
type wanted struct {
	raw, text hashes
	done      bool
}

func (p *pass) wants(s statement) {
	w := p.want[s.name]
	if w == nil {
		w = &wanted{raw: hashes{}, text: hashes{}}
		p.want[s.name] = w
	}
	if s.hash != 0 {
		w.raw.add(s.hash)
	}
	if s.signature != nil {
		for _, h := range s.signature.cms.Digests() {
			w.raw.add(h)
			w.text.add(h)
		}
	}
}

// read reads all files in their order in the package, and returns their digests.
func (p *pass) read() (map[string]string, error) {
	s := p.archive.source
	fsys, whole := s.fsys, hashes{}
	if len(p.whole) > 0 {
		for _, h := range p.whole {
			whole.add(h)
		}
		fsys = s.wrapping.tapped
		s.wrapping.tap.start(p.ctx, whole.writer())
		defer s.wrapping.tap.stop()
	}
	sums := map[string]string{}
	for _, name := range s.listed.order {
		if s.listed.dirs[name] {
			continue
		}
		sum, err := p.file(fsys, name)
		if err != nil {
			return nil, err
		}
		sums[name] = sum
	}
	if len(p.whole) > 0 {
		if err := s.wrapping.tap.upTo(s.wrapping.tap.size); err != nil {
			return nil, fmt.Errorf("csar: read %s: %w", s.wrapping.csar, err)
		}
		p.wholeSums = whole.sums()
	}
	return sums, nil
}

// readErrors are the errors of a damaged member, as opposed to a failing disk.
var readErrors = []error{zip.ErrFormat, zip.ErrChecksum, zip.ErrAlgorithm, io.EOF, io.ErrUnexpectedEOF, errScattered, errInflate}

func broken(err error) bool {
	for _, known := range readErrors {
		if errors.Is(err, known) {
			return true
		}
	}
	var corrupt flate.CorruptInputError
	return errors.As(err, &corrupt)
}
