package csar

import (
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// inflated gives random access to a deflated member. A deflate stream can only be read from its beginning, so inflated decompresses and
// drops earlier bytes. To do this rarely, it keeps some streams open at their last position, and caches the last blocks. It needs about
// 4 MiB of memory and no disk for a member of any size.
//
// The work is limited: inflated drops at most maxPasses times the size of the member, which is far more than reading a package usually
// needs.
type inflated struct {
	packed           io.ReaderAt
	packedSize, size int64

	mu sync.Mutex
	// ctx is the context of opening the package. It does not limit later reads.
	ctx     context.Context //nolint:containedctx // see opened
	streams [4]*inflating   // the most recently used stream is first
	blocks  map[int64][]byte
	recent  []int64 // cached blocks, oldest first
	dropped int64
}

// inflating is a stream of the member whose position is the beginning of the block next.
type inflating struct {
	io.Reader
	next int64
}

const (
	blockSize = 128 << 10
	maxBlocks = 32
	maxPasses = 32
)

// errScattered reports that the members are ordered so that reading the archive takes much more work than its size
// justifies.
var errScattered = errors.New("too much had to be decompressed again: store the package in the archive instead of compressing it")

// errInflate: a member is not a deflate stream of the stated size.
var errInflate = errors.New("cannot be decompressed")

func newInflated(ctx context.Context, packed io.ReaderAt, packedSize, size int64) *inflated {
	return &inflated{ctx: ctx, packed: packed, packedSize: packedSize, size: size, blocks: map[int64][]byte{}}
}

// opened ends the use of the context for opening the package.
func (z *inflated) opened() {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.ctx = context.Background()
}

// ReadAt implements io.ReaderAt.
func (z *inflated) ReadAt(b []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("csar: negative offset %d", off)
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	n := 0
	for n < len(b) && off < z.size {
		block, err := z.block(off / blockSize)
		if err != nil {
			return n, err
		}
		copied := copy(b[n:], block[off%blockSize:])
		n += copied
		off += int64(copied)
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// block returns a block from the cache, or decompresses it.
func (z *inflated) block(number int64) ([]byte, error) {
	if b, ok := z.blocks[number]; ok {
		return b, nil
	}
	s := z.streamBefore(number)
	for {
		if z.ctx.Err() != nil {
			return nil, context.Cause(z.ctx)
		}
		b, err := z.read(s)
		if err != nil {
			z.streams[0] = nil // the stream cannot be read any further
			return nil, err
		}
		if s.next > number {
			return b, nil
		}
		if z.dropped += blockSize; z.dropped/maxPasses > z.size {
			return nil, errScattered
		}
	}
}

// streamBefore returns the stream that has the least to decompress up to a block, and puts it first. If no stream is before the block, a
// new stream replaces the least recently used one.
func (z *inflated) streamBefore(number int64) *inflating {
	best := -1
	for i, s := range z.streams {
		if s != nil && s.next <= number && (best < 0 || s.next > z.streams[best].next) {
			best = i
		}
	}
	var s *inflating
	if best < 0 {
		best = len(z.streams) - 1
		s = &inflating{Reader: flate.NewReader(io.NewSectionReader(z.packed, 0, z.packedSize))}
	} else {
		s = z.streams[best]
	}
	copy(z.streams[1:], z.streams[:best])
	z.streams[0] = s
	return s
}

// read decompresses the next block of a stream and caches it.
func (z *inflated) read(s *inflating) ([]byte, error) {
	want := min(blockSize, z.size-s.next*blockSize)
	b := z.room(want)
	if _, err := io.ReadFull(s, b); err != nil {
		return nil, fmt.Errorf("%w: %w", errInflate, err)
	}
	if (s.next+1)*blockSize >= z.size {
		if n, _ := s.Read(make([]byte, 1)); n > 0 {
			return nil, fmt.Errorf("%w: larger than stated", errInflate)
		}
	}
	if _, ok := z.blocks[s.next]; !ok {
		z.recent = append(z.recent, s.next)
	}
	z.blocks[s.next] = b
	s.next++
	return b, nil
}

// room returns memory for a block. If the cache is full, it reuses the memory of the oldest block.
func (z *inflated) room(size int64) []byte {
	if len(z.recent) < maxBlocks {
		return make([]byte, size, blockSize)
	}
	oldest := z.recent[0]
	b := z.blocks[oldest]
	delete(z.blocks, oldest)
	z.recent = append(z.recent[:0], z.recent[1:]...)
	return b[:size]
}
