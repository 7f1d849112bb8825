package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// TestListsOfClients: with every connection for lists in use, other calls do not wait, and a list waits until its client disconnects.
func TestListsOfClients(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	for range maxListReaders {
		conn, err := s.lists.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := conn.Close(); err != nil && !errors.Is(err, sql.ErrConnDone) {
				t.Error(err)
			}
		}()
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
