package vnflcm_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

var otherKey = bytes.Repeat([]byte{9}, 32)

// TestNewChecksTheKey checks that New refuses a store with another key before it writes to the store.
func TestNewChecksTheKey(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	x.instantiated("plain")
	before := x.records()
	cfg := x.cfg
	cfg.Key = otherKey
	_, err := vnflcm.New(t.Context(), cfg)
	wantIs(t, err, vnflcm.ErrUnreadable)
	if err == nil || !strings.Contains(err.Error(), "another key") {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff(before, x.records()); diff != "" {
		t.Errorf("the store changed:\n%s", diff)
	}
}

func TestNewRefusesAnEarlierFormat(t *testing.T) {
	t.Parallel()
	db := store.NewMemory()
	must(t, db.Apply(t.Context(), store.Batch{Put: []store.Record{{Kind: "vim", ID: "a", Body: []byte("sealed by AES-GCM")}}}))
	_, err := vnflcm.New(t.Context(), vnflcm.Config{Store: db, Key: testKey, Packages: toyPackage("cluster")})
	wantIs(t, err, vnflcm.ErrUnreadable)
	if err == nil || !strings.Contains(err.Error(), "earlier format") {
		t.Errorf("error %v", err)
	}
}

// TestKeysRotate rotates the key of a store with an instance, a failed operation, a running operation and an abandoned instance.
func TestKeysRotate(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.instantiated("plain")
	failed := x.instantiated("plain")
	x.world.failAt("scale_end/join/worker-2", errCut)
	failedID, err := x.Scale(t.Context(), failed, scale(vnflcm.ScaleOut, 1))
	_, _ = x.wait(failedID, err, vnflcm.FailedTemp)
	abandoned := x.instantiated("plain")
	_, err = x.Abandon(t.Context(), abandoned)
	must(t, err)
	closeManager(t, x.Manager)

	x.cfg.Key, x.cfg.OldKeys = otherKey, [][]byte{testKey}
	g := x.holdAt("heal_end/join/worker-0")
	running, err := x.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{"worker-0"}})
	must(t, err)
	<-g.reached
	if left, err := x.Reseal(t.Context()); err != nil || left != 0 {
		t.Errorf("Reseal: %d records left (%v), want 0: the running operation began under the new key", left, err)
	}
	close(g.open)
	x.wait(running, nil, vnflcm.Completed)
	closeManager(t, x.Manager)

	x.cfg.OldKeys, x.cfg.Intercept = nil, nil
	x.start()
	if list, err := x.Instances(t.Context(), vnflcm.InstanceQuery{}); err != nil || len(list.Items) != 2 {
		t.Errorf("Instances: %d, %v", len(list.Items), err)
	}
	if x.abandoned(abandoned) == nil {
		t.Error("the list of the abandoned instance is lost")
	}
	x.world.failAt("scale_end/join/worker-2", nil)
	x.wait(failedID, x.Retry(t.Context(), failedID), vnflcm.Completed)
}

// TestKeyOfZeros: a new store is not sealed under zeros. A store that is can be used, with a warning, and resealed.
func TestKeyOfZeros(t *testing.T) {
	t.Parallel()
	zeros := make([]byte, 32)
	empty := store.NewMemory()
	_, err := vnflcm.New(t.Context(), vnflcm.Config{Store: empty, Key: zeros, Packages: toyPackage("cluster")})
	if err == nil || !strings.Contains(err.Error(), "the key is zeros") {
		t.Errorf("error %v", err)
	}
	if written, err := empty.List(t.Context(), store.Query{Kind: "meta"}); err != nil || len(written) > 0 {
		t.Errorf("records %v, error %v", written, err)
	}

	x := newToys(t, nil)
	id := x.instantiated("plain")
	var log bytes.Buffer
	turn := func(key []byte, old ...[]byte) {
		t.Helper()
		log.Reset()
		y := x.other(func(cfg *vnflcm.Config) {
			cfg.Key, cfg.OldKeys, cfg.Logger = key, old, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		})
		if left, err := y.Reseal(t.Context()); err != nil || left > 0 {
			t.Errorf("%d records left, error %v", left, err)
		}
		closeManager(t, y.Manager)
		if warned := strings.Contains(log.String(), "the key of the store is zeros"); warned != bytes.Equal(key, zeros) {
			t.Errorf("the log has %s", log.String())
		}
	}
	closeManager(t, x.Manager)
	turn(zeros, testKey) // as a store of an earlier version
	turn(zeros)
	turn(otherKey, zeros)
	turn(otherKey)
	z := x.other(func(cfg *vnflcm.Config) { cfg.Key = otherKey })
	if _, err := z.Get(t.Context(), id); err != nil {
		t.Error(err)
	}
}

