package csar

import (
	"context"
	"io"
)

// tap passes reads through. While into is set, it also writes every byte to into once and in the order of the file, whatever the order of
// the reads is. So the members of a CSAR and the CSAR as a file are hashed in one pass.
type tap struct {
	from io.ReaderAt
	size int64
	into io.Writer
	ctx  context.Context //nolint:containedctx // lives from start to stop
	pos  int64           // number of bytes written to into
}

func (t *tap) start(ctx context.Context, into io.Writer) { t.ctx, t.into, t.pos = ctx, into, 0 }

func (t *tap) stop() { t.ctx, t.into = nil, nil }

// ReadAt implements io.ReaderAt.
func (t *tap) ReadAt(b []byte, off int64) (int, error) {
	if t.into == nil {
		return t.from.ReadAt(b, off)
	}
	if err := t.upTo(off); err != nil {
		return 0, err
	}
	n, err := t.from.ReadAt(b, off)
	if end := off + int64(n); end > t.pos && off <= t.pos { // otherwise off is behind the end
		if _, err := t.into.Write(b[t.pos-off : n]); err != nil {
			return 0, err
		}
		t.pos = end
	}
	return n, err
}

// upTo reads the bytes before an offset that have not been written to into yet.
func (t *tap) upTo(off int64) error {
	if off <= t.pos {
		return nil
	}
	n, err := io.Copy(t.into, contextReader{t.ctx, io.NewSectionReader(t.from, t.pos, off-t.pos)})
	t.pos += n
	return err
}
