package csar

import (
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// inflated gives random access to a deflated member. Deflate can only be read from its beginning, so earlier bytes are
// decompressed and dropped. To make that rare, some streams are kept where they stopped, and the last blocks are
// cached. It needs about 4 MiB and no disk, for a member of any size.
//
// The work is bounded: at most maxPasses times the size of the member is dropped, which is far more than any usual way
// of reading a package needs.
type inflated struct {
	packed           io.ReaderAt
	packedSize, size int64

	mu sync.Mutex
	// ctx bounds the opening of the package; later reads are not bounded by it.
	ctx     context.Context //nolint:containedctx // see opened
	streams [4]*inflating   // those used last come first
	blocks  map[int64][]byte
	recent  []int64 // the blocks remembered, oldest first
	dropped int64
}

// inflating is a stream of the member that stands before a block.
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

// errInflate is for a member that is no deflate stream of the size that is stated.
var errInflate = errors.New("cannot be decompressed")

func newInflated(ctx context.Context, packed io.ReaderAt, packedSize, size int64) *inflated {
	return &inflated{ctx: ctx, packed: packed, packedSize: packedSize, size: size, blocks: map[int64][]byte{}}
}

// opened says that the package has been opened.
func (z *inflated) opened() {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.ctx = context.Background()
}

// ReadAt reads as io.ReaderAt wants it.
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

// block returns a block, remembered or decompressed.
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
			z.streams[0] = nil // broken
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

// streamBefore finds the stream that has the least to decompress, and puts it first. A new stream replaces the least
// recently used one.
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

// read decompresses the next block of a stream and remembers it.
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

// room returns memory for a block: the memory of the oldest block if all is used.
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
