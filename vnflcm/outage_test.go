package vnflcm_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// awayStore is a store that fails while away is set, like a database that restarts.
type awayStore struct {
	store.Store
	away atomic.Bool
}

var errAway = errors.New("connection refused")

func (s *awayStore) Get(ctx context.Context, kind, id string) (store.Record, error) {
	if s.away.Load() {
		return store.Record{}, errAway
	}
	return s.Store.Get(ctx, kind, id)
}

func (s *awayStore) List(ctx context.Context, q store.Query) ([]store.Record, error) {
	if s.away.Load() {
		return nil, errAway
	}
	return s.Store.List(ctx, q)
}

func (s *awayStore) Apply(ctx context.Context, b store.Batch) error {
	if s.away.Load() {
		return errAway
	}
	return s.Store.Apply(ctx, b)
}

// TestStoreAway lets the store fail at every step of an operation, for less and for more than the TTL. The operation must wait and
// complete, and must never enter FAILED_TEMP.
func TestStoreAway(t *testing.T) {
	t.Parallel()
	for _, away := range []time.Duration{shortTTL / 4, 2 * shortTTL} {
		for _, at := range []string{"init", "join"} {
			for _, inside := range []bool{false, true} {
				t.Run(fmt.Sprintf("%v at %s, inside %v", away, at, inside), func(t *testing.T) {
					t.Parallel()
					inBubble(t, func(t *testing.T) {
						var store *awayStore
						var once atomic.Bool
						x := newToys(t, func(c *vnflcm.Config) {
							onePlain(c)
							store = &awayStore{Store: c.Store}
							c.Store, c.LeaseTTL = store, shortTTL
							c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
								if s.Name != at || once.Swap(true) {
									return next(ctx)
								}
								store.away.Store(true)
								time.AfterFunc(away, func() { store.away.Store(false) })
								if inside {
									return next(ctx)
								}
								time.Sleep(away / 2)
								return next(ctx)
							}
						})
						opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
						must(t, err)
						poll(t, "the operation has ended", func() bool {
							occ, err := x.Operation(t.Context(), opID)
							if err != nil && !errors.Is(err, vnflcm.ErrStore) {
								t.Errorf("Operation: %v", err)
							}
							return err == nil && occ.OperationState.Final()
						})
						x.wait(opID, nil, vnflcm.Completed)
						changes, _, err := x.Changes(t.Context(), "", 100)
						must(t, err)
						for _, c := range changes {
							if c.Operation != nil && c.Operation.OperationState == vnflcm.FailedTemp {
								t.Errorf("the operation failed: %v", c.Operation.Error)
							}
						}
					})
				})
			}
		}
	}
}

// lostAnswer is a store that once applies a batch with a step and returns an error.
type lostAnswer struct {
	store.Store
	lost atomic.Bool
}

func (s *lostAnswer) Apply(ctx context.Context, b store.Batch) error {
	err := s.Store.Apply(ctx, b)
	if len(b.Put) == 1 && b.Put[0].Kind == "step" && !s.lost.Swap(true) {
		return errAway
	}
	return err
}

// TestLostAnswer loses the answer to the write of a journal entry, so the entry is written twice. The end of the operation must remove the
// entry, and the history must have the step once.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	db := &lostAnswer{Store: store.NewMemory()}
	x := newToys(t, func(c *vnflcm.Config) { c.Store = db })
	opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
	x.wait(opID, err, vnflcm.Completed)
	left, err := db.List(t.Context(), store.Query{Kind: "step"})
	must(t, err)
	history, err := x.History(t.Context(), opID)
	must(t, err)
	steps := map[string]int{}
	for _, done := range history {
		steps[done.Step]++
	}
	if !db.lost.Load() || len(left) > 0 || steps["init"] != 1 {
		t.Errorf("%d entries are left, history %v", len(left), steps)
	}
}

func TestProblem(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	store := &awayStore{Store: store.NewMemory()}
	away := newToys(t, func(c *vnflcm.Config) { c.Store = store })
	store.away.Store(true)
	id := x.instantiated("plain")
	opID, err := x.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
	x.wait(opID, err, vnflcm.Completed)
	fault := func(_ any, err error) error { return err }
	for name, c := range map[string]struct {
		err  error
		want int
		code vnflcm.Code
	}{
		"no such instance":        {fault(x.Get(t.Context(), "none")), http.StatusNotFound, vnflcm.ErrNotFound},
		"no such operation":       {x.Retry(t.Context(), "none"), http.StatusNotFound, vnflcm.ErrNotFound},
		"no such package":         {fault(x.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: "none"})), http.StatusUnprocessableEntity, vnflcm.ErrNoPackage},
		"no VNFD id":              {fault(x.Create(t.Context(), vnflcm.CreateVnfRequest{})), http.StatusUnprocessableEntity, vnflcm.ErrInvalidRequest},
		"not instantiated":        {fault(x.Heal(t.Context(), id, vnflcm.HealVnfRequest{})), http.StatusConflict, vnflcm.ErrState},
		"retry of what has ended": {x.Retry(t.Context(), opID), http.StatusConflict, vnflcm.ErrState},
		"the store is away":       {fault(away.Get(t.Context(), "none")), http.StatusServiceUnavailable, vnflcm.ErrStore},
		"unknown":                 {errors.New("unknown"), http.StatusInternalServerError, ""},
	} {
		p := vnflcm.Problem(c.err)
		if p.Status != c.want || p.Title != http.StatusText(c.want) || p.Detail != c.err.Error() || c.code != "" && !errors.Is(p, c.code) {
			t.Errorf("%s: %+v, want %d %s", name, p, c.want, string(c.code))
		}
	}
	if errors.Is(fault(x.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: "none"})), vnflcm.ErrNotFound) {
		t.Error("a missing package passes for a missing instance")
	}
	if vnflcm.Problem(nil) != nil {
		t.Error("no error is a problem")
	}
}

func TestNewID(t *testing.T) {
	t.Parallel()
	n := 0
	x := newToys(t, func(c *vnflcm.Config) {
		c.NewID = func() string { n++; return fmt.Sprint("id-", n) }
	})
	id := x.create()
	opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
	x.wait(opID, err, vnflcm.Completed)
	if diff := cmp.Diff([]string{"id-1", "id-2"}, []string{id, opID}); diff != "" {
		t.Error(diff)
	}
}

// TestStoreOfADriver checks that the operation fails if a driver returns the store error of a second Manager.
func TestStoreOfADriver(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	x.world.failAt("instantiate_end/init/", fmt.Errorf("inner Manager: %w", vnflcm.ErrStore))
	opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
	_, err = x.wait(opID, err, vnflcm.FailedTemp)
	wantIs(t, err, vnflcm.ErrStore)
}
