package tosca

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// Cache opens packages and keeps the most recently used packages open. It parses each package once. Open accepts or refuses a
// package by the options of the Cache; OpenPinned only compares the digest. A Cache is safe for concurrent use.
//
// The Cache opens a package again if csar.Revision of its Source differs, and a package of an FS each time. It parses the
// descriptor again only if the digest of the package differs, and a type file that packages have in common once (up to 32 MiB of
// parsed files are kept). Reading a file of an open package verifies the file
// (csar.Archive.Open), so no content is used that the digest does not cover.
type Cache struct {
	settings settings
	size     int

	mu      sync.Mutex
	entries []*cached // the most recently used package is last
}

// cached is a package that is open or being opened.
type cached struct {
	source   Source
	revision string

	reading    semaphore // held while the package is opened, checked or read
	archive    *csar.Archive
	isAccepted bool // accepted, and without signatures, whose validity depends on the time

	// Cache.mu guards the following fields.
	digest  string // "" until the whole package has been read
	model   *model // nil until the descriptor has been parsed; also guarded by reading
	users   int
	dropped bool // removed from Cache.entries: the last user closes the package
}

// model is a parsed descriptor, shared by packages with the same digest.
type model struct {
	parsing  semaphore
	parsed   bool
	strict   bool // whether deviations were treated as Strict demands
	vnfd     *VNFD
	files    []string
	warnings problem.List
	faults   error // for which Open refuses the package, while OpenPinned accepts it
}

// semaphore is a mutex whose Lock ends with a context.
type semaphore chan struct{}

func (s semaphore) lock(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s semaphore) unlock() { <-s }

// NewCache returns a Cache that keeps at most size packages open, in addition to packages in use. Open accepts or refuses packages
// by the options.
func NewCache(size int, opts ...Option) *Cache {
	c := &Cache{settings: settingsFrom(opts), size: max(1, size)}
	c.settings.typeFiles = &yamltree.Cache{}
	return c
}

// Open returns the package if the options of the Cache accept it now. Each call checks the signatures of a signed package, because
// certificates expire. Closing the package returns it to the Cache.
func (c *Cache) Open(ctx context.Context, s Source) (*Package, error) {
	return c.lend(ctx, s, func(e *cached) error {
		if !e.isAccepted {
			if err := e.archive.Judge(ctx, c.settings.archive.Integrity); err != nil {
				return err
			}
			e.isAccepted = len(e.archive.Signers()) == 0
		}
		return c.read(ctx, e, "", c.settings)
	})
}

// OpenPinned returns the package if it has this digest (Package.Digest). Otherwise the error is a *DigestError. Use it for a
// package that Open accepted earlier: neither a certificate that has expired meanwhile, nor Strict, nor a fault of the VNFD that the
// earlier version of this program did not find refuses the package. Such faults are among Package.Warnings.
func (c *Cache) OpenPinned(ctx context.Context, s Source, digest string) (*Package, error) {
	return c.lend(ctx, s, func(e *cached) error { return c.read(ctx, e, digest, c.lenient()) })
}

// DigestError reports a package with another digest than the expected one.
type DigestError struct{ Digest, Want string }

func (e *DigestError) Error() string {
	return "the digest of the package is " + e.Digest + ", wanted is " + e.Want
}

// VNFDID returns the id of the package's VNFD, "" for a package with another descriptor. It reads only the descriptor and checks
// neither digests nor signatures. If the VNFD has faults, VNFDID returns a problem.List and, as far as it can be read, also the id.
func (c *Cache) VNFDID(ctx context.Context, s Source) (string, error) {
	p, err := c.lend(ctx, s, func(e *cached) error { return c.parse(ctx, e, c.lenient()) })
	if err != nil {
		return "", err
	}
	id := ""
	if p.vnfd != nil {
		id = p.vnfd.ID
	}
	return id, errors.Join(p.faults, p.Close())
}

// lenient returns settings for a package that was accepted earlier: they check neither signatures nor digests and refuse no fault of
// the VNFD.
func (c *Cache) lenient() settings {
	s := c.settings
	s.strict, s.acceptedEarlier, s.archive.Integrity = false, true, csar.Integrity{Policy: csar.Off}
	return s
}

// lend returns a package of the cache for use by a caller. It opens the package if needed and calls read.
func (c *Cache) lend(ctx context.Context, s Source, read func(*cached) error) (*Package, error) {
	revision, err := s.revision(ctx, c.settings.archive.Limits)
	if err != nil {
		return nil, err
	}
	e := c.take(s, revision)
	p, err := c.readEntry(ctx, e, read)
	if err != nil {
		return nil, errors.Join(err, c.giveBack(e, !reusable(ctx, err)))
	}
	p.giveBack = sync.OnceValue(func() error { return c.giveBack(e, false) })
	return p, nil
}

