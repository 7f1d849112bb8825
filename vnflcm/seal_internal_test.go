package vnflcm

import (
	"bytes"
	"crypto/aes"
	"encoding/hex"
	"testing"
)

// TestXAES compares the construction with the test vectors of the specification (C2SP, XAES-256-GCM).
func TestXAES(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key  byte
		aad  string
		want string
	}{
		{0x01, "", "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271"},
		{0x03, "c2sp.org/XAES-256-GCM", "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d"},
	} {
		block, err := aes.NewCipher(bytes.Repeat([]byte{c.key}, 32))
		if err != nil {
			t.Fatal(err)
		}
		nonce := []byte("ABCDEFGHIJKLMNOPQRSTUVWX")
		aead, err := (&sealingKey{block: block}).forNonce(nonce)
		if err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(aead.Seal(nil, nonce[12:], []byte("XAES-256-GCM"), []byte(c.aad))); got != c.want { //nolint:gosec // a test vector
			t.Errorf("key %x: %s, want %s", c.key, got, c.want)
		}
	}
}

func FuzzOpen(f *testing.F) {
	ring, err := newKeyring(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		f.Fatal(err)
	}
	body, err := ring.seal("k", "id", 1, []byte("{}"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body, int64(1))
	f.Add(body[:headerSize], int64(1))
	f.Add([]byte{sealFormat}, int64(0))
	f.Fuzz(func(t *testing.T, mutated []byte, version int64) {
		clear, err := ring.open(Record{Kind: "k", ID: "id", Version: version, Body: mutated})
		if (err == nil) != (version == 1 && bytes.Equal(mutated, body)) {
			t.Errorf("open: %q, %v", clear, err)
		}
	})
}
