package etcd_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/vnfkit/vnfkit/internal/etcdtest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/etcd"
)

// database returns a database with the buckets of etcd, without the left out one, and this number of revisions.
func database(t *testing.T, without string, revisions int) []byte {
	t.Helper()
	name := filepath.Join(t.TempDir(), "db")
	db, err := bbolt.Open(name, 0o600, &bbolt.Options{NoSync: true, PageSize: pageSize})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, bucket := range []string{"meta", "members", "key"} {
			if bucket == without {
				continue
			}
			b, err := tx.CreateBucket([]byte(bucket))
			for i := 0; err == nil && bucket == "key" && i < revisions; i++ {
				key := append(binary.BigEndian.AppendUint64(nil, uint64(i+2)), "_\x00\x00\x00\x00\x00\x00\x00\x00"...)
				err = b.Put(key, bytes.Repeat([]byte("v"), 500))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// summed returns data with the checksum of a snapshot.
func summed(data []byte) []byte {
	sum := sha256.Sum256(data)
	return append(bytes.Clone(data), sum[:]...)
}

const pageSize = 4096

// branches returns the pages of a database that have children.
func branches(db []byte) (ids []int) {
	for id := 2; id < len(db)/pageSize; id++ {
		if binary.LittleEndian.Uint16(db[id*pageSize+8:]) == 1 {
			ids = append(ids, id)
		}
	}
	return ids
}

// TestRestoreForTest restores snapshots that are whole, damaged, and damaged before etcd has made the checksum.
func TestRestoreForTest(t *testing.T) {
	t.Parallel()
	whole := database(t, "", 300)
	dir := t.TempDir()
	got, err := etcd.TestRestore(t.Context(), bytes.NewReader(summed(whole)), dir)
	if diff := cmp.Diff(etcd.Restored{Size: int64(len(whole)), Revision: 301, Versions: 300}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if len(branches(whole)) == 0 {
		t.Fatal("the database has no branches")
	}
	altered := summed(whole)
	altered[5000]++
	for name, damaged := range map[string][]byte{
		"empty": nil, "without a checksum": whole, "altered": altered, "cut": summed(whole)[:len(whole)-1],
		"no database": summed(bytes.Repeat([]byte("a"), 1<<16)), "without keys": summed(database(t, "key", 0)), "without members": summed(database(t, "members", 1)),
		"half a database": summed(whole[:len(whole)/2]),
	} {
		if _, err := etcd.TestRestore(t.Context(), bytes.NewReader(damaged), dir); !errors.Is(err, etcd.ErrSnapshot) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, id := range branches(whole) { // a cycle: bbolt would follow it without an end
		cyclic := bytes.Clone(whole)
		binary.LittleEndian.PutUint64(cyclic[id*pageSize+16+8:], uint64(id)) //nolint:gosec // of a page
		if _, err := etcd.TestRestore(t.Context(), bytes.NewReader(summed(cyclic)), dir); !errors.Is(err, etcd.ErrSnapshot) {
			t.Errorf("page %d is its own child: %v", id, err)
		}
	}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same damage each time
	found := 0
	for range 200 { // pages with random bytes: an error or none, and no panic
		page := bytes.Clone(whole)
		for range 20 {
			page[8192+random.IntN(len(page)-8192)] = byte(random.IntN(256)) //nolint:gosec // below 256
		}
		_, err := etcd.TestRestore(t.Context(), bytes.NewReader(summed(page)), dir)
		if err != nil && !errors.Is(err, etcd.ErrSnapshot) {
			t.Errorf("damaged pages: %v", err)
		}
		if err != nil {
			found++
		}
	}
	if found == 0 {
		t.Error("no damaged page was noticed")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if _, err := etcd.TestRestore(ctx, bytes.NewReader(summed(whole)), dir); err == nil || err.Error() != "enough" {
		t.Errorf("cancelled: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("files left: %v, %v", left, err)
	}
}

// TestRealSnapshot takes a snapshot of a real member and restores it for a test.
func TestRealSnapshot(t *testing.T) {
	t.Parallel()
	ca, servers := etcdtest.Start(t, 1)
	client := open(t, servers[0].Client, ca.TLS(t))
	until(t, client, "a leader", healthy(1))
	writer, err := clientv3.New(clientv3.Config{Endpoints: []string{servers[0].Client}, TLS: ca.TLS(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	var revision int64
	for range 100 {
		put, err := writer.Put(t.Context(), "/registry/a", string(bytes.Repeat([]byte("v"), 10_000)))
		if err != nil {
			t.Fatal(err)
		}
		revision = put.Header.Revision
	}
	snapshot, err := client.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(snapshot)
	if err := errors.Join(err, snapshot.Close()); err != nil {
		t.Fatal(err)
	}
	if snapshot.Size != int64(len(data)) || snapshot.Version == "" {
		t.Errorf("the size is %d, not %d; version %q", snapshot.Size, len(data), snapshot.Version)
	}
	got, err := etcd.TestRestore(t.Context(), bytes.NewReader(data), t.TempDir())
	if err != nil || got.Revision != revision || got.Versions != 100 {
		t.Errorf("%+v, %v; the revision is %d", got, err, revision)
	}
	data[len(data)/2]++
	if _, err := etcd.TestRestore(t.Context(), bytes.NewReader(data), t.TempDir()); !errors.Is(err, etcd.ErrSnapshot) {
		t.Errorf("altered: %v", err)
	}
}
