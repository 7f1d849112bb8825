package sshtest

import (
	"bytes"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"
)

// hostKeys are the keys that the host presents to clients.
type hostKeys struct {
	keys    []Key
	signers []ssh.Signer // first those of the keys, then those of the certificates
}

func newHostKeys(c Config) (hostKeys, error) {
	given := c.HostKeys
	if c.HostKey != nil {
		given = append([][]byte{c.HostKey}, given...)
	}
	var k hostKeys
	if c.HostKey == nil {
		key, err := makeKey(ssh.KeyAlgoED25519)
		if err != nil {
			return k, err
		}
		given = append([][]byte{key.PEM}, given...)
	}
	for _, text := range given {
		if err := k.add(text); err != nil {
			return k, err
		}
	}
	for _, line := range c.HostCertificates {
		if err := k.certify(line); err != nil {
			return k, err
		}
	}
	return k, nil
}

func (k *hostKeys) add(text []byte) error {
	signer, err := ssh.ParsePrivateKey(text)
	if err != nil {
		return fmt.Errorf("sshtest: host key: %w", err)
	}
	k.keys = append(k.keys, Key{PEM: text, Public: authorizedKey(signer.PublicKey())})
	k.signers = append(k.signers, signer)
	return nil
}

func (k *hostKeys) certify(line string) error {
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
	if err != nil {
		return fmt.Errorf("sshtest: host certificate: %w", err)
	}
	certificate, ok := key.(*ssh.Certificate)
	if !ok {
		return fmt.Errorf("sshtest: host certificate: %s is no certificate", key.Type())
	}
	for _, signer := range k.signers {
		if !bytes.Equal(signer.PublicKey().Marshal(), certificate.Key.Marshal()) {
			continue
		}
		certified, err := ssh.NewCertSigner(certificate, signer)
		if err != nil {
			return fmt.Errorf("sshtest: host certificate: %w", err)
		}
		k.signers = append(k.signers, certified)
		return nil
	}
	return fmt.Errorf("sshtest: host certificate: the host has no such key")
}

// PublicKey returns the first host key in authorized_keys form.
func (h *Host) PublicKey() string { return h.PublicKeys()[0] }

// PublicKeys returns all host keys in authorized_keys form, without certificates.
func (h *Host) PublicKeys() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var lines []string
	for _, key := range h.keys.keys {
		lines = append(lines, key.Public)
	}
	return lines
}

// HostKeyPEM returns the first private host key in PEM form. Use it as Config.HostKey to start another host with the same identity.
func (h *Host) HostKeyPEM() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return bytes.Clone(h.keys.keys[0].PEM)
}

// ReplaceHostKey gives the host new keys of the same types, as if another machine had taken over its address. Open connections
// stay. Host certificates are removed.
func (h *Host) ReplaceHostKey() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var k hostKeys
	for _, old := range h.keys.keys {
		algorithm, _, _ := strings.Cut(old.Public, " ")
		key, err := makeKey(algorithm)
		if err != nil {
			return err
		}
		if err := k.add(key.PEM); err != nil {
			return err
		}
	}
	h.keys = k
	return nil
}
