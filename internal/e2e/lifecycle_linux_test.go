package e2e_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// TestLifecycle takes a cluster on real hosts through its whole life.
func TestLifecycle(t *testing.T) {
	for _, c := range []struct {
		name             string
		flavour, request string
		masters          int
		askPassword      bool
	}{
		{"built-in preparation, one control-plane node", "simple", "instantiate_sandbox.json", 1, false},
		{"built-in preparation, three control-plane nodes, sudo asks for the password", "complex", "instantiate_sandbox.json", 3, true},
		{"script, one control-plane node", "simple", "instantiate_script.json", 1, false},
		{"script, three control-plane nodes", "complex", "instantiate_script.json", 3, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := t.Context()
			l := newLab(t, labConfig{askPassword: c.askPassword})
			id, request := l.created(c.request, c.flavour)
			l.must(l.Instantiate(ctx, id, request))
			l.want(count{c.masters, 1, 0})

			l.must(l.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance", NumberOfSteps: 2}))
			l.want(count{c.masters, 3, 0})
			l.must(l.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance"}))
			l.want(count{c.masters, 2, 0})
			l.checkFiles(true)

			worker := l.worker(id)
			if err := l.cloud.Kill(worker.ComputeResource.ResourceID); err != nil {
				t.Fatal(err)
			}
			l.wantNodes(count{c.masters, 2, 1})
			l.must(l.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{worker.ID}}))
			l.want(count{c.masters, 2, 0})
			if now := l.worker(id); now.ComputeResource.ResourceID == worker.ComputeResource.ResourceID {
				t.Error("the killed machine was not replaced")
			}

			l.must(l.Heal(ctx, id, wholeHeal(t)))
			l.want(count{c.masters, 2, 0})
			l.checkFiles(true)

			l.must(l.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
			l.wantNothing(id)
			l.checkSecrets()
		})
	}
}

// count says how many nodes are control-plane nodes, workers, and not Ready.
type count struct{ Masters, Workers, NotReady int }

func (l *lab) wantNodes(want count) {
	l.t.Helper()
	var got count
	for _, n := range l.kube.Nodes() {
		if n.ControlPlane {
			got.Masters++
		} else {
			got.Workers++
		}
		if !n.Ready || n.Unschedulable {
			got.NotReady++
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		l.t.Fatalf("cluster:\n%s\n%+v", diff, l.kube.Nodes())
	}
}

// want is wantNodes, one machine for each node, and no way left to join.
func (l *lab) want(want count) {
	l.t.Helper()
	l.wantNodes(want)
	if n := len(l.cloud.IDs()); n != want.Masters+want.Workers {
		l.t.Errorf("%d machines", n)
	}
	if n := l.kube.Tokens(); n != 0 {
		l.t.Errorf("%d join tokens are left", n)
	}
}

// wantNothing checks that a terminated instance leaves nothing, and deletes it.
func (l *lab) wantNothing(id string) {
	l.t.Helper()
	l.want(count{})
	ctx := l.t.Context()
	if _, err := l.VIMs().Get(ctx, "", kubeadm.VIMID(id)); !errors.Is(err, vnflcm.ErrNotFound) {
		l.t.Errorf("the VIM entry is left: %v", err)
	}
	if err := l.Delete(ctx, id, ""); err != nil {
		l.t.Error(err)
	}
	for _, kind := range []string{"instance", "state", "step", "claim", "cancel"} {
		if left, err := l.store.List(ctx, store.Query{Kind: kind}); err != nil || len(left) != 0 {
			l.t.Errorf("%d records of kind %s are left, %v", len(left), kind, err)
		}
	}
}

// worker returns the first worker of the instance.
func (l *lab) worker(id string) vnflcm.VnfcResourceInfo {
	l.t.Helper()
	inst, err := l.Get(l.t.Context(), id)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, v := range inst.InstantiatedVnfInfo.VnfcResourceInfo {
		if v.VduID == "workerNode" {
			return v
		}
	}
	l.t.Fatal("no worker")
	return vnflcm.VnfcResourceInfo{}
}
