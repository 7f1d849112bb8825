package kubespray

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
)

const vaultHeader = "$ANSIBLE_VAULT;1.1;AES256"

var errVault = errors.New("Decryption failed (no vault secrets were found that could decrypt)")

// decrypt opens an Ansible Vault of format 1.1.
// https://docs.ansible.com/ansible/latest/vault_guide/vault_using_encrypted_content.html
func decrypt(text, key string) ([]byte, error) {
	var parts [3][]byte // salt, HMAC, ciphertext
	outer, err := hex.DecodeString(strings.Join(strings.Fields(strings.TrimPrefix(text, vaultHeader)), ""))
	inner := strings.Split(string(outer), "\n")
	if err != nil || len(inner) != len(parts) {
		return nil, errVault
	}
	for i := range parts {
		if parts[i], err = hex.DecodeString(inner[i]); err != nil {
			return nil, errVault
		}
	}
	keys, err := pbkdf2.Key(sha256.New, key, parts[0], 10000, 80)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, keys[32:64])
	mac.Write(parts[2])
	block, err := aes.NewCipher(keys[:32])
	if err != nil || len(parts[2]) == 0 || !hmac.Equal(mac.Sum(nil), parts[1]) {
		return nil, errVault
	}
	cipher.NewCTR(block, keys[64:]).XORKeyStream(parts[2], parts[2])
	padding := int(parts[2][len(parts[2])-1])
	return parts[2][:max(0, len(parts[2])-padding)], nil
}
