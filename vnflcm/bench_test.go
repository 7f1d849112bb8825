package vnflcm_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/vnfkit/vnfkit/internal/pgtest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/postgres"
	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
)

// benchWrites is the number of commits that an operation with ten steps may cost, the reference of BenchmarkLCM.
const benchWrites = 16

// database is a store to measure, with the rate of bare inserts that its database commits.
type database struct {
	name string
	open func(b *testing.B) store.Store
	// insert returns a function that inserts one row and commits. It is nil for a store without commits.
	insert func(b *testing.B) func(ctx context.Context) error
}

var databases = []database{
	{name: "memory", open: func(*testing.B) store.Store { return store.NewMemory() }},
	{name: "sqlite", open: openSQLiteBench, insert: insertSQLite},
	{name: "postgres", open: openPostgresBench, insert: insertPostgres},
}

// servers are the PostgreSQL servers of the running benchmarks.
var servers = map[*testing.B]string{}

func openPostgresBench(b *testing.B) store.Store {
	servers[b] = pgtest.Start(b).NewDatabase(b)
	s, err := postgres.Open(b.Context(), servers[b], postgres.Options{})
	mustBench(b, err)
	b.Cleanup(func() { mustBench(b, s.Close()) })
	return s
}

func insertPostgres(b *testing.B) func(ctx context.Context) error {
	pool, err := pgxpool.New(b.Context(), servers[b]+"&pool_max_conns=10")
	mustBench(b, err)
	b.Cleanup(pool.Close)
	_, err = pool.Exec(b.Context(), `CREATE TABLE IF NOT EXISTS bare (id BIGSERIAL PRIMARY KEY, body BYTEA)`)
	mustBench(b, err)
	body := make([]byte, 300)
	return func(ctx context.Context) error {
		_, err := pool.Exec(ctx, `INSERT INTO bare (body) VALUES ($1)`, body)
		return err
	}
}

func openSQLiteBench(b *testing.B) store.Store {
	s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "state.db"))
	mustBench(b, err)
	b.Cleanup(func() { mustBench(b, s.Close()) })
	return s
}

func insertSQLite(b *testing.B) func(ctx context.Context) error {
	file := filepath.Join(b.TempDir(), "bare.db")
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	mustBench(b, err)
	db.SetMaxOpenConns(1)
	b.Cleanup(func() { mustBench(b, db.Close()) })
	_, err = db.ExecContext(b.Context(), `CREATE TABLE IF NOT EXISTS bare (id INTEGER PRIMARY KEY, body BLOB)`)
	mustBench(b, err)
	body := make([]byte, 300)
	return func(ctx context.Context) error {
		_, err := db.ExecContext(ctx, `INSERT INTO bare (body) VALUES (?)`, body)
		return err
	}
}

