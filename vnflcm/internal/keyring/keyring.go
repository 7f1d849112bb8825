// Package keyring seals what the store keeps, with XAES-256-GCM (C2SP), under keys that can be replaced one after the other.
package keyring

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// Ring seals bodies under its first key and opens those that are sealed under any of its keys.
//
// A sealed body is: the format (1 byte), the id of the key (8), a random nonce (24), the ciphertext with its tag. The identity of
// what is sealed is authenticated with it: a body does not open under another identity.
type Ring []sealingKey

type sealingKey struct {
	id    [keyIDSize]byte
	block cipher.Block
}

const (
	sealFormat = 2 // 1 was AES-GCM with a nonce of 12 bytes and without a key id
	keyIDSize  = 8
	nonceSize  = 24
	headerSize = 1 + keyIDSize + nonceSize
)

// minKey is the least size of a key in bytes.
const minKey = 16

// New returns a ring of keys, the first of which seals. A key with less than 16 bytes is an error.
func New(keys ...[]byte) (Ring, error) {
	var ring Ring
	for _, key := range keys {
		if len(key) < minKey {
			return nil, fmt.Errorf("a key has %d bytes: keys seal what the store keeps and need at least %d, better 32 random ones", len(key), minKey)
		}
		k, err := newSealingKey(key)
		if err != nil {
			return nil, err
		}
		ring = append(ring, k)
	}
	return ring, nil
}

// newSealingKey derives the key that seals, and its id, which says nothing about the key.
func newSealingKey(key []byte) (k sealingKey, err error) {
	derived, err := hkdf.Key(sha256.New, key, nil, "vnfkit records, XAES-256-GCM", 32)
	if err != nil {
		return k, err
	}
	id, err := hkdf.Key(sha256.New, key, nil, "vnfkit key id", keyIDSize)
	if err != nil {
		return k, err
	}
	copy(k.id[:], id)
	k.block, err = aes.NewCipher(derived)
	return k, err
}

// Seal returns the sealed body of what has this identity.
func (ring Ring) Seal(clear, identity []byte) ([]byte, error) {
	key := ring[0]
	body := make([]byte, headerSize, headerSize+len(clear)+aes.BlockSize)
	body[0] = sealFormat
	copy(body[1:], key.id[:])
	nonce := body[1+keyIDSize : headerSize]
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	aead, err := key.forNonce(nonce)
	if err != nil {
		return nil, err
	}
	return aead.Seal(body, nonce[12:], clear, identity), nil
}

// Open returns what is sealed in a body. An error says that the body is damaged, has another identity, or is sealed under a key that
// the ring does not have.
func (ring Ring) Open(body, identity []byte) ([]byte, error) {
	key := ring.keyOf(body)
	if key == nil {
		return nil, errNoKey
	}
	nonce := body[1+keyIDSize : headerSize]
	aead, err := key.forNonce(nonce)
	if err != nil {
		return nil, err
	}
	return aead.Open(nil, nonce[12:], body[headerSize:], identity)
}

var errNoKey = errors.New("not sealed under a key of the ring")

// Has reports whether the ring has the key that a body is sealed under.
func (ring Ring) Has(body []byte) bool { return ring.keyOf(body) != nil }

// IsNewest reports whether a body is sealed under the first key.
func (ring Ring) IsNewest(body []byte) bool { return ring.keyOf(body) == &ring[0] }

// keyOf returns the key that a body is sealed under, nil if the ring does not have it.
func (ring Ring) keyOf(body []byte) *sealingKey {
	if len(body) < headerSize || body[0] != sealFormat {
		return nil
	}
	for i, key := range ring {
		if string(body[1:1+keyIDSize]) == string(key.id[:]) {
			return &ring[i]
		}
	}
	return nil
}

// forNonce returns the AEAD of a message of XAES-256-GCM (C2SP): the first half of the nonce derives a key with the CMAC
// of SP 800-108r1, and AES-256-GCM takes the second half. Random nonces of 24 bytes do not repeat, however many bodies
// are sealed under a key.
func (k *sealingKey) forNonce(nonce []byte) (cipher.AEAD, error) {
	var subkey [aes.BlockSize]byte // K1 of CMAC: AES(0), doubled
	k.block.Encrypt(subkey[:], subkey[:])
	high, low := binary.BigEndian.Uint64(subkey[:]), binary.BigEndian.Uint64(subkey[8:])
	binary.BigEndian.PutUint64(subkey[:], high<<1|low>>63)
	binary.BigEndian.PutUint64(subkey[8:], low<<1^high>>63*0x87)

	derived := make([]byte, 0, 2*aes.BlockSize)
	for counter := byte(1); counter <= 2; counter++ {
		block := append([]byte{0, counter, 'X', 0}, nonce[:12]...)
		for i := range block {
			block[i] ^= subkey[i]
		}
		k.block.Encrypt(block, block)
		derived = append(derived, block...)
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
