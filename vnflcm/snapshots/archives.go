package snapshots

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/url"
	"strings"

	"filippo.io/age"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Archives implements vnflcm.Snapshots. It is safe for concurrent use.
type Archives struct {
	storage  Storage
	recovery []age.Recipient
}

// New returns Archives in a storage. recovery are public parts of recovery keys ("age1..."), whose secret parts open every archive that is
// written from then on. If one of them is a key of NewRecoveryKey ("age1pq..."), all must be.
func New(storage Storage, recovery ...string) (*Archives, error) {
	a := &Archives{storage: storage}
	for i, key := range recovery {
		parsed, err := age.ParseRecipients(strings.NewReader(key))
		if err != nil || len(parsed) != 1 {
			// It may be the secret part: neither the text nor age's error, which may quote it, is shown.
			return nil, fmt.Errorf("snapshots: recovery[%d] is not the public part of a recovery key: that begins with age1", i)
		}
		a.recovery = append(a.recovery, parsed...)
	}
	if _, err := age.Encrypt(io.Discard, append([]age.Recipient(nil), a.recovery...)...); len(recovery) > 0 && err != nil {
		return nil, fmt.Errorf("snapshots: recovery keys of different kinds: %w", err)
	}
	return a, nil
}

// NewRecoveryKey makes a recovery key.
func NewRecoveryKey() (secret vnflcm.Secret, public string, err error) {
	identity, err := age.GenerateHybridIdentity()
	if err != nil {
		return secret, "", err
	}
	return vnflcm.NewSecret(identity.String()), identity.Recipient().String(), nil
}

// Decrypt returns an archive in clear. recoveryKey has the secret part of a recovery key, as a file of age-keygen does. Reading returns an error
// before it returns data that were changed, and before the end of an archive that was cut.
func Decrypt(archive, recoveryKey io.Reader) (io.Reader, error) {
	identities, err := age.ParseIdentities(recoveryKey)
	if err != nil {
		return nil, fmt.Errorf("snapshots: the recovery key: %w", err)
	}
	clear, err := age.Decrypt(archive, identities...)
	if err != nil {
		return nil, fmt.Errorf("snapshots: %w", err)
	}
	return clear, nil
}

// newDataKey makes the key pair of an archive, of the same kind as the recovery keys.
func (a *Archives) newDataKey() (vnflcm.Secret, age.Recipient, error) {
	if len(a.recovery) > 0 {
		if _, hybrid := a.recovery[0].(*age.HybridRecipient); !hybrid {
			identity, err := age.GenerateX25519Identity()
			if err != nil {
				return vnflcm.Secret{}, nil, err
			}
			return vnflcm.NewSecret(identity.String()), identity.Recipient(), nil
		}
	}
	identity, err := age.GenerateHybridIdentity()
	if err != nil {
		return vnflcm.Secret{}, nil, err
	}
	return vnflcm.NewSecret(identity.String()), identity.Recipient(), nil
}

// Create implements vnflcm.Snapshots.
func (a *Archives) Create(ctx context.Context, at vnflcm.SnapshotPlace) (vnflcm.SnapshotArchive, error) {
	key, recipient, err := a.newDataKey()
	if err != nil {
		return nil, err
	}
	file, err := a.storage.Create(ctx, nameOf(at))
	if err != nil {
		return nil, fmt.Errorf("snapshots: %w", err)
	}
	w := &archive{file: file, key: key, sum: sha256.New()}
	w.WriteCloser, err = age.Encrypt(writerFunc(w.store), append([]age.Recipient{recipient}, a.recovery...)...)
	if err != nil {
		file.Abort()
		return nil, fmt.Errorf("snapshots: %w", err)
	}
	return w, nil
}

// archive is an archive that is being written.
type archive struct {
	io.WriteCloser // encrypts

	file File
	key  vnflcm.Secret
	sum  hash.Hash
	size int64
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// store writes encrypted data.
func (w *archive) store(p []byte) (int, error) {
	n, err := w.file.Write(p)
	_, _ = w.sum.Write(p[:n]) // never fails
	w.size += int64(n)
	return n, err
}

// Key implements vnflcm.SnapshotArchive.
func (w *archive) Key() vnflcm.Secret { return w.key }

// Commit implements vnflcm.SnapshotArchive.
func (w *archive) Commit() (vnflcm.SnapshotSum, error) {
	if err := w.Close(); err != nil {
		return vnflcm.SnapshotSum{}, err
	}
	return vnflcm.SnapshotSum{SHA256: hex.EncodeToString(w.sum.Sum(nil)), Size: w.size}, w.file.Commit()
}

// Abort implements vnflcm.SnapshotArchive.
func (w *archive) Abort() { w.file.Abort() }

// Open implements vnflcm.Snapshots.
func (a *Archives) Open(ctx context.Context, at vnflcm.SnapshotPlace, key vnflcm.Secret) (io.ReadCloser, error) {
	identities, err := age.ParseIdentities(strings.NewReader(key.Reveal()))
	if err != nil {
		return nil, fmt.Errorf("snapshots: %w: no data key", vnflcm.ErrUnreadable)
	}
	from, err := a.storage.Open(ctx, nameOf(at))
	if err != nil {
		return nil, fmt.Errorf("snapshots: %w", err)
	}
	clear, err := age.Decrypt(from, identities...)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("snapshots: %w: %w", vnflcm.ErrUnreadable, err), from.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{clear, from}, nil
}

// Remove implements vnflcm.Snapshots.
func (a *Archives) Remove(ctx context.Context, at vnflcm.SnapshotPlace) error {
	if err := a.storage.Remove(ctx, nameOf(at)); err != nil {
		return fmt.Errorf("snapshots: %w", err)
	}
	return nil
}

// nameOf returns a path of safe names.
func nameOf(at vnflcm.SnapshotPlace) string {
	return "tenant-" + escape(at.Tenant) + "/instance-" + escape(at.Instance) + "/" + escape(at.ID) + ".tar.age"
}

// escape leaves letters, digits, "-" and "_". A dot alone, or two, would be another folder.
func escape(name string) string { return strings.ReplaceAll(url.PathEscape(name), ".", "%2E") }