// TestResealLeavesRunningOperations starts an operation under the old key. Reseal must count its claim and leave it to the process that
// runs the operation.
func TestResealLeavesRunningOperations(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	g := x.holdAt("instantiate_end/init/")
	opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
	must(t, err)
	<-g.reached
	y := x.other(func(cfg *vnflcm.Config) { cfg.Key, cfg.OldKeys = otherKey, [][]byte{testKey} })
	if left, err := y.Reseal(t.Context()); err != nil || left != 1 {
		t.Errorf("Reseal: %d records left (%v), want 1", left, err)
	}
	closeManager(t, x.Manager) // this Manager cannot read records under the new key
	close(g.open)
	y.wait(opID, nil, vnflcm.Completed)
	if left, err := y.Reseal(t.Context()); err != nil || left != 0 {
		t.Errorf("Reseal: %d records left (%v), want 0", left, err)
	}
}

// measured is a store that records the size of the largest list that it has returned.
type measured struct {
	store.Store
	largest atomic.Int64
}

func (s *measured) List(ctx context.Context, q store.Query) ([]store.Record, error) {
	list, err := s.Store.List(ctx, q)
	size := int64(0)
	for _, r := range list {
		size += int64(len(r.Body))
	}
	s.largest.Store(max(s.largest.Load(), size))
	return list, err
}

// TestResealReadsOneRecord checks that the memory that Reseal needs does not grow with the number of records.
func TestResealReadsOneRecord(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	const each = 100 << 10
	for range 20 {
		_, err := x.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: toyVNFD, Metadata: vnflcm.KeyValuePairs{"a": strings.Repeat("x", each)}})
		must(t, err)
	}
	store := &measured{Store: x.cfg.Store}
	y := x.other(func(cfg *vnflcm.Config) { cfg.Key, cfg.OldKeys, cfg.Store = otherKey, [][]byte{testKey}, store })
	if left, err := y.Reseal(t.Context()); err != nil || left != 0 || store.largest.Load() > 2*each {
		t.Errorf("Reseal: %d records left (%v), its largest list has %d bytes", left, err, store.largest.Load())
	}
	z := x.other(func(cfg *vnflcm.Config) { cfg.Key = otherKey })
	if list, err := z.Instances(t.Context(), vnflcm.InstanceQuery{}); err != nil || len(list.Items) != 20 {
		t.Errorf("%d instances (%v), want 20", len(list.Items), err)
	}
}

// tampering is a store whose owner changes a record that is read.
type tampering struct {
	store.Store
	change func(*store.Record)
}

func (s tampering) Get(ctx context.Context, kind, id string) (store.Record, error) {
	r, err := s.Store.Get(ctx, kind, id)
	if err == nil && kind == "instance" {
		s.change(&r)
	}
	return r, err
}

// TestBodiesAreBound exchanges bodies and changes attributes that are stored in clear. A body must be refused in any other record.
func TestBodiesAreBound(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.create()
	earlier, err := x.cfg.Store.Get(t.Context(), "instance", id)
	must(t, err)
	x.instantiate(id, "plain", vnflcm.Completed)
	another, err := x.cfg.Store.Get(t.Context(), "instance", x.instantiated("plain"))
	must(t, err)
	for name, c := range map[string]struct {
		change func(*store.Record)
		want   error
	}{
		"as it is":               {func(*store.Record) {}, nil},
		"an earlier body":        {func(r *store.Record) { r.Body = earlier.Body }, vnflcm.ErrUnreadable},
		"a whole earlier record": {func(r *store.Record) { version := r.Version; *r = earlier; r.Version = version }, vnflcm.ErrUnreadable},
		"the body of another":    {func(r *store.Record) { r.Body, r.Version, r.Index = another.Body, another.Version, another.Index }, vnflcm.ErrUnreadable},
		"another kind":           {func(r *store.Record) { r.Kind = "abandoned" }, vnflcm.ErrUnreadable},
		"another state":          {func(r *store.Record) { r.Index.State = "NOT_INSTANTIATED" }, vnflcm.ErrUnreadable},
		"another operation":      {func(r *store.Record) { r.Index.Operation = "HEAL" }, vnflcm.ErrUnreadable},
		"another instance":       {func(r *store.Record) { r.Index.Instance = "another" }, vnflcm.ErrUnreadable},
		"another VNFD":           {func(r *store.Record) { r.Index.VNFD = "another" }, vnflcm.ErrUnreadable},
		"another time":           {func(r *store.Record) { r.Index.Start++ }, vnflcm.ErrUnreadable},
	} {
		y := x.other(func(cfg *vnflcm.Config) { cfg.Store = tampering{x.cfg.Store, c.change} })
		if _, err := y.Get(t.Context(), id); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		closeManager(t, y.Manager)
	}
}

