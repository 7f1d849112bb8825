package vnflcm_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/crashtest"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
	"github.com/vnfkit/vnfkit/vnflcm/store/storetest"
)

// cutPoint is the point of a step at which the process dies.
type cutPoint string

const (
	beforeDo      cutPoint = "before Do"
	insideDo      cutPoint = "inside Do"
	beforeJournal cutPoint = "before the journal"
	afterJournal  cutPoint = "after the journal"
)

var cutPoints = []cutPoint{beforeDo, insideDo, beforeJournal, afterJournal}

// crash is a process that dies at one point of one step.
type crash struct {
	key   string
	point cutPoint
	store *storetest.Fence
}

func (c *crash) die(key string, point cutPoint) error {
	if key != c.key || point != c.point {
		return nil
	}
	c.store.Cut(true)
	return errCut
}

func (c *crash) intercept(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
	key := keyOf(s)
	if err := c.die(key, beforeDo); err != nil {
		return err
	}
	// A step is journaled after Do has returned, so the put of its entry is the first call that fails.
	if err := next(context.WithValue(ctx, dying{}, c)); err != nil {
		return err
	}
	return c.die(key, afterJournal)
}

type dying struct{}

// afterDo is called by the toys at the end of Do.
func afterDo(ctx context.Context, key string) error {
	c, _ := ctx.Value(dying{}).(*crash)
	if c == nil {
		return nil
	}
	if err := c.die(key, insideDo); err != nil {
		return err
	}
	_ = c.die(key, beforeJournal) // Do still returns without an error
	return nil
}

// scenario is an operation with its preparation.
type scenario struct {
	name    string
	prepare func(*toys, string)
	begin   func(*toys, string) (string, error)
}

var scenarios = []scenario{
	{"instantiate", func(*toys, string) {}, func(x *toys, id string) (string, error) {
		return x.Instantiate(x.t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
	}},
	{"scale out", running, func(x *toys, id string) (string, error) {
		return x.Scale(x.t.Context(), id, scale(vnflcm.ScaleOut, 2))
	}},
	{"scale in", running, func(x *toys, id string) (string, error) { return x.Scale(x.t.Context(), id, scale(vnflcm.ScaleIn, 1)) }},
	{"heal one", running, func(x *toys, id string) (string, error) {
		return x.Heal(x.t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{"worker-0"}})
	}},
	{"heal whole", running, func(x *toys, id string) (string, error) { return x.Heal(x.t.Context(), id, vnflcm.HealVnfRequest{}) }},
	{"terminate", running, func(x *toys, id string) (string, error) {
		return x.Terminate(x.t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
	}},
	{"change connectivity", running, func(x *toys, id string) (string, error) {
		return x.ChangeExtConn(x.t.Context(), id, vnflcm.ChangeExtVnfConnectivityRequest{ExtVirtualLinks: link("b", "net-b", "worker_cp")})
	}},
	{"modify", running, func(x *toys, id string) (string, error) {
		name := "renamed"
		return x.Modify(x.t.Context(), id, vnflcm.VnfInfoModificationRequest{VnfInstanceName: &name, Metadata: vnflcm.KeyValuePairs{"site": "north"}}, "")
	}},
	{"maintain", running, func(x *toys, id string) (string, error) {
		return x.Maintain(x.t.Context(), id, vnflcm.MaintainVnfRequest{Task: vnflcm.RenewCertificates})
	}},
	{"stop", running, func(x *toys, id string) (string, error) { return x.Operate(x.t.Context(), id, stop) }},
	{"start", stopped, func(x *toys, id string) (string, error) { return x.Operate(x.t.Context(), id, start) }},
	outAndIn,
	changing,
	revertingScenario,
}

// changing changes the package in batches of at most two VNFCs.
var changing = scenario{"change package", running, func(x *toys, id string) (string, error) {
	return x.ChangeVnfPkg(x.t.Context(), id, toNew(x.t, `{"max_unavailable": 2}`))
}}

// outAndIn scales three aspects; two of them scale the same VDU.
var outAndIn = scenario{"scale to level", running, func(x *toys, id string) (string, error) {
	request := toLevels("masters", 1, "workers", 0)
	request.ScaleInfo = append(request.ScaleInfo, vnflcm.ScaleInfo{AspectID: "spare", ScaleLevel: 1})
	return x.ScaleToLevel(x.t.Context(), id, request)
}}

func running(x *toys, id string) { _, _ = x.instantiate(id, "plain", vnflcm.Completed) }

// end is the result of a scenario.
type end struct {
	World    state
	Instance vnflcm.VnfInstance
	Changes  vnflcm.ResourceChanges
	State    vnflcm.OperationState
}

func (x *toys) end(id string, occ *vnflcm.VnfLcmOpOcc) end {
	inst := *x.get(id)
	inst.ID, inst.Version = "", ""
	e := end{World: x.world.state(id), Instance: inst, State: occ.OperationState}
	if occ.ResourceChanges != nil {
		e.Changes = *occ.ResourceChanges
		slices.SortFunc(e.Changes.AffectedVnfcs, func(a, b vnflcm.AffectedVnfc) int { return strings.Compare(a.ID, b.ID) })
	}
	return e
}

// onePlain makes the package small. Two aspects scale the workers.
func onePlain(cfg *vnflcm.Config) { cfg.Packages = parsedPlain() }

var parsedPlain = sync.OnceValue(func() vnflcm.Packages {
	old := toyFS("cluster", "plain")
	file := old["Definitions/plain.yaml"]
	file.Data = []byte(strings.NewReplacer(workersAspect, spareAspect, levelPolicy, spareDeltas).Replace(string(file.Data)))
	return twoPackages(old, newToyFS(workersAspect, spareAspect, levelPolicy, spareDeltas))
})

// undisturbed runs a scenario without a crash. It returns the keys of its steps, the number of runs of each Do, and the end.
func undisturbed(t *testing.T, s scenario) (keys []string, done map[string]int, want end) {
	t.Helper()
	x := newToys(t, onePlain)
	id := x.create()
	s.prepare(x, id)
	clear(x.world.done)
	var mu sync.Mutex
	x.cfg.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
		mu.Lock()
		keys = append(keys, keyOf(s))
		mu.Unlock()
		return next(ctx)
	}
	x.start()
	opID, err := s.begin(x, id)
	occ, _ := x.wait(opID, err, vnflcm.Completed)
	slices.Sort(keys)
	return keys, x.world.done, x.end(id, occ)
}

