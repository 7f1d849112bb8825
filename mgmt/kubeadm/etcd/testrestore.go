package etcd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
)

// Restored describes data that a test restore has found.
type Restored struct {
	Size     int64 // bytes of the database
	Revision int64 // the newest
	Versions int   // of keys: each change of a key is one until etcd compacts it
}

// TestRestore restores a snapshot into a file in dir, as "etcdutl snapshot restore" does, and reads every key of its database. "etcdutl
// snapshot status" accepts files that were cut or altered. The file needs as much space as the data. Only the caller can read it, it has no name
// while it has data (except on Windows), and it is removed. ErrSnapshot: no member could be restored from the snapshot.
func TestRestore(ctx context.Context, from io.Reader, dir string) (r Restored, err error) {
	file, err := os.CreateTemp(dir, "etcd-*.db") // mode 0600
	if err != nil {
		return r, err
	}
	defer func() {
		_ = file.Close()           // bbolt may have closed it
		_ = os.Remove(file.Name()) // it may have no name
	}()
	_ = os.Remove(file.Name())
	data := &checked{ReadCloser: io.NopCloser(untilDone{ctx, from}), sum: sha256.New()}
	size, err := io.Copy(file, data)
	if err != nil {
		return r, err
	}
	r.Size = size - sha256.Size
	if err := file.Truncate(r.Size); err != nil {
		return r, err
	}
	return r, r.readDatabase(ctx, file)
}

// untilDone reads until ctx ends.
type untilDone struct {
	ctx  context.Context //nolint:containedctx // of one call
	from io.Reader
}

// Read implements io.Reader.
func (u untilDone) Read(p []byte) (int, error) {
	if err := context.Cause(u.ctx); err != nil {
		return 0, err
	}
	return u.from.Read(p)
}

// readDatabase reads every key of a database. bbolt panics if pages are damaged: etcd's checksum is about the file that etcd has read.
func (r *Restored) readDatabase(ctx context.Context, file *os.File) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("%w: the database is damaged: %v", ErrSnapshot, value)
		}
	}()
	db, err := bbolt.Open(file.Name(), 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Minute, OpenFile: func(string, int, fs.FileMode) (*os.File, error) { return file, nil }})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.View(func(tx *bbolt.Tx) error {
		pages := tree{file, int64(db.Info().PageSize), map[int64]bool{}}
		if err := pages.check(uint64(tx.Cursor().Bucket().Root()), 0); err != nil {
			return err
		}
		for _, name := range []string{"meta", "members", "key"} { // buckets of etcd (server/storage/schema)
			bucket := tx.Bucket([]byte(name))
			if bucket == nil {
				return fmt.Errorf("%w: the database has no bucket %q", ErrSnapshot, name)
			}
			if err := pages.check(uint64(bucket.Root()), 0); err != nil { // 0, which has no children: the bucket is in the page of its parent
				return err
			}
			if err := r.readBucket(ctx, bucket, name == "key"); err != nil {
				return err
			}
		}
		return nil
	})
}

// readBucket reads every key of a bucket. versions: the keys are revisions.
func (r *Restored) readBucket(ctx context.Context, bucket *bbolt.Bucket, versions bool) error {
	var before []byte
	return bucket.ForEach(func(key, value []byte) error {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if bytes.Compare(before, key) >= 0 && before != nil {
			return fmt.Errorf("%w: keys of the database are out of order", ErrSnapshot)
		}
		before = append(before[:0], key...)
		if !versions {
			return nil
		}
		if len(key) < 8 || len(value) == 0 {
			return fmt.Errorf("%w: a key of the database is no revision", ErrSnapshot)
		}
		r.Versions++
		r.Revision = int64(binary.BigEndian.Uint64(key)) //nolint:gosec // etcd's revisions are of this type
		return nil
	})
}
