package vnflcm_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/internal/keyring"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
	"github.com/vnfkit/vnfkit/vnflcm/store/storetest"
)

// frozenStore returns a copy of a frozen database in memory, without the records of the processes of its time, and its keys.
func frozenStore(t *testing.T) (db store.Store, keys [][]byte) {
	t.Helper()
	const dir = "testdata/format-2409923"
	content, err := os.ReadFile(filepath.Join(dir, frozenSQLite))
	must(t, err)
	path := filepath.Join(t.TempDir(), frozenSQLite)
	must(t, os.WriteFile(path, content, 0o600))
	frozen, err := sqlite.Open(t.Context(), path)
	must(t, err)
	db = store.NewMemory()
	for key := range everyRecord(t, frozen) {
		kind, id, _ := strings.Cut(key, " ")
		if kind == "process" || kind == "lease" {
			continue
		}
		r, err := frozen.Get(t.Context(), kind, id)
		must(t, err)
		last := r.Version
		for r.Version = 0; r.Version < last; r.Version++ {
			must(t, db.Apply(t.Context(), store.Batch{Put: []store.Record{r}}))
		}
	}
	must(t, frozen.Close())
	for _, line := range linesOf(t, filepath.Join(dir, frozenKeys)) {
		key, err := hex.DecodeString(line)
		must(t, err)
		keys = append(keys, key)
	}
	return db, keys
}

// opened returns a Manager on a store that the test may cut off.
func opened(t *testing.T, store store.Store, keys [][]byte, change func(*vnflcm.Config)) *vnflcm.Manager {
	t.Helper()
	cfg := vnflcm.Config{AcceptOnly: true, Store: store, Key: keys[0], OldKeys: keys[1:], Packages: toyPackage("cluster"), LeaseTTL: time.Minute}
	if change != nil {
		change(&cfg)
	}
	m, err := vnflcm.New(t.Context(), cfg)
	must(t, err)
	t.Cleanup(func() { closeManager(t, m) })
	return m
}

// content returns the decoded records of a kind, by id.
func content[T any](t *testing.T, db store.Store, keys [][]byte, kind string) map[string]T {
	t.Helper()
	ring, err := keyring.New(keys...)
	must(t, err)
	list, err := db.List(t.Context(), store.Query{Kind: kind})
	must(t, err)
	out := map[string]T{}
	for _, r := range list {
		clear, err := ring.Open(r.Body, identityOf(r))
		must(t, err)
		var v T
		must(t, json.Unmarshal(clear, &v))
		out[r.ID] = v
	}
	return out
}

type storedClaim struct{ State, Process, Run string }

type storedVIM struct{ Instance string }

// migrated are the records of the frozen database that format 2 changes.
var migrated = vnflcm.Migration{From: 1, To: 2, Records: map[string]int{"claim": 16, "vim": 2}}

// TestMigrate checks that a plan counts the records to change and changes nothing, that the migration changes these records, and that the
// next migration has nothing to do.
func TestMigrate(t *testing.T) {
	t.Parallel()
	store, keys := frozenStore(t)
	m := opened(t, store, keys, nil)
	before := everyRecord(t, store)
	plan, err := m.PlanMigration(t.Context())
	must(t, err)
	if diff := cmp.Diff(migrated, plan); diff != "" {
		t.Errorf("plan:\n%s", diff)
	}
	if diff := cmp.Diff(before, everyRecord(t, store)); diff != "" {
		t.Errorf("the plan has changed the store:\n%s", diff)
	}
	done, err := m.Migrate(t.Context())
	must(t, err)
	if diff := cmp.Diff(migrated, done); diff != "" {
		t.Errorf("migration:\n%s", diff)
	}
	for id, claim := range content[storedClaim](t, store, keys, "claim") {
		if claim.Run == "" || claim.State == "held" || claim.Process != "" {
			t.Errorf("claim %s: %+v", id, claim)
		}
	}
	want := map[string]storedVIM{"vim1": {}, madeBy(frozenFull): {frozenFull}, madeBy(frozenAbandoned): {frozenAbandoned}}
	if diff := cmp.Diff(want, content[storedVIM](t, store, keys, "vim")); diff != "" {
		t.Errorf("VIMs:\n%s", diff)
	}
	after := everyRecord(t, store)
	done, err = m.Migrate(t.Context())
	must(t, err)
	if diff := cmp.Diff(vnflcm.Migration{From: 2, To: 2, Records: map[string]int{}}, done); diff != "" {
		t.Errorf("second migration:\n%s", diff)
	}
	if diff := cmp.Diff(after, everyRecord(t, store)); diff != "" {
		t.Errorf("the second migration has changed the store:\n%s", diff)
	}
	_, err = vnflcm.New(t.Context(), vnflcm.Config{Store: store, Key: keys[0], OldKeys: keys[1:], Packages: toyPackage("cluster"), AcceptOnly: true})
	must(t, err)
}

