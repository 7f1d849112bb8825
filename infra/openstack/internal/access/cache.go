package access

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Config of a Cache.
type Config struct {
	// Transport replaces the one that is made from the attributes of each VIM; certificates are then its
	// business. Default: none.
	Transport http.RoundTripper
	// UserAgent is put before gophercloud's own.
	UserAgent string
	// ResponseTimeout is how long a server may take until its answer begins; the whole answer may take twice
	// that. Default 90 s: Heat waits up to 60 s for its engine.
	ResponseTimeout time.Duration
	// NovaMicroversion is the highest that may be used. Default 2.90 (OpenStack Xena).
	NovaMicroversion string
	// Identities is how many are kept, the least recently used leave. Default 64.
	Identities int
}

// Cache makes Clients once per identity and keeps them. It is safe for concurrent use.
type Cache struct {
	config Config
	key    [32]byte // of the hash by which identities are known: secrets are no keys
	mu     sync.Mutex
	made   map[[32]byte]*entry
	clock  uint64
}

// entry is written by the one who made it until done is closed.
type entry struct {
	done    chan struct{}
	clients *Clients
	err     error
	// abandoned: the context of the maker ended, which says nothing of the VIM.
	abandoned bool
	used      uint64
}

// New returns an empty Cache.
func New(config Config) *Cache {
	config.ResponseTimeout = cmp.Or(config.ResponseTimeout, 90*time.Second)
	config.NovaMicroversion = cmp.Or(config.NovaMicroversion, "2.90")
	config.Identities = cmp.Or(config.Identities, 64)
	c := &Cache{config: config, made: map[[32]byte]*entry{}}
	_, _ = rand.Read(c.key[:]) // never fails
	return c
}

// Clients returns the clients of the VIM's identity, after logging in where that has not been done. It fails
// with the faults of Validate, ErrAuth, ErrUnreachable, ErrEndpoint or ErrMicroversion; a failure is not kept.
func (c *Cache) Clients(ctx context.Context, vim vnflcm.VimConnectionInfo) (*Clients, error) {
	id, _, err := read(vim)
	if err != nil {
		return nil, err
	}
	key, err := c.keyOf(id)
	if err != nil {
		return nil, err
	}
	for {
		e, mine := c.entry(key)
		if mine {
			return c.fill(ctx, key, e, id)
		}
		select {
		case <-e.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if !e.abandoned {
			return e.clients, e.err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// Close closes idle connections. The Cache can be used further.
func (c *Cache) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, e := range c.made {
		select {
		case <-e.done:
			delete(c.made, key)
			e.close()
		default: // being made: its maker closes nothing that is in use
		}
	}
}

func (c *Cache) keyOf(id identity) (key [32]byte, err error) {
	text, err := json.Marshal(id) //nolint:gosec // it goes into the hash and nowhere else
	if err != nil {
		return key, err
	}
	mac := hmac.New(sha256.New, c.key[:])
	mac.Write(text)
	copy(key[:], mac.Sum(nil))
	return key, nil
}

// entry returns that of the key; mine when the caller has to fill it.
func (c *Cache) entry(key [32]byte) (e *entry, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock++
	e, ok := c.made[key]
	if !ok {
		c.evict()
		e = &entry{done: make(chan struct{})}
		c.made[key] = e
	}
	e.used = c.clock
	return e, !ok
}

// evict makes room for one. Who uses the clients of an evicted identity goes on with them.
func (c *Cache) evict() {
	for len(c.made) >= c.config.Identities {
		var oldest [32]byte
		var found *entry
		for key, e := range c.made {
			if found == nil || e.used < found.used {
				oldest, found = key, e
			}
		}
		delete(c.made, oldest)
		select {
		case <-found.done:
			found.close()
		default:
		}
	}
}

func (c *Cache) fill(ctx context.Context, key [32]byte, e *entry, id identity) (*Clients, error) {
	defer close(e.done)
	e.clients, e.err = c.authenticate(ctx, id)
	if e.err != nil {
		e.abandoned = ctx.Err() != nil
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.made[key] == e {
			delete(c.made, key)
		}
	}
	return e.clients, e.err
}

func (e *entry) close() {
	if e.clients != nil {
		e.clients.Heat.HTTPClient.CloseIdleConnections()
	}
}