// crashed runs a scenario whose process dies at the point, resumes it in another process and returns the result.
func crashed(t *testing.T, s scenario, key string, point cutPoint, db store.Store, dropJournal bool) (map[string]int, end) {
	t.Helper()
	x := newToys(t, func(cfg *vnflcm.Config) { onePlain(cfg); cfg.Store = db })
	id := x.create()
	s.prepare(x, id)
	clear(x.world.done)
	first := x.cfg

	c := &crash{key: key, point: point, store: &storetest.Fence{Store: db}}
	x.world.dead, x.world.after = c.store.IsCut, afterDo
	x.cfg.Store, x.cfg.Intercept = c.store, c.intercept
	x.start()
	opID, err := s.begin(x, id)
	must(t, err)
	if occ, err := x.Wait(t.Context(), opID); err == nil {
		t.Fatalf("the crash at %s of %s did not happen: %+v", point, key, occ)
	}
	closeManager(t, x.Manager)
	x.world.dead, x.world.after = nil, nil

	if dropJournal {
		deleteAll(t, db, "step")
	}
	x.cfg = first
	bury(t, db)
	x.start()
	occ, _ := x.wait(opID, nil, vnflcm.Completed)
	for _, kind := range []string{"step", "claim", "cancel"} {
		if left, err := db.List(t.Context(), store.Query{Kind: kind}); err != nil || len(left) > 0 {
			t.Errorf("%d records of kind %s are left (%v)", len(left), kind, err)
		}
	}
	return x.world.done, x.end(id, occ)
}

func deleteAll(t *testing.T, s store.Store, kind string) {
	t.Helper()
	list, err := s.List(t.Context(), store.Query{Kind: kind})
	must(t, err)
	must(t, s.Apply(t.Context(), store.Batch{Delete: list}))
}

// TestCrashAnywhereAndResume kills the process before, inside and after every step of every operation, and resumes in another process.
// The end must equal the end of an undisturbed run, and no finished step may run again.
func TestCrashAnywhereAndResume(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			keys, done, want := undisturbed(t, s)
			if len(keys) == 0 {
				t.Fatal("the scenario has no step")
			}
			for _, c := range crashCases(keys, done) {
				gotDone, got := crashed(t, s, c.key, c.point, store.NewMemory(), c.dropJournal)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: the end differs:\n%s", c, diff)
				}
				checkDone(t, c.String(), done, gotDone, c.key, c.dropJournal)
			}
		})
	}
}

// crashCase is a point of a step at which the process dies, with or without the journal for the process that resumes.
type crashCase struct {
	key         string
	point       cutPoint
	dropJournal bool
}

func (c crashCase) String() string {
	return fmt.Sprintf("%s, %s, journal dropped %v", c.key, c.point, c.dropJournal)
}

