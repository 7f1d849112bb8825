package etcd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
)

// ErrSnapshot says that a snapshot is damaged or was cut short.
var ErrSnapshot = errors.New("etcd: the snapshot does not match its checksum")

// Snapshot returns the data of the member at Endpoint, for "etcdutl snapshot restore". etcd ends the data with their checksum, and the
// last call of Read compares it: the error is ErrSnapshot if it differs. Close the reader.
func (c *Client) Snapshot(ctx context.Context) (io.ReadCloser, error) {
	from, err := c.etcd.Snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("etcd: snapshot from %s: %w", c.config.Endpoint, err)
	}
	return &checked{ReadCloser: from, sum: sha256.New()}, nil
}

// checked reads a snapshot and compares its checksum, which is its last 32 bytes.
type checked struct {
	io.ReadCloser

	sum  hash.Hash
	tail []byte // of what was read; it may be the checksum
}

// Read implements io.Reader.
func (s *checked) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	s.tail = append(s.tail, p[:n]...)
	if more := len(s.tail) - sha256.Size; more > 0 {
		_, _ = s.sum.Write(s.tail[:more]) // never fails
		s.tail = append(s.tail[:0], s.tail[more:]...)
	}
	if errors.Is(err, io.EOF) && !bytes.Equal(s.sum.Sum(nil), s.tail) {
		err = ErrSnapshot
	}
	return n, err
}
