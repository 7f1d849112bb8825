//go:build unix

package vnflcm_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/fleettest"
	"github.com/vnfkit/vnfkit/internal/pgtest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/postgres"
)

// TestFleet accepts operations that four real processes run on one PostgreSQL. Meanwhile it kills the processes, stops them for longer
// than their TTL and restarts them at random, and restarts the server twice. Every operation must end exactly once. VNFKIT_FLEET is the
// duration (default 1m), with ten operations in three seconds.
func TestFleet(t *testing.T) {
	duration, err := time.ParseDuration(cmp.Or(os.Getenv("VNFKIT_FLEET"), "1m"))
	must(t, err)
	server := pgtest.Start(t)
	dir, dsn := t.TempDir(), server.NewDatabase(t)
	db, err := postgres.Open(t.Context(), dsn, postgres.Options{})
	must(t, err)
	defer func() { must(t, db.Close()) }()
	cfg := fleettest.Config(dir, db, "api")
	cfg.AcceptOnly = true
	api, err := vnflcm.New(t.Context(), cfg)
	must(t, err)
	defer closeManager(t, api)

	f := fleettest.StartFleet(func(name string) *fleettest.Process {
		return fleettest.Start(t, dir, name, nil, "VNFKIT_PROCESS_DSN="+dsn)
	})
	ctx, stop := context.WithTimeout(t.Context(), duration)
	defer stop()
	var disturbing sync.WaitGroup
	disturbing.Go(func() { f.Disturb(ctx) })
	disturbing.Go(func() {
		for range 2 {
			select {
			case <-time.After(duration / 3):
				server.Restart(t) //nolint:contextcheck // ctx limits the time of the disturbances
			case <-ctx.Done():
			}
		}
	})
	accepted := fleettest.AcceptMany(t, api, int(duration.Seconds()*10/3), duration)
	disturbing.Wait()
	fleettest.AwaitEnds(t, api, 2*time.Minute)
	poll(t, "the records of killed processes are removed", func() bool {
		list, err := db.List(t.Context(), store.Query{Kind: "process"})
		return err == nil && len(list) == f.Size()
	})
	f.End()
	fleettest.CheckFeed(t, api, accepted)
	for _, kind := range []string{"claim", "step", "cancel", "process"} {
		if left, err := db.List(t.Context(), store.Query{Kind: kind}); err != nil || len(left) > 0 {
			t.Errorf("%d records of kind %s are left (%v)", len(left), kind, err)
		}
	}
	fleettest.CheckLog(t, dir)
	t.Logf("%d operations; %d processes killed, %d stopped", len(accepted), f.Killed, f.Stopped)
}

// serveProcess runs a child process that serves operations until its standard input ends.
func serveProcess(ctx context.Context, name, dir string, open func(context.Context) (closableStore, error)) error {
	var store closableStore
	for deadline := time.Now().Add(patience); store == nil; time.Sleep(20 * time.Millisecond) {
		opened, err := open(ctx)
		if err == nil {
			store = opened
		} else if time.Now().After(deadline) {
			return err
		}
	}
	defer func() { _ = store.Close() }()
	cfg := processConfig(dir, store, name)
	cfg.Limit = 16
	var m *vnflcm.Manager
	for deadline := time.Now().Add(patience); m == nil; time.Sleep(20 * time.Millisecond) {
		var err error
		if m, err = vnflcm.New(ctx, cfg); err != nil && time.Now().After(deadline) {
			return err
		}
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	closing, done := context.WithTimeout(ctx, patience)
	defer done()
	return m.Close(closing)
}
