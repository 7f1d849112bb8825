package postgres

import (
	"errors"
	"testing"

	"github.com/vnfkit/vnfkit/internal/pgtest"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// TestRefusedText: what the server refuses because of its content is a permanent error.
func TestRefusedText(t *testing.T) {
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
	long := make([]byte, 10_000)
	for i := range long {
		long[i] = byte('a' + i*i*i%26 + i%7) // does not compress well
	}
	for name, id := range map[string]string{"NUL": "a\x00b", "no UTF-8": "a\xffb"} {
		if _, err := s.Get(t.Context(), "k", id); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: Get: %v", name, err)
		}
		if _, err := s.List(t.Context(), store.Query{Kind: "k", Prefix: id}); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: List: %v", name, err)
		}
		if err := s.Apply(t.Context(), store.Batch{Put: []store.Record{{Kind: "k", ID: id}}}); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: Apply: %v", name, err)
		}
	}
	if err := s.Apply(t.Context(), store.Batch{Put: []store.Record{{Kind: "k", ID: string(long)}}}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("an id of %d bytes: %v", len(long), err)
	}
}
