package kubeadm_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// want checks the number of nodes, and that no join token is left.
func (l *lab) want(controlPlane, workers, notReady int) {
	l.t.Helper()
	l.WantNodes(controlPlane, workers, notReady)
	if n := l.World.JoinTokens(); n != 0 {
		l.t.Errorf("%d join tokens are left", n)
	}
}

// TestFloatingAddresses: ssh_cp_name may be the name of a floating address that the VNFD does not declare.
func TestFloatingAddresses(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{sandbox: sandbox.Config{Floating: map[string]string{"master_FloatingIP": "masterNode_CP1", "worker_FloatingIP": "workerNode_CP2"}}})
	names := with(t, `{"master_node":{"ssh_cp_name":"master_FloatingIP","nic_cp_name":"masterNode_CP1"},"worker_node":{"ssh_cp_name":"worker_FloatingIP"}}`)
	_, _, err := l.Begin("instantiate_sandbox.json", names, with(t, `{"worker_node":{"ssh_cp_name":"master_FloatingIP"}}`))
	l.Refused(err)
	id := l.Instantiated("instantiate_sandbox.json", names)
	l.want(1, 1, 0)
	if _, err := l.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "master_instance"}); !errors.Is(err, vnflcm.ErrInvalidRequest) || !strings.Contains(err.Error(), "whose API is at an address of masterNode-0") {
		t.Errorf("scaling the control plane: %v", err)
	}
	l.Must(l.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}))
	l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{l.worker(id).ID}}))
	l.want(1, 2, 0)
}

func TestLifecycle(t *testing.T) {
	for name, c := range map[string]struct {
		flavour, request string
		controlPlane     int
		change           []mgmttest.Change
		variant          bool
	}{
		"built-in preparation, one control-plane node":    {"simple", "instantiate_sandbox.json", 1, nil, false},
		"built-in preparation, three control-plane nodes": {"complex", "instantiate_sandbox.json", 3, nil, true},
		"script, one control-plane node":                  {"simple", "instantiate_script.json", 1, nil, true},
		"script, three control-plane nodes":               {"complex", "instantiate_script.json", 3, nil, true},
		"virtual address, three control-plane nodes":      {"complex", "instantiate_sandbox.json", 3, virtual(t), true},
		"script behind a virtual address":                 {"complex", "instantiate_script.json", 3, virtual(t), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.variant {
				fulltest.SkipVariant(t)
			}
			ctx := t.Context()
			l := newLab(t)
			id := l.Instantiated(c.request, append(c.change, func(r *vnflcm.InstantiateVnfRequest) { r.FlavourID = c.flavour })...)
			l.want(c.controlPlane, 1, 0)

			vim, err := l.VIMs().Get(ctx, "", kubeadm.VIMID(id))
			if err != nil || vim.VimType != kubeadm.VIMType {
				t.Errorf("VIM of the cluster: %+v, %v", vim, err)
			}
			l.Must(l.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance", NumberOfSteps: 2}))
			l.want(c.controlPlane, 3, 0)
			l.Must(l.ScaleToLevel(ctx, id, vnflcm.ScaleVnfToLevelRequest{ScaleInfo: []vnflcm.ScaleInfo{{AspectID: "worker_instance", ScaleLevel: 1}}}))
			l.want(c.controlPlane, 2, 0)

			worker := l.worker(id)
			if err := l.World.Stop(worker.ComputeResource.ResourceID); err != nil {
				t.Fatal(err)
			}
			l.want(c.controlPlane, 2, 1)
			l.Must(l.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{worker.ID}}))
			l.want(c.controlPlane, 2, 0)

			l.Must(l.Heal(ctx, id, wholeHeal))
			l.want(c.controlPlane, 2, 0)

			l.Must(l.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
			l.want(0, 0, 0)
			if len(l.World.Hosts()) != 0 {
				t.Errorf("%d machines are left", len(l.World.Hosts()))
			}
			if _, err := l.VIMs().Get(ctx, "", kubeadm.VIMID(id)); !errors.Is(err, vnflcm.ErrNotFound) {
				t.Errorf("the VIM entry is left: %v", err)
			}
			if err := l.Delete(ctx, id, ""); err != nil {
				t.Error(err)
			}
			l.Forgotten()
		})
	}
}

// TestAdopted scales and heals a cluster that another program created, so the driver has recorded nothing of it.
func TestAdopted(t *testing.T) {
	for name, c := range map[string]struct {
		request string
		change  []mgmttest.Change
	}{
		"built-in preparation": {"instantiate_sandbox.json", nil},
		"virtual address":      {"instantiate_sandbox.json", virtual(t)},
		"script":               {"instantiate_script.json", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "virtual address" {
				fulltest.SkipVariant(t)
			}
			ctx := t.Context()
			l := newLab(t)
			id := l.Adopted(c.request, append(c.change, func(r *vnflcm.InstantiateVnfRequest) { r.FlavourID = "complex" })...)
			l.Must(l.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}))
			l.want(3, 2, 0)
			var controlPlaneNode string
			for _, v := range l.VNFCs(id) {
				if v.VduID == "masterNode" {
					controlPlaneNode = v.ID
				}
			}
			l.Must(l.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{controlPlaneNode, l.worker(id).ID}}))
			l.want(3, 2, 0)
			l.Must(l.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance"}))
			l.want(3, 1, 0)
			l.Must(l.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
			l.want(0, 0, 0)
			if err := l.Delete(ctx, id, ""); err != nil {
				t.Error(err)
			}
			l.Forgotten()
		})
	}
}

// worker returns a worker of the instance.
func (l *lab) worker(id string) vnflcm.VnfcResourceInfo {
	l.t.Helper()
	for _, v := range l.VNFCs(id) {
		if v.VduID == "workerNode" {
			return v
		}
	}
	l.t.Fatal("no worker")
	return vnflcm.VnfcResourceInfo{}
}

// vnfcs returns the ids of the VNFCs whose machines have these names.
func (l *lab) vnfcs(id string, machines ...string) (ids []string) {
	l.t.Helper()
	for _, name := range machines {
		host := l.host(name)
		for _, v := range l.VNFCs(id) {
			if l.World.Host(v.ComputeResource.ResourceID) == host {
				ids = append(ids, v.ID)
			}
		}
	}
	if len(ids) != len(machines) {
		l.t.Fatalf("%q have the ids %q", machines, ids)
	}
	return ids
}

// virtual returns the changes of a request whose API is at a virtual address.
func virtual(t testing.TB) []mgmttest.Change {
	return []mgmttest.Change{with(t, `{"master_node":{"cluster_cp_name":"vip_CP"}}`)}
}
