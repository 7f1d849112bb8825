package vnflcm_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// toLevels returns a request for scale levels of two aspects.
func toLevels(aspect1 string, level1 int, aspect2 string, level2 int) vnflcm.ScaleVnfToLevelRequest {
	return vnflcm.ScaleVnfToLevelRequest{ScaleInfo: []vnflcm.ScaleInfo{{AspectID: aspect1, ScaleLevel: level1}, {AspectID: aspect2, ScaleLevel: level2}}}
}

// changedPlain configures the toy package with only the flavour "plain" and with replaced texts in the VNFD.
func changedPlain(oldnew ...string) func(*vnflcm.Config) {
	return func(cfg *vnflcm.Config) {
		files := toyFS("cluster", "plain")
		file := files["Definitions/plain.yaml"]
		file.Data = []byte(strings.NewReplacer(oldnew...).Replace(string(file.Data)))
		cfg.Packages = toyPackages(files)
	}
}

const (
	vnflcmInterface = "        Vnflcm:\n"
	flavourProperty = "flavour_description: a toy"
	workersAspect   = "            workers: {"
	levelPolicy     = "    - levels:"
)

// levelHooks names drivers for the hooks before and after a SCALE_TO_LEVEL.
const levelHooks = vnflcmInterface + "          scale_to_level_start: {implementation: cluster}\n          scale_to_level_end: {implementation: cluster}\n"

// spareAspect is another aspect that scales the workers.
const spareAspect = "            spare: {name: spare, description: spare, max_scale_level: 2, step_deltas: [one]}\n" + workersAspect

const spareDeltas = "    - spare_deltas: {type: tosca.policies.nfv.VduScalingAspectDeltas, targets: [worker], properties: {aspect: spare, deltas: {one: {number_of_instances: 1}}}}\n" + levelPolicy

// seen are the attributes of an operation that a hook recorded.
type seen struct {
	Phase   string
	Kind    vnflcm.LcmOperation
	Request vnflcm.ScaleVnfRequest
	Levels  map[string]int
	Before  map[string]int
	Added   []string
	Removed []string
}

// lookAt records the operation in every hook of the cluster, including the hooks before and after a SCALE_TO_LEVEL.
func (x *toys) lookAt() *[]seen {
	var list []seen
	s := &spy{cluster{world: x.world}, func(op *vnflcm.Operation) {
		v := seen{Phase: op.Phase(), Kind: op.Kind, Levels: op.Levels, Before: op.Before, Added: ids(op.Change.Added), Removed: ids(op.Change.Removed)}
		if op.Scale != nil {
			v.Request = *op.Scale
		}
		list = append(list, v)
	}}
	hooks := s.Hooks()
	for _, name := range []vnflcm.Hook{vnflcm.ScaleToLevelStart, vnflcm.ScaleToLevelEnd} {
		hooks[name] = func(_ context.Context, op *vnflcm.Operation) error {
			if op.ScaleToLevel == nil {
				return errors.New("the request is missing")
			}
			s.saw(op)
			return nil
		}
	}
	x.cfg.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": hooked{hooks}}
	x.start()
	return &list
}

func levels(masters, workers int) map[string]int {
	return map[string]int{"masters": masters, "workers": workers}
}

