package vnflcm_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// liar is a cloud whose answers a test changes.
type liar struct {
	*cloud
	resources func(op *vnflcm.Operation, r *vnflcm.Resources)
	plan      func(op *vnflcm.Operation, c *vnflcm.Change)
}

func (l *liar) Plan(ctx context.Context, op *vnflcm.Operation) (vnflcm.Change, error) {
	c, err := l.cloud.Plan(ctx, op)
	if l.plan != nil {
		l.plan(op, &c)
	}
	return c, err
}

func (l *liar) Resources(ctx context.Context, op *vnflcm.Operation) (vnflcm.Resources, error) {
	r, err := l.cloud.Resources(ctx, op)
	if l.resources != nil {
		l.resources(op, &r)
	}
	return r, err
}

// elasticLiar has VDUs whose number others decide.
type elasticLiar struct {
	*liar
	vdus []string
	err  error
}

func (l *elasticLiar) ElasticVDUs(context.Context, *vnflcm.Operation) ([]string, error) {
	return l.vdus, l.err
}

// namingLiar has connection points that the VNFD lacks.
type namingLiar struct{ *liar }

func (namingLiar) ConnectionPoints(*vnflcm.Operation) (map[string]string, error) {
	return map[string]string{"floating": "master_cp"}, nil
}

// TestConnectionPointsOfTheVIM: a driver that names connection points may report one that it did not name, with a warning.
func TestConnectionPointsOfTheVIM(t *testing.T) {
	t.Parallel()
	x := newToys(t, func(c *vnflcm.Config) {
		c.Infra["toy"] = namingLiar{&liar{cloud: c.Infra["toy"].(*cloud), resources: func(_ *vnflcm.Operation, r *vnflcm.Resources) {
			if len(r.VNFCs) > 0 {
				r.VNFCs[0].CPs = append(cps("floating"), cps("other")...)
			}
		}}}
	})
	opID, err := calls["instantiate"](x, x.create())
	occ, err := x.wait(opID, err, vnflcm.Completed)
	must(t, err)
	want := []string{`instantiate: VNFC master-0 (master0) is reported with the connection point "other", VDU master has master_cp`}
	if diff := cmp.Diff(want, occ.Warnings); diff != "" {
		t.Error(diff)
	}
}

// liars returns toys with a liar.
func liars(t *testing.T) (*toys, *liar) {
	t.Helper()
	l := &liar{}
	return newToys(t, func(c *vnflcm.Config) {
		l.cloud = c.Infra["toy"].(*cloud)
		c.Infra["toy"] = l
	}), l
}

// calls begin operations, by their names.
var calls = map[string]func(*toys, string) (string, error){
	"instantiate": func(x *toys, id string) (string, error) {
		return x.Instantiate(x.t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "bare"})
	},
	"scale out": func(x *toys, id string) (string, error) {
		return x.Scale(x.t.Context(), id, scale(vnflcm.ScaleOut, 2))
	},
	"scale in": func(x *toys, id string) (string, error) { return x.Scale(x.t.Context(), id, scale(vnflcm.ScaleIn, 1)) },
	"heal": func(x *toys, id string) (string, error) {
		return x.Heal(x.t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{"worker-0"}})
	},
	"scale to level": func(x *toys, id string) (string, error) {
		return x.ScaleToLevel(x.t.Context(), id, toLevels("masters", 1, "workers", 0))
	},
	"change connectivity": func(x *toys, id string) (string, error) {
		return x.ChangeExtConn(x.t.Context(), id, vnflcm.ChangeExtVnfConnectivityRequest{ExtVirtualLinks: link("b", "net-b", "worker_cp")})
	},
	"terminate": func(x *toys, id string) (string, error) {
		return x.Terminate(x.t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
	},
}

// begin begins an operation on a new instance, which is instantiated unless the operation does that.
func (x *toys) begin(name string, l *liar, resources func(*vnflcm.Operation, *vnflcm.Resources)) (id, opID string) {
	x.t.Helper()
	if id = x.create(); name != "instantiate" {
		_, _ = x.instantiate(id, "bare", vnflcm.Completed)
	}
	l.resources = resources
	opID, err := calls[name](x, id)
	must(x.t, err)
	return id, opID
}