// crashCases returns the cases of the steps. Unless VNFKIT_FULL is set, it returns one case for each step.
func crashCases(keys []string, done map[string]int) (cases []crashCase) {
	for _, key := range keys {
		for _, point := range cutPoints {
			if done[key] == 0 && (point == insideDo || point == beforeJournal) {
				continue // the probe reports that the step is done
			}
			cases = append(cases, crashCase{key, point, false})
			if point == insideDo || point == afterJournal { // at other points the journal lacks only this entry
				cases = append(cases, crashCase{key, point, true})
			}
		}
	}
	if !fulltest.Enabled() {
		cases = crashtest.Sample(cases, func(c crashCase) (step, name string) { return c.key, c.String() })
	}
	return cases
}

// checkDone compares the numbers of runs of each Do. Only "configure" has no probe: it may run again if it was interrupted, or if the
// journal was lost.
func checkDone(t *testing.T, name string, want, got map[string]int, cut string, dropped bool) {
	t.Helper()
	for _, unprobed := range []string{"instantiate_end/configure/", "modify_information_end/configure/"} {
		if n := got[unprobed]; n == 2 && (cut == unprobed || dropped) {
			got[unprobed] = 1
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: Do ran more or less often:\n%s", name, diff)
	}
}

// TestCrashAtEveryWriteAndResume kills the process at every write to the store, also between phases. No instance may stay locked and no
// resource may be left.
func TestCrashAtEveryWriteAndResume(t *testing.T) {
	t.Parallel()
	for _, s := range []scenario{scenarios[0], scenarios[2], scenarios[5], outAndIn, giveUp, undo, undoLevel, changing, giveUpPackage, undoPackage, returningPackage, revertingScenario} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			var want end
			for writes := int32(1000); ; writes-- {
				left, got := diesAfter(t, s, writes)
				if writes == 1000 {
					want, writes = got, 1000-left // the number of writes of the scenario
					if writes < 1 {
						t.Fatal("no writes")
					}
					continue
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("dead after %d writes, the end differs:\n%s", writes, diff)
				}
				if writes == 0 {
					return
				}
			}
		})
	}
}

// giveUp fails an operation in FAILED_TEMP; undo rolls it back.
var giveUp = scenario{"fail", failedScaleOut, func(x *toys, id string) (string, error) {
	return lastOperation(x, id), x.Fail(x.t.Context(), lastOperation(x, id))
}}

var undo = scenario{"rollback", failedScaleOut, func(x *toys, id string) (string, error) {
	x.world.failAt("scale_end/join/worker-2", nil)
	return lastOperation(x, id), x.Rollback(x.t.Context(), lastOperation(x, id))
}}

// undoLevel rolls back a SCALE_TO_LEVEL that failed in its second scale-out.
var undoLevel = scenario{"rollback", failedTwoOut, func(x *toys, id string) (string, error) {
	x.world.failAt("scale_end.2/join/worker-2", nil)
	return lastOperation(x, id), x.Rollback(x.t.Context(), lastOperation(x, id))
}}

// giveUpPackage fails a CHANGE_VNFPKG within its second batch; undoPackage rolls it back.
var giveUpPackage = scenario{"fail", failedPackage, func(x *toys, id string) (string, error) {
	return lastOperation(x, id), x.Fail(x.t.Context(), lastOperation(x, id))
}}

var undoPackage = scenario{"rollback", failedPackage, func(x *toys, id string) (string, error) {
	return lastOperation(x, id), x.Rollback(x.t.Context(), lastOperation(x, id))
}}

// returningPackage rolls back by itself, in the same run.
var returningPackage = scenario{"return", func(x *toys, id string) {
	running(x, id)
	x.world.failAt("change_package_after.2:cluster/join/worker-1", errCut)
}, func(x *toys, id string) (string, error) {
	return x.ChangeVnfPkg(x.t.Context(), id, toNew(x.t, `{"rollback_on_failure": true}`))
}}

func failedPackage(x *toys, id string) {
	running(x, id)
	x.world.failAt("change_package_after.2:cluster/join/worker-1", errCut)
	opID, err := x.ChangeVnfPkg(x.t.Context(), id, toNew(x.t, "{}"))
	_, _ = x.wait(opID, err, vnflcm.FailedTemp)
}

func failedTwoOut(x *toys, id string) {
	running(x, id)
	x.world.failAt("scale_end.2/join/worker-2", errCut)
	opID, err := x.ScaleToLevel(x.t.Context(), id, toLevels("masters", 1, "spare", 1))
	_, _ = x.wait(opID, err, vnflcm.FailedTemp)
}

func failedScaleOut(x *toys, id string) {
	running(x, id)
	x.world.failAt("scale_end/join/worker-2", errCut)
	opID, err := x.Scale(x.t.Context(), id, scale(vnflcm.ScaleOut, 1))
	_, _ = x.wait(opID, err, vnflcm.FailedTemp)
}