// TestScaleToLevel scales one aspect out and one in. Drivers get two scalings, clients see one operation.
func TestScaleToLevel(t *testing.T) {
	t.Parallel()
	x := newToys(t, changedPlain(vnflcmInterface, levelHooks))
	got := x.lookAt()
	id := x.instantiated("plain")
	*got = nil
	request := toLevels("workers", 0, "masters", 1)
	request.AdditionalParams = params(t, `{"password":"canary"}`)
	opID, err := x.ScaleToLevel(t.Context(), id, request)
	occ, _ := x.wait(opID, err, vnflcm.Completed)

	out := vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "masters", NumberOfSteps: 1, AdditionalParams: request.AdditionalParams}
	in := vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "workers", NumberOfSteps: 1, AdditionalParams: request.AdditionalParams}
	want := []seen{
		{"scale_to_level_start", vnflcm.OpScaleToLevel, vnflcm.ScaleVnfRequest{}, levels(1, 0), levels(0, 1), []string{"", ""}, []string{"worker-1"}},
		{"scale_start.1", vnflcm.OpScale, out, levels(1, 1), levels(0, 1), []string{"", ""}, nil},
		{"scale_end.1", vnflcm.OpScale, out, levels(1, 1), levels(0, 1), []string{"master-1", "master-2"}, nil},
		{"scale_start.2", vnflcm.OpScale, in, levels(1, 0), levels(1, 1), nil, []string{"worker-1"}},
		{"scale_end.2", vnflcm.OpScale, in, levels(1, 0), levels(1, 1), nil, []string{"worker-1"}},
		{"scale_to_level_end", vnflcm.OpScaleToLevel, vnflcm.ScaleVnfRequest{}, levels(1, 0), levels(0, 1), []string{"master-1", "master-2"}, []string{"worker-1"}},
	}
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Errorf("operations in the hooks:\n%s", diff)
	}
	wantChanges := []vnflcm.AffectedVnfc{affected("ADDED", "master", "master-1", "vm-master-1-0"), affected("ADDED", "master", "master-2", "vm-master-2-0"),
		affected("REMOVED", "worker", "worker-1", "vm-worker-1-0")}
	if diff := cmp.Diff(wantChanges, occ.ResourceChanges.AffectedVnfcs); diff != "" || occ.Operation != vnflcm.OpScaleToLevel {
		t.Errorf("%s has changed:\n%s", occ.Operation, diff)
	}
	if diff := cmp.Diff([]vnflcm.ScaleInfo{{AspectID: "masters", ScaleLevel: 1}, {AspectID: "workers"}}, x.get(id).InstantiatedVnfInfo.ScaleStatus); diff != "" {
		t.Errorf("scaleStatus:\n%s", diff)
	}
	wantParams := map[string]any{"additionalParams": map[string]any{"password": "***"}, "scaleInfo": []any{
		map[string]any{"aspectId": "workers", "scaleLevel": 0.0}, map[string]any{"aspectId": "masters", "scaleLevel": 1.0}}}
	if diff := cmp.Diff(wantParams, shownParams(t, occ)); diff != "" {
		t.Errorf("operationParams:\n%s", diff)
	}
	history, err := x.History(t.Context(), opID)
	must(t, err)
	var phases []string
	for _, p := range history {
		if p.Step == "" {
			phases = append(phases, p.Phase)
		}
	}
	if diff := cmp.Diff([]string{"scale_to_level_start", "scale_start.1", "scale.1", "scale_end.1", "scale_start.2", "scale.2", "scale_end.2", "scale_to_level_end"}, phases); diff != "" {
		t.Errorf("history:\n%s", diff)
	}

	opID, err = x.ScaleToLevel(t.Context(), id, vnflcm.ScaleVnfToLevelRequest{InstantiationLevelID: "small"})
	x.wait(opID, err, vnflcm.Completed)
	if w := x.world.state(id); len(w.Machines) != 3 || len(w.Nodes) != 4 { // with "config"
		t.Errorf("the world back at the instantiation level: %+v", w)
	}
	*got = nil
	opID, err = x.ScaleToLevel(t.Context(), id, vnflcm.ScaleVnfToLevelRequest{InstantiationLevelID: "small"})
	occ, _ = x.wait(opID, err, vnflcm.Completed)
	if len(*got) > 0 || occ.ResourceChanges != nil {
		t.Errorf("at the target already, hooks saw %v, changes %+v", *got, occ.ResourceChanges)
	}
}

