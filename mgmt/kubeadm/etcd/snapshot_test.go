package etcd_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/vnfkit/vnfkit/mgmt/kubeadm/etcd"
)

// TestSnapshotChecksum checks that a damaged snapshot, or one that was cut short, is an error.
func TestSnapshotChecksum(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte("etcd"), 1000)
	sum := sha256.Sum256(data)
	whole := slices.Concat(data, sum[:])
	altered := bytes.Clone(whole)
	altered[1000]++
	for name, c := range map[string]struct {
		content []byte
		damaged bool
	}{
		"whole": {whole, false}, "empty": {nil, true}, "short": {whole[:20], true}, "altered": {altered, true},
		"truncated": {whole[:len(whole)-1], true}, "without the checksum": {data, true},
	} {
		for reads, of := range map[string]func(io.Reader) io.Reader{"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader, "with its end": iotest.DataErrReader} {
			got, err := io.ReadAll(etcd.CheckedSnapshot(io.NopCloser(of(bytes.NewReader(c.content)))))
			if !bytes.Equal(got, c.content) {
				t.Errorf("%s, %s: %d bytes of %d", name, reads, len(got), len(c.content))
			}
			if errors.Is(err, etcd.ErrSnapshot) != c.damaged || !c.damaged && err != nil {
				t.Errorf("%s, %s: %v", name, reads, err)
			}
		}
	}
}
