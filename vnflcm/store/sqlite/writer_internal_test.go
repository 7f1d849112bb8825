package sqlite

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// TestUrgentGoesFirst checks the order of the batches that wait: renewals of leases overtake all other batches, which are written
// in groups.
func TestUrgentGoesFirst(t *testing.T) {
	t.Parallel()
	w := &writer{wake: make(chan struct{}, 1)}
	wait := func(id string, urgent bool) {
		t.Helper()
		if err := w.enqueue(&job{batch: store.Batch{Put: []store.Record{{ID: id}}, Urgent: urgent}}); err != nil {
			t.Fatal(err)
		}
	}
	group := func() (ids []string) {
		for _, j := range w.next() {
			ids = append(ids, j.batch.Put[0].ID)
		}
		return ids
	}
	var others []string
	for i := range 2 * maxGroup {
		others = append(others, fmt.Sprint(i))
		wait(others[i], false)
	}
	wait("renewal 1", true)
	wait("renewal 2", true)
	n := maxGroup - 2
	if diff := cmp.Diff(append([]string{"renewal 1", "renewal 2"}, others[:n]...), group()); diff != "" {
		t.Errorf("the first group:\n%s", diff)
	}
	wait("renewal 3", true)
	if diff := cmp.Diff(append([]string{"renewal 3"}, others[n:n+maxGroup-1]...), group()); diff != "" {
		t.Errorf("the second group:\n%s", diff)
	}
	if diff := cmp.Diff(others[n+maxGroup-1:], group()); diff != "" {
		t.Errorf("the third group:\n%s", diff)
	}
}
