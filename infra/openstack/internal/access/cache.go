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
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

// Config of a Cache.
type Config struct {
	// Allow judges the addresses of VIMs that are not the operator's (FromOperator), and of the services in their catalogs.
	// Default: outbound.RefuseLocal.
	Allow outbound.Policy
	// Transport replaces the transport that the cache creates from the attributes of each VIM. TLS settings of the VIM do
	// not apply to this transport, and Allow is not asked. Default: none.
	Transport http.RoundTripper
	// UserAgent is put before gophercloud's user agent.
	UserAgent string
	// ResponseTimeout is how long a server may take until its answer begins. The whole answer may take twice as long.
	// Default 90 s: Heat waits up to 60 s for its engine.
	ResponseTimeout time.Duration
	// NovaMicroversion is the highest microversion of Nova that may be used. Default 2.90 (OpenStack Xena).
	NovaMicroversion string
	// Identities is how many identities the cache holds. It evicts the least recently used one. Default 64.
	Identities int
}

// Cache creates Clients once per identity and keeps them. It is safe for concurrent use.
type Cache struct {
	config Config
	key    [32]byte // key of the HMAC of identities. The map has HMACs as keys, because an identity contains secrets
	mu     sync.Mutex
	made   map[[32]byte]*entry
	clock  uint64
}

// entry holds the clients of one identity. Only the goroutine that has created the entry writes it, until done is closed.
type entry struct {
	done    chan struct{}
	clients *Clients
	err     error
	// abandoned says that the context of that goroutine has ended: err says nothing about the VIM.
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

// Clients returns the clients of the VIM's identity. It logs in if the cache has no clients of the identity. It fails with
// the faults of Validate, ErrAuth, ErrUnreachable, ErrEndpoint or ErrMicroversion. A failure is not cached.
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
		default: // another goroutine still logs in and will use the clients
		}
	}
}

func (c *Cache) keyOf(id identity) (key [32]byte, err error) {
	text, err := json.Marshal(id) //nolint:gosec // the text is only hashed
	if err != nil {
		return key, err
	}
	mac := hmac.New(sha256.New, c.key[:])
	mac.Write(text)
	copy(key[:], mac.Sum(nil))
	return key, nil
}

// entry returns the entry of the key. mine says that the entry is new and that the caller must fill it.
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

// evict removes the least recently used entries until one more fits. Operations that use the clients of an evicted entry
// can continue to use them.
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
