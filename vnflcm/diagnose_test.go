package vnflcm_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// markingCloud is a cloud that marks its machines.
type markingCloud struct {
	*cloud
	fault error // of Resources and Marked
}

func (c *markingCloud) Resources(ctx context.Context, op *vnflcm.Operation) (vnflcm.Resources, error) {
	if c.fault != nil {
		return vnflcm.Resources{}, c.fault
	}
	return c.cloud.Resources(ctx, op)
}

func (c *markingCloud) Marked(context.Context, vnflcm.VimConnectionInfo) (marks []vnflcm.Mark, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(c.machines)) {
		for _, v := range c.machines[id] {
			marks = append(marks, vnflcm.Mark{InstanceID: id, Resource: "machine", ID: v.ResourceID, Name: v.Name, Kept: v.Name == "kept" || v.Name == "worker-1"})
		}
	}
	return marks, c.fault
}

// inspectedCluster is a cluster that registers itself as a VIM, and compares its nodes with the machines of the record.
type inspectedCluster struct{ spy }

func (d *inspectedCluster) Inspect(_ context.Context, op *vnflcm.Operation) (out []vnflcm.Finding, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, v := range op.VNFCs {
		if d.nodes[op.InstanceID][v.ID] == "" {
			out = append(out, vnflcm.Finding{Kind: vnflcm.Missing, Resource: "node", ID: v.ID, Detail: "the password is " + secretWord})
		}
	}
	return out, nil
}

const secretWord = "canary-8d1f"

// diagnosed are toys whose drivers find differences. An instance becomes a VIM.
func diagnosed(t *testing.T) (*toys, *markingCloud) {
	infra := new(markingCloud)
	x := newToys(t, func(cfg *vnflcm.Config) {
		infra.cloud = cfg.Infra["toy"].(*cloud)
		cfg.Infra = map[string]vnflcm.InfraDriver{"toy": infra}
		cfg.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": &inspectedCluster{spy{cluster{world: infra.world}, func(op *vnflcm.Operation) {
			if op.Kind == vnflcm.OpInstantiate {
				must(t, op.RegisterVIM(t.Context(), vnflcm.VimConnectionInfo{ID: "k8s", VimID: "k8s-" + op.InstanceID, VimType: "kubernetes"}))
			}
		}}}}
	})
	return x, infra
}

// findings are texts of findings: kind, resource, id.
func findings(t *testing.T, list []vnflcm.Finding, err error) (out []string) {
	t.Helper()
	must(t, err)
	for _, f := range list {
		if strings.Contains(f.Detail, secretWord) {
			t.Errorf("a secret: %+v", f)
		}
		out = append(out, strings.Join([]string{string(f.Kind), f.Resource, f.ID}, " "))
	}
	return out
}

// TestDiagnose plants a difference of each kind.
func TestDiagnose(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		plant func(x *toys, infra *markingCloud, id string)
		want  []string // kind, resource and id
	}{
		"nothing differs": {func(*toys, *markingCloud, string) {}, nil},
		"a machine is missing": {func(_ *toys, infra *markingCloud, id string) { infra.machines[id] = infra.machines[id][1:] },
			[]string{"missing machine master-0"}},
		"a machine is stray": {func(_ *toys, infra *markingCloud, id string) {
			infra.machines[id] = append(infra.machines[id], vnflcm.VNFC{ID: "other", ResourceID: "vm-x"})
		}, []string{"stray machine other"}},
		"a machine was replaced": {func(_ *toys, infra *markingCloud, id string) { infra.machines[id][0].ResourceID = "another" },
			[]string{"differs machine master-0"}},
		"a node is missing": {func(_ *toys, infra *markingCloud, id string) { delete(infra.nodes[id], "worker-1") },
			[]string{"missing node worker-1"}},
		"the VNF is stopped, and its nodes do not answer": {func(x *toys, infra *markingCloud, id string) {
			delete(infra.nodes[id], "worker-1")
			opID, err := x.Operate(x.t.Context(), id, stop)
			x.wait(opID, err, vnflcm.Completed)
		}, nil},
		"the VIM does not answer": {func(_ *toys, infra *markingCloud, _ string) { infra.fault = errors.New("no answer for " + secretWord) },
			[]string{"unknown resources "}},
		"the VIM is not registered": {func(x *toys, _ *markingCloud, _ string) { must(x.t, x.VIMs().Remove(x.t.Context(), "", "vim1")) },
			[]string{"unknown vim vim1"}},
		"the entry of the cluster is missing": {func(x *toys, _ *markingCloud, id string) {
			must(x.t, x.VIMs().Remove(x.t.Context(), "", "k8s-"+id))
		}, []string{"missing vim k8s-ID"}},
		"an operation has failed": {func(x *toys, infra *markingCloud, id string) {
			infra.failAt("scale_end/join/worker-2", errCut)
			opID, err := x.Scale(x.t.Context(), id, scale(vnflcm.ScaleOut, 1))
			x.wait(opID, err, vnflcm.FailedTemp)
		}, []string{"missing node worker-2", "busy operation"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, infra := diagnosed(t)
			id := x.create()
			opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain", AdditionalParams: params(t, `{"password":"`+secretWord+`"}`)})
			x.wait(opID, err, vnflcm.Completed)
			c.plant(x, infra, id)
			before := x.records()
			list, err := x.Diagnose(t.Context(), id)
			got := findings(t, list, err)
			for i := range got {
				got[i] = strings.ReplaceAll(got[i], id, "ID")
				if list[i].Kind == vnflcm.Busy {
					got[i] = "busy operation"
				}
				if list[i].InstanceID != id {
					t.Errorf("of instance %q", list[i].InstanceID)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s\n%+v", diff, list)
			}
			if diff := cmp.Diff(before, x.records()); diff != "" {
				t.Errorf("the records have changed:\n%s", diff)
			}
		})
	}
}

