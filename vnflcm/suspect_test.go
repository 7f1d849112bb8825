package vnflcm_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/storetest"
)

// mortals are processes that use the same store one after the other. A process dies in a deadly step.
type mortals struct {
	*toys
	store  store.Store
	buried bool // a dead process counts as dead at once
	deadly func(vnflcm.StepInfo) bool

	lives, deaths int
	mu            sync.Mutex
	running       map[string]bool // operations with a running step
	crowds        []int           // number of running operations at each death
}

func newMortals(t *testing.T, change func(*vnflcm.Config)) *mortals {
	t.Helper()
	d := &mortals{store: store.NewMemory(), buried: true}
	d.toys = newToys(t, func(cfg *vnflcm.Config) {
		onePlain(cfg)
		cfg.Store, cfg.LeaseTTL, cfg.AcceptOnly = d.store, shortTTL, true
		if change != nil {
			change(cfg)
		}
	})
	return d
}

// live runs a process until it dies or done returns true, and reports whether it has died.
func (d *mortals) live(done func(m *vnflcm.Manager) bool) (died bool) {
	d.t.Helper()
	fence, dead := &storetest.Fence{Store: d.store}, make(chan struct{})
	var once sync.Once
	d.lives++
	d.running = map[string]bool{}
	cfg := d.cfg
	cfg.Store, cfg.AcceptOnly = fence, false
	if d.buried {
		bury(d.t, d.store)
	}
	cfg.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
		d.mu.Lock()
		d.running[s.OperationID] = true
		d.mu.Unlock()
		if d.deadly(s) {
			<-time.After(time.Millisecond) // lets other operations begin their steps
			once.Do(func() {
				fence.Cut(true)
				d.mu.Lock()
				defer d.mu.Unlock()
				d.crowds = append(d.crowds, len(d.running))
				close(dead)
			})
		}
		if fence.IsCut() {
			<-ctx.Done()
			return ctx.Err()
		}
		err := next(ctx)
		d.mu.Lock()
		delete(d.running, s.OperationID)
		d.mu.Unlock()
		return err
	}
	m, err := vnflcm.New(d.t.Context(), cfg)
	must(d.t, err)
	defer closeManager(d.t, m)
	for timeout := time.After(patience); ; {
		select {
		case <-dead:
			d.deaths++
			return true
		case <-timeout:
			d.t.Fatal("the process neither dies nor ends all operations")
		case <-time.After(10 * time.Millisecond):
			if done(m) {
				return false
			}
		}
	}
}

// ended reports whether all operations have ended or failed.
func (d *mortals) ended(m *vnflcm.Manager) bool {
	page, err := m.Operations(d.t.Context(), vnflcm.OperationQuery{States: []vnflcm.OperationState{vnflcm.Starting, vnflcm.Processing, vnflcm.RollingBack}})
	return err == nil && len(page.Items) == 0
}

// liveOn runs processes until all operations have ended.
func (d *mortals) liveOn(most int) {
	d.t.Helper()
	for d.live(d.ended) {
		if d.deaths > most {
			d.t.Fatalf("%d processes have died", d.deaths)
		}
	}
}

// begin accepts an operation on a new instance.
func (d *mortals) begin() string {
	d.t.Helper()
	opID, err := d.Instantiate(d.t.Context(), d.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
	must(d.t, err)
	return opID
}

func (d *mortals) left(kinds ...string) {
	d.t.Helper()
	for _, kind := range kinds {
		if list, err := d.store.List(d.t.Context(), store.Query{Kind: kind}); err != nil || len(list) > 0 {
			d.t.Errorf("%d records of kind %s are left (%v)", len(list), kind, err)
		}
	}
}

// TestDeadlyOperation runs an operation that always ends its process in the same step. After three takeovers the operation must be in
// FAILED_TEMP. A retry counts from zero.
func TestDeadlyOperation(t *testing.T) {
	t.Parallel()
	for name, buried := range map[string]bool{"taken over at once": true, "taken over after the TTL": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) {
				d := newMortals(t, nil)
				d.buried = buried
				d.deadly = func(s vnflcm.StepInfo) bool { return keyOf(s) == "instantiate_end/join/worker-0" }
				opID := d.begin()
				for range 2 {
					d.deaths = 0
					d.liveOn(4)
					if d.deaths != 4 {
						t.Errorf("the process died %d times, want 4: the first one and after three takeovers", d.deaths)
					}
					occ, err := d.wait(opID, nil, vnflcm.FailedTemp)
					wantIs(t, err, vnflcm.ErrProcessEnded)
					for _, want := range []string{"4 times", "in step join worker0 (worker-0) of instantiate_end", "retry the operation, roll it back or fail it", "The last process was "} {
						if !strings.Contains(occ.Error.Detail, want) {
							t.Errorf("the detail does not contain %q:\n%s", want, occ.Error.Detail)
						}
					}
					if len(occ.Error.Steps) != 1 || occ.Error.Steps[0].Step != "join" || occ.Error.Steps[0].On != "worker-0" {
						t.Errorf("steps %+v", occ.Error.Steps)
					}
					d.left("suspect")
					must(t, d.Retry(t.Context(), opID))
				}
				d.deadly = func(vnflcm.StepInfo) bool { return false }
				d.liveOn(4)
				d.wait(opID, nil, vnflcm.Completed)
				d.left("claim", "suspect", "step")
			})
		})
	}
}

