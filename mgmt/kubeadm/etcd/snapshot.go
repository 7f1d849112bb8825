package etcd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
)

// ErrSnapshot says that a snapshot is damaged or was cut short.
var ErrSnapshot = errors.New("etcd: the snapshot does not match its checksum")

// Snapshot is a stream of the data of a member, in the form that "etcdctl snapshot save" writes and "etcdutl snapshot restore" reads.
type Snapshot struct {
	// The last call of Read compares the checksum with which etcd ends the data: the error is ErrSnapshot if it differs.
	io.ReadCloser

	Size    int64  // number of bytes, with the checksum; at most 32 GiB
	Version string // of etcd on the member
}

// maxSnapshot bounds the data of a member, in bytes: four times the greatest quota that etcd recommends (etcd.io, "System limits").
const maxSnapshot = 32 << 30

// stall is for how long a member may send nothing in the middle of a snapshot.
const stall = time.Minute

// errStalled is the cause of a snapshot that stays away.
var errStalled = fmt.Errorf("etcd: the member has sent nothing of the snapshot for %v", stall)

// Snapshot begins a snapshot of the member at Endpoint. Close it. The member needs no quorum. A member that announces more than 32 GiB is
// refused, and one that sends nothing for a minute ends the stream.
func (c *Client) Snapshot(ctx context.Context) (*Snapshot, error) {
	s, err := c.snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("etcd: snapshot from %s: %w", c.config.Endpoint, err)
	}
	return s, nil
}

func (c *Client) snapshot(ctx context.Context) (*Snapshot, error) {
	ask, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	status, err := c.etcd.Status(ask, c.config.Endpoint)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	r := &received{ctx: ctx, stop: stop}
	// clientv3 does not return the size, which a tar archive needs first.
	if r.stream, err = etcdserverpb.NewMaintenanceClient(c.etcd.ActiveConnection()).Snapshot(ctx, &etcdserverpb.SnapshotRequest{}); err != nil {
		stop(nil)
		return nil, err
	}
	first, err := r.next()
	if err == nil && first.RemainingBytes > maxSnapshot {
		err = fmt.Errorf("the member announces %d bytes, at most %d are read", first.RemainingBytes, int64(maxSnapshot))
	}
	if err != nil {
		stop(nil)
		return nil, err
	}
	r.rest = first.Blob
	// etcd sends the checksum as the last message, and RemainingBytes does not count it (server/etcdserver/api/v3rpc, Snapshot).
	size := int64(first.RemainingBytes) + int64(len(first.Blob)) + sha256.Size //nolint:gosec // of a file
	data := &checked{ReadCloser: r, sum: sha256.New()}
	return &Snapshot{ReadCloser: data, Size: size, Version: status.Version}, nil
}

// received reads the messages of a snapshot.
type received struct {
	stream etcdserverpb.Maintenance_SnapshotClient
	rest   []byte
	ctx    context.Context //nolint:containedctx // of the stream
	stop   context.CancelCauseFunc
}

// next returns the next message.
func (r *received) next() (*etcdserverpb.SnapshotResponse, error) {
	timer := time.AfterFunc(stall, func() { r.stop(errStalled) })
	defer timer.Stop()
	next, err := r.stream.Recv()
	if cause := context.Cause(r.ctx); err != nil && errors.Is(cause, errStalled) {
		err = cause
	}
	return next, err
}

// Read implements io.Reader.
func (r *received) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		next, err := r.next()
		if err != nil {
			return 0, err
		}
		if r.rest = next.Blob; len(r.rest) == 0 {
			return 0, errors.New("etcd: the member has sent an empty part of the snapshot")
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close implements io.Closer.
func (r *received) Close() error {
	r.stop(nil)
	return nil
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