func mustBench(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// idle is an InfraDriver whose operations take no time. It makes no machines.
type idle struct{}

func (idle) ElasticVDUs(_ context.Context, op *vnflcm.Operation) (all []string, err error) {
	for _, v := range op.Flavour.VDUs {
		all = append(all, v.ID)
	}
	return all, nil
}

func (idle) Plan(context.Context, *vnflcm.Operation) (vnflcm.Change, error) {
	return vnflcm.Change{}, nil
}
func (idle) Instantiate(context.Context, *vnflcm.Operation) error { return nil }
func (idle) Scale(context.Context, *vnflcm.Operation) error       { return nil }
func (idle) Heal(context.Context, *vnflcm.Operation) error        { return nil }
func (idle) Terminate(context.Context, *vnflcm.Operation) error   { return nil }
func (idle) Resources(context.Context, *vnflcm.Operation) (vnflcm.Resources, error) {
	return vnflcm.Resources{}, nil
}

// tenSteps is a MgmtDriver that heals in ten empty steps.
type tenSteps struct{}

func (tenSteps) Validate(context.Context, *vnflcm.Operation) error { return nil }
func (tenSteps) Hooks() vnflcm.Hooks {
	nothing := func(context.Context, *vnflcm.Operation) error { return nil }
	hooks := vnflcm.Hooks{vnflcm.HealEnd: func(ctx context.Context, op *vnflcm.Operation) error {
		for i := range 10 {
			if err := vnflcm.Do(ctx, op, fmt.Sprint("step-", i), "", func(context.Context) error { return nil }); err != nil {
				return err
			}
		}
		return nil
	}}
	for _, h := range []vnflcm.Hook{vnflcm.InstantiateEnd, vnflcm.ScaleStart, vnflcm.ScaleEnd, vnflcm.HealStart, vnflcm.TerminateStart, vnflcm.ModifyEnd} {
		hooks[h] = nothing
	}
	return hooks
}

func benchManager(b *testing.B, store store.Store, change func(*vnflcm.Config)) *vnflcm.Manager {
	b.Helper()
	cfg := vnflcm.Config{Store: store, Key: testKey, Packages: toyPackage("cluster"), Limit: 1000,
		Infra: map[string]vnflcm.InfraDriver{"toy": idle{}}, Mgmt: map[string]vnflcm.MgmtDriver{"cluster": tenSteps{}}}
	if change != nil {
		change(&cfg)
	}
	m, err := vnflcm.New(b.Context(), cfg)
	mustBench(b, err)
	b.Cleanup(func() { mustBench(b, m.Close(context.WithoutCancel(b.Context()))) })
	mustBench(b, m.VIMs().Put(b.Context(), vnflcm.VimConnectionInfo{VimID: "vim1", VimType: "toy"}))
	mustBench(b, m.VIMs().SetDefault(b.Context(), "", "vim1"))
	return m
}

func benchInstance(b *testing.B, m *vnflcm.Manager, flavour string) string {
	b.Helper()
	inst, err := m.Create(b.Context(), vnflcm.CreateVnfRequest{VnfdID: toyVNFD})
	mustBench(b, err)
	opID, err := m.Instantiate(b.Context(), inst.ID, vnflcm.InstantiateVnfRequest{FlavourID: flavour})
	mustBench(b, err)
	_, err = m.Wait(b.Context(), opID)
	mustBench(b, err)
	return inst.ID
}

func heal(ctx context.Context, m *vnflcm.Manager, id string) error {
	opID, err := m.Heal(ctx, id, vnflcm.HealVnfRequest{})
	if err == nil {
		_, err = m.Wait(ctx, opID)
	}
	return err
}

// atOnce calls do n times from each goroutine, and returns the number of calls per second.
func atOnce(b *testing.B, goroutines, n int, do func(goroutine int) error) float64 {
	b.Helper()
	var wg sync.WaitGroup
	began := time.Now()
	for g := range goroutines {
		wg.Go(func() {
			for range n {
				if err := do(g); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return float64(goroutines*n) / time.Since(began).Seconds()
}

// BenchmarkLCM measures operations with ten empty steps, and the commits of the same database in the same run. of-bare is the rate of
// operations divided by a 16th of the bare commit rate.
func BenchmarkLCM(b *testing.B) {
	for _, db := range databases {
		for _, goroutines := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("%s/%d_at_once", db.name, goroutines), func(b *testing.B) {
				m := benchManager(b, db.open(b), nil)
				ids := make([]string, goroutines)
				for i := range ids {
					ids[i] = benchInstance(b, m, "plain")
				}
				each := max(1, 300/goroutines)
				for b.Loop() {
					var before, after float64
					if db.insert != nil {
						insert := db.insert(b)
						before = atOnce(b, goroutines, each, func(int) error { return insert(b.Context()) })
						rate := atOnce(b, goroutines, each, func(g int) error { return heal(b.Context(), m, ids[g]) })
						after = atOnce(b, goroutines, each, func(int) error { return insert(b.Context()) })
						bare := (before + after) / 2
						b.ReportMetric(rate, "op/s")
						b.ReportMetric(bare, "bare-commits/s")
						b.ReportMetric(rate*benchWrites/bare, "of-bare")
						continue
					}
					b.ReportMetric(atOnce(b, goroutines, each, func(g int) error { return heal(b.Context(), m, ids[g]) }), "op/s")
				}
			})
		}
	}
}

// counted counts the calls of a store that operations make. The goroutines that watch the store only list claims, processes,
// cancels and renewals.
type counted struct {
	store.Store
	reads, writes atomic.Int64
}

func (c *counted) Get(ctx context.Context, kind, id string) (store.Record, error) {
	c.reads.Add(1)
	return c.Store.Get(ctx, kind, id)
}

func (c *counted) List(ctx context.Context, q store.Query) ([]store.Record, error) {
	if !slices.Contains([]string{"claim", "process", "cancel", "renewal"}, q.Kind) {
		c.reads.Add(1)
	}
	return c.Store.List(ctx, q)
}

func (c *counted) Apply(ctx context.Context, b store.Batch) error {
	c.writes.Add(1)
	return c.Store.Apply(ctx, b)
}

// TestStoreCalls checks the number of store calls of an operation with ten steps.
func TestStoreCalls(t *testing.T) {
	t.Parallel()
	store := &counted{Store: store.NewMemory()}
	x := newToys(t, func(c *vnflcm.Config) {
		c.Store, c.Infra, c.Mgmt = store, map[string]vnflcm.InfraDriver{"toy": idle{}}, map[string]vnflcm.MgmtDriver{"cluster": tenSteps{}}
	})
	id := x.instantiated("plain")
	store.reads.Store(0)
	store.writes.Store(0)
	opID, err := x.Heal(t.Context(), id, vnflcm.HealVnfRequest{})
	x.wait(opID, err, vnflcm.Completed)
	if reads, writes := store.reads.Load(), store.writes.Load(); reads > 6 || writes > 15 {
		t.Errorf("%d reads and %d writes, want at most 6 and 15", reads, writes)
	} else {
		t.Logf("%d reads and %d writes", reads, writes)
	}
}
