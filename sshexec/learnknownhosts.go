package sshexec

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // the hash of OpenSSH's known_hosts
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/crypto/ssh"
	upstream "golang.org/x/crypto/ssh/knownhosts"
)

// LearnKnownHosts is [KnownHosts] for one file that also trusts the first key of a new machine and adds it to the file, like OpenSSH
// with StrictHostKeyChecking=accept-new and HashKnownHosts=yes. A machine is looked up by Target.Addr. A key that differs from the
// keys in the file is refused, and the file is not changed; [Host.ForgetKey] removes the entries of a machine that was replaced.
//
// LearnKnownHosts creates a missing file with mode 0600. Several processes can use the file at once: they lock a file beside it
// whose name ends in .lock. OpenSSH does not use this lock, so ssh should not write to the file at the same time.
func LearnKnownHosts(file string) (HostKeyPolicy, error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDONLY, 0o600) //nolint:gosec // the caller chooses the file
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("sshexec: known_hosts: %w", err)
	}
	policy, err := KnownHosts(file)
	if err != nil {
		return nil, err
	}
	return &learning{HostKeyPolicy: policy, file: file}, nil
}

// lockEvery is the time between two attempts to lock the file.
const lockEvery = 10 * time.Millisecond

type learning struct {
	HostKeyPolicy
	file string
}

func (l *learning) known(ctx context.Context, t Target) (identity, error) {
	known, err := l.HostKeyPolicy.known(ctx, t)
	if len(known.prints) == 0 { // the key is a certificate of a known authority, or a key to store
		known.algorithms = append(known.algorithms, stranger().algorithms...)
	}
	return known, err
}

func (l *learning) accept(ctx context.Context, t Target, key ssh.PublicKey) error {
	err := l.HostKeyPolicy.accept(ctx, t, key)
	if !isNew(err) {
		return err
	}
	return l.locked(ctx, func() error {
		if err := l.HostKeyPolicy.accept(ctx, t, key); !isNew(err) { // another connection or process has stored a key meanwhile
			return err
		}
		return l.add(t.Addr, key)
	})
}

// isNew reports whether a key was refused only because the file has no key of the machine.
func isNew(err error) bool {
	refused, ok := errors.AsType[*HostKeyError](err)
	return ok && refused.Reason == "" && len(refused.Known) == 0
}

// locked calls do while it holds the lock of the file, so that no other connection or process changes the file.
func (l *learning) locked(ctx context.Context, do func() error) error {
	lock := flock.New(l.file + ".lock")
	if _, err := lock.TryLockContext(ctx, lockEvery); err != nil {
		return fmt.Errorf("known_hosts: lock: %w", err)
	}
	return errors.Join(do(), lock.Close())
}

// add appends the entry of a machine.
func (l *learning) add(addr string, key ssh.PublicKey) error {
	content, err := os.ReadFile(l.file)
	if err != nil {
		return fmt.Errorf("known_hosts: %w", err)
	}
	entry := upstream.HashHostname(upstream.Normalize(addr)) + " " + line(key) + "\n"
	if len(content) > 0 && content[len(content)-1] != '\n' {
		entry = "\n" + entry
	}
	f, err := os.OpenFile(l.file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("known_hosts: %w", err)
	}
	_, err = f.WriteString(entry)
	return errors.Join(err, f.Close())
}

// forget removes the entries of a machine.
func (l *learning) forget(ctx context.Context, t Target) error {
	return l.locked(ctx, func() error {
		content, err := os.ReadFile(l.file)
		if err != nil {
			return err
		}
		if left := withoutHost(content, upstream.Normalize(t.Addr)); len(left) < len(content) {
			return replaceFile(l.file, left)
		}
		return nil
	})
}

// withoutHost returns the content of a known_hosts file without the lines that name a host, in clear or hashed, as ssh-keygen -R
// does. Patterns and lines with a marker stay.
func withoutHost(content []byte, host string) (left []byte) {
	for text := range bytes.Lines(content) {
		names, _, _ := bytes.Cut(bytes.TrimLeft(text, " \t"), []byte(" "))
		if !slices.ContainsFunc(strings.Split(string(names), ","), func(name string) bool { return name == host || hashes(name, host) }) {
			left = append(left, text...)
		}
	}
	return left
}

// hashes reports whether a name in known_hosts is the hash of a host: |1|salt|HMAC-SHA1 of the host, in base64 (sshd(8), SSH_KNOWN_HOSTS
// FILE FORMAT).
func hashes(name, host string) bool {
	parts := strings.Split(name, "|")
	if len(parts) != 4 || parts[0] != "" || parts[1] != "1" {
		return false
	}
	salt, err1 := base64.StdEncoding.DecodeString(parts[2])
	sum, err2 := base64.StdEncoding.DecodeString(parts[3])
	mac := hmac.New(sha1.New, salt)
	mac.Write([]byte(host))
	return errors.Join(err1, err2) == nil && hmac.Equal(sum, mac.Sum(nil))
}

// replaceFile replaces the content of a file atomically and keeps its mode.
func replaceFile(name string, content []byte) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(info.Mode()&fs.ModePerm), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
