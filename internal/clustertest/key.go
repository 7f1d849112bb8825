package clustertest

import (
	"crypto"
	"encoding/pem"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// Protected returns the private key, encrypted with a passphrase.
func Protected(t testing.TB, key sshtest.Key, passphrase string) string {
	t.Helper()
	raw, err := ssh.ParseRawPrivateKey(key.PEM)
	check(t, err)
	block, err := ssh.MarshalPrivateKeyWithPassphrase(raw.(crypto.PrivateKey), "", []byte(passphrase))
	check(t, err)
	return string(pem.EncodeToMemory(block))
}
