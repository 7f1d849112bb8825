package sshtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// Key is the key pair of a user, a host or a certificate authority.
type Key struct {
	PEM    []byte // private key in OpenSSH form, without passphrase
	Public string // public key in authorized_keys form
}

// NewKey creates a key pair. algorithm is one of ssh-ed25519, ssh-rsa (2048 bits) and ecdsa-sha2-nistp256, -nistp384 and
// -nistp521: see the constants KeyAlgo... of golang.org/x/crypto/ssh.
func NewKey(t testing.TB, algorithm string) Key {
	t.Helper()
	key, err := makeKey(algorithm)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func makeKey(algorithm string) (Key, error) {
	private, err := privateKey(algorithm)
	if err != nil {
		return Key{}, fmt.Errorf("sshtest: make a key: %w", err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		return Key{}, fmt.Errorf("sshtest: make a key: %w", err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		return Key{}, fmt.Errorf("sshtest: make a key: %w", err)
	}
	return Key{PEM: pem.EncodeToMemory(block), Public: authorizedKey(signer.PublicKey())}, nil
}

func privateKey(algorithm string) (crypto.PrivateKey, error) {
	switch algorithm {
	case ssh.KeyAlgoED25519:
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return key, err
	case ssh.KeyAlgoRSA:
		return rsa.GenerateKey(rand.Reader, 2048)
	case ssh.KeyAlgoECDSA256:
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case ssh.KeyAlgoECDSA384:
		return ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case ssh.KeyAlgoECDSA521:
		return ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	}
	return nil, fmt.Errorf("type %q is not supported", algorithm)
}

func authorizedKey(key ssh.PublicKey) string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

// SignUser returns a certificate, in authorized_keys form, with which the owner of a public key can log in as users. The
// certificate does not expire. The host must have k.Public in Config.TrustedUserCAKeys.
func (k Key) SignUser(t testing.TB, public string, users ...string) string {
	t.Helper()
	return k.sign(t, ssh.UserCert, public, users)
}

// SignHost returns a certificate, in authorized_keys form, of a host key for these host names. The certificate does not
// expire. Use it in Config.HostCertificates.
func (k Key) SignHost(t testing.TB, public string, names ...string) string {
	t.Helper()
	return k.sign(t, ssh.HostCert, public, names)
}

func (k Key) sign(t testing.TB, kind uint32, public string, principals []string) string {
	t.Helper()
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(public))
	if err != nil {
		t.Fatalf("sshtest: public key to sign: %v", err)
	}
	authority, err := ssh.ParsePrivateKey(k.PEM)
	if err != nil {
		t.Fatalf("sshtest: key of the authority: %v", err)
	}
	certificate := &ssh.Certificate{
		Key: key, CertType: kind, KeyId: strings.Join(principals, ","), ValidPrincipals: principals, ValidBefore: ssh.CertTimeInfinity,
	}
	if err := certificate.SignCert(rand.Reader, authority); err != nil {
		t.Fatalf("sshtest: sign: %v", err)
	}
	return authorizedKey(certificate)
}
