package tosca

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// Cache opens packages, each parsed once, and keeps those that were used last
// open. It separates reading a package from judging it: Open judges the package by
// the options of the Cache, OpenPinned only compares the digest. It is safe for
// concurrent use.
//
// A package is opened again when csar.Revision of its Source differs; the package
// of an FS always is. Its descriptor is parsed again only if the digest of the
// package differs. Files of a package that is kept are checked when they are read
// (csar.Archive.Open), so that no file is used that the digest does not stand for.
type Cache struct {
	settings settings
	size     int

	mu   sync.Mutex
	kept []*cached // those used last come last
}

// cached is a package that is open, or about to be opened.
type cached struct {
	source   Source
	revision string

	reading semaphore // held while the package is opened, judged or read
	archive *csar.Archive
	settled bool // judged, and time cannot change the result

	// Cache.mu guards what follows.
	digest  string // "" before all of the package was read
	model   *model // nil before; written under reading as well
	users   int
	dropped bool // not in Cache.kept: the last user closes the package
}

// model is a parsed descriptor, shared by packages with the same digest.
type model struct {
	parsing  semaphore
	parsed   bool
	strict   bool // as the options of the Cache have it
	vnfd     *VNFD
	files    []string
	warnings problem.List
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

// NewCache returns a Cache that keeps at most size packages open, besides those in
// use. The options say how packages are judged.
func NewCache(size int, opts ...Option) *Cache {
	return &Cache{settings: settingsFrom(opts), size: max(1, size)}
}

// Open returns the package if the options of the Cache accept it now. A signed
// package is judged in each call, since certificates expire. Closing the package
// gives it back to the Cache.
func (c *Cache) Open(ctx context.Context, s Source) (*Package, error) {
	return c.lend(ctx, s, func(e *cached) error {
		if !e.settled {
			if err := e.archive.Judge(ctx, c.settings.archive.Integrity); err != nil {
				return err
			}
			e.settled = len(e.archive.Signers()) == 0
		}
		return c.read(ctx, e, "", c.settings)
	})
}

// OpenPinned returns the package if it has that digest (Package.Digest), else a
// *DigestError. It is for a package that Open accepted earlier: neither a signer
// whose certificate has expired nor Strict refuses it.
func (c *Cache) OpenPinned(ctx context.Context, s Source, digest string) (*Package, error) {
	return c.lend(ctx, s, func(e *cached) error { return c.read(ctx, e, digest, c.lenient()) })
}

// DigestError says that a package is not the one that was wanted.
type DigestError struct{ Digest, Want string }

func (e *DigestError) Error() string {
	return "the digest of the package is " + e.Digest + ", wanted is " + e.Want
}

// VNFDID returns the id of the package's VNFD, "" for another kind of descriptor. It reads only the descriptor, and
// checks neither digests nor signatures.
func (c *Cache) VNFDID(ctx context.Context, s Source) (string, error) {
	p, err := c.lend(ctx, s, func(e *cached) error { return c.parse(ctx, e, c.lenient()) })
	if err != nil {
		return "", err
	}
	id := ""
	if p.vnfd != nil {
		id = p.vnfd.ID
	}
	return id, p.Close()
}

// lenient returns the settings that do not judge.
func (c *Cache) lenient() settings {
	s := c.settings
	s.strict, s.archive.Integrity = false, csar.Integrity{Policy: csar.Off}
	return s
}

// lend returns a package of the cache, which it opens first if needed, and reads what the caller needs of it.
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

// reusable reports whether a package can be kept open after an error: the call was cancelled, or the package is
// refused for what it contains.
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
	return &Package{Archive: e.archive, vnfd: e.model.vnfd, files: e.model.files, warnings: e.model.warnings}, nil
}

// read computes the digest of the package, and parses the descriptor unless the descriptor of a package with the same
// digest is already parsed. If want is not "", the digest must equal want.
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
	for _, other := range slices.Clone(c.kept) {
		if other == e || other.digest != digest {
			continue
		}
		if e.model == nil {
			e.model = other.model
		}
		if e.revision == "" && other.revision == "" { // e takes its place
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
	if m.parsed && (m.strict || !s.strict) {
		return nil
	}
	p := &Package{Archive: e.archive}
	if err := p.parse(ctx, s); err != nil {
		return err
	}
	if m.parsed { // other users have the model: it does not change any more
		m = &model{parsing: make(semaphore, 1)}
		c.mu.Lock()
		e.model = m
		c.mu.Unlock()
	}
	m.parsed, m.strict, m.vnfd, m.files, m.warnings = true, s.strict, p.vnfd, p.files, p.warnings
	return nil
}

// take returns the entry of the package, a new one if the package was not opened yet or has been replaced.
func (c *Cache) take(s Source, revision string) *cached {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, e := range c.kept {
		if revision == "" || e.source.name != s.name {
			continue
		}
		if e.revision == revision {
			e.users++
			c.kept = append(slices.Delete(c.kept, i, i+1), e)
			return e
		}
		c.drop(e)
		break
	}
	e := &cached{source: s, revision: revision, reading: make(semaphore, 1), users: 1, dropped: true}
	if revision != "" { // else it is found by its digest, once that is known
		c.keep(e)
	}
	return e
}

// keep adds an entry, in the place of the one that was not used for longest.
func (c *Cache) keep(e *cached) {
	if len(c.kept) >= c.size {
		c.drop(c.kept[max(0, slices.IndexFunc(c.kept, func(e *cached) bool { return e.users == 0 }))])
	}
	c.kept, e.dropped = append(c.kept, e), false
}

// drop removes an entry. The package is closed when its last user has closed it.
func (c *Cache) drop(e *cached) {
	if i := slices.Index(c.kept, e); i >= 0 {
		c.kept = slices.Delete(c.kept, i, i+1)
	}
	e.dropped = true
	if e.users == 0 && e.archive != nil {
		_ = e.archive.Close() // it was only read
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
