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
// [PinnedHostKeys], [AcceptNewHostKeys] or [InsecureIgnoreHostKeys].
type HostKeyPolicy interface {
	// known returns the keys the machine is known by; none when any is trusted.
	known(ctx context.Context, id string) ([]ssh.PublicKey, error)
	// accept is asked about a key presented; it returns the keys that would
	// have been trusted instead when it is not.
	accept(ctx context.Context, id string, key ssh.PublicKey) (instead []ssh.PublicKey, err error)
}

// HostKeyStore keeps the host key of each machine. It is called while a
// connection is made, with the context of that connection.
type HostKeyStore interface {
	// HostKey returns the key of the machine id in authorized_keys form
	// ("ssh-ed25519 AAAA..."), or "" when none is known.
	HostKey(ctx context.Context, id string) (key string, err error)
	// PutHostKey keeps the key of the machine id.
	PutHostKey(ctx context.Context, id, key string) error
}

// PinnedHostKeys trusts exactly these keys, each a line of an authorized_keys
// file ("ssh-ed25519 AAAA... comment"), for example learned from the console log
// of a VM. It fails on a line that is no key, and when there is none.
func PinnedHostKeys(authorizedKeysLines ...string) (HostKeyPolicy, error) {
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

// AcceptNewHostKeys trusts the first key a machine presents and keeps it in
// store under Target.ID. From then on only that key is trusted. A replaced VM
// has a new ID, so nothing needs to be forgotten.
func AcceptNewHostKeys(store HostKeyStore) HostKeyPolicy { return &acceptNew{store: store} }

// InsecureIgnoreHostKeys trusts every key: whoever answers at the address gets
// the credentials and the commands.
func InsecureIgnoreHostKeys() HostKeyPolicy { return ignoreHostKeys{} }

type pinned []ssh.PublicKey

func (p pinned) known(context.Context, string) ([]ssh.PublicKey, error) { return p, nil }

func (p pinned) accept(_ context.Context, _ string, key ssh.PublicKey) ([]ssh.PublicKey, error) {
	if slices.ContainsFunc(p, func(k ssh.PublicKey) bool { return sameKey(k, key) }) {
		return nil, nil
	}
	return p, nil
}

type acceptNew struct {
	store HostKeyStore
	// One key is looked up and kept at a time: of two connections to a new
	// machine the second must see what the first has kept.
	mu sync.Mutex
}

func (a *acceptNew) known(ctx context.Context, id string) ([]ssh.PublicKey, error) {
	line, err := a.store.HostKey(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read host key: %w", err)
	}
	if line == "" {
		return nil, nil
	}
	key, err := parseKey(line)
	if err != nil {
		return nil, fmt.Errorf("stored host key: %w", err)
	}
	return []ssh.PublicKey{key}, nil
}

func (a *acceptNew) accept(ctx context.Context, id string, key ssh.PublicKey) ([]ssh.PublicKey, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known, err := a.known(ctx, id)
	if err != nil {
		return nil, err
	}
	if len(known) == 0 {
		line := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
		if err := a.store.PutHostKey(ctx, id, line); err != nil {
			return nil, fmt.Errorf("keep host key: %w", err)
		}
		return nil, nil
	}
	if sameKey(known[0], key) {
		return nil, nil
	}
	return known, nil
}

type ignoreHostKeys struct{}

func (ignoreHostKeys) known(context.Context, string) ([]ssh.PublicKey, error) { return nil, nil }
func (ignoreHostKeys) accept(context.Context, string, ssh.PublicKey) ([]ssh.PublicKey, error) {
	return nil, nil
}

func parseKey(line string) (ssh.PublicKey, error) {
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
	if err != nil {
		return nil, errors.New("not a public key in authorized_keys form")
	}
	return key, nil
}

func sameKey(a, b ssh.PublicKey) bool { return bytes.Equal(a.Marshal(), b.Marshal()) }

func fingerprints(keys []ssh.PublicKey) []string {
	var prints []string
	for _, k := range keys {
		prints = append(prints, ssh.FingerprintSHA256(k))
	}
	return prints
}

// keyAlgorithms returns what to offer so that the host answers with a key that
// is known, and not with another one of its keys. Nil means the defaults.
func keyAlgorithms(known []ssh.PublicKey) []string {
	var algorithms []string
	for _, k := range known {
		offer := []string{k.Type()}
		if k.Type() == ssh.KeyAlgoRSA {
			offer = []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
		}
		for _, a := range offer {
			if !slices.Contains(algorithms, a) {
				algorithms = append(algorithms, a)
			}
		}
	}
	return algorithms
}