// TestScaleToLevelOfOneVDU checks that a scale-in of a VDU after a scale-out of the same VDU removes the newest VNFCs, which the scale-out
// has added.
func TestScaleToLevelOfOneVDU(t *testing.T) {
	t.Parallel()
	x := newToys(t, changedPlain(workersAspect, spareAspect, levelPolicy, spareDeltas))
	got := x.lookAt()
	id := x.instantiated("plain")
	*got = nil
	opID, err := x.ScaleToLevel(t.Context(), id, toLevels("workers", 0, "spare", 2))
	occ, _ := x.wait(opID, err, vnflcm.Completed)
	want := []seen{
		{Phase: "scale_start.1", Added: []string{"", ""}}, {Phase: "scale_end.1", Added: []string{"worker-2", "worker-3"}},
		{Phase: "scale_start.2", Removed: []string{"worker-3"}}, {Phase: "scale_end.2", Removed: []string{"worker-3"}},
	}
	if diff := cmp.Diff(want, *got, cmpopts.IgnoreFields(seen{}, "Kind", "Request", "Levels", "Before")); diff != "" {
		t.Errorf("operations in the hooks:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"master-0", "worker-0", "worker-1", "worker-2"}, ids(x.world.state(id).Machines)); diff != "" {
		t.Errorf("machines:\n%s", diff)
	}
	if diff := cmp.Diff([]vnflcm.AffectedVnfc{affected("ADDED", "worker", "worker-2", "vm-worker-2-0")}, occ.ResourceChanges.AffectedVnfcs); diff != "" {
		t.Errorf("affectedVnfcs:\n%s", diff)
	}
}

// TestScaleToLevelInSingleSteps uses a VNFD that allows only one step at a time.
func TestScaleToLevelInSingleSteps(t *testing.T) {
	t.Parallel()
	engine, w := workers(t, 2)
	for _, x := range w {
		changedPlain(flavourProperty, flavourProperty+", lcm_operations_configuration: {scale: {scaling_by_more_than_one_step_supported: false}}")(&x.cfg)
		x.start()
	}
	x := w[0]
	id := x.create()
	opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
	must(t, err)
	_, err = runPhases(t, opID, w)
	must(t, err)
	opID, err = x.ScaleToLevel(t.Context(), id, toLevels("masters", 0, "workers", 3))
	must(t, err)
	phases, err := runPhases(t, opID, w)
	must(t, err)
	want := []string{"begin", "scale_to_level_start", "scale_start.1", "scale.1", "scale_end.1", "scale_plan.2", "scale_start.2", "scale.2", "scale_end.2", "scale_to_level_end", "end"}
	if diff := cmp.Diff(want, phases); diff != "" {
		t.Errorf("phases:\n%s", diff)
	}
	x.wait(opID, nil, vnflcm.Completed)
	if n := len(x.world.state(id).Machines); n != 5 || len(engine.starts()) != 2 {
		t.Errorf("%d machines, %d starts", n, len(engine.starts()))
	}
}

// TestScaleToLevelRefusals checks that every fault names the attribute of the request, and that nothing is written.
func TestScaleToLevelRefusals(t *testing.T) {
	t.Parallel()
	x := newToys(t, changedPlain())
	id := x.instantiated("plain")
	before := x.records()
	for name, c := range map[string]struct {
		request vnflcm.ScaleVnfToLevelRequest
		fault   func(*toys) // makes drivers report faults
		paths   []string
	}{
		"nothing":                {paths: []string{"instantiationLevelId"}},
		"both":                   {request: vnflcm.ScaleVnfToLevelRequest{InstantiationLevelID: "small", ScaleInfo: toLevels("masters", 0, "workers", 0).ScaleInfo}, paths: []string{"scaleInfo"}},
		"an aspect twice":        {request: toLevels("workers", 1, "workers", 1), paths: []string{"scaleInfo[1].aspectId"}},
		"unknown level":          {request: vnflcm.ScaleVnfToLevelRequest{InstantiationLevelID: "none"}, paths: []string{"instantiationLevelId"}},
		"unknown, too high":      {request: toLevels("none", 0, "workers", 5), paths: []string{"scaleInfo[0].aspectId", "scaleInfo[1].scaleLevel"}},
		"not what scaling gives": {request: vnflcm.ScaleVnfToLevelRequest{InstantiationLevelID: "odd"}, paths: []string{"instantiationLevelId"}},
		"another VNFD": {request: vnflcm.ScaleVnfToLevelRequest{ScaleInfo: []vnflcm.ScaleInfo{{AspectID: "workers", VnfdID: toyVNFD}, {AspectID: "masters", VnfdID: "other"}}},
			paths: []string{"scaleInfo[1].vnfdId"}},
		"masked": {request: vnflcm.ScaleVnfToLevelRequest{InstantiationLevelID: "large", AdditionalParams: params(t, `{"a":"***"}`)}, paths: []string{"additionalParams.a"}},
		"of drivers, scaleInfo": {request: toLevels("workers", 0, "masters", 1), fault: driversFind,
			paths: []string{"scaleInfo[1].aspectId", "additionalParams.password", "scaleInfo[1].scaleLevel", "scaleInfo[0].aspectId", "scaleInfo[0].scaleLevel"}},
		"of drivers, level": {request: vnflcm.ScaleVnfToLevelRequest{InstantiationLevelID: "large"}, fault: driversFind,
			paths: []string{"instantiationLevelId", "additionalParams.password", "instantiationLevelId"}},
	} {
		y := x
		if c.fault != nil {
			y = x.other(func(*vnflcm.Config) {})
			c.fault(y)
		}
		_, err := y.ScaleToLevel(t.Context(), id, c.request)
		t.Log(name)
		wantFaults(t, err, c.paths...)
	}
	if diff := cmp.Diff(before, x.records()); diff != "" {
		t.Errorf("a refused request wrote:\n%s", diff)
	}
	_, err := x.ScaleToLevel(t.Context(), x.create(), vnflcm.ScaleVnfToLevelRequest{InstantiationLevelID: "large"})
	wantIs(t, err, vnflcm.ErrState)
}

// driversFind makes both drivers report faults in every request.
func driversFind(x *toys) {
	x.cfg.Infra = map[string]vnflcm.InfraDriver{"toy": &cloud{world: x.world, planFault: &vnflcm.ParamError{Path: "numberOfSteps", Reason: "no"}}}
	x.cfg.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": &cluster{world: x.world, validFault: errors.Join(
		&vnflcm.ParamError{Path: "aspectId", Reason: "no"}, &vnflcm.ParamError{Path: "additionalParams.password", Reason: "no"})}}
	x.start()
}

