package tosca

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"

	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/internal/documents"
	"github.com/vnfkit/vnfkit/tosca/internal/grammar"
	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// Package is an open VNF package with its descriptor. The embedded Archive gives access to its files. It is safe for concurrent
// use until it is closed.
type Package struct {
	*csar.Archive
	vnfd     *VNFD
	files    []string // of the VNFD
	warnings problem.List
	faults   error        // of a VNFD that was accepted earlier: they are among the warnings
	giveBack func() error // returns the package to its Cache; nil without a Cache
}

// Open opens the package at name, a CSAR (.csar or .zip) or a directory with the same layout, and parses its VNFD. If the package
// or the VNFD has faults, the error is a problem.List with all of them. Faults that do not prevent the use of the VNFD are in
// Package.Warnings instead. Open reads TOSCA.meta, the manifest, whose signature it checks, and the VNFD. It reads the other files, to
// compare their digests, only with the policy csar.Require; Verify, Check and Cache.Open do so except with csar.Off. The caller closes the
// package.
func Open(ctx context.Context, name string, opts ...Option) (*Package, error) {
	s := settingsFrom(opts)
	a, err := csar.Open(ctx, name, s.archive)
	return load(ctx, a, err, s)
}

// OpenReader opens a CSAR of size bytes from r, as Open does. The caller closes the package, and must not close r before.
func OpenReader(ctx context.Context, r io.ReaderAt, size int64, opts ...Option) (*Package, error) {
	s := settingsFrom(opts)
	a, err := csar.OpenReader(ctx, r, size, s.archive)
	return load(ctx, a, err, s)
}

// OpenFS opens a package from a file system, for example an embed.FS, a fstest.MapFS or an *archive/zip.Reader, as Open does. The
// caller closes the package; fsys must be usable until then. Symbolic links in fsys are refused.
func OpenFS(ctx context.Context, fsys fs.FS, opts ...Option) (*Package, error) {
	s := settingsFrom(opts)
	a, err := csar.OpenFS(ctx, fsys, s.archive)
	return load(ctx, a, err, s)
}

// load parses the VNFD of an archive. If this fails, it closes the archive.
func load(ctx context.Context, a *csar.Archive, err error, s settings) (*Package, error) {
	if err != nil {
		return nil, err
	}
	p := &Package{Archive: a}
	if err := p.parse(ctx, s); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return p, nil
}

func (p *Package) parse(ctx context.Context, s settings) error {
	r := &report.Report{}
	docs, err := documents.Load(ctx, p.Archive, p.Meta().EntryDefinitions, s.typeFiles, r)
	if err != nil {
		return err
	}
	if s.typeFiles != nil {
		defer func() { docs.CacheTypes(s.typeFiles, r, docs.Misfits) }()
	}
	p.files = docs.Files()
	types := grammar.NewTypes(docs, r)
	grammar.Validate(docs, types, s.quirks(), r)
	if s.descriptor != "" {
		wantDescriptor(s.descriptor, docs, types, p.Archive, r)
		p.warnings = r.Warnings()
		return r.Err()
	}
	model := &report.Report{}
	p.vnfd = buildVNFD(docs, types, p.Archive, s.quirks(), model)
	if p.vnfd == nil && s.anyDescriptor {
		model.Demote() // a package without any of these descriptors may be of use for other programs
		if r.Errors() > 0 || hasDescriptor(NSD, docs, types, p.Archive) || hasDescriptor(PNFD, docs, types, p.Archive) {
			model = &report.Report{}
		}
	}
	r.Merge(model)
	r.Merge(docs.Misfits)
	if p.vnfd != nil {
		p.vnfd.compareManifest(p.Manifest(), r)
	}
	if s.acceptedEarlier && p.vnfd != nil {
		p.faults = r.Err()
		r.Demote()
	}
	p.warnings = r.Warnings()
	return r.Err()
}

// Close ends the use of the package. The caller must not use files opened from the package any more.
func (p *Package) Close() error {
	if p.giveBack != nil {
		return p.giveBack()
	}
	return p.Archive.Close()
}

// VNFD returns the parsed descriptor. Do not change it, because other callers share it. It is nil for a descriptor that is
// accepted only because of AnyDescriptor or Describing.
func (p *Package) VNFD() *VNFD { return p.vnfd }

// VNFDFiles returns the paths of the files that the VNFD consists of: the entry definitions first, then the files of the
// package that they import. Imported definitions of ETSI that are not in the package are left out.
func (p *Package) VNFDFiles() []string { return slices.Clone(p.files) }

// Warnings returns the faults that did not prevent opening the package, sorted by position: faults of the archive
// (Verify and Digest may add some) and faults of the VNFD.
func (p *Package) Warnings() problem.List {
	return append(p.Archive.Warnings(), p.warnings...).Sorted()
}
