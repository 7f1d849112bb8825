//go:build unix

package vnflcm_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/pgtest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sqlstore/postgres"
)

const (
	fleetProcesses = 4
	fleetLimit     = 16
)

// TestFleet has four real processes serve operations from one PostgreSQL, which this process accepts. While they work,
// the processes are killed, stopped beyond their TTL and started again at random, and the server is restarted twice.
// Every operation ends once. VNFKIT_FLEET is the duration (default 1m), with ten operations in three seconds.
func TestFleet(t *testing.T) {
	duration, err := time.ParseDuration(cmp.Or(os.Getenv("VNFKIT_FLEET"), "1m"))
	must(t, err)
	server := pgtest.Start(t)
	dir, dsn := t.TempDir(), server.NewDatabase(t)
	store, err := postgres.Open(t.Context(), dsn, postgres.Options{})
	must(t, err)
	defer func() { must(t, store.Close()) }()
	cfg := diskConfig(dir, store, "api")
	cfg.AcceptOnly = true
	api, err := vnflcm.New(t.Context(), cfg)
	must(t, err)
	defer closeManager(t, api)

	f := &fleet{t: t, dir: dir, dsn: dsn}
	for i := range fleetProcesses {
		f.start(fmt.Sprint("server-", i))
	}
	ctx, stop := context.WithTimeout(t.Context(), duration)
	defer stop()
	var disturbing sync.WaitGroup
	disturbing.Go(func() { f.disturb(ctx) })
	disturbing.Go(func() {
		for range 2 {
			select {
			case <-time.After(duration / 3):
				server.Restart(t) //nolint:contextcheck // ctx says how long to disturb
			case <-ctx.Done():
			}
		}
	})
	accepted := acceptMany(t, api, int(duration.Seconds()*10/3), duration)
	disturbing.Wait()
	f.awaitEnds(api)
	poll(t, "the records of killed processes are removed", func() bool {
		list, err := store.List(t.Context(), vnflcm.Query{Kind: "process"})
		return err == nil && len(list) == fleetProcesses
	})
	f.end()
	checkFeed(t, api, accepted)
	for _, kind := range []string{"claim", "step", "cancel", "process"} {
		if left, err := store.List(t.Context(), vnflcm.Query{Kind: kind}); err != nil || len(left) > 0 {
			t.Errorf("%d records of kind %s are left (%v)", len(left), kind, err)
		}
	}
	checkLog(t, filepath.Join(dir, "log"))
	t.Logf("%d operations; %d processes killed, %d stopped", len(accepted), f.killed, f.stopped)
}

// acceptMany makes n instances and begins to instantiate them, in that time. What fails while the server restarts is asked
// again, unless the request was accepted nevertheless.
func acceptMany(t *testing.T, api *vnflcm.Manager, n int, during time.Duration) map[string]bool {
	t.Helper()
	accepted := map[string]bool{}
	retry := func(do func() error) {
		t.Helper()
		poll(t, "the store answers", func() bool {
			err := do()
			if err != nil && !errors.Is(err, vnflcm.ErrStore) {
				t.Errorf("a request was refused: %v", err)
				return true
			}
			return err == nil
		})
	}
	every := time.NewTicker(during / time.Duration(n))
	defer every.Stop()
	for range n {
		var id string
		retry(func() error {
			inst, err := api.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: toyVNFD})
			if err == nil {
				id = inst.ID
			}
			return err
		})
		retry(func() error {
			_, err := api.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "bare",
				VimConnectionInfo: vnflcm.VimConnections{{VimType: "disk", AccessInfo: diskAccess}}})
			if errors.Is(err, vnflcm.ErrConflict) || errors.Is(err, vnflcm.ErrState) {
				return nil // it was accepted, but the answer was lost
			}
			return err
		})
		accepted[id] = true
		<-every.C
	}
	return accepted
}

