package sol003_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/notify"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// TestUnsent keeps the changes that a subscriber has not got, also when a place or a subscription is damaged.
func TestUnsent(t *testing.T) {
	t.Parallel()
	nfvo := newSubscriber(t, nil)
	db := store.NewMemory()
	m, _, err := newManager(t.Context(), t.TempDir(), func(c *vnflcm.Config) { c.Store = db })
	must(t, err)
	t.Cleanup(func() { must(t, m.Close(context.Background())) })
	n := notify.New(m, notify.Options{Allow: outbound.AllowAny})
	unsent := func() []vnflcm.Cursor {
		t.Helper()
		places, err := n.Unsent(t.Context())
		must(t, err)
		return places
	}
	purge := func() int {
		t.Helper()
		p, err := m.PlanPurge(t.Context(), vnflcm.Retention{Completed: 1}, unsent()...)
		must(t, err)
		return p.Changes
	}
	create := func() {
		t.Helper()
		_, err := m.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: toyVNFD})
		must(t, err)
	}
	create()
	create()
	first, _, err := n.Subscribe(t.Context(), sol003.Subscriber{API: "v1", APIRoot: nfvo.URL}, sol003.SubscriptionRequest{CallbackURI: nfvo.URL})
	must(t, err)
	create()
	if places := unsent(); len(places) != 1 || purge() != 2 {
		t.Errorf("places %v, %d of 3 changes can be removed, want 2", places, purge())
	}
	damage := func(id string) {
		t.Helper()
		r, err := db.Get(t.Context(), "document", id)
		must(t, err)
		r.Body = []byte("damaged")
		must(t, db.Apply(t.Context(), store.Batch{Put: []store.Record{r}}))
	}
	damage("subscription/" + first.ID)
	if purge() != 2 {
		t.Error("changes for a damaged subscription would be removed")
	}
	damage("subscription-place/" + first.ID)
	if _, err := n.Unsent(t.Context()); err == nil {
		t.Error("a damaged place is no error")
	}
	must(t, m.Forget(t.Context(), "document", "subscription/"+first.ID))
	if diff := cmp.Diff(3, purge()); diff != "" {
		t.Errorf("without subscriptions:\n%s", diff)
	}
}
