package sshtest

import (
	"context"
	"sync"
)

// HostKeyStore keeps host keys in memory: a store for clients that accept a key
// once, such as sshexec.AcceptNewHostKeys, in tests. The zero value is empty. It
// is safe for concurrent use.
type HostKeyStore struct {
	mu   sync.Mutex
	keys map[string]string
}

// HostKey returns the key of the machine id, "" if none is stored.
func (s *HostKeyStore) HostKey(_ context.Context, id string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys[id], nil
}

// PutHostKey keeps the key of the machine id.
func (s *HostKeyStore) PutHostKey(_ context.Context, id, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil {
		s.keys = map[string]string{}
	}
	s.keys[id] = key
	return nil
}

// DeleteHostKey forgets the key of the machine id.
func (s *HostKeyStore) DeleteHostKey(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.keys, id)
	return nil
}