// TestArbitraryLevels uses a VNFD that does not allow scaleInfo.
func TestArbitraryLevels(t *testing.T) {
	t.Parallel()
	x := newToys(t, changedPlain(flavourProperty, flavourProperty+", lcm_operations_configuration: {scale_to_level: {arbitrary_target_levels_supported: false}}"))
	id := x.instantiated("plain")
	_, err := x.ScaleToLevel(t.Context(), id, toLevels("masters", 1, "workers", 1))
	wantFaults(t, err, "scaleInfo")
	opID, err := x.ScaleToLevel(t.Context(), id, vnflcm.ScaleVnfToLevelRequest{InstantiationLevelID: "large"})
	x.wait(opID, err, vnflcm.Completed)
}

// TestFailedScaleToLevel checks that an operation that failed in its second scaling can be retried and failed, but not rolled back.
func TestFailedScaleToLevel(t *testing.T) {
	t.Parallel()
	x := newToys(t, changedPlain())
	id := x.instantiated("plain")
	x.world.failAt("scale.2/delete/worker-1", errCut)
	opID, err := x.ScaleToLevel(t.Context(), id, toLevels("masters", 1, "workers", 0))
	x.wait(opID, err, vnflcm.FailedTemp)
	wantIs(t, x.Rollback(t.Context(), opID), vnflcm.ErrNotSupported)
	made := x.world.done["scale.1/create/master-1"]
	x.wait(opID, x.Retry(t.Context(), opID), vnflcm.FailedTemp)
	if again := x.world.done["scale.1/create/master-1"]; made != 1 || again != 1 {
		t.Errorf("master-1 was created %d times, %d times after the retry", made, again)
	}
	must(t, x.Fail(t.Context(), opID))
	info := x.get(id).InstantiatedVnfInfo
	if diff := cmp.Diff([]vnflcm.ScaleInfo{{AspectID: "masters", ScaleLevel: 1}, {AspectID: "workers", ScaleLevel: 1}}, info.ScaleStatus); diff != "" || len(info.VnfcResourceInfo) != 5 {
		t.Errorf("%d VNFCs, scaleStatus:\n%s", len(info.VnfcResourceInfo), diff)
	}
	occ, err := x.Operation(t.Context(), opID)
	must(t, err)
	if n := len(occ.ResourceChanges.AffectedVnfcs); n != 2 {
		t.Errorf("%d affected VNFCs: %+v", n, occ.ResourceChanges)
	}
	x.world.failAt("scale.2/delete/worker-1", nil)
	opID, err = x.ScaleToLevel(t.Context(), id, vnflcm.ScaleVnfToLevelRequest{InstantiationLevelID: "small"})
	x.wait(opID, err, vnflcm.Completed)
}

