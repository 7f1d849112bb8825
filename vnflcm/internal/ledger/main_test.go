package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/vnflcm/internal/ledger"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	oldKey = []byte("an old key of at least 16 bytes")
	newKey = []byte("a new key of at least 16 bytes")
)

const (
	ttl    = time.Minute
	format = 3 // the newest that the ledgers of these tests know
)

// note is a value with an index.
type note struct {
	Text  string `json:"text"`
	Topic string `json:"topic"`
}

func (n note) Index() store.Index { return store.Index{State: n.Topic} }

// open returns a ledger in a store, as a process of a version that knows formats up to newest.
func open(t *testing.T, s store.Store, newest int, keys ...[]byte) *ledger.Ledger {
	t.Helper()
	l, err := ledger.New(s, newest, json.Marshal, keys...)
	must(t, err)
	must(t, check(t.Context(), l))
	return l
}

func check(ctx context.Context, l *ledger.Ledger) error {
	return l.Check(ctx, slog.New(slog.DiscardHandler), "note")
}

// process returns the ledger and the lease of a process.
func process(t *testing.T, s store.Store, name string) (*ledger.Ledger, *ledger.Lease) {
	t.Helper()
	l := open(t, s, format, newKey)
	lease := ledger.NewLease(l, ledger.KindProcess, name, ttl, 1)
	must(t, lease.Renew(t.Context()))
	return l, lease
}

func put(t *testing.T, l *ledger.Ledger, kind, id string, v any) {
	t.Helper()
	must(t, l.Update(t.Context(), func(ctx context.Context, b *store.Batch) error { return l.Put(ctx, b, kind, id, v) }))
}

func stored(t *testing.T, l *ledger.Ledger, kind, id string) store.Record {
	t.Helper()
	r, err := l.Store.Get(t.Context(), kind, id)
	must(t, err)
	return r
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantIs(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("the error is %v, not %v", err, want)
	}
}

var errDown = errors.New("the database is down")

// outage is a store that does not answer while it is down.
type outage struct {
	store.Store
	down atomic.Bool
}

func (o *outage) err() error {
	if o.down.Load() {
		return errDown
	}
	return nil
}

func (o *outage) Get(ctx context.Context, kind, id string) (store.Record, error) {
	if err := o.err(); err != nil {
		return store.Record{}, err
	}
	return o.Store.Get(ctx, kind, id)
}

func (o *outage) List(ctx context.Context, q store.Query) ([]store.Record, error) {
	if err := o.err(); err != nil {
		return nil, err
	}
	return o.Store.List(ctx, q)
}

func (o *outage) Apply(ctx context.Context, b store.Batch) error {
	if err := o.err(); err != nil {
		return err
	}
	return o.Store.Apply(ctx, b)
}

func (o *outage) Feed(ctx context.Context, after string, limit int) ([]store.Record, string, error) {
	if err := o.err(); err != nil {
		return nil, after, err
	}
	return o.Store.Feed(ctx, after, limit)
}