// TestDamageCostsOneRecord damages an instance and an operation. Lists must return the rest and name the damaged records. Forget must
// remove them and refuse readable records.
func TestDamageCostsOneRecord(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	bad, good := x.instantiated("plain"), x.instantiated("plain")
	badOp := lastOperation(x, bad)
	for kind, id := range map[string]string{"instance": bad, "operation": badOp} {
		r, err := x.cfg.Store.Get(t.Context(), kind, id)
		must(t, err)
		damage(x, r)
	}
	instances, err := x.Instances(t.Context(), vnflcm.InstanceQuery{})
	if len(instances.Items) != 1 || instances.Items[0].ID != good || !errors.Is(err, vnflcm.ErrUnreadable) || !strings.Contains(err.Error(), "instance "+bad) {
		t.Errorf("Instances: %d, %v", len(instances.Items), err)
	}
	operations, err := x.Operations(t.Context(), vnflcm.OperationQuery{})
	if len(operations.Items) != 1 || !errors.Is(err, vnflcm.ErrUnreadable) || !strings.Contains(err.Error(), "operation "+badOp) {
		t.Errorf("Operations: %d, %v", len(operations.Items), err)
	}
	wantIs(t, x.Forget(t.Context(), "instance", good), vnflcm.ErrState)
	wantIs(t, x.Forget(t.Context(), "instance", "none"), vnflcm.ErrNotFound)
	wantIs(t, x.PlanForget(t.Context(), "instance", good), vnflcm.ErrState)
	must(t, errors.Join(x.PlanForget(t.Context(), "instance", bad), x.PlanForget(t.Context(), "instance", bad)))
	must(t, errors.Join(x.Forget(t.Context(), "instance", bad), x.Forget(t.Context(), "operation", badOp)))
	if instances, err := x.Instances(t.Context(), vnflcm.InstanceQuery{}); err != nil || len(instances.Items) != 1 {
		t.Errorf("Instances: %d, %v", len(instances.Items), err)
	}
}

func TestPurge(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	first, second := x.instantiated("plain"), x.instantiated("plain")
	x.world.failAt("scale_end/join/worker-2", errCut)
	opID, err := x.Scale(t.Context(), second, scale(vnflcm.ScaleOut, 1))
	_, _ = x.wait(opID, err, vnflcm.FailedTemp)
	count := func(id string) int {
		t.Helper()
		list, err := x.Operations(t.Context(), vnflcm.OperationQuery{InstanceID: id})
		must(t, err)
		return len(list.Items)
	}
	if n, err := x.PurgeOperations(t.Context(), time.Now().Add(-time.Hour)); n != 0 || err != nil {
		t.Errorf("purged %d young operations, %v", n, err)
	}
	if n, err := x.PurgeOperations(t.Context(), time.Now().Add(time.Hour)); n != 2 || err != nil || count("") != 1 {
		t.Errorf("purged %d operations (%v), %d remain; want 2, and 1 in FAILED_TEMP", n, err, count(""))
	}
	if changes, _, err := x.Changes(t.Context(), "", 10); len(changes) > 0 || err != nil {
		t.Errorf("%d changes are left after the purge, %v", len(changes), err)
	}
	if left, err := x.cfg.Store.List(t.Context(), store.Query{Kind: "history"}); len(left) != 1 || err != nil {
		t.Errorf("%d histories are left (%v), want that of the operation in FAILED_TEMP", len(left), err)
	}
	opID, err = x.Terminate(t.Context(), first, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
	x.wait(opID, err, vnflcm.Completed)
	wantIs(t, x.DeleteWithOperations(t.Context(), second), vnflcm.ErrConflict)
	must(t, x.DeleteWithOperations(t.Context(), first))
	if count(first) != 0 || count(second) != 1 {
		t.Errorf("%d operations of the deleted instance, %d of the other remain", count(first), count(second))
	}
}
