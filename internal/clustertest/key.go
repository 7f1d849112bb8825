package clustertest

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// Protected returns the private key, of a type ecdsa-sha2, encrypted with a passphrase: in PEM's own form, because each
// reading of a key in OpenSSH's form takes 50 ms of CPU time.
func Protected(t testing.TB, key sshtest.Key, passphrase string) string {
	t.Helper()
	raw, err := ssh.ParseRawPrivateKey(key.PEM)
	check(t, err)
	der, err := x509.MarshalECPrivateKey(raw.(*ecdsa.PrivateKey))
	check(t, err)
	block, err := x509.EncryptPEMBlock(rand.Reader, "EC PRIVATE KEY", der, []byte(passphrase), x509.PEMCipherAES256) //nolint:staticcheck // users have such keys
	check(t, err)
	return string(pem.EncodeToMemory(block))
}