// TestRollbackOfScaleToLevel rolls back two scale-outs, the last one first. A retry after a failed rollback repeats the scale-outs that
// were rolled back.
func TestRollbackOfScaleToLevel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fail  string   // step in which the rollback fails, if any
		retry []string // hooks of the retry after this failure
	}{
		"rolled back": {},
		"retried after the last was undone in part": {"scale_rollback.2/delete/worker-3", []string{"scale_start.2", "scale_end.2", "scale_to_level_end"}},
		"retried after the last was undone": {"scale_rollback.1/delete/master-1",
			[]string{"scale_start.1", "scale_end.1", "scale_start.2", "scale_end.2", "scale_to_level_end"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, changedPlain(workersAspect, spareAspect, levelPolicy, spareDeltas, vnflcmInterface, levelHooks))
			got := x.lookAt()
			id := x.instantiated("plain")
			before, info := x.world.state(id), x.get(id)
			x.world.failAt("scale_end.2/join/worker-3", errCut)
			opID, err := x.ScaleToLevel(t.Context(), id, toLevels("masters", 1, "spare", 2))
			x.wait(opID, err, vnflcm.FailedTemp)
			x.world.failAt("scale_end.2/join/worker-3", nil)
			*got = nil
			if c.fail == "" {
				x.wait(opID, x.Rollback(t.Context(), opID), vnflcm.RolledBack)
				wantRolledBack(t, *got)
				if diff := cmp.Diff(before, x.world.state(id)); diff != "" {
					t.Errorf("the world differs from before:\n%s", diff)
				}
				if diff := cmp.Diff(info, x.get(id), cmpopts.IgnoreFields(vnflcm.VnfInstance{}, "Version")); diff != "" {
					t.Errorf("the instance differs from before:\n%s", diff)
				}
				return
			}
			x.world.failAt(c.fail, errCut)
			x.wait(opID, x.Rollback(t.Context(), opID), vnflcm.FailedTemp)
			x.world.failAt(c.fail, nil)
			*got = nil
			occ, _ := x.wait(opID, x.Retry(t.Context(), opID), vnflcm.Completed)
			var phases []string
			for _, s := range *got {
				phases = append(phases, s.Phase)
			}
			if diff := cmp.Diff(c.retry, phases); diff != "" {
				t.Errorf("hooks of the retry:\n%s", diff)
			}
			if w := x.world.state(id); len(w.Machines) != 7 || len(w.Nodes) != 8 || len(occ.ResourceChanges.AffectedVnfcs) != 4 {
				t.Errorf("%+v, changes %+v", w, occ.ResourceChanges)
			}
			last := (*got)[len(*got)-1]
			if slices.Sort(last.Added); !cmp.Equal(last.Added, []string{"master-1", "master-2", "worker-2", "worker-3"}) {
				t.Errorf("scale_to_level_end saw the added VNFCs %q", last.Added)
			}
		})
	}
}

