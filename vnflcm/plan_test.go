package vnflcm_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

func ids(list []vnflcm.VNFC) (out []string) {
	for _, v := range list {
		out = append(out, v.ID)
	}
	return out
}

// spy is a cluster whose hooks pass the Operation to the test.
type spy struct {
	cluster
	saw func(op *vnflcm.Operation)
}

func (s *spy) Hooks() vnflcm.Hooks {
	hooks := s.cluster.Hooks()
	for name, hook := range hooks {
		hooks[name] = func(ctx context.Context, op *vnflcm.Operation) error {
			s.saw(op)
			return hook(ctx, op)
		}
	}
	return hooks
}

// watch calls saw with the Operation of every hook.
func (x *toys) watch(saw func(op *vnflcm.Operation)) {
	x.cfg.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": &spy{cluster{world: x.world}, saw}}
	x.start()
}

func TestPlanIsAnnouncedAndFollowed(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.instantiated("plain")
	opID, err := x.Scale(t.Context(), id, scale(vnflcm.ScaleOut, 2))
	x.wait(opID, err, vnflcm.Completed)

	var start, end vnflcm.Change
	x.watch(func(op *vnflcm.Operation) {
		switch op.Phase() {
		case "scale_start":
			start = op.Change
		case "scale_end":
			end = op.Change
		}
	})
	opID, err = x.Scale(t.Context(), id, scale(vnflcm.ScaleIn, 2))
	occ, _ := x.wait(opID, err, vnflcm.Completed)
	want := []string{"worker-3", "worker-2"} // the newest first
	if diff := cmp.Diff([][]string{want, want}, [][]string{ids(start.Removed), ids(end.Removed)}); diff != "" {
		t.Errorf("Removed in scale_start and scale_end:\n%s", diff)
	}
	if got := len(occ.ResourceChanges.AffectedVnfcs); got != 2 {
		t.Errorf("%d VNFCs affected, want 2", got)
	}
	if diff := cmp.Diff([]string{"master-0", "worker-0", "worker-1"}, ids(x.world.state(id).Machines)); diff != "" {
		t.Errorf("machines left:\n%s", diff)
	}
}

func TestPlanAddedIsReplacedByWhatIsThere(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.instantiated("plain")
	var start, end []vnflcm.VNFC
	x.watch(func(op *vnflcm.Operation) {
		if op.Phase() == "scale_start" {
			start = op.Change.Added
		} else {
			end = op.Change.Added
		}
	})
	opID, err := x.Scale(t.Context(), id, scale(vnflcm.ScaleOut, 1))
	x.wait(opID, err, vnflcm.Completed)
	if diff := cmp.Diff([]vnflcm.VNFC{{VDU: "worker"}}, start); diff != "" {
		t.Errorf("announced:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"worker-2"}, ids(end)); diff != "" {
		t.Errorf("added:\n%s", diff)
	}
}

func TestFaultsAreReportedAllAtOnceAndTouchNothing(t *testing.T) {
	t.Parallel()
	w := newWorld()
	infra, mgmt := &cloud{world: w}, &cluster{world: w}
	x := newToys(t, func(cfg *vnflcm.Config) {
		cfg.Infra["toy"], cfg.Mgmt["cluster"] = infra, mgmt
	})
	x.world = w
	id := x.instantiated("plain")
	before := x.records()

	infra.planFault = errors.Join(&vnflcm.ParamError{Path: "infra.a", Reason: "bad"}, &vnflcm.ParamError{Path: "infra.b", Reason: "bad"})
	mgmt.validFault = vnflcm.AtPath("additionalParams", &vnflcm.ParamError{Path: "mgmt", Reason: "bad"})
	_, err := x.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{"worker-0", "nobody", "nothing"}})
	wantIs(t, err, vnflcm.ErrInvalidRequest)
	want := []string{"vnfcInstanceId[1]", "vnfcInstanceId[2]", "additionalParams.mgmt", "infra.a", "infra.b"}
	if diff := cmp.Diff(want, faults(err)); diff != "" {
		t.Errorf("faults:\n%s", diff)
	}
	if diff := cmp.Diff(before, x.records()); diff != "" {
		t.Errorf("a refused request changed the store:\n%s", diff)
	}
}

// records returns the versions of all records by kind and id.
func (x *toys) records() map[string]int64 {
	x.t.Helper()
	out := map[string]int64{}
	for _, kind := range []string{"instance", "operation", "claim", "cancel", "step", "state", "vim", "snapshot"} {
		list, err := x.cfg.Store.List(x.t.Context(), store.Query{Kind: kind})
		must(x.t, err)
		for _, r := range list {
			out[kind+" "+r.ID] = r.Version
		}
	}
	return out
}

