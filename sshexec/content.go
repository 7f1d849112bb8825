package sshexec

import (
	"bytes"
	"context"
	"errors"
	"io"
)

// content is the source of an upload.
type content struct {
	r      io.Reader
	seeker io.Seeker // nil if the content can be read only once
	start  int64     // offset at which the content begins
	size   int64     // -1 if unknown
	head   []byte    // the first bytes, read ahead
	used   bool      // the content has been read
}

// newContent checks whether a reader can seek. A reader whose Seek fails, such as a pipe, is read only once.
func newContent(r io.Reader) (*content, error) {
	once := &content{r: r, size: -1}
	seeker, ok := r.(io.Seeker)
	if !ok {
		return once, nil
	}
	start, err := seeker.Seek(0, io.SeekCurrent)
	if err != nil {
		return once, nil
	}
	end, err := seeker.Seek(0, io.SeekEnd)
	if err != nil || end < start {
		end = start - 1
	}
	if _, err := seeker.Seek(start, io.SeekStart); err != nil {
		return nil, err
	}
	if end < start {
		return once, nil
	}
	return &content{r: r, seeker: seeker, start: start, size: end - start}, nil
}

// rereadable reports whether the content can be read again.
func (c *content) rereadable() bool { return c.seeker != nil }

// untouched reports whether all of the content can still be read.
func (c *content) untouched() bool { return c.seeker != nil || !c.used }

// peek reads ahead up to limit bytes, and reports whether the content ends there. If ctx ends, peek does not wait for a
// blocked Read.
func (c *content) peek(ctx context.Context, limit int) (all bool, err error) {
	buffer := make([]byte, limit+1)
	type read struct {
		n   int
		err error
	}
	result := make(chan read, 1)
	go func() {
		n, err := io.ReadFull(c.r, buffer)
		result <- read{n, err}
	}()
	select {
	case r := <-result:
		c.head = buffer[:r.n]
		all = errors.Is(r.err, io.EOF) || errors.Is(r.err, io.ErrUnexpectedEOF)
		if r.err != nil && !all {
			return false, r.err
		}
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	if all == (c.size > int64(limit)) {
		c.seeker, c.size = nil, -1 // Seek reports a wrong size, for example 0 for files in /proc
	}
	return all, nil
}

// from returns a reader of the content from the offset on.
func (c *content) from(offset int64) (io.Reader, error) {
	if c.seeker != nil {
		_, err := c.seeker.Seek(c.start+offset, io.SeekStart)
		return c.r, err
	}
	c.used = true
	return io.MultiReader(bytes.NewReader(c.head), c.r), nil
}
