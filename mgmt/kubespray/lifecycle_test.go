package kubespray_test

import (
	"errors"
	"testing"

	"github.com/vnfkit/vnfkit/mgmt/kubespray"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func TestLifecycle(t *testing.T) {
	for name, changes := range map[string][]change{
		"one control-plane node, haproxy from packages": {sized("simple", 1)},
		"three control-plane nodes":                     {sized("complex", 1)},
		"no load balancer":                              {sized("simple", 1), with(t, `{"external_lb_param":null}`)},
		"directory in the home":                         {sized("simple", 1), with(t, `{"ansible":{"transferring_inventory_path":null}}`)},
		"YAML file in a directory of others":            {sized("simple", 1), with(t, `{"ansible":{"transferring_inventory_path":"/home/ansible/hosts.yaml"}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			l := newLab(t)
			before := files(t, l.server())
			id := l.cluster(changes...)
			masters := len(l.vnfcs(id, "masterNode"))
			l.want(count{masters, 2, 0})
			if vim, err := l.VIMs().Get(ctx, kubespray.VIMID(id)); err != nil || vim.VimType != kubespray.VIMType {
				t.Errorf("VIM of the cluster: %+v, %v", vim, err)
			}
			l.scaleOut(id)
			l.want(count{masters, 3, 0})
			l.must(l.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance"}))
			l.want(count{masters, 2, 0})

			worker := l.vnfcs(id, "workerNode")[0]
			if err := l.world.Stop(worker.ComputeResource.ResourceID); err != nil {
				t.Fatal(err)
			}
			l.want(count{masters, 2, 1})
			l.must(l.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{worker.ID}}))
			l.want(count{masters, 2, 0})

			l.must(l.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{l.vnfcs(id, "externalLB")[0].ID}}))
			l.want(count{masters, 2, 0})

			l.must(l.Heal(ctx, id, vnflcm.HealVnfRequest{}))
			l.want(count{masters, 2, 0})

			l.must(l.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
			l.want(count{})
			if len(l.world.Hosts()) != 0 {
				t.Errorf("%d machines are left", len(l.world.Hosts()))
			}
			if _, err := l.VIMs().Get(ctx, kubespray.VIMID(id)); !errors.Is(err, vnflcm.ErrNotFound) {
				t.Errorf("the VIM entry is left: %v", err)
			}
			sameFiles(t, before, files(t, l.server()))
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
