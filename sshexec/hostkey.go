package sshexec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
)

// HostKeyPolicy decides which host keys are trusted. Make one with
// [PinnedHostKeys], [KnownHosts], [LearnKnownHosts], [AcceptNewHostKeys], [AcceptListedHostKeys] or
// [InsecureIgnoreHostKeys].
type HostKeyPolicy interface {
	// known returns the known keys of the machine. The identity is empty if any key is trusted or no key is known yet.
	known(ctx context.Context, t Target) (identity, error)
	// accept returns nil for a presented key that is trusted, and a *HostKeyError for a key that is not trusted.
	accept(ctx context.Context, t Target, key ssh.PublicKey) error
}

// identity is the set of known keys of a machine.
type identity struct {
	algorithms []string // host key algorithms to offer, so that the host presents a known key; empty means all
	prints     []string // fingerprints of the known keys
}

// stranger returns the identity of an unknown machine for policies without certificate authorities. It offers no certificate
// algorithms, so a host with a certificate presents its plain key, which does not change when the certificate is renewed.
func stranger() identity {
	return identity{algorithms: slices.DeleteFunc(ssh.SupportedAlgorithms().HostKeys, func(a string) bool {
		return strings.Contains(a, "-cert-")
	})}
}

// HostKeyStore stores the host key of each machine. It is called when a caller opens or joins a connection, with the context of this
// call.
type HostKeyStore interface {
	// HostKey returns the key of the machine id in authorized_keys form ("ssh-ed25519 AAAA..."), or "" if no key is
	// known.
	HostKey(ctx context.Context, id string) (key string, err error)
	// PutHostKey stores the key of the machine id.
	PutHostKey(ctx context.Context, id, key string) error
	// DeleteHostKey deletes the key of the machine id. A missing key is not an error.
	DeleteHostKey(ctx context.Context, id string) error
}

// PinnedHostKeys trusts exactly these keys, each a line of an authorized_keys file ("ssh-ed25519 AAAA... comment"), for
// example from the console log of a VM. It fails on a line that is not a key, and if there are no lines.
func PinnedHostKeys(authorizedKeysLines ...string) (HostKeyPolicy, error) {
	keys, err := pin(authorizedKeysLines)
	if err != nil {
		return nil, err
	}
	return keys, nil
}

func pin(authorizedKeysLines []string) (pinned, error) {
	var keys pinned
	for i, line := range authorizedKeysLines {
		key, err := parseKey(line)
		if err != nil {
			return nil, fmt.Errorf("sshexec: host key %d: %w", i+1, err)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("sshexec: no host key to pin")
	}
	return keys, nil
}

// AcceptNewHostKeys trusts the first key that a machine presents and stores it under Target.ID. From then on it trusts
// only that key. A replaced VM usually has a new ID; if it keeps its ID, call [Host.ForgetKey].
func AcceptNewHostKeys(store HostKeyStore) HostKeyPolicy { return &acceptNew{store: store} }

// AcceptListedHostKeys is AcceptNewHostKeys for a machine whose first key must be one of these, each a line of an
// authorized_keys file. Use it for several machines whose keys are known before it is known which machine has which key.
// Once store has a key of the machine, the list is ignored. It fails as [PinnedHostKeys] does.
func AcceptListedHostKeys(store HostKeyStore, authorizedKeysLines ...string) (HostKeyPolicy, error) {
	listed, err := pin(authorizedKeysLines)
	if err != nil {
		return nil, err
	}
	return &acceptNew{store: store, listed: listed}, nil
}

// InsecureIgnoreHostKeys trusts every key: any machine that answers at the address gets the credentials and the
// commands.
func InsecureIgnoreHostKeys() HostKeyPolicy { return ignoreHostKeys{} }

type pinned []ssh.PublicKey

func (p pinned) known(context.Context, Target) (identity, error) { return identityOf(p...), nil }

func (p pinned) accept(_ context.Context, t Target, key ssh.PublicKey) error {
	if slices.ContainsFunc(p, func(k ssh.PublicKey) bool { return sameKey(k, key) }) {
		return nil
	}
	return mismatch(t, key, identityOf(p...).prints)
}

type acceptNew struct {
	store  HostKeyStore
	listed pinned // keys that a new machine may present; empty means any key
	// mu is held while a key is looked up and stored. So, of two connections to a new machine, the second finds the key that
	// the first has stored.
	mu sync.Mutex
}

func (a *acceptNew) known(ctx context.Context, t Target) (identity, error) {
	key, err := a.kept(ctx, t.ID)
	switch {
	case err != nil:
		return stranger(), err
	case key != nil:
		return identityOf(key), nil
	case len(a.listed) > 0:
		return identityOf(a.listed...), nil
	}
	return stranger(), nil
}

func (a *acceptNew) kept(ctx context.Context, id string) (ssh.PublicKey, error) {
	line, err := a.store.HostKey(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read host key: %w", err)
	}
	if line == "" {
		return nil, nil //nolint:nilnil // no key is known, which is no error
	}
	key, err := parseKey(line)
	if err != nil {
		return nil, fmt.Errorf("stored host key: %w", err)
	}
	return key, nil
}

func (a *acceptNew) accept(ctx context.Context, t Target, key ssh.PublicKey) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	kept, err := a.kept(ctx, t.ID)
	switch {
	case err != nil:
		return err
	case kept == nil:
		if len(a.listed) > 0 {
			if err := a.listed.accept(ctx, t, key); err != nil {
				return err
			}
		}
		if err := a.store.PutHostKey(ctx, t.ID, line(key)); err != nil {
			return fmt.Errorf("keep host key: %w", err)
		}
		return nil
	case sameKey(kept, key):
		return nil
	}
	return mismatch(t, key, identityOf(kept).prints)
}

