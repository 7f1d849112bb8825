package ansiblesim

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

const vaultHeader = "$ANSIBLE_VAULT;"

// decrypt opens an Ansible Vault of format 1.1 with the first of some passwords that fits.
// https://docs.ansible.com/ansible/latest/vault_guide/vault_using_encrypted_content.html
func decrypt(text string, keys []string) ([]byte, error) {
	if len(keys) == 0 {
		return nil, errors.New("Attempting to decrypt but no vault secrets found")
	}
	header, body, _ := strings.Cut(text, "\n")
	if strings.TrimSpace(header) != vaultHeader+"1.1;AES256" {
		return nil, fmt.Errorf("ansiblesim: a vault of the form %q is not simulated", header)
	}
	outer, err := hex.DecodeString(strings.Join(strings.Fields(body), ""))
	parts := strings.Split(string(outer), "\n")
	if err != nil || len(parts) != 3 {
		return nil, errors.New("Vault format unhexlify error")
	}
	var raw [3][]byte // salt, HMAC, ciphertext
	for i, part := range parts {
		if raw[i], err = hex.DecodeString(part); err != nil {
			return nil, errors.New("Vault format unhexlify error")
		}
	}
	for _, key := range keys {
		if plain, ok := open(key, raw[0], raw[1], raw[2]); ok {
			return plain, nil
		}
	}
	return nil, errors.New("Decryption failed (no vault secrets were found that could decrypt)")
}

func open(key string, salt, sum, text []byte) (plain []byte, ok bool) {
	derived, err := pbkdf2.Key(sha256.New, key, salt, 10000, 80)
	if err != nil {
		return nil, false
	}
	mac := hmac.New(sha256.New, derived[32:64])
	mac.Write(text)
	if !hmac.Equal(mac.Sum(nil), sum) {
		return nil, false
	}
	block, err := aes.NewCipher(derived[:32])
	if err != nil {
		return nil, false
	}
	plain = make([]byte, len(text))
	cipher.NewCTR(block, derived[64:]).XORKeyStream(plain, text)
	if len(plain) == 0 {
		return nil, false
	}
	pad := int(plain[len(plain)-1])
	if pad == 0 || pad > aes.BlockSize || pad > len(plain) {
		return nil, false
	}
	return plain[:len(plain)-pad], true
}
