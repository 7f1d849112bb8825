package inventory

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// The format of Ansible Vault 1.1 (lib/ansible/parsing/vault, "Ansible Vault payload format 1.1 - 1.2" in Ansible's guide):
// a header line, then hexadecimal text, 80 characters per line. Decoded, it has three parts, again in hexadecimal: salt,
// HMAC-SHA256 of the ciphertext, ciphertext. PBKDF2-SHA256 derives 32 bytes of AES key, 32 bytes of HMAC key and the first
// counter block from password and salt.
const (
	vaultHeader     = "$ANSIBLE_VAULT;1.1;AES256"
	vaultIterations = 10000
	vaultSalt       = 32
	vaultWidth      = 80
)

// Encrypt returns content as an Ansible Vault 1.1, which ansible-vault and ansible-playbook open with the same password.
// The salt is derived from password and content with PBKDF2, so that equal content gives equal bytes and different contents
// have different keys.
func Encrypt(content []byte, password vnflcm.Secret) ([]byte, error) {
	if password.IsZero() {
		return nil, errors.New("a vault needs a password")
	}
	digest := sha256.Sum256(content)
	salt, err := pbkdf2.Key(sha256.New, password.Reveal(), digest[:], vaultIterations, vaultSalt)
	if err != nil {
		return nil, err
	}
	stream, mac, err := vaultKeys(password, salt)
	if err != nil {
		return nil, err
	}
	// Ansible expects padding (PKCS #7), although counter mode does not need it.
	padding := aes.BlockSize - len(content)%aes.BlockSize
	text := append(bytes.Clone(content), bytes.Repeat([]byte{byte(padding)}, padding)...)
	stream.XORKeyStream(text, text)
	mac.Write(text)
	inner := fmt.Appendf(nil, "%x\n%x\n%x", salt, mac.Sum(nil), text)
	var out bytes.Buffer
	out.WriteString(vaultHeader + "\n")
	for outer := []byte(hex.EncodeToString(inner)); len(outer) > 0; {
		n := min(vaultWidth, len(outer))
		out.Write(outer[:n])
		out.WriteByte('\n')
		outer = outer[n:]
	}
	return out.Bytes(), nil
}

func vaultKeys(password vnflcm.Secret, salt []byte) (cipher.Stream, hash.Hash, error) {
	const key = 32
	keys, err := pbkdf2.Key(sha256.New, password.Reveal(), salt, vaultIterations, 2*key+aes.BlockSize)
	if err != nil {
		return nil, nil, err
	}
	block, err := aes.NewCipher(keys[:key])
	if err != nil {
		return nil, nil, err
	}
	return cipher.NewCTR(block, keys[2*key:]), hmac.New(sha256.New, keys[key:2*key]), nil
}
