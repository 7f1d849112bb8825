package sshexec

import (
	"context"
	"fmt"
	"sync"
)

// check compares the chunks of an upload with their digests on the host. A file of one chunk is compared later, by the script that
// renames the file.
type check struct {
	u      *upload
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	ready   bool    // the session of the transfer is open, so check may open another one
	chunks  []chunk // chunks that have arrived, in the order of the requests
	asked   int     // number of requested digests
	answers int     // number of compared digests
	remote  *ranges // nil before the first request
}

func (u *upload) checking(ctx context.Context) *check {
	ctx, cancel := context.WithCancel(ctx)
	return &check{u: u, ctx: ctx, cancel: cancel}
}

// begin records that the transfer has its session. Before, check must not open a session, because it could take the last session
// that the host allows.
func (c *check) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ready = true
}

// add adds a chunk that has arrived.
func (c *check) add(part chunk) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.chunks = append(c.chunks, part)
	if c.ready && (len(c.chunks) > 1 || part.size == chunkSize) {
		c.ask()
	}
}

// ask sends the pending requests.
func (c *check) ask() {
	if c.remote == nil {
		c.remote = c.u.host.startRanges(c.ctx, c.u.temporary, c.u.file.Root, c.compare)
	}
	for ; c.asked < len(c.chunks); c.asked++ {
		c.remote.ask(c.chunks[c.asked])
	}
}

func (c *check) compare(digest string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answers >= c.asked {
		return fmt.Errorf("%w: the host says more than it was asked", ErrDigest)
	}
	part := c.chunks[c.answers]
	c.answers++
	if digest != part.digest {
		return fmt.Errorf("%w: the host has %s, not %s, in the %d bytes from %d on", ErrDigest, digest, part.digest, part.size, part.offset)
	}
	return nil
}

// end waits until all chunks are compared. For a file of one chunk it returns the digest, which the caller compares. The session of
// the transfer must be closed.
func (c *check) end(size int64) (whole string, err error) {
	c.mu.Lock()
	if c.remote == nil && len(c.chunks) == 1 && c.chunks[0].offset == 0 && c.chunks[0].size == size {
		defer c.mu.Unlock()
		return c.chunks[0].digest, nil
	}
	if len(c.chunks) > 0 {
		c.ask()
	}
	remote := c.remote
	c.mu.Unlock()
	if remote == nil { // the resumed upload had nothing left to send
		return "", nil
	}
	if err := remote.wait(c.ctx); err != nil {
		return "", c.u.host.fileFault("upload", c.u.file.Path, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answers != len(c.chunks) {
		return "", c.u.host.fail(fmt.Errorf("upload %s: %w: the host has compared %d of %d parts", c.u.file.Path, ErrDigest, c.answers, len(c.chunks)))
	}
	return "", nil
}

// stop cancels the outstanding requests and does not wait for them.
func (c *check) stop() { c.cancel() }
