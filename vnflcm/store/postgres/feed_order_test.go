package postgres_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/vnfkit/vnfkit/internal/pgtest"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/postgres"
)

// TestFeedAcrossDigits appends records while the ids of transactions get one digit more: the feed has them in the order of
// the numbers, not of their texts.
func TestFeedAcrossDigits(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t).NewDatabase(t)
	s := open(t, dsn, postgres.Options{})
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var want []string
	for limit := uint64(0); ; {
		var xid uint64
		if err := conn.QueryRow(t.Context(), `SELECT pg_current_xact_id()::text::bigint`).Scan(&xid); err != nil {
			t.Fatal(err)
		}
		if limit == 0 {
			for limit = 10; limit <= xid; limit *= 10 {
			}
		}
		if xid%10 != 0 && xid < limit-5 {
			continue
		}
		id := fmt.Sprint(len(want))
		if err := s.Apply(t.Context(), store.Batch{Append: []store.Record{{Kind: "change", ID: id}}}); err != nil {
			t.Fatal(err)
		}
		want = append(want, id)
		if xid > limit+5 {
			break
		}
	}
	var got []string
	for after := ""; ; {
		list, next, err := s.Feed(t.Context(), after, 3)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			break
		}
		for _, r := range list {
			got = append(got, r.ID)
		}
		after = next
	}
	if !slices.Equal(want, got) {
		t.Errorf("the feed is %v, want %v", got, want)
	}
}