// TestMaxTakeovers checks for every setting that one more process dies than MaxTakeovers allows takeovers.
func TestMaxTakeovers(t *testing.T) {
	t.Parallel()
	for _, most := range []int{1, 2, 5} {
		inBubble(t, func(t *testing.T) {
			d := newMortals(t, func(cfg *vnflcm.Config) { cfg.MaxTakeovers = most })
			d.deadly = func(s vnflcm.StepInfo) bool { return s.Name == "init" }
			opID := d.begin()
			d.liveOn(most + 1)
			if d.wait(opID, nil, vnflcm.FailedTemp); d.deaths != most+1 {
				t.Errorf("%d processes died, MaxTakeovers %d", d.deaths, most)
			}
		})
	}
}

// TestSuspects runs several operations of which one or two end the process. These must fail, and all other operations must complete.
func TestSuspects(t *testing.T) {
	t.Parallel()
	for _, culprits := range [][]int{{0}, {3}, {1, 4}} {
		t.Run(fmt.Sprint(culprits), func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) {
				d := newMortals(t, nil)
				var ids []string
				for range 6 {
					ids = append(ids, d.begin())
				}
				d.deadly = func(s vnflcm.StepInfo) bool {
					return s.Name == "create" && s.On == "worker-0" && slices.Contains(culprits, slices.Index(ids, s.OperationID))
				}
				d.liveOn(4 * len(culprits))
				for i, id := range ids {
					want := vnflcm.Completed
					if slices.Contains(culprits, i) {
						want = vnflcm.FailedTemp
					}
					d.wait(id, nil, want)
				}
				if last := d.crowds[len(d.crowds)-1]; last != 1 {
					t.Errorf("%d operations ran when the culprit was found", last)
				}
				d.left("suspect")
			})
		})
	}
}

// TestInnocentSuspect runs an operation with a long step while new operations end the process once each. The operation must complete.
func TestInnocentSuspect(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		d := newMortals(t, nil)
		innocent, long := d.begin(), time.Second
		culprits := map[string]bool{}
		d.deadly = func(s vnflcm.StepInfo) bool {
			if s.OperationID == innocent && s.Name == "create" && s.On == "master-0" {
				<-time.After(long)
			}
			return culprits[s.OperationID]
		}
		for range 12 {
			culprits[d.begin()] = true
			d.live(func(m *vnflcm.Manager) bool {
				occ, err := m.Operation(t.Context(), innocent)
				return err == nil && occ.OperationState == vnflcm.Completed
			})
		}
		d.wait(innocent, nil, vnflcm.Completed)
		d.liveOn(100)
		for id := range culprits {
			d.wait(id, nil, vnflcm.FailedTemp)
		}
	})
}

// TestOrderlyStops checks that closing a process during a step never counts.
func TestOrderlyStops(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		d := newMortals(t, func(cfg *vnflcm.Config) { cfg.MaxTakeovers = 1 })
		opID := d.begin()
		inStep := make(chan struct{}, 1)
		d.deadly = func(vnflcm.StepInfo) bool { return false }
		x := &toys{t: t, world: d.world, cfg: d.cfg}
		x.cfg.AcceptOnly = false
		for range 5 {
			x.cfg.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
				if s.Name != "init" {
					return next(ctx)
				}
				inStep <- struct{}{}
				<-ctx.Done()
				return context.Cause(ctx)
			}
			x.start()
			<-inStep
			closeManager(t, x.Manager)
		}
		d.liveOn(0)
		d.wait(opID, nil, vnflcm.Completed)
	})
}

// TestProgressBetweenDeaths lets a process die in each step of an operation. The operation must complete, because each process adds a
// journal entry.
func TestProgressBetweenDeaths(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		const steps = 25
		d := newMortals(t, func(cfg *vnflcm.Config) {
			cfg.MaxTakeovers = 1
			hooks := cfg.Mgmt["cluster"].Hooks()
			hooks[vnflcm.InstantiateEnd] = func(ctx context.Context, op *vnflcm.Operation) error {
				for i := range steps {
					if err := vnflcm.Do(ctx, op, fmt.Sprint("step-", i), "", func(context.Context) error { return nil }); err != nil {
						return err
					}
				}
				return nil
			}
			cfg.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": hooked{hooks}}
		})
		opID := d.begin()
		died := map[string]bool{}
		d.deadly = func(s vnflcm.StepInfo) bool {
			first := strings.HasPrefix(s.Name, "step-") && !died[s.Name]
			died[s.Name] = died[s.Name] || first
			return first
		}
		d.liveOn(steps)
		if d.wait(opID, nil, vnflcm.Completed); d.deaths != steps {
			t.Errorf("%d deaths, want %d", d.deaths, steps)
		}
		d.left("suspect", "claim")
	})
}