// TestMigrateKilled kills the process before and after each write of a migration. The next process continues, with the same result.
func TestMigrateKilled(t *testing.T) {
	t.Parallel()
	undisturbed, keys := frozenStore(t)
	_, err := opened(t, undisturbed, keys, nil).Migrate(t.Context())
	must(t, err)
	want := everyRecord(t, undisturbed)
	const writes = 1 + 16 + 2 + 1
	for n := 1; n <= writes; n++ {
		for _, before := range []bool{true, false} {
			store, keys := frozenStore(t)
			dying := &storetest.Fence{Store: store}
			dying.CutAt(n, !before, nil)
			if _, err := opened(t, dying, keys, nil).Migrate(t.Context()); err == nil && (n < writes || before) {
				t.Errorf("write %d of %d: the migration has succeeded", n, writes)
			}
			if n > 1 || !before { // an earlier version is refused from the first write on
				cfg := vnflcm.Config{Store: store, Key: keys[0], OldKeys: keys[1:], Packages: toyPackage("cluster")}
				vnflcm.KnowFormat(&cfg, 1)
				_, err := vnflcm.New(t.Context(), cfg)
				wantIs(t, err, vnflcm.ErrUnreadable)
			}
			_, err := opened(t, store, keys, nil).Migrate(t.Context())
			must(t, err)
			if diff := cmp.Diff(want, everyRecord(t, store)); diff != "" {
				t.Errorf("killed at write %d (before the write: %t):\n%s", n, before, diff)
			}
		}
	}
}

// TestMigrateWaitsForEarlierProcesses checks that a migration names a living process of an earlier version, whatever its lease is for, and
// that it waits for a closed or dead process no longer than its lease.
func TestMigrateWaitsForEarlierProcesses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		work func(t *testing.T, x *toys) (end func()) // takes a lease; end waits for the work
		want string
	}{
		"works": {func(*testing.T, *toys) func() { return func() {} }, "process "},
		"has a lease": {func(t *testing.T, x *toys) func() {
			ctx, stop := context.WithCancel(t.Context())
			var working sync.WaitGroup
			working.Go(func() {
				_ = x.Exclusively(ctx, "notifications", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
			})
			return func() { stop(); working.Wait() }
		}, "lease notifications"},
	} {
		for _, ends := range []string{"closed", "killed"} {
			t.Run(name+", "+ends, func(t *testing.T) {
				t.Parallel()
				inBubble(t, func(t *testing.T) {
					fence := &storetest.Fence{Store: store.NewMemory()}
					x := newToys(t, func(cfg *vnflcm.Config) {
						cfg.LeaseTTL, cfg.Store, cfg.AcceptOnly = shortTTL, fence, name == "has a lease"
						vnflcm.KnowFormat(cfg, 1)
					})
					y := x.other(func(cfg *vnflcm.Config) { cfg.Store, cfg.AcceptOnly = fence.Store, false; vnflcm.KnowFormat(cfg, 2) })
					end := c.work(t, x)
					poll(t, "the lease is taken", func() bool {
						plan, err := y.PlanMigration(t.Context())
						must(t, err)
						return len(plan.Earlier) == 1 && strings.HasPrefix(plan.Earlier[0], c.want)
					})
					before := everyRecord(t, fence.Store)["meta key"]
					_, err := y.Migrate(t.Context())
					if wantIs(t, err, vnflcm.ErrState); err == nil || !strings.Contains(err.Error(), c.want) {
						t.Errorf("Migrate while the process lives: %v", err)
					}
					if now := everyRecord(t, fence.Store)["meta key"]; now != before {
						t.Error("a migration that was refused has changed the format")
					}
					if ends == "killed" {
						fence.Cut(true)
						ctx, cancel := context.WithCancel(t.Context())
						cancel()
						_, err := y.Migrate(ctx)
						wantIs(t, err, context.Canceled)
					}
					end()
					closeManager(t, x.Manager)
					_, err = y.Migrate(t.Context())
					must(t, err)
					closeManager(t, y.Manager)
				})
			})
		}
	}
}

// TestMigrateBesideOperations checks that a migration leaves the claim of an operation that a process of the same version runs.
func TestMigrateBesideOperations(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.instantiated("plain")
	closeManager(t, x.Manager)
	must(t, vnflcm.SetFormat(t.Context(), x.Manager, 1, false))
	g := x.holdAt("heal_end/join/worker-0")
	x.start()
	opID, err := x.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{"worker-0"}})
	must(t, err)
	<-g.reached
	epoch := x.records()["claim "+opID]
	y := x.other(nil)
	done, err := y.Migrate(t.Context())
	must(t, err)
	if diff := cmp.Diff(vnflcm.Migration{From: 1, To: 2, Records: map[string]int{}}, done); diff != "" {
		t.Error(diff)
	}
	if now := x.records()["claim "+opID]; now != epoch {
		t.Errorf("the claim had the version %d and has %d", epoch, now)
	}
	close(g.open)
	x.wait(opID, nil, vnflcm.Completed)
	x.operate(id)
}

