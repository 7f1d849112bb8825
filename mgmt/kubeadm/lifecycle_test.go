package kubeadm_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// count says how many nodes are control-plane nodes, workers, and not Ready.
type count struct{ Masters, Workers, NotReady int }

func counted(nodes []sandbox.Node) (c count) {
	for _, n := range nodes {
		if n.ControlPlane {
			c.Masters++
		} else {
			c.Workers++
		}
		if !n.Ready || n.Unschedulable {
			c.NotReady++
		}
	}
	return c
}

func (l *lab) want(want count) {
	l.t.Helper()
	if diff := cmp.Diff(want, counted(l.world.Nodes())); diff != "" {
		l.t.Fatalf("cluster:\n%s\n%+v", diff, l.world.Nodes())
	}
	if n := l.world.JoinTokens(); n != 0 {
		l.t.Errorf("%d join tokens are left", n)
	}
}

func TestLifecycle(t *testing.T) {
	for name, c := range map[string]struct {
		flavour, request string
		masters          int
		change           []func(*vnflcm.InstantiateVnfRequest)
	}{
		"built-in preparation, one master":    {"simple", "instantiate_sandbox.json", 1, nil},
		"built-in preparation, three masters": {"complex", "instantiate_sandbox.json", 3, nil},
		"script, one master":                  {"simple", "instantiate_script.json", 1, nil},
		"script, three masters":               {"complex", "instantiate_script.json", 3, nil},
		"virtual address, three masters":      {"complex", "instantiate_sandbox.json", 3, virtual(t)},
		"script behind a virtual address":     {"complex", "instantiate_script.json", 3, virtual(t)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			l := newLab(t)
			id := l.cluster(c.request, append(c.change, func(r *vnflcm.InstantiateVnfRequest) { r.FlavourID = c.flavour })...)
			l.want(count{c.masters, 1, 0})

			vim, err := l.VIMs().Get(ctx, kubeadm.VIMID(id))
			if err != nil || vim.VimType != kubeadm.VIMType {
				t.Errorf("VIM of the cluster: %+v, %v", vim, err)
			}
			l.must(l.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance", NumberOfSteps: 2}))
			l.want(count{c.masters, 3, 0})
			l.must(l.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance"}))
			l.want(count{c.masters, 2, 0})

			worker := l.worker(id)
			if err := l.world.Stop(worker.ComputeResource.ResourceID); err != nil {
				t.Fatal(err)
			}
			l.want(count{c.masters, 2, 1})
			l.must(l.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{worker.ID}}))
			l.want(count{c.masters, 2, 0})

			l.must(l.Heal(ctx, id, vnflcm.HealVnfRequest{}))
			l.want(count{c.masters, 2, 0})

			l.must(l.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
			l.want(count{})
			if len(l.world.Hosts()) != 0 {
				t.Errorf("%d machines are left", len(l.world.Hosts()))
			}
			if _, err := l.VIMs().Get(ctx, kubeadm.VIMID(id)); !errors.Is(err, vnflcm.ErrNotFound) {
				t.Errorf("the VIM entry is left: %v", err)
			}
			if err := l.Delete(ctx, id); err != nil {
				t.Error(err)
			}
			for _, kind := range []string{"instance", "state", "step", "lease", "cancel"} {
				if left, err := l.store.List(ctx, kind, ""); err != nil || len(left) != 0 {
					t.Errorf("%d records of kind %s are left, %v", len(left), kind, err)
				}
			}
		})
	}
}

// worker returns a worker of the instance.
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

// vnfcs are the ids of the VNFCs whose machines have these names.
func (l *lab) vnfcs(id string, machines ...string) (ids []string) {
	l.t.Helper()
	inst, err := l.Get(l.t.Context(), id)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, name := range machines {
		host := l.host(name)
		for _, v := range inst.InstantiatedVnfInfo.VnfcResourceInfo {
			if l.world.Host(v.ComputeResource.ResourceID) == host {
				ids = append(ids, v.ID)
			}
		}
	}
	if len(ids) != len(machines) {
		l.t.Fatalf("%q have the ids %q", machines, ids)
	}
	return ids
}

// virtual has the API at an address that no machine has by itself.
func virtual(t testing.TB) []func(*vnflcm.InstantiateVnfRequest) {
	return []func(*vnflcm.InstantiateVnfRequest){with(t, `{"master_node":{"cluster_cp_name":"vip_CP"}}`)}
}
