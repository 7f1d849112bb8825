package vnflcm_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// TestNewKnowsTheFormat checks that New refuses a store in an unsupported format and does not change it.
func TestNewKnowsTheFormat(t *testing.T) {
	t.Parallel()
	newest := vnflcm.NewestFormat
	for name, c := range map[string]struct {
		format    int
		migrating bool
		knows     int
		want      string // text in the error; "": New succeeds
	}{
		"the newest":                     {newest, false, newest, ""},
		"a migration is to be continued": {newest, true, newest, ""},
		"newer":                          {newest + 1, false, newest, fmt.Sprintf("it has format %d, and this version knows formats up to %d. End this process", newest+1, newest)},
		"a newer migration has begun":    {newest + 1, true, newest, fmt.Sprintf("it has format %d, and this version knows formats up to %d. End this process", newest+1, newest)},
		"the one before":                 {newest, false, newest + 1, ""},
		"earlier":                        {newest, false, newest + 2, fmt.Sprintf("the store has format %d, and this version knows the formats %d and %d", newest, newest+1, newest+2)},
		"the migration has not ended":    {newest + 1, true, newest + 2, fmt.Sprintf("the migration of the store to format %d has not ended", newest+1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, nil)
			x.instantiated("plain")
			closeManager(t, x.Manager)
			must(t, vnflcm.SetFormat(t.Context(), x.Manager, c.format, c.migrating))
			before := everyRecord(t, x.cfg.Store)
			vnflcm.KnowFormat(&x.cfg, c.knows)
			m, err := vnflcm.New(t.Context(), x.cfg)
			if c.want == "" {
				must(t, err)
				closeManager(t, m)
			} else if wantIs(t, err, vnflcm.ErrUnreadable); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("New: %v, want %q", err, c.want)
			}
			if diff := cmp.Diff(before, everyRecord(t, x.cfg.Store)); diff != "" {
				t.Errorf("the store has changed:\n%s", diff)
			}
		})
	}
}

// everyRecord returns the kinds, ids and versions of all records in a store.
func everyRecord(t *testing.T, db store.Store) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	for _, kind := range []string{"instance", "abandoned", "adoption", "hook", "hook-initial", "operation", "claim", "suspect", "process", "cancel", "step", "history",
		"change", "state", "document", "lease", "vim", "vim-default", "vim-removed", "renewal", "certificates", "automatic", "meta"} {
		list, err := db.List(t.Context(), store.Query{Kind: kind})
		must(t, err)
		for _, r := range list {
			out[kind+" "+r.ID] = r.Version
		}
	}
	return out
}

// TestMigratedMeanwhile checks that a process of an earlier version writes nothing after a migration of the store, whatever its first
// call is, and that all of its later calls return the reason.
func TestMigratedMeanwhile(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.instantiated("plain")
	inst, ctx := x.get(id), t.Context()
	writes := map[string]func(*toys) error{
		"Put":    func(y *toys) error { return y.VIMs().Put(ctx, vnflcm.VimConnectionInfo{VimID: "vim2", VimType: "toy"}) },
		"Create": func(y *toys) error { _, err := y.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: toyVNFD}); return err },
		"Heal":   func(y *toys) error { _, err := y.Heal(ctx, id, vnflcm.HealVnfRequest{}); return err },
		"Modify": func(y *toys) error {
			_, err := y.Modify(ctx, id, vnflcm.VnfInfoModificationRequest{VnfInstanceName: pointer("new")}, inst.Version)
			return err
		},
		"Abandon":   func(y *toys) error { _, err := y.Abandon(ctx, id); return err },
		"Documents": func(y *toys) error { return y.Documents("d").Put(ctx, "1", 0, "content") },
		"Purge":     func(y *toys) error { _, err := y.PurgeOperations(ctx, time.Now().Add(time.Hour)); return err },
	}
	others, logs := map[string]*toys{}, map[string]*lockedBuffer{}
	for name := range writes {
		logs[name] = &lockedBuffer{}
		others[name] = x.other(func(c *vnflcm.Config) {
			c.Logger = slog.New(slog.NewTextHandler(logs[name], nil))
			c.AcceptOnly = name == "Heal" || name == "Documents"
		})
	}
	must(t, vnflcm.SetFormat(ctx, x.Manager, vnflcm.NewestFormat+1, true))
	before := everyRecord(t, x.cfg.Store)
	want := fmt.Sprintf("it has format %d, and this version knows formats up to %d", vnflcm.NewestFormat+1, vnflcm.NewestFormat)
	for name, write := range writes {
		y := others[name]
		for i, call := range []func() error{
			func() error { return write(y) },
			func() error { return write(y) },
			func() error { _, err := y.Get(ctx, id); return err },
			func() error { _, err := y.Instances(ctx, vnflcm.InstanceQuery{}); return err },
			func() error { _, _, err := y.AwaitChanges(ctx, "", 10); return err },
		} {
			err := call()
			if wantIs(t, err, vnflcm.ErrShutdown); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, call %d: %v, want %q", name, i, err, want)
			}
		}
		closeManager(t, y.Manager)
		if n := strings.Count(logs[name].String(), "can do nothing more"); n != 1 {
			t.Errorf("%s: the log has the reason %d times:\n%s", name, n, logs[name].String())
		}
	}
	if diff := cmp.Diff(before, everyRecord(t, x.cfg.Store)); diff != "" {
		t.Errorf("the store has changed:\n%s", diff)
	}
}

