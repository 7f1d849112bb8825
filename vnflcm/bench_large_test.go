package vnflcm_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/storetest"
)

// largeInstances returns the number of instances in the large store, each with ten finished operations. VNFKIT_BENCH_INSTANCES
// changes the number.
func largeInstances(b *testing.B) int {
	n := 10_000
	if text := os.Getenv("VNFKIT_BENCH_INSTANCES"); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		mustBench(b, err)
	}
	return n
}

// fill creates the instances and their operations, some of them concurrently.
func fill(b *testing.B, m *vnflcm.Manager, instances int) (one string) {
	b.Helper()
	ids := make([]string, instances)
	const workers = 8
	atOnce(b, workers, 1, func(g int) error {
		for i := g; i < instances; i += workers {
			inst, err := m.Create(b.Context(), vnflcm.CreateVnfRequest{VnfdID: toyVNFD})
			if err != nil {
				return err
			}
			ids[i] = inst.ID
			opID, err := m.Instantiate(b.Context(), inst.ID, vnflcm.InstantiateVnfRequest{FlavourID: "bare"})
			if err == nil {
				_, err = m.Wait(b.Context(), opID)
			}
			for n := 0; n < 9 && err == nil; n++ {
				err = heal(b.Context(), m, inst.ID)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return ids[instances/2]
}

// copyRecords copies all records of some kinds from one store to another. It puts each record until the copy has the same version,
// because bodies are bound to the version.
func copyRecords(b *testing.B, from, to store.Store, kinds ...string) {
	b.Helper()
	for _, kind := range kinds {
		list, err := from.List(b.Context(), store.Query{Kind: kind})
		mustBench(b, err)
		for version := int64(0); len(list) > 0; version++ {
			for batch := range slices.Chunk(list, 500) {
				puts := slices.Clone(batch)
				for i := range puts {
					puts[i].Version = version
				}
				mustBench(b, to.Apply(b.Context(), store.Batch{Put: puts}))
			}
			list = slices.DeleteFunc(list, func(r store.Record) bool { return r.Version == version+1 })
		}
	}
}

// BenchmarkLCMLarge measures reads of a store with 10,000 instances and 100,000 finished operations.
func BenchmarkLCMLarge(b *testing.B) {
	n := largeInstances(b)
	memory := store.NewMemory()
	one := fill(b, benchManager(b, memory, nil), n)
	for _, database := range databases {
		b.Run(database.name, func(b *testing.B) {
			db := memory
			if database.name != "memory" {
				db = database.open(b)
				copyRecords(b, memory, db, "instance", "operation", "vim", "vim-default", "meta")
			}
			m := benchManager(b, db, nil)
			for name, read := range map[string]func(context.Context) (int, error){
				"operations of one instance": func(ctx context.Context) (int, error) {
					page, err := m.Operations(ctx, vnflcm.OperationQuery{InstanceID: one})
					return len(page.Items) - 10, err
				},
				"a page of 100 operations": func(ctx context.Context) (int, error) {
					page, err := m.Operations(ctx, vnflcm.OperationQuery{Limit: 100})
					return len(page.Items) - 100, err
				},
				"nothing to take up": func(ctx context.Context) (int, error) {
					claims, err := db.List(ctx, store.Query{Kind: "claim", States: []string{"free", "held"}})
					_, err1 := db.List(ctx, store.Query{Kind: "process"})
					return len(claims), errors.Join(err, err1)
				},
			} {
				b.Run(name, func(b *testing.B) {
					for b.Loop() {
						if wrong, err := read(b.Context()); wrong != 0 || err != nil {
							b.Fatal(wrong, err)
						}
					}
				})
			}
		})
	}
}

// BenchmarkLCMWait measures how long after the end of an operation Wait in another process returns.
func BenchmarkLCMWait(b *testing.B) {
	for _, db := range databases {
		b.Run(db.name, func(b *testing.B) {
			store := db.open(b)
			gate := make(chan struct{})
			m := benchManager(b, store, func(c *vnflcm.Config) {
				c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
					if s.Name == "step-9" {
						<-gate
					}
					return next(ctx)
				}
			})
			other := benchManager(b, store, func(c *vnflcm.Config) { c.AcceptOnly = true })
			id := benchInstance(b, m, "plain")
			var late time.Duration
			runs := 0
			for b.Loop() {
				opID, err := m.Heal(b.Context(), id, vnflcm.HealVnfRequest{})
				mustBench(b, err)
				seen := make(chan time.Time, 1)
				go func() {
					_, _ = other.Wait(b.Context(), opID)
					seen <- time.Now()
				}()
				time.Sleep(300 * time.Millisecond) // Wait polls seldom by now
				gate <- struct{}{}
				occ, err := m.Wait(b.Context(), opID)
				mustBench(b, err)
				late += (<-seen).Sub(occ.StateEnteredTime)
				runs++
			}
			b.ReportMetric(float64(late.Milliseconds())/float64(runs), "ms-late")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkLCMTakeover measures the time, beyond the TTL, from the death of a process until another process continues its operation.
func BenchmarkLCMTakeover(b *testing.B) {
	const ttl = 2 * time.Second
	for _, db := range databases {
		b.Run(db.name, func(b *testing.B) {
			store := db.open(b)
			maker := benchManager(b, store, nil)
			id := benchInstance(b, maker, "plain")
			mustBench(b, maker.Close(b.Context())) // this process would take over too
			var late time.Duration
			runs := 0
			for b.Loop() {
				fence := &storetest.Fence{Store: store}
				var died, resumed atomic.Pointer[time.Time]
				mark := func(at *atomic.Pointer[time.Time]) {
					now := time.Now()
					at.CompareAndSwap(nil, &now)
				}
				dead := make(chan struct{})
				first := benchManager(b, fence, func(c *vnflcm.Config) {
					c.LeaseTTL = ttl
					c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
						if s.Name != "step-5" {
							return next(ctx)
						}
						mark(&died)
						fence.Cut(true)
						close(dead)
						<-ctx.Done()
						return context.Cause(ctx)
					}
				})
				second := benchManager(b, store, func(c *vnflcm.Config) {
					c.LeaseTTL = ttl
					c.Intercept = func(ctx context.Context, _ vnflcm.StepInfo, next func(context.Context) error) error {
						mark(&resumed)
						return next(ctx)
					}
				})
				opID, err := first.Heal(b.Context(), id, vnflcm.HealVnfRequest{})
				mustBench(b, err)
				<-dead
				_, err = second.Wait(b.Context(), opID)
				mustBench(b, err)
				late += resumed.Load().Sub(*died.Load()) - ttl
				runs++
				mustBench(b, errors.Join(first.Close(b.Context()), second.Close(b.Context())))
			}
			b.ReportMetric(late.Seconds()/float64(runs), "s-beyond-ttl")
			b.ReportMetric(0, "ns/op")
		})
	}
}