// checkFeed holds that the feed tells each operation once in each state, in order.
func checkFeed(t *testing.T, api *vnflcm.Manager, accepted map[string]bool) {
	t.Helper()
	states := map[string][]vnflcm.OperationState{}
	for after := vnflcm.Cursor(""); ; {
		list, next, err := api.Changes(t.Context(), after, 500)
		must(t, err)
		for _, c := range list {
			if c.Operation != nil && accepted[c.VNF.InstanceID] {
				states[c.VNF.InstanceID] = append(states[c.VNF.InstanceID], c.Operation.OperationState)
			}
		}
		if after = next; len(list) == 0 {
			break
		}
	}
	want := fmt.Sprint([]vnflcm.OperationState{vnflcm.Starting, vnflcm.Processing, vnflcm.Completed})
	for id := range accepted {
		if got := fmt.Sprint(states[id]); got != want {
			t.Errorf("the operation of instance %s was in the states %s, want %s", id, got, want)
		}
	}
}

// fleet are the processes that serve.
type fleet struct {
	t        *testing.T
	dir, dsn string
	children []*child
	starts   int

	killed, stopped int
}

func (f *fleet) start(name string) *child {
	c := startChild(f.t, f.dir, name, nil, "VNFKIT_PROCESS_DSN="+f.dsn)
	f.children = append(f.children, c)
	return c
}

// disturb kills or stops a process about twice a second until ctx ends.
func (f *fleet) disturb(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(200+rand.IntN(800)) * time.Millisecond): //nolint:gosec // a time, no secret
		}
		i := rand.IntN(fleetProcesses) //nolint:gosec // a choice, no secret
		c := f.children[i]
		if rand.IntN(2) == 0 { //nolint:gosec // a choice, no secret
			f.stopped++
			c.pause(processTTL * 3 / 2)
			continue
		}
		f.killed++
		c.signal(syscall.SIGKILL)
		f.starts++
		f.start(fmt.Sprintf("server-%d-%d", i, f.starts)) //nolint:contextcheck // ctx says how long to disturb
		f.children[i] = f.children[len(f.children)-1]
		f.children = f.children[:fleetProcesses]
	}
}

func (f *fleet) awaitEnds(api *vnflcm.Manager) {
	f.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		page, err := api.Operations(f.t.Context(), vnflcm.OperationQuery{
			States: []vnflcm.OperationState{vnflcm.Starting, vnflcm.Processing, vnflcm.RollingBack, vnflcm.FailedTemp}})
		if err == nil && len(page.Items) == 0 {
			return
		}
		if time.Now().After(deadline) {
			for _, occ := range page.Items {
				f.t.Errorf("operation %s is %s: %v", occ.ID, occ.OperationState, occ.Error)
			}
			f.t.Fatalf("%d operations have not ended (%v)", len(page.Items), err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (f *fleet) end() {
	for _, c := range f.children {
		c.end()
	}
}

// serveProcess is a child process that serves until its standard input ends.
func serveProcess(ctx context.Context, name, dir, dsn string) error {
	var store *postgres.Store
	for deadline := time.Now().Add(30 * time.Second); store == nil; {
		var err error
		if store, err = postgres.Open(ctx, dsn, postgres.Options{}); err != nil && time.Now().After(deadline) {
			return err
		}
	}
	defer func() { _ = store.Close() }()
	var m *vnflcm.Manager
	for deadline := time.Now().Add(30 * time.Second); m == nil; {
		var err error
		if m, err = vnflcm.New(ctx, diskConfig(dir, store, name)); err != nil && time.Now().After(deadline) {
			return err
		}
	}
	serving, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() {
		for {
			err := m.Serve(serving, vnflcm.ServeOptions{Limit: fleetLimit})
			if !errors.Is(err, vnflcm.ErrStore) {
				served <- err
				return
			}
		}
	}()
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	stop()
	if err := <-served; !errors.Is(err, context.Canceled) {
		return err
	}
	closing, done := context.WithTimeout(ctx, 20*time.Second)
	defer done()
	return m.Close(closing)
}