type ignoreHostKeys struct{}

func (ignoreHostKeys) known(context.Context, Target) (identity, error)     { return stranger(), nil }
func (ignoreHostKeys) accept(context.Context, Target, ssh.PublicKey) error { return nil }

// ForgetKey removes the machine's key from the store of [AcceptNewHostKeys] or the file of [LearnKnownHosts], and closes the
// connections to the machine, as [Pool.Forget] does: the next connection trusts the first key again. Use it for a machine
// that was replaced and kept its Target.ID or its address. With any other policy it is an error.
func (h *Host) ForgetKey(ctx context.Context) error {
	policy, ok := h.target.HostKeys.(interface {
		forget(ctx context.Context, t Target) error
	})
	if !ok {
		return h.fail(errors.New("its host key is not kept by AcceptNewHostKeys or LearnKnownHosts"))
	}
	if err := policy.forget(ctx, h.target); err != nil {
		return h.fail(fmt.Errorf("forget host key: %w", err))
	}
	h.pool.Forget(h.target.ID)
	return nil
}

func (a *acceptNew) forget(ctx context.Context, t Target) error {
	return a.store.DeleteHostKey(ctx, t.ID)
}

func parseKey(line string) (ssh.PublicKey, error) {
	key, comment, options, _, err := ssh.ParseAuthorizedKey([]byte(line))
	if err != nil || len(options) > 0 || strings.Contains(strings.TrimSpace(line), "\n") {
		return nil, errors.New("not one public key in authorized_keys form, without options")
	}
	if comment != "" {
		return commentedKey{key, comment}, nil
	}
	return key, nil
}

// commentedKey is a key with the comment of its authorized_keys line, which says where the key is from.
type commentedKey struct {
	ssh.PublicKey
	comment string
}

// line returns a key in authorized_keys form.
func line(key ssh.PublicKey) string { return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))) }

func sameKey(a, b ssh.PublicKey) bool { return bytes.Equal(a.Marshal(), b.Marshal()) }

func mismatch(t Target, got ssh.PublicKey, known []string) *HostKeyError {
	return &HostKeyError{Host: t.Name, Known: known, Got: fingerprint(got)}
}

// fingerprint returns the SHA-256 fingerprint of a key, or of the key that a certificate certifies, and the comment of the key in
// parentheses.
func fingerprint(key ssh.PublicKey) string {
	if k, ok := key.(commentedKey); ok {
		return fmt.Sprintf("%s (%s)", fingerprint(k.PublicKey), k.comment)
	}
	if cert, ok := key.(*ssh.Certificate); ok {
		key = cert.Key
	}
	return ssh.FingerprintSHA256(key)
}

func identityOf(keys ...ssh.PublicKey) identity {
	var known identity
	for _, k := range keys {
		known.prints = append(known.prints, fingerprint(k))
		offer := []string{k.Type()}
		if k.Type() == ssh.KeyAlgoRSA {
			offer = []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
		}
		for _, a := range offer {
			if !slices.Contains(known.algorithms, a) {
				known.algorithms = append(known.algorithms, a)
			}
		}
	}
	return known
}