// TestDiagnoseAll finds what no record has.
func TestDiagnoseAll(t *testing.T) {
	t.Parallel()
	x, infra := diagnosed(t)
	must(t, x.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "vim2", VimType: "toy"})) // the same cloud
	good, givenUp, damaged := x.instantiated("plain"), x.instantiated("plain"), x.instantiated("plain")
	x.create()
	_, err := x.Abandon(t.Context(), givenUp)
	must(t, err)
	r, err := x.cfg.Store.Get(t.Context(), "instance", damaged)
	must(t, err)
	r.Body = []byte("damaged")
	must(t, x.cfg.Store.Apply(t.Context(), store.Batch{Put: []store.Record{r}}))
	infra.machines["foreign"] = []vnflcm.VNFC{{ID: "f", ResourceID: "vm-f"}, {ID: "k", ResourceID: "vm-k", Name: "kept"}}

	list, err := x.DiagnoseAll(t.Context())
	of := map[string][]string{}
	findings(t, list, err)
	for _, f := range list {
		of[f.InstanceID] = append(of[f.InstanceID], string(f.Kind)+" "+f.Resource+" "+f.ID)
	}
	if diff := cmp.Diff(map[string][]string{
		damaged:   {"unknown instance " + damaged},
		givenUp:   {"stray machine vm-master-0-0", "stray machine vm-worker-0-0", "stray machine vm-worker-1-0", "stray vim k8s-" + givenUp},
		"foreign": {"kept machine vm-k", "stray machine vm-f"},
	}, of); diff != "" {
		t.Errorf("%s\n%+v", diff, list)
	}
	if len(of[good]) > 0 {
		t.Errorf("of %s: %v", good, of[good])
	}

	infra.fault = errors.New("down")
	list, err = x.DiagnoseAll(t.Context())
	if got := findings(t, list, err); !slices.Contains(got, "unknown vim vim1") || !slices.Contains(got, "unknown resources ") {
		t.Errorf("a VIM is down: %v", got)
	}
	_, err = x.Diagnose(t.Context(), "none")
	wantIs(t, err, vnflcm.ErrNotFound)
}

// TestExamine checks what a command of the operator sees of an instance.
func TestExamine(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.create()
	opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain", AdditionalParams: params(t, `{"password":"`+secretWord+`"}`)})
	x.wait(opID, err, vnflcm.Completed)
	err = x.Examine(t.Context(), id, func(ctx context.Context, op *vnflcm.Operation, drivers []vnflcm.MgmtDriver) error {
		var given clusterParams
		if _, err := op.Params.Decode(&given); err != nil || given.Password.Reveal() != secretWord || len(op.VNFCs) != 3 || len(drivers) != 1 {
			t.Errorf("%v: %d machines, %d drivers", err, len(op.VNFCs), len(drivers))
		}
		if err := op.State().Put(ctx, "key", "value"); err == nil {
			t.Error("the state can be written")
		}
		return errors.New("refused: " + secretWord)
	})
	if err == nil || !strings.Contains(err.Error(), "refused: ***") {
		t.Errorf("%v", err)
	}
	wantIs(t, x.Examine(t.Context(), x.create(), nil), vnflcm.ErrState)
	wantIs(t, x.Examine(t.Context(), "none", nil), vnflcm.ErrNotFound)
}
