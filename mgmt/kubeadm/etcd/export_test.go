package etcd

import (
	"crypto/sha256"
	"io"
)

// CheckedSnapshot returns the reader of Client.Snapshot for these data.
func CheckedSnapshot(from io.ReadCloser) io.ReadCloser {
	return &checked{ReadCloser: from, sum: sha256.New()}
}