// TestFailAfterRollback checks that an operation that is failed after an unsuccessful rollback leaves the reached levels.
func TestFailAfterRollback(t *testing.T) {
	t.Parallel()
	x := newToys(t, onePlain)
	id := x.create()
	failedTwoOut(x, id)
	opID := lastOperation(x, id)
	x.world.failAt("scale_rollback.1/delete/master-1", errCut)
	x.wait(opID, x.Rollback(t.Context(), opID), vnflcm.FailedTemp)
	must(t, x.Fail(t.Context(), opID))
	want := []vnflcm.ScaleInfo{{AspectID: "masters", ScaleLevel: 1}, {AspectID: "spare"}, {AspectID: "workers", ScaleLevel: 1}}
	if diff := cmp.Diff(want, x.get(id).InstantiatedVnfInfo.ScaleStatus); diff != "" {
		t.Errorf("scaleStatus:\n%s", diff)
	}
}

// wantRolledBack checks the operations that the hooks of a rollback recorded.
func wantRolledBack(t *testing.T, got []seen) {
	t.Helper()
	all, masters, workers := []string{"master-1", "master-2", "worker-2", "worker-3"}, []string{"master-1", "master-2"}, []string{"worker-2", "worker-3"}
	in := func(aspect string, steps int) vnflcm.ScaleVnfRequest {
		return vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: aspect, NumberOfSteps: steps}
	}
	at := func(masters, spare int) map[string]int {
		return map[string]int{"masters": masters, "spare": spare, "workers": 1}
	}
	want := []seen{
		{"scale_to_level_rollback_start", vnflcm.OpScaleToLevel, vnflcm.ScaleVnfRequest{}, at(0, 0), at(1, 2), nil, all},
		{"scale_rollback_start.2", vnflcm.OpScale, in("spare", 2), at(1, 0), at(1, 2), nil, workers},
		{"scale_rollback_end.2", vnflcm.OpScale, in("spare", 2), at(1, 0), at(1, 2), nil, workers},
		{"scale_rollback_start.1", vnflcm.OpScale, in("masters", 1), at(0, 0), at(1, 0), nil, masters},
		{"scale_rollback_end.1", vnflcm.OpScale, in("masters", 1), at(0, 0), at(1, 0), nil, masters},
		{"scale_to_level_rollback_end", vnflcm.OpScaleToLevel, vnflcm.ScaleVnfRequest{}, at(0, 0), at(1, 2), nil, all},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("operations in the hooks:\n%s", diff)
	}
}

// TestCancelScaleToLevel checks that after a graceful cancel in the first scaling the second scaling does not begin.
func TestCancelScaleToLevel(t *testing.T) {
	t.Parallel()
	x := newToys(t, onePlain)
	id := x.instantiated("plain")
	g := x.holdAt("scale.1/create/master-1")
	opID, err := x.ScaleToLevel(t.Context(), id, toLevels("masters", 1, "workers", 0))
	must(t, err)
	<-g.reached
	must(t, x.Cancel(t.Context(), opID, vnflcm.CancelGraceful))
	close(g.open)
	_, err = x.wait(opID, nil, vnflcm.FailedTemp)
	wantIs(t, err, vnflcm.ErrCancelled)
	x.wait(opID, x.Retry(t.Context(), opID), vnflcm.Completed)
}