// TestMigrateConverts compares records before and after a migration.
func TestMigrateConverts(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.instantiated("plain")
	x.world.failAt("scale_end/join/worker-2", errCut)
	failed, err := x.Scale(t.Context(), id, scale(vnflcm.ScaleOut, 1))
	_, _ = x.wait(failed, err, vnflcm.FailedTemp)
	ended := lastOperation(x, x.instantiated("plain"))
	put := func(kind, id, state, clear string) {
		r := store.Record{Kind: kind, ID: id, Index: store.Index{State: state}}
		if was, err := x.cfg.Store.Get(t.Context(), kind, id); err == nil {
			r.Version = was.Version
		}
		r.Body = sealed(t, r, clear)
		must(t, x.cfg.Store.Apply(t.Context(), store.Batch{Put: []store.Record{r}}))
	}
	closeManager(t, x.Manager)
	put("claim", "held", "held", `{"state":"held","process":"earlier","accepted":1}`)
	put("claim", "held-now", "held", `{"state":"held","process":"test","run":"r","accepted":1}`)
	put("claim", failed, "parked", `{"state":"parked","accepted":1}`)
	put("suspect", failed, "", `{"deaths":[{"process":"p","run":"r"}],"progress":"1/1"}`)
	put("suspect", ended, "", `{"deaths":[],"progress":""}`)
	put("suspect", "purged", "", `{"deaths":[],"progress":""}`)
	put("suspect", "damaged", "", `[]`)
	put("operation", "damaged", "", `[]`)
	put("vim", "cluster", "", `{"vimId":"cluster","vimType":"toy"}`)
	put("vim", "hooked", "", `{"vimId":"hooked","vimType":"toy"}`)
	put("vim", "operator", "", `{"vimId":"operator","vimType":"toy"}`)
	put("vim", "damaged", "", `[]`)
	put("instance", "i1", "", `{"instance":{"id":"i1"},"registeredVims":["cluster"]}`)
	put("hook", "o1/instantiate_end", "", `{"instance":{"id":"i2"},"registeredVims":["hooked"]}`)
	must(t, vnflcm.SetFormat(t.Context(), x.Manager, 1, false))
	x.cfg.AcceptOnly = true // so that it does not take over these operations
	x.start()

	done, err := x.Migrate(t.Context())
	wantIs(t, err, vnflcm.ErrUnreadable)
	for _, name := range []string{"operation damaged", "vim damaged"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the error lacks %q: %v", name, err)
		}
	}
	if diff := cmp.Diff(map[string]int{"claim": 2, "suspect": 2, "vim": 2}, done.Records); diff != "" {
		t.Errorf("changed records:\n%s", diff)
	}
	must(t, x.Forget(t.Context(), "vim", "damaged"))
	must(t, x.Forget(t.Context(), "operation", "damaged"))
	done, err = x.Migrate(t.Context())
	must(t, err)
	if diff := cmp.Diff(vnflcm.Migration{From: 2, To: 2, Records: map[string]int{}}, done); diff != "" {
		t.Errorf("second migration:\n%s", diff)
	}
	claims := content[storedClaim](t, x.cfg.Store, [][]byte{testKey}, "claim")
	for id, c := range claims {
		if c.Run == "" {
			t.Errorf("claim %s: %+v", id, c)
		}
		c.Run = ""
		claims[id] = c
	}
	if diff := cmp.Diff(map[string]storedClaim{"held": {State: "free"}, "held-now": {State: "held", Process: "test"}, failed: {State: "parked"}}, claims); diff != "" {
		t.Errorf("claims:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]storedVIM{"vim1": {}, "operator": {}, "cluster": {"i1"}, "hooked": {"i2"}}, content[storedVIM](t, x.cfg.Store, [][]byte{testKey}, "vim")); diff != "" {
		t.Errorf("VIMs:\n%s", diff)
	}
	if left, err := x.cfg.Store.List(t.Context(), store.Query{Kind: "suspect"}); err != nil || len(left) > 0 {
		t.Errorf("%d suspects are left (%v)", len(left), err)
	}
}

// TestMigrateReadsOneRecord checks that the memory that a migration needs does not grow with the number of records.
func TestMigrateReadsOneRecord(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	const each = 100 << 10
	for range 20 {
		_, err := x.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: toyVNFD, Metadata: vnflcm.KeyValuePairs{"a": strings.Repeat("x", each)}})
		must(t, err)
	}
	must(t, vnflcm.SetFormat(t.Context(), x.Manager, 1, false))
	store := &measured{Store: x.cfg.Store}
	y := x.other(func(cfg *vnflcm.Config) { cfg.Store = store })
	if _, err := y.Migrate(t.Context()); err != nil || store.largest.Load() > 2*each {
		t.Errorf("Migrate has read %d bytes at once (%v)", store.largest.Load(), err)
	}
}