// TestMigratedUnderAnotherKey checks that a process without the key of the store notices a migration too, and continues if no migration
// happens.
func TestMigratedUnderAnotherKey(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	y := x.other(func(c *vnflcm.Config) { c.Key, c.OldKeys = otherKey, [][]byte{testKey} })
	_, err := y.Reseal(t.Context())
	must(t, err)
	must(t, x.Documents("d").Put(t.Context(), "1", 0, "content"))
	must(t, vnflcm.SetFormat(t.Context(), y.Manager, vnflcm.NewestFormat+1, true))
	wantIs(t, x.Documents("d").Put(t.Context(), "2", 0, "content"), vnflcm.ErrShutdown)
}

// TestMigratedWhileWorking checks that a process of an earlier version leaves its operation in the middle of a step after a migration, and
// that a process of the newer version continues the operation.
func TestMigratedWhileWorking(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.instantiated("plain")
	closeManager(t, x.Manager)
	g := x.holdAt("heal_end/join/worker-0")
	x.start()
	opID, err := x.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{"worker-0"}})
	must(t, err)
	<-g.reached
	must(t, vnflcm.SetFormat(t.Context(), x.Manager, vnflcm.NewestFormat+1, false))
	before := everyRecord(t, x.cfg.Store)
	close(g.open)
	if _, err := x.Wait(t.Context(), opID); err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("Wait: %v", err)
	}
	closeManager(t, x.Manager)
	if diff := cmp.Diff(before, everyRecord(t, x.cfg.Store)); diff != "" {
		t.Errorf("the store has changed:\n%s", diff)
	}
	x.cfg.Intercept = nil
	vnflcm.KnowFormat(&x.cfg, vnflcm.NewestFormat+1)
	bury(t, x.cfg.Store)
	x.start()
	x.wait(opID, nil, vnflcm.Completed)
}

// TestFormatWithinAVersion checks that a process of the same version continues after a change of the record with the format.
func TestFormatWithinAVersion(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.instantiated("plain")
	g := x.holdAt("heal_end/join/worker-0")
	y := x.other(func(c *vnflcm.Config) { c.Intercept = x.cfg.Intercept })
	opID, err := y.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{"worker-0"}})
	must(t, err)
	<-g.reached
	must(t, vnflcm.SetFormat(t.Context(), x.Manager, vnflcm.NewestFormat, true))
	close(g.open)
	y.wait(opID, nil, vnflcm.Completed)
	_, err = x.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: toyVNFD})
	must(t, err)
	must(t, vnflcm.SetFormat(t.Context(), x.Manager, vnflcm.NewestFormat, false))
	must(t, x.Documents("d").Put(t.Context(), "1", 0, "content"))
	must(t, x.Delete(t.Context(), x.create(), ""))
}

// TestMigratedMeanwhileEndsLoops checks that a process of an earlier version stops logging, reading and writing once it has noticed the
// migration, with and without a Runner.
func TestMigratedMeanwhileEndsLoops(t *testing.T) {
	t.Parallel()
	for name, runner := range map[string]vnflcm.Runner{"takes up": nil, "Runner": &engine{}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) {
				log, db := &lockedBuffer{}, &countingStore{Store: store.NewMemory()}
				x := newToys(t, func(c *vnflcm.Config) {
					c.Store, c.Runner, c.Logger = db, runner, slog.New(slog.NewTextHandler(log, nil))
				})
				time.Sleep(patience)
				must(t, vnflcm.SetFormat(t.Context(), x.Manager, vnflcm.NewestFormat+1, false))
				time.Sleep(patience)
				text, calls := log.String(), db.calls.Load()
				if strings.Count(text, "can do nothing more") != 1 {
					t.Errorf("the process does not know that the store was migrated:\n%s", text)
				}
				time.Sleep(10 * time.Minute)
				if more := strings.TrimPrefix(log.String(), text); more != "" {
					t.Errorf("%d lines of log within ten minutes, the first is\n%s", strings.Count(more, "\n"), strings.SplitN(more, "\n", 2)[0])
				}
				if n := db.calls.Load() - calls; n > 0 || db.watches.Load() > 0 {
					t.Errorf("%d calls of the store within ten minutes, and %d watchers", n, db.watches.Load())
				}
			})
		})
	}
}

// countingStore counts the calls of a Store, and its current watchers.
type countingStore struct {
	store.Store
	calls, watches atomic.Int64
}

func (s *countingStore) Watch(ctx context.Context, _ func()) error {
	s.watches.Add(1)
	defer s.watches.Add(-1)
	<-ctx.Done()
	return context.Cause(ctx)
}

func (s *countingStore) Get(ctx context.Context, kind, id string) (store.Record, error) {
	s.calls.Add(1)
	return s.Store.Get(ctx, kind, id)
}

func (s *countingStore) List(ctx context.Context, q store.Query) ([]store.Record, error) {
	s.calls.Add(1)
	return s.Store.List(ctx, q)
}

func (s *countingStore) Apply(ctx context.Context, b store.Batch) error {
	s.calls.Add(1)
	return s.Store.Apply(ctx, b)
}
