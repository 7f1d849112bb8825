package sshtest

import (
	"context"
	"sync"
)

// HostKeyStore stores host keys in memory, for tests of clients that accept the first key of a host, such as
// sshexec.AcceptNewHostKeys. The zero value is an empty store. A HostKeyStore is safe for concurrent use.
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

// PutHostKey stores the key of the machine id.
func (s *HostKeyStore) PutHostKey(_ context.Context, id, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil {
		s.keys = map[string]string{}
	}
	s.keys[id] = key
	return nil
}

// DeleteHostKey deletes the key of the machine id.
func (s *HostKeyStore) DeleteHostKey(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.keys, id)
	return nil
}