// without removes the VNFCs with these ids.
func without(ids ...string) func(*vnflcm.Operation, *vnflcm.Resources) {
	return func(_ *vnflcm.Operation, r *vnflcm.Resources) {
		r.VNFCs = slices.DeleteFunc(r.VNFCs, func(v vnflcm.VNFC) bool { return slices.Contains(ids, v.ID) })
	}
}

func nothing(_ *vnflcm.Operation, r *vnflcm.Resources) { r.VNFCs = nil }

func also(list ...vnflcm.VNFC) func(*vnflcm.Operation, *vnflcm.Resources) {
	return func(_ *vnflcm.Operation, r *vnflcm.Resources) { r.VNFCs = append(r.VNFCs, list...) }
}

// TestAnswers: resources that contradict the plan or the package are an error that has both sides. A retry completes the operation once
// the answer is right.
func TestAnswers(t *testing.T) {
	t.Parallel()
	const text = ": vnflcm: the answers of the infrastructure driver do not fit together: "
	for name, tc := range map[string]struct {
		operation string
		resources func(*vnflcm.Operation, *vnflcm.Resources)
		want      string
	}{
		"nothing was made":          {"instantiate", nothing, "instantiate" + text + "announced 1 new VNFCs of master, reported 0; announced 2 new VNFCs of worker, reported 0"},
		"one too few":               {"scale out", without("worker-3"), "scale" + text + "announced 2 new VNFCs of worker, reported 1"},
		"of the wrong VDU":          {"scale to level", without("master-1", "master-2"), "scale.1" + text + "announced 2 new VNFCs of master, reported 0"},
		"not removed":               {"scale in", also(vnflcm.VNFC{ID: "worker-1", VDU: "worker", ResourceID: "vm-worker-1-0"}), "scale" + text + `announced worker-1 (worker1) as removed, reported it with the resource "vm-worker-1-0"`},
		"replaced and lost":         {"heal", without("worker-0"), "heal" + text + "announced worker-0 (worker0) as replaced, reported no VNFC with this id"},
		"left by a termination":     {"terminate", also(vnflcm.VNFC{ID: "worker-1", VDU: "worker"}), "terminate" + text + "announced the removal of everything, reported worker-1"},
		"a volume is left":          {"terminate", func(_ *vnflcm.Operation, r *vnflcm.Resources) { r.Storages = make([]vnflcm.Storage, 2) }, "terminate" + text + "announced the removal of everything, reported 2 storages"},
		"an id twice":               {"change connectivity", also(vnflcm.VNFC{ID: "worker-1", VDU: "worker", ResourceID: "other"}), "change_external_connectivity" + text + `two VNFCs have the id worker-1: the resources "vm-worker-1-0" and "other"`},
		"no id":                     {"change connectivity", also(vnflcm.VNFC{VDU: "worker", ResourceID: "other"}), "change_external_connectivity" + text + `a VNFC of VDU worker with the resource "other" has no id`},
		"unknown VDU":               {"instantiate", also(vnflcm.VNFC{ID: "x", VDU: "wroker"}), "instantiate" + text + `VNFC x is reported with VDU "wroker", the flavour bare has master, worker`},
		"unknown connection":        {"instantiate", func(_ *vnflcm.Operation, r *vnflcm.Resources) { r.VNFCs[0].CPs = cps("wroker_cp") }, "instantiate" + text + `VNFC master-0 (master0) is reported with the connection point "wroker_cp", VDU master has master_cp`},
		"connection of another VDU": {"heal", func(_ *vnflcm.Operation, r *vnflcm.Resources) { r.VNFCs[0].CPs = cps("worker_cp") }, "heal" + text + `VNFC master-0 (master0) is reported with the connection point "worker_cp", VDU master has master_cp`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, l := liars(t)
			_, opID := x.begin(tc.operation, l, tc.resources)
			_, err := x.wait(opID, nil, vnflcm.FailedTemp)
			wantIs(t, err, vnflcm.ErrDriverAnswer)
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Error(diff)
			}
			l.resources = nil
			occ, err := x.wait(opID, x.Retry(t.Context(), opID), vnflcm.Completed)
			if err != nil || len(occ.Warnings) > 0 {
				t.Errorf("warnings %q, %v", occ.Warnings, err)
			}
		})
	}
}

