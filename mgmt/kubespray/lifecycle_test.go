package kubespray_test

import (
	"errors"
	"testing"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/mgmt/kubespray"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func TestLifecycle(t *testing.T) {
	for name, changes := range map[string][]mgmttest.Change{
		"one control-plane node, haproxy from packages": {clustertest.Sized("simple", 1)},
		"three control-plane nodes":                     {clustertest.Sized("complex", 1)},
		"no load balancer":                              {clustertest.Sized("simple", 1), with(t, `{"external_lb_param":null}`)},
		"directory in the home":                         {clustertest.Sized("simple", 1), with(t, `{"ansible":{"transferring_inventory_path":null}}`)},
		"YAML file in a directory of others":            {clustertest.Sized("simple", 1), with(t, `{"ansible":{"transferring_inventory_path":"/home/ansible/hosts.yaml"}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "three control-plane nodes" {
				fulltest.SkipVariant(t)
			}
			ctx := t.Context()
			l := newLab(t)
			before := files(t, l.server())
			id := l.Instantiated(sample, changes...)
			controlPlane := len(l.vnfcs(id, "masterNode"))
			l.WantNodes(controlPlane, 2, 0)
			if vim, err := l.VIMs().Get(ctx, "", kubespray.VIMID(id)); err != nil || vim.VimType != kubespray.VIMType {
				t.Errorf("VIM of the cluster: %+v, %v", vim, err)
			}
			l.scaleOut(id)
			l.WantNodes(controlPlane, 3, 0)
			l.Must(l.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance"}))
			l.WantNodes(controlPlane, 2, 0)

			worker := l.vnfcs(id, "workerNode")[0]
			if err := l.World.Stop(worker.ComputeResource.ResourceID); err != nil {
				t.Fatal(err)
			}
			l.WantNodes(controlPlane, 2, 1)
			l.Must(l.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{worker.ID}}))
			l.WantNodes(controlPlane, 2, 0)

			l.Must(l.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{l.vnfcs(id, "externalLB")[0].ID}}))
			l.WantNodes(controlPlane, 2, 0)

			l.Must(l.Heal(ctx, id, vnflcm.HealVnfRequest{}))
			l.WantNodes(controlPlane, 2, 0)

			l.Must(l.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
			l.WantNodes(0, 0, 0)
			if len(l.World.Hosts()) != 0 {
				t.Errorf("%d machines are left", len(l.World.Hosts()))
			}
			if _, err := l.VIMs().Get(ctx, "", kubespray.VIMID(id)); !errors.Is(err, vnflcm.ErrNotFound) {
				t.Errorf("the VIM entry is left: %v", err)
			}
			sameFiles(t, before, files(t, l.server()))
			if err := l.Delete(ctx, id, ""); err != nil {
				t.Error(err)
			}
			l.Forgotten()
		})
	}
}

// TestAdopted scales and heals a cluster that another program created, so the driver has recorded nothing of it.
func TestAdopted(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	l := newLab(t)
	id := l.Adopted(sample, clustertest.Sized("simple", 1))
	l.scaleOut(id)
	l.WantNodes(1, 3, 0)
	l.Must(l.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{l.vnfcs(id, "workerNode")[0].ID}}))
	l.WantNodes(1, 3, 0)
	l.Must(l.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	l.WantNodes(0, 0, 0)
}