// reusable reports whether a package can stay open after an error: the call was cancelled, or the content of the package was
// refused.
func reusable(ctx context.Context, err error) bool {
	_, isRefused := errors.AsType[problem.List](err)
	_, isOther := errors.AsType[*DigestError](err)
	return ctx.Err() != nil || isOther || isRefused && !errors.Is(err, problem.Problem{Code: problem.Changed})
}

func (c *Cache) readEntry(ctx context.Context, e *cached, read func(*cached) error) (*Package, error) {
	if err := e.reading.lock(ctx); err != nil {
		return nil, err
	}
	defer e.reading.unlock()
	if e.archive == nil {
		a, err := e.source.archive(ctx, c.lenient().archive)
		if err != nil {
			return nil, err
		}
		e.archive = a
	}
	if err := read(e); err != nil {
		return nil, err
	}
	return &Package{Archive: e.archive, vnfd: e.model.vnfd, files: e.model.files, warnings: e.model.warnings, faults: e.model.faults}, nil
}

// read computes the digest of the package. It parses the descriptor unless the Cache has the parsed descriptor of a package with
// the same digest. If want is not "", the digest must equal want.
func (c *Cache) read(ctx context.Context, e *cached, want string, s settings) error {
	digest, err := e.archive.Digest(ctx)
	if err == nil && want != "" && digest != want {
		err = &DigestError{Digest: digest, Want: want}
	}
	if err != nil {
		return err
	}
	c.shareModel(e, digest)
	return c.parse(ctx, e, s)
}

func (c *Cache) shareModel(e *cached, digest string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.digest != "" {
		return
	}
	e.digest = digest
	for _, other := range slices.Clone(c.entries) {
		if other == e || other.digest != digest {
			continue
		}
		if e.model == nil {
			e.model = other.model
		}
		if e.revision == "" && other.revision == "" { // e replaces other
			c.drop(other)
		}
	}
	if e.revision == "" {
		c.keep(e)
	}
}

func (c *Cache) parse(ctx context.Context, e *cached, s settings) error {
	c.mu.Lock()
	if e.model == nil {
		e.model = &model{parsing: make(semaphore, 1)}
	}
	m := e.model
	c.mu.Unlock()
	if err := m.parsing.lock(ctx); err != nil {
		return err
	}
	defer m.parsing.unlock()
	if m.parsed && (m.strict || !s.strict) && (m.faults == nil || s.acceptedEarlier) {
		return nil
	}
	p := &Package{Archive: e.archive}
	if err := p.parse(ctx, s); err != nil {
		return err
	}
	if m.parsed { // a model that other callers use must not change
		m = &model{parsing: make(semaphore, 1)}
		c.mu.Lock()
		e.model = m
		c.mu.Unlock()
	}
	m.parsed, m.strict, m.vnfd, m.files, m.warnings, m.faults = true, s.strict, p.vnfd, p.files, p.warnings, p.faults
	return nil
}

// take returns the entry of the package. It returns a new entry if the package is not open or its revision has changed.
func (c *Cache) take(s Source, revision string) *cached {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, e := range c.entries {
		if revision == "" || e.source.name != s.name {
			continue
		}
		if e.revision == revision {
			e.users++
			c.entries = append(slices.Delete(c.entries, i, i+1), e)
			return e
		}
		c.drop(e)
		break
	}
	e := &cached{source: s, revision: revision, reading: make(semaphore, 1), users: 1, dropped: true}
	if revision != "" { // an entry without a revision is added when its digest is known
		c.keep(e)
	}
	return e
}

// keep adds an entry. If the Cache is full, it drops the least recently used entry.
func (c *Cache) keep(e *cached) {
	if len(c.entries) >= c.size {
		c.drop(c.entries[max(0, slices.IndexFunc(c.entries, func(e *cached) bool { return e.users == 0 }))])
	}
	c.entries, e.dropped = append(c.entries, e), false
}

// drop removes an entry. If the package is in use, its last user closes it.
func (c *Cache) drop(e *cached) {
	if i := slices.Index(c.entries, e); i >= 0 {
		c.entries = slices.Delete(c.entries, i, i+1)
	}
	e.dropped = true
	if e.users == 0 && e.archive != nil {
		_ = e.archive.Close() // the archive is read-only, so the error does not matter
	}
}

// giveBack ends the use of an entry.
func (c *Cache) giveBack(e *cached, drop bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.users--
	drop = drop || e.users == 0 && e.archive == nil
	if drop && !e.dropped {
		c.drop(e)
		return nil
	}
	if e.dropped && e.users == 0 && e.archive != nil {
		return e.archive.Close()
	}
	return nil
}