func TestRequestFaults(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	running, fresh := x.instantiated("plain"), x.create()
	instantiate := func(req vnflcm.InstantiateVnfRequest) func() (string, error) {
		return func() (string, error) { return x.Instantiate(t.Context(), fresh, req) }
	}
	scaling := func(req vnflcm.ScaleVnfRequest) func() (string, error) {
		return func() (string, error) { return x.Scale(t.Context(), running, req) }
	}
	level := []vnflcm.ScaleInfo{{AspectID: "workers", ScaleLevel: 9}}
	for name, c := range map[string]struct {
		do   func() (string, error)
		want []string
	}{
		"no flavour":      {instantiate(vnflcm.InstantiateVnfRequest{}), []string{"flavourId"}},
		"unknown flavour": {instantiate(vnflcm.InstantiateVnfRequest{FlavourID: "x"}), []string{"flavourId"}},
		"unknown level":   {instantiate(vnflcm.InstantiateVnfRequest{FlavourID: "plain", InstantiationLevelID: "x"}), []string{"instantiationLevelId"}},
		"level too high":  {instantiate(vnflcm.InstantiateVnfRequest{FlavourID: "plain", TargetScaleLevelInfo: level}), []string{"targetScaleLevelInfo[0].scaleLevel"}},
		"level twice": {instantiate(vnflcm.InstantiateVnfRequest{FlavourID: "plain", InstantiationLevelID: "small", TargetScaleLevelInfo: level}),
			[]string{"targetScaleLevelInfo", "targetScaleLevelInfo[0].scaleLevel"}},
		"scale nowhere":    {scaling(vnflcm.ScaleVnfRequest{Type: "SIDEWAYS", AspectID: "workers", NumberOfSteps: -1}), []string{"type", "numberOfSteps"}},
		"unknown aspect":   {scaling(vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "x"}), []string{"aspectId"}},
		"scale too high":   {scaling(scale(vnflcm.ScaleOut, 4)), []string{"numberOfSteps"}},
		"scale too low":    {scaling(scale(vnflcm.ScaleIn, 2)), []string{"numberOfSteps"}},
		"termination type": {func() (string, error) { return x.Terminate(t.Context(), running, vnflcm.TerminateVnfRequest{}) }, []string{"terminationType"}},
	} {
		t.Run(name, func(t *testing.T) {
			opID, err := c.do()
			wantIs(t, err, vnflcm.ErrInvalidRequest)
			if diff := cmp.Diff(c.want, faults(err)); diff != "" || opID != "" {
				t.Errorf("operation %q, faults:\n%s", opID, diff)
			}
		})
	}
}

func TestTargetScaleLevelInfo(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	for range 2 { // twice, because the first scaling must not change the levels of the package
		id := x.create()
		opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain",
			TargetScaleLevelInfo: []vnflcm.ScaleInfo{{AspectID: "workers", ScaleLevel: 3}}})
		x.wait(opID, err, vnflcm.Completed)
		want := []vnflcm.ScaleInfo{{AspectID: "masters"}, {AspectID: "workers", ScaleLevel: 3}}
		if diff := cmp.Diff(want, x.get(id).InstantiatedVnfInfo.ScaleStatus); diff != "" {
			t.Errorf("scaleStatus:\n%s", diff)
		}
		id = x.instantiated("plain")
		if n := len(x.world.state(id).Machines); n != 3 {
			t.Errorf("%d machines at the default level, want 3", n)
		}
	}
}

// TestScaleFromInstantiationLevel checks that steps add to and remove from the numbers of VNFCs that the instantiation level states.
func TestScaleFromInstantiationLevel(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.create()
	opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain", InstantiationLevelID: "odd"})
	for _, c := range []struct {
		next     vnflcm.ScaleVnfRequest
		machines int // a master and the workers
		level    int
	}{{scale(vnflcm.ScaleOut, 2), 4, 1}, {scale(vnflcm.ScaleIn, 3), 6, 3}, {machines: 3}} {
		x.wait(opID, err, vnflcm.Completed)
		want := []vnflcm.ScaleInfo{{AspectID: "masters"}, {AspectID: "workers", ScaleLevel: c.level}}
		if diff := cmp.Diff(want, x.get(id).InstantiatedVnfInfo.ScaleStatus); diff != "" {
			t.Errorf("scaleStatus:\n%s", diff)
		}
		if n := len(x.world.state(id).Machines); n != c.machines {
			t.Errorf("%d machines at level %d, want %d", n, c.level, c.machines)
		}
		if c.next.Type != "" {
			opID, err = x.Scale(t.Context(), id, c.next)
		}
	}
}

