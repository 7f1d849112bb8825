//go:build unix

package vnflcm_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/fleettest"
	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/internal/pgtest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/postgres"
	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
)

// TestUpdate updates a fleet on one SQLite file, process by process, and migrates the store.
func TestUpdate(t *testing.T) {
	t.Parallel()
	dir, duration := t.TempDir(), 4*time.Second
	if fulltest.Enabled() {
		duration = time.Minute
	}
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, "state.db"))
	must(t, err)
	defer func() { must(t, store.Close()) }()
	updateFleet(t, dir, store, serveSQLite, duration)
}

// TestUpdateOnPostgres is TestUpdate for PostgreSQL. VNFKIT_FLEET is the duration (default 20s).
func TestUpdateOnPostgres(t *testing.T) {
	duration, err := time.ParseDuration(cmp.Or(os.Getenv("VNFKIT_FLEET"), "20s"))
	must(t, err)
	dsn := pgtest.Start(t).NewDatabase(t)
	store, err := postgres.Open(t.Context(), dsn, postgres.Options{})
	must(t, err)
	defer func() { must(t, store.Close()) }()
	updateFleet(t, t.TempDir(), store, dsn, duration)
}

// updateFleet runs four processes, two of them of an earlier version of vnfkit, and kills and stops processes at random. Then it replaces
// the processes by the newer version, and migrates the store under the same disturbances. Every operation must end once, also operations
// that the earlier version has accepted and begun.
func updateFleet(t *testing.T, dir string, db store.Store, dsn string, duration time.Duration) {
	t.Helper()
	api := func(name string, format int) *vnflcm.Manager {
		t.Helper()
		cfg := fleettest.Config(dir, db, name)
		cfg.AcceptOnly = true
		vnflcm.KnowFormat(&cfg, format)
		m, err := vnflcm.New(t.Context(), cfg)
		must(t, err)
		return m
	}
	earlier := api("api", 1)
	var updated atomic.Bool
	f := fleettest.StartFleet(func(name string) *fleettest.Process {
		format := "2"
		if !updated.Load() && (name[len("worker-")] == '0' || name[len("worker-")] == '1') {
			format = "1"
		}
		return fleettest.Start(t, dir, name, nil, "VNFKIT_PROCESS_DSN="+dsn, "VNFKIT_PROCESS_FORMAT="+format)
	})
	newer := api("newer", 2)
	defer closeManager(t, newer)
	poll(t, "the processes of the earlier version serve", func() bool {
		plan, err := newer.PlanMigration(t.Context())
		must(t, err)
		return len(plan.Earlier) == 2
	})
	_, err := newer.Migrate(t.Context())
	wantIs(t, err, vnflcm.ErrState)

	half := int(duration.Seconds() * 5 / 3)
	accepted := disturbedLoad(t, f, earlier, half, duration/2)
	closeManager(t, earlier)
	updated.Store(true)
	f.Replace()
	var migrating sync.WaitGroup
	migrating.Go(func() {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		done, err := newer.Migrate(ctx)
		if err != nil || done.From != 1 || done.To != 2 {
			t.Errorf("Migrate: %+v, %v", done, err)
		}
	})
	maps.Copy(accepted, disturbedLoad(t, f, newer, half, duration/2))
	migrating.Wait()

	fleettest.AwaitEnds(t, newer, 2*time.Minute)
	poll(t, "the records of killed processes are removed", func() bool {
		list, err := db.List(t.Context(), store.Query{Kind: "process"})
		return err == nil && len(list) == f.Size()
	})
	f.End()
	fleettest.CheckFeed(t, newer, accepted)
	for _, kind := range []string{"claim", "step", "cancel", "process", "suspect"} {
		if left, err := db.List(t.Context(), store.Query{Kind: kind}); err != nil || len(left) > 0 {
			t.Errorf("%d records of kind %s are left (%v)", len(left), kind, err)
		}
	}
	fleettest.CheckLog(t, dir)
	cfg := fleettest.Config(dir, db, "late")
	vnflcm.KnowFormat(&cfg, 1)
	if _, err := vnflcm.New(t.Context(), cfg); !errors.Is(err, vnflcm.ErrUnreadable) {
		t.Errorf("New of the earlier version after the migration: %v", err)
	}
	t.Logf("%d operations; %d processes killed, %d stopped", len(accepted), f.Killed, f.Stopped)
}

// disturbedLoad accepts operations for the time during, while it kills and stops processes.
func disturbedLoad(t *testing.T, f *fleettest.Fleet, api *vnflcm.Manager, n int, during time.Duration) map[string]bool {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), during)
	defer stop()
	var disturbing sync.WaitGroup
	disturbing.Go(func() { f.Disturb(ctx) })
	accepted := fleettest.AcceptMany(t, api, n, during)
	disturbing.Wait()
	return accepted
}
