package postgres

import (
	"context"
	"errors"
	"testing"

	"github.com/vnfkit/vnfkit/internal/pgtest"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// TestListsOfClients: with every connection for lists in use, other calls do not wait, and a list waits until its client disconnects.
func TestListsOfClients(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), pgtest.Start(t).NewDatabase(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if engine, lists := s.pool.Config().MaxConns, s.lists.Config().MaxConns; engine != 8 || lists != 2 {
		t.Errorf("%d connections, and %d for lists", engine, lists)
	}
	for range s.lists.Config().MaxConns {
		conn, err := s.lists.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Release()
	}
	if err := s.Apply(t.Context(), store.Batch{Put: []store.Record{{Kind: "k", ID: "a"}}}); err != nil {
		t.Error(err)
	}
	if list, err := s.List(t.Context(), store.Query{Kind: "k"}); err != nil || len(list) != 1 {
		t.Errorf("%d records, %v", len(list), err)
	}
	client, disconnect := context.WithCancel(t.Context())
	listed := make(chan error, 1)
	go func() {
		_, err := s.List(client, store.Query{Kind: "k", Background: true})
		listed <- err
	}()
	disconnect()
	if err := <-listed; !errors.Is(err, context.Canceled) {
		t.Errorf("the list: %v", err)
	}
}
