package vnflcm

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// keyring seals records under its first key and opens those that are sealed under any of its keys.
//
// A sealed body is: the format (1 byte), the id of the key (8), a random nonce (24), the ciphertext with its tag. Kind, id,
// version and index of the record are authenticated with it, so that a body is refused in another record, under another
// version and beside another index.
type keyring []sealingKey

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

func newKeyring(keys ...[]byte) (keyring, error) {
	var ring keyring
	for _, key := range keys {
		if len(key) < minKey {
			return nil, fmt.Errorf("vnflcm: a key has %d bytes: keys seal what the store keeps and need at least %d, better 32 random ones", len(key), minKey)
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

// seal returns the sealed body of a record. It ignores r.Body.
func (ring keyring) seal(r Record, clear []byte) ([]byte, error) {
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
	return aead.Seal(body, nonce[12:], clear, identity(r)), nil
}

// open returns the content that is sealed in a record, or ErrUnreadable.
func (ring keyring) open(r Record) ([]byte, error) {
	key := ring.keyOf(r)
	if key == nil {
		return nil, ErrUnreadable
	}
	nonce := r.Body[1+keyIDSize : headerSize]
	aead, err := key.forNonce(nonce)
	if err != nil {
		return nil, err
	}
	clear, err := aead.Open(nil, nonce[12:], r.Body[headerSize:], identity(r))
	if err != nil {
		return nil, ErrUnreadable
	}
	return clear, nil
}

// keyOf returns the key that a record is sealed under, nil if the keyring does not have it.
func (ring keyring) keyOf(r Record) *sealingKey {
	if len(r.Body) < headerSize || r.Body[0] != sealFormat {
		return nil
	}
	for i, key := range ring {
		if string(r.Body[1:1+keyIDSize]) == string(key.id[:]) {
			return &ring[i]
		}
	}
	return nil
}

// isNewest reports whether a record is sealed under the first key.
func (ring keyring) isNewest(r Record) bool { return ring.keyOf(r) == &ring[0] }

// identity returns the data that a body is bound to.
func identity(r Record) []byte {
	var out []byte
	for _, n := range []int64{r.Version, r.Index.Start} {
		out = binary.BigEndian.AppendUint64(out, uint64(n)) //nolint:gosec // every value has its own bytes
	}
	for _, text := range []string{r.Kind, r.ID, r.Index.State, r.Index.Operation, r.Index.Instance, r.Index.VNFD} {
		out = append(binary.BigEndian.AppendUint64(out, uint64(len(text))), text...)
	}
	return out
}

// forNonce returns the AEAD of a message of XAES-256-GCM (C2SP): the first half of the nonce derives a key with the CMAC
// of SP 800-108r1, and AES-256-GCM takes the second half. Random nonces of 24 bytes do not repeat, however many records
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