func TestHealByEitherID(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.instantiated("plain")
	info := x.get(id).InstantiatedVnfInfo.VnfcInfo
	i := slices.IndexFunc(info, func(v vnflcm.VnfcInfo) bool { return v.VnfcResourceInfoID == "worker-1" })
	for n, name := range []string{"worker-1", info[i].ID} {
		opID, err := x.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{name}})
		occ, _ := x.wait(opID, err, vnflcm.Completed)
		want := []vnflcm.AffectedVnfc{{ID: "worker-1", VduID: "worker", ChangeType: vnflcm.VnfcModified,
			ComputeResource: vnflcm.ResourceHandle{VimConnectionID: "vim1", ResourceID: "vm-worker-1-0" + "++"[:n+1]}}}
		if diff := cmp.Diff(want, occ.ResourceChanges.AffectedVnfcs); diff != "" {
			t.Errorf("heal by %s:\n%s", name, diff)
		}
	}
}

func TestInstanceNamesMachines(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	var got []string
	for _, v := range x.get(x.instantiated("plain")).InstantiatedVnfInfo.VnfcResourceInfo {
		got = append(got, v.Name)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"master0", "worker0", "worker1"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestDriversOfTheVNFDAreCheckedFirst(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mgmt map[string]vnflcm.MgmtDriver
		want int
	}{
		"unknown driver":           {nil, 7},
		"driver that lacks a hook": {map[string]vnflcm.MgmtDriver{"cluster": partial{}}, 6},
		"driver of another name":   {map[string]vnflcm.MgmtDriver{"Cluster": partial{}}, 7},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, func(cfg *vnflcm.Config) { cfg.Mgmt = c.mgmt })
			id := x.create()
			before := x.records()
			_, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
			wantIs(t, err, vnflcm.ErrInvalidRequest)
			if got := len(faults(err)); got != c.want {
				t.Errorf("%d faults, want %d: %v", got, c.want, err)
			}
			if diff := cmp.Diff(before, x.records()); diff != "" || len(x.world.state(id).Machines) > 0 {
				t.Errorf("the records or the world have changed:\n%s", diff)
			}
		})
	}
}

// partial has one hook only.
type partial struct{}

func (partial) Validate(context.Context, *vnflcm.Operation) error { return nil }
func (partial) Hooks() vnflcm.Hooks {
	return vnflcm.Hooks{vnflcm.InstantiateEnd: func(context.Context, *vnflcm.Operation) error { return nil }}
}

func TestNoHooksNoDriver(t *testing.T) {
	t.Parallel()
	x := newToys(t, func(cfg *vnflcm.Config) { cfg.Mgmt = nil })
	id := x.instantiated("bare")
	if n := len(x.world.state(id).Machines); n != 3 {
		t.Errorf("%d machines, want 3", n)
	}
}

func TestPackageIsPinned(t *testing.T) {
	t.Parallel()
	files := toyFS("cluster")
	x := newToys(t, func(cfg *vnflcm.Config) { cfg.Packages = toyPackages(files) })
	id := x.instantiated("plain")
	files["Definitions/driver.py"] = &fstest.MapFile{Data: []byte("# another\n")}
	_, err := x.Heal(t.Context(), id, vnflcm.HealVnfRequest{})
	wantIs(t, err, vnflcm.ErrPackageChanged)
	fresh := x.create()
	x.instantiate(fresh, "plain", vnflcm.Completed) // a new instance uses the new package
	files["Definitions/driver.py"] = toyFS("cluster")["Definitions/driver.py"]
	opID, err := x.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
	x.wait(opID, err, vnflcm.Completed)
	files["Definitions/driver.py"] = &fstest.MapFile{Data: []byte("# a third\n")}
	x.instantiate(id, "plain", vnflcm.Completed) // a terminated instance is not pinned to a package any more

	_, err = x.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: "unknown"})
	wantIs(t, err, vnflcm.ErrNoPackage)
	_, err = x.Create(t.Context(), vnflcm.CreateVnfRequest{})
	wantIs(t, err, vnflcm.ErrInvalidRequest)
}