// unreachable is a store that a process temporarily cannot reach: its calls fail, or block as in a stopped process.
type unreachable struct {
	store.Store
	stops bool

	mu   sync.Mutex
	back chan struct{} // closed when the store is reachable again; nil while the store is reachable
}

func (s *unreachable) away() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.back = make(chan struct{})
}

func (s *unreachable) comeBack() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.back != nil {
		close(s.back)
		s.back = nil
	}
}

func (s *unreachable) reach() error {
	s.mu.Lock()
	back := s.back
	s.mu.Unlock()
	if back != nil && !s.stops {
		return errAway
	}
	if back != nil {
		<-back
	}
	return nil
}

func (s *unreachable) Get(ctx context.Context, kind, id string) (store.Record, error) {
	if err := s.reach(); err != nil {
		return store.Record{}, err
	}
	return s.Store.Get(ctx, kind, id)
}

func (s *unreachable) List(ctx context.Context, q store.Query) ([]store.Record, error) {
	if err := s.reach(); err != nil {
		return nil, err
	}
	return s.Store.List(ctx, q)
}

func (s *unreachable) Apply(ctx context.Context, b store.Batch) error {
	if err := s.reach(); err != nil {
		return err
	}
	return s.Store.Apply(ctx, b)
}

// TestLostLeasesDoNotCount lets processes repeatedly lose an operation to each other in the same step, because they are stopped or cannot
// reach the store. The takeovers must not count, because the processes continue each time.
func TestLostLeasesDoNotCount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ stops, heeds, both bool }{
		"stopped":                       {stops: true, heeds: true},
		"outage":                        {heeds: true},
		"outage for all":                {heeds: true, both: true},
		"outage, driver does not heed":  {},
		"stopped, driver does not heed": {stops: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) {
				store := store.NewMemory()
				inStep, end := make(chan int), make(chan struct{})
				finish := sync.OnceFunc(func() { close(end) })
				defer finish()
				var stores []*unreachable
				process := func(cfg *vnflcm.Config) {
					n := len(stores)
					stores = append(stores, &unreachable{Store: store, stops: c.stops})
					onePlain(cfg)
					cfg.Store, cfg.LeaseTTL, cfg.MaxTakeovers = stores[n], shortTTL, 1
					cfg.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
						if s.Name != "init" {
							return next(ctx)
						}
						select {
						case inStep <- n:
						case <-end:
						}
						select {
						case <-ctx.Done():
							if c.heeds {
								return context.Cause(ctx)
							}
							<-time.After(4 * shortTTL)
						case <-end:
						}
						return next(ctx)
					}
				}
				x := newToys(t, process)
				y := x.other(process)
				defer func() {
					for _, s := range stores {
						s.comeBack()
					}
				}()
				opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
				must(t, err)
				nextHolder := func() (n int) {
					select {
					case n = <-inStep:
					case <-time.After(patience):
						t.Fatal("no process runs the step")
					}
					return n
				}
				holder := nextHolder()
				for range 6 {
					lost := []*unreachable{stores[holder]}
					if c.both {
						lost = stores
					}
					for _, s := range lost {
						s.away()
					}
					if c.both {
						<-time.After(3 * shortTTL)
					} else {
						holder = nextHolder()
					}
					for _, s := range lost {
						s.comeBack()
					}
					if c.both {
						holder = nextHolder()
					}
					<-time.After(8 * shortTTL)
				}
				finish()
				y.wait(opID, nil, vnflcm.Completed)
			})
		})
	}
}

// TestDeadlyPhase lets workers of an engine die in the same phase.
func TestDeadlyPhase(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		store := store.NewMemory()
		x := newToys(t, func(cfg *vnflcm.Config) { cfg.Store, cfg.Runner, cfg.LeaseTTL = store, &engine{}, shortTTL })
		opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
		must(t, err)
		deaths, next := 0, vnflcm.PhaseBegin
		for ; next != ""; deaths++ {
			if deaths > 4 {
				t.Fatalf("%d workers have died", deaths)
			}
			fence, dead := &storetest.Fence{Store: store}, make(chan struct{})
			y := x.other(func(cfg *vnflcm.Config) {
				cfg.Store = fence
				cfg.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
					if s.Name == "init" {
						fence.Cut(true)
						close(dead)
						<-ctx.Done()
						return ctx.Err()
					}
					return next(ctx)
				}
			})
			work := func() {
				for next != "" && !fence.IsCut() {
					var then string
					if then, err = y.RunPhase(t.Context(), opID, next); errors.Is(err, vnflcm.ErrLeased) {
						<-time.After(shortTTL / 4)
						continue
					} else if fence.IsCut() {
						return
					}
					next = then
				}
			}
			ended := make(chan struct{})
			go func() { defer close(ended); work() }()
			select {
			case <-dead:
			case <-ended:
			}
			closeManager(t, y.Manager)
			<-ended
		}
		wantIs(t, err, vnflcm.ErrProcessEnded)
		if x.wait(opID, nil, vnflcm.FailedTemp); deaths != 5 {
			t.Errorf("%d workers, want 4 that die and one that finds out", deaths)
		}
	})
}