func cps(names ...string) (out []vnflcm.ConnectionPoint) {
	for _, name := range names {
		out = append(out, vnflcm.ConnectionPoint{CPD: name, Fixed: []netip.Addr{netip.MustParseAddr("192.0.2.1")}})
	}
	return out
}

// TestAnswersInDoubt: differences that the VIM can cause are warnings of the operation.
func TestAnswersInDoubt(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		operation string
		resources func(*vnflcm.Operation, *vnflcm.Resources)
		want      []string
	}{
		"one too many":  {"scale out", also(vnflcm.VNFC{ID: "x", VDU: "worker"}), []string{"scale: announced 2 new VNFCs of worker, reported 3"}},
		"not asked for": {"heal", also(vnflcm.VNFC{ID: "x", VDU: "master"}), []string{"heal: announced 0 new VNFCs of master, reported 1"}},
		"lost":          {"scale in", nothing, []string{"scale: announced no change of master-0 (master0), no longer reported it", "scale: announced no change of worker-0 (worker0), no longer reported it"}},
		"not replaced": {"heal", func(_ *vnflcm.Operation, r *vnflcm.Resources) {
			for i := range r.VNFCs {
				r.VNFCs[i].ResourceID = strings.TrimSuffix(r.VNFCs[i].ResourceID, "+")
			}
		}, []string{`heal: announced worker-0 (worker0) as replaced, reported the same resource "vm-worker-0-0"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, l := liars(t)
			_, opID := x.begin(tc.operation, l, tc.resources)
			occ, err := x.wait(opID, nil, vnflcm.Completed)
			if diff := cmp.Diff(tc.want, occ.Warnings); diff != "" || err != nil {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
}

// TestAnswersAndLevels: a driver that announces nothing and reports no change does not do what the request asks for.
func TestAnswersAndLevels(t *testing.T) {
	t.Parallel()
	const text = ": vnflcm: the answers of the infrastructure driver do not fit together: "
	for operation, tc := range map[string]struct{ err, warning string }{
		"instantiate": {err: "instantiate" + text + "announced 0 new VNFCs of master, reported 0; the scale levels ask for 1; " +
			"announced 0 new VNFCs of worker, reported 0; the scale levels ask for 2"},
		"scale out":      {err: "scale" + text + "announced 0 new VNFCs of worker, reported 0; the scale levels ask for 2"},
		"scale to level": {err: "scale.1" + text + "announced 0 new VNFCs of master, reported 0; the scale levels ask for 2"},
		"scale in":       {err: "scale" + text + "announced the removal of 0 VNFCs of worker, removed 0; the scale levels ask for 1"},
		"heal":           {warning: `heal: the request is to heal worker-0 (worker0): announced no change of it, reported the same resource "vm-worker-0-0"`},
	} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			x, l := liars(t)
			id := x.create()
			if operation != "instantiate" {
				x.instantiate(id, "bare", vnflcm.Completed)
			}
			var before []vnflcm.VNFC
			l.plan = func(op *vnflcm.Operation, c *vnflcm.Change) { *c, before = vnflcm.Change{}, op.VNFCs }
			l.resources = func(_ *vnflcm.Operation, r *vnflcm.Resources) { r.VNFCs = before }
			opID, err := calls[operation](x, id)
			must(t, err)
			if tc.warning != "" {
				occ, err := x.wait(opID, nil, vnflcm.Completed)
				if diff := cmp.Diff([]string{tc.warning}, occ.Warnings); diff != "" || err != nil {
					t.Errorf("%v %s", err, diff)
				}
				return
			}
			_, err = x.wait(opID, nil, vnflcm.FailedTemp)
			wantIs(t, err, vnflcm.ErrDriverAnswer)
			if diff := cmp.Diff(tc.err, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestScaleAfterLoss: a scaling need not make good what the VNF had lost, or had too many, before.
func TestScaleAfterLoss(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		lose, add, gone []string // before and during the scaling
		operation       string
	}{
		"out, one is missing":    {lose: []string{"worker-1"}, operation: "scale out", add: []string{"worker-2", "worker-3"}},
		"in, one is missing":     {lose: []string{"worker-1"}, operation: "scale in"},
		"in, two are missing":    {lose: []string{"worker-0", "worker-1"}, operation: "scale in"},
		"in, another one":        {operation: "scale in", gone: []string{"worker-0"}},
		"out, master is missing": {lose: []string{"master-0"}, operation: "scale out", add: []string{"worker-2", "worker-3"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, l := liars(t)
			id := x.create()
			x.instantiate(id, "bare", vnflcm.Completed)
			l.resources = without(tc.lose...)
			opID, err := calls["change connectivity"](x, id) // the record loses them
			x.wait(opID, err, vnflcm.Completed)
			l.plan = func(_ *vnflcm.Operation, c *vnflcm.Change) { *c = vnflcm.Change{} }
			l.resources = func(op *vnflcm.Operation, r *vnflcm.Resources) {
				r.VNFCs = slices.Clone(op.VNFCs)
				for _, id := range tc.add {
					also(vnflcm.VNFC{ID: id, VDU: "worker", ResourceID: "vm-" + id})(op, r)
				}
				without(tc.gone...)(op, r)
			}
			opID, err = calls[tc.operation](x, id)
			x.wait(opID, err, vnflcm.Completed)
		})
	}
}

// TestAnswersRollingBack: the VNFCs that a rollback removes must be gone.
func TestAnswersRollingBack(t *testing.T) {
	t.Parallel()
	for operation, want := range map[string]string{
		"instantiate": "instantiate_rollback: vnflcm: the answers of the infrastructure driver do not fit together: announced the removal of everything, reported worker-3",
		"scale out":   `scale_rollback: vnflcm: the answers of the infrastructure driver do not fit together: announced worker-3 as removed, reported it with the resource ""`,
	} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			x, l := liars(t)
			_, opID := x.begin(operation, l, nothing)
			x.wait(opID, nil, vnflcm.FailedTemp)
			l.resources = also(vnflcm.VNFC{ID: "worker-3", VDU: "worker"})
			if operation == "scale out" {
				l.resources = func(op *vnflcm.Operation, r *vnflcm.Resources) {
					without("worker-3")(op, r)
					also(vnflcm.VNFC{ID: "worker-3", VDU: "worker"})(op, r)
				}
			}
			_, err := x.wait(opID, x.Rollback(t.Context(), opID), vnflcm.FailedTemp)
			if err.Error() != want {
				t.Error(err)
			}
			l.resources = nil
			x.wait(opID, x.Rollback(t.Context(), opID), vnflcm.RolledBack)
		})
	}
}

// TestElasticVDUs: differences in VDUs whose number others decide are no faults.
func TestElasticVDUs(t *testing.T) {
	t.Parallel()
	errAsk := errors.New("no answer")
	for name, tc := range map[string]struct {
		vdus      []string
		err       error
		resources func(*vnflcm.Operation, *vnflcm.Resources)
		state     vnflcm.OperationState
		want      string
	}{
		"fewer":      {[]string{"worker"}, nil, without("worker-3"), vnflcm.Completed, ""},
		"more":       {[]string{"worker"}, nil, also(vnflcm.VNFC{ID: "x", VDU: "worker"}), vnflcm.Completed, ""},
		"no new one": {[]string{"worker"}, nil, without("worker-2", "worker-3"), vnflcm.Completed, ""},
		"another":    {[]string{"master"}, nil, without("worker-3"), vnflcm.FailedTemp, "announced 2 new VNFCs of worker, reported 1"},
		"error":      {nil, errAsk, without("worker-3"), vnflcm.FailedTemp, "scale: reading the elastic VDUs: no answer"},
		"unasked":    {nil, errAsk, nil, vnflcm.Completed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &elasticLiar{liar: &liar{}, vdus: tc.vdus, err: tc.err}
			x := newToys(t, func(c *vnflcm.Config) {
				l.cloud = c.Infra["toy"].(*cloud)
				c.Infra["toy"] = l
			})
			_, opID := x.begin("scale out", l.liar, tc.resources)
			occ, err := x.wait(opID, nil, tc.state)
			if len(occ.Warnings) > 0 || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, warnings %q", err, occ.Warnings)
			}
		})
	}
}

// TestPlanOfUnknownVDU: nothing is touched.
func TestPlanOfUnknownVDU(t *testing.T) {
	t.Parallel()
	x, l := liars(t)
	id := x.create()
	l.plan = func(_ *vnflcm.Operation, c *vnflcm.Change) {
		c.Added = append(c.Added, vnflcm.VNFC{VDU: "wroker"}, vnflcm.VNFC{VDU: "wroker"})
	}
	before := x.records()
	_, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "bare"})
	wantIs(t, err, vnflcm.ErrDriverAnswer)
	if want := `vnflcm: the answers of the infrastructure driver do not fit together: Plan announced a VNFC of VDU "wroker", the flavour bare has master, worker`; err == nil || err.Error() != want {
		t.Error(err)
	}
	if diff := cmp.Diff(before, x.records()); diff != "" {
		t.Error(diff)
	}
	if s := x.world.state(id); len(s.Machines) > 0 {
		t.Errorf("%d machines", len(s.Machines))
	}
}

// failing is a cloud whose method fails outside of steps and in a step.
type failing struct{ *cloud }

func (f failing) Scale(ctx context.Context, op *vnflcm.Operation) error {
	return errors.Join(errors.New("quota exceeded"), vnflcm.Do(ctx, op, "create", "", func(context.Context) error { return errCut }))
}

// TestErrorsOfPhases: each error of an infrastructure phase names the phase, once.
func TestErrorsOfPhases(t *testing.T) {
	t.Parallel()
	x := newToys(t, func(c *vnflcm.Config) { c.Infra["toy"] = failing{c.Infra["toy"].(*cloud)} })
	id := x.instantiated("bare")
	opID, err := x.Scale(t.Context(), id, scale(vnflcm.ScaleOut, 1))
	_, err = x.wait(opID, err, vnflcm.FailedTemp)
	if want := "scale: quota exceeded\nscale: create: cut off"; err.Error() != want {
		t.Errorf("the error is %q", err)
	}
}

// Adopt implements vnflcm.Adopter.
func (l *liar) Adopt(ctx context.Context, op *vnflcm.Operation, resource string) (vnflcm.Adopted, error) {
	adopted, err := l.cloud.Adopt(ctx, op, resource)
	if l.resources != nil {
		l.resources(op, &adopted.Resources)
	}
	return adopted, err
}

// TestAnswersOfAdopt: the ids and connection points of adopted VNFCs are checked.
func TestAnswersOfAdopt(t *testing.T) {
	t.Parallel()
	l := &liar{}
	a := newAdoption(t, func(c *vnflcm.Config) {
		l.cloud = c.Infra["toy"].(*cloud)
		c.Infra["toy"] = l
	})
	l.resources = func(_ *vnflcm.Operation, r *vnflcm.Resources) {
		r.VNFCs[1].ID, r.VNFCs[0].CPs = r.VNFCs[2].ID, cps("wroker_cp")
	}
	_, err := a.Adopt(t.Context(), a.known, a.req, "cluster of toys")
	wantIs(t, err, vnflcm.ErrDriverAnswer)
	for _, want := range []string{`the connection point "wroker_cp"`, "two VNFCs have the id"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}
