package keyring

import (
	"bytes"
	"crypto/aes"
	"encoding/hex"
	"slices"
	"strings"
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

// FuzzOpen changes a sealed body: only the unchanged body opens, under its identity. Each input seals a new body,
// because worker processes of the fuzzer use other nonces than the process that collected the seeds.
func FuzzOpen(f *testing.F) {
	ring, err := New(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		f.Fatal(err)
	}
	const own = "an instance"
	f.Add([]byte{}, uint16(0), uint16(0), own)
	f.Add([]byte{1}, uint16(3), uint16(0), own)
	f.Add([]byte{}, uint16(0), uint16(20), own)
	f.Add([]byte{}, uint16(0), uint16(0), "another instance")
	f.Fuzz(func(t *testing.T, change []byte, at, missing uint16, identity string) {
		body, err := ring.Seal([]byte("{}"), []byte(own))
		if err != nil {
			t.Fatal(err)
		}
		changed := append(slices.Clone(body), change...)
		for i, c := range change {
			changed[(int(at)+i)%len(body)] ^= c
		}
		changed = changed[:max(0, len(changed)-int(missing))]
		clear, err := ring.Open(changed, []byte(identity))
		if (err == nil) != (identity == own && bytes.Equal(changed, body)) {
			t.Errorf("open: %q, %v", clear, err)
		}
	})
}

// TestRing has a key replaced: bodies of both keys open, and those of the new key alone are the newest.
func TestRing(t *testing.T) {
	t.Parallel()
	first, second := bytes.Repeat([]byte{1}, minKey), bytes.Repeat([]byte{2}, minKey)
	rings := map[string]Ring{}
	for name, keys := range map[string][][]byte{"first": {first}, "second": {second}, "both": {second, first}} {
		ring, err := New(keys...)
		if err != nil {
			t.Fatal(err)
		}
		rings[name] = ring
	}
	for _, c := range []struct {
		sealed, by    string
		knows, newest bool
	}{
		{"first", "first", true, true},
		{"first", "second", false, false},
		{"first", "both", true, false},
		{"both", "second", true, true},
		{"both", "both", true, true},
		{"both", "first", false, false},
	} {
		body, err := rings[c.sealed].Seal([]byte("clear"), nil)
		if err != nil {
			t.Fatal(err)
		}
		ring := rings[c.by]
		clear, err := ring.Open(body, nil)
		if (err == nil && string(clear) == "clear") != c.knows || ring.Has(body) != c.knows || ring.IsNewest(body) != c.newest {
			t.Errorf("sealed by %s, opened by %s: %q, %v, has the key: %t, is the newest: %t", c.sealed, c.by, clear, err, ring.Has(body), ring.IsNewest(body))
		}
	}
	if _, err := New(first, second[1:]); err == nil || !strings.Contains(err.Error(), "15 bytes") {
		t.Errorf("a key of 15 bytes: %v", err)
	}
}
