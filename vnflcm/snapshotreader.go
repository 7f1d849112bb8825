package vnflcm

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
)

// SnapshotReader reads the archive of a snapshot in clear.
type SnapshotReader struct {
	*tar.Reader

	from io.ReadCloser
}

func openSnapshot(ctx context.Context, keeper Snapshots, rec *snapshotRecord) (*SnapshotReader, error) {
	from, err := keeper.Open(ctx, rec.place(), rec.Key)
	if err != nil {
		return nil, fmt.Errorf("VNF snapshot %s: %w", rec.ID, err)
	}
	return &SnapshotReader{tar.NewReader(from), from}, nil
}

// Finish reads the rest of the archive, and returns an error if the archive was cut or changed anywhere. Close it afterwards nevertheless.
func (r *SnapshotReader) Finish() error {
	_, err := io.Copy(io.Discard, r.from)
	return err
}

// Close closes the archive.
func (r *SnapshotReader) Close() error { return r.from.Close() }
