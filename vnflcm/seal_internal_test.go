package vnflcm

import (
	"bytes"
	"crypto/aes"
	"encoding/hex"
	"slices"
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

// FuzzOpen changes a sealed body: only the unchanged body opens, under its version. Each input seals a new body,
// because worker processes of the fuzzer use other nonces than the process that collected the seeds.
func FuzzOpen(f *testing.F) {
	ring, err := newKeyring(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{}, uint16(0), uint16(0), int64(1))
	f.Add([]byte{1}, uint16(3), uint16(0), int64(1))
	f.Add([]byte{}, uint16(0), uint16(20), int64(1))
	f.Add([]byte{}, uint16(0), uint16(0), int64(2))
	f.Fuzz(func(t *testing.T, change []byte, at, missing uint16, version int64) {
		body, err := ring.seal(Record{Kind: "k", ID: "id", Version: 1}, []byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		changed := append(slices.Clone(body), change...)
		for i, c := range change {
			changed[(int(at)+i)%len(body)] ^= c
		}
		changed = changed[:max(0, len(changed)-int(missing))]
		clear, err := ring.open(Record{Kind: "k", ID: "id", Version: version, Body: changed})
		if (err == nil) != (version == 1 && bytes.Equal(changed, body)) {
			t.Errorf("open: %q, %v", clear, err)
		}
	})
}