// TestGrantOfScaleToLevel checks that one grant covers all scalings, and that each scaling gets its zones from it.
func TestGrantOfScaleToLevel(t *testing.T) {
	t.Parallel()
	var request vnflcm.GrantRequest
	x := newToys(t, func(cfg *vnflcm.Config) {
		changedPlain(workersAspect, spareAspect, levelPolicy, spareDeltas)(cfg)
		cfg.Granter = granter(func(_ context.Context, r vnflcm.GrantRequest) (*vnflcm.Grant, error) {
			request = r
			grant := &vnflcm.Grant{ID: "g"}
			for _, d := range r.AddResources {
				grant.Zones = append(grant.Zones, vnflcm.ZoneInfo{ID: d.ID, ZoneID: "zone of " + d.ID})
				grant.AddResources = append(grant.AddResources, vnflcm.GrantInfo{ResourceDefinitionID: d.ID, ZoneID: d.ID})
			}
			return grant, nil
		})
	})
	id := x.instantiated("plain")
	zones := map[string][]string{}
	x.watch(func(op *vnflcm.Operation) { zones[op.Phase()] = op.GrantedZones("worker") })
	opID, err := x.ScaleToLevel(t.Context(), id, toLevels("spare", 1, "workers", 2))
	x.wait(opID, err, vnflcm.Completed)
	added := []vnflcm.ResourceDefinition{defined("add", "worker", 0), defined("add", "worker", 1)}
	if diff := cmp.Diff(added, request.AddResources); diff != "" || request.Operation != vnflcm.OpScaleToLevel || len(request.RemoveResources) > 0 {
		t.Errorf("%+v\n%s", request, diff)
	}
	want := map[string][]string{"scale_start.1": {"zone of add-worker-0"}, "scale_end.1": {"zone of add-worker-0"},
		"scale_start.2": {"zone of add-worker-1"}, "scale_end.2": {"zone of add-worker-1"}}
	if diff := cmp.Diff(want, zones); diff != "" {
		t.Errorf("zones:\n%s", diff)
	}
}

// TestDecodeScaleToLevel checks that missing and misspelt attributes in scaleInfo are refused. Otherwise they would scale to level 0.
func TestDecodeScaleToLevel(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][]string{
		`{"instantiationLevelId":"a"}`:                                        nil,
		`{"scaleInfo":[{"aspectId":"a","scaleLevel":"1","vnfdId":"v"}]}`:      nil,
		`{"scaleInfo":{"aspectId":"a","scaleLevel":0}}`:                       nil,
		`{"scaleInfo":null,"instantiationLevelId":"a"}`:                       nil,
		`{"scaleInfo":{"aspectId":"a"}}`:                                      {`scaleInfo[0].scaleLevel: is required`},
		`{"scaleInfo":[{"aspectId":"a","scaleLevel":null},null]}`:             {`scaleInfo[0].scaleLevel: is required`, `scaleInfo[1].aspectId: is required`, `scaleInfo[1].scaleLevel: is required`},
		`{"scaleInfo":[{"aspectId":"a","scalelevel":1}],"levelId":1}`:         {`levelId: is no attribute of this request`, `scaleInfo[0].scalelevel: is no attribute of this request; did you mean "scaleLevel"?`, `scaleInfo[0].scaleLevel: is required`},
		`{"instantiationLevelID":"a","additionalParams":{"instantiation":1}}`: {`instantiationLevelID: is no attribute of this request; did you mean "instantiationLevelId"?`},
		`{"scaleInfo":[{"aspectId":"a","scaleLevel":"high"}]}`:                {`scaleInfo[0].scaleLevel: "high": must be a whole number`},
	} {
		_, err := vnflcm.DecodeRequest([]byte(body), new(vnflcm.ScaleVnfToLevelRequest))
		var got []string
		if err != nil {
			got = strings.Split(err.Error(), "\n")
			wantIs(t, err, vnflcm.ErrInvalidRequest)
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", body, diff)
		}
	}
}