func lastOperation(x *toys, id string) string {
	x.t.Helper()
	list, err := x.Operations(x.t.Context(), vnflcm.OperationQuery{InstanceID: id})
	must(x.t, err)
	return list.Items[len(list.Items)-1].ID
}

// mortalStore is the store of a process that dies after a number of writes. Renewals of the lease do not count, because they come at
// any time.
type mortalStore struct {
	storetest.Fence
	writes atomic.Int32
}

func (s *mortalStore) spend() {
	if s.writes.Add(-1) < 0 {
		s.Cut(true)
	}
}

func (s *mortalStore) Apply(ctx context.Context, b store.Batch) error {
	if !slices.ContainsFunc(slices.Concat(b.Put, b.Delete), func(r store.Record) bool { return r.Kind == "process" }) {
		s.spend()
	}
	return s.Fence.Apply(ctx, b)
}

func diesAfter(t *testing.T, s scenario, writes int32) (left int32, got end) {
	t.Helper()
	x := newToys(t, onePlain)
	id := x.create()
	s.prepare(x, id)
	first := x.cfg

	db := &mortalStore{Fence: storetest.Fence{Store: first.Store}}
	db.writes.Store(writes)
	x.cfg.Store, x.world.dead = db, db.IsCut
	x.start()
	if opID, err := s.begin(x, id); err == nil {
		_, _ = x.Wait(t.Context(), opID)
	}
	closeManager(t, x.Manager)
	left, x.world.dead = db.writes.Load(), nil

	x.cfg = first
	bury(t, first.Store)
	x.start()
	list, err := x.Operations(t.Context(), vnflcm.OperationQuery{InstanceID: id})
	must(t, err)
	if len(list.Items) > 0 {
		_, _ = x.Wait(t.Context(), list.Items[len(list.Items)-1].ID)
		list, err = x.Operations(t.Context(), vnflcm.OperationQuery{InstanceID: id})
		must(t, err)
	}
	occ := &vnflcm.VnfLcmOpOcc{OperationState: vnflcm.RolledBack}
	if len(list.Items) > 0 {
		occ = list.Items[len(list.Items)-1]
	}
	if s.name != "instantiate" && (occ.Operation == vnflcm.OpInstantiate || occ.Operation == vnflcm.OpCreateSnapshot) { // of the preparation
		occ = &vnflcm.VnfLcmOpOcc{OperationState: vnflcm.RolledBack}
	}
	// If the process died before the operation was accepted, or before the operation changed anything, the request is sent again.
	if again := occ.OperationState == vnflcm.RolledBack && s.name != "rollback" || occ.OperationState == vnflcm.FailedTemp; again {
		opID, err := s.begin(x, id)
		must(t, err)
		occ, _ = x.Wait(t.Context(), opID)
	}
	for _, kind := range []string{"step", "cancel", "claim"} {
		if left, err := first.Store.List(t.Context(), store.Query{Kind: kind}); err != nil || len(left) > 0 {
			t.Errorf("dead after %d writes: %d records of kind %s are left (%v)", writes, len(left), kind, err)
		}
	}
	e := x.end(id, occ)
	if _, err := x.Heal(t.Context(), id, vnflcm.HealVnfRequest{}); errors.Is(err, vnflcm.ErrConflict) {
		t.Errorf("dead after %d writes: %v", writes, err)
	}
	closeManager(t, x.Manager)
	return left, e
}

// TestCrashAndResumeOnSQLite runs a sample of these cases on a database in a file.
func TestCrashAndResumeOnSQLite(t *testing.T) {
	t.Parallel()
	for i, s := range scenarios[:4] {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			keys, _, want := undisturbed(t, s)
			_, got := crashed(t, s, keys[len(keys)-1], cutPoints[i], openSQLite(t), i%2 == 1)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the end differs:\n%s", diff)
			}
		})
	}
}

func openSQLite(t *testing.T) store.Store {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "state.db"))
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// TestManyOperationsOnSQLite starts many operations at once on one file. None may fail. The lease is longer than the time that a slow
// machine needs; TestUrgentGoesFirst of the store checks that a renewal does not wait for other batches.
func TestManyOperationsOnSQLite(t *testing.T) {
	t.Parallel()
	n := 1000
	if !fulltest.Enabled() {
		n = 50
	}
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"))
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	x := newToys(t, func(cfg *vnflcm.Config) { onePlain(cfg); cfg.Store, cfg.LeaseTTL = db, 10*patience })
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			inst, err := x.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: toyVNFD})
			if err != nil {
				t.Error(err)
				return
			}
			opID, err := x.Instantiate(t.Context(), inst.ID, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
			if err == nil {
				_, err = x.Wait(t.Context(), opID)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	left, err := db.List(t.Context(), store.Query{Kind: "claim"})
	if err != nil || len(left) > 0 {
		t.Errorf("%d claims are left (%v)", len(left), err)
	}
}
