package e2e_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/internal/e2e/cloud"
	"github.com/vnfkit/vnfkit/internal/e2e/programs"
	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/internal/e2e/vminfra"
	"github.com/vnfkit/vnfkit/internal/kubesim"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// TestClusterOnOpenStack runs the kubeadm driver on servers of OpenStack, with three control-plane nodes: instantiate, scale, heal a
// worker and the whole VNF, terminate. Each server that Nova calls ACTIVE gets a real
// sshd at the address that Neutron gave it, and simulated programs of Kubernetes. The test is in the part all, since the
// part openstack has no hosts.
func TestClusterOnOpenStack(t *testing.T) {
	needPart(t, "all")
	if missing := cloud.Missing(t.Context()); missing != "" {
		t.Skip(missing)
	}
	ctx := t.Context()
	l := startCloud(t).lab(t, openstack.VimTypeV2, packageDir)
	kube := kubesim.NewWorld(kubesim.Options{})
	hosts := &vminfra.Hosts{Network: site.network, Programs: site.programs, Kube: kube, Observe: func(programs.Record) {},
		Spec: vmhost.Spec{User: user, Password: password, Layer: site.layer}}
	machines := l.cloud.Boot(ctx, hosts)
	pool := sshexec.NewPool(sshexec.Options{})
	t.Cleanup(func() {
		for _, err := range []error{machines.Close(), pool.Close(), hosts.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	vim, err := l.cloud.VIM("cloud", openstack.VimTypeV2)
	if err != nil {
		t.Fatal(err)
	}
	if l.Manager, err = stackManager(ctx, store.NewMemory(), packageDir, l.driver, kubeadm.New(kubeadm.Config{Pool: pool}), vim, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close(context.Background()) })
	inst, err := l.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: vnfdID})
	if err != nil {
		t.Fatal(err)
	}
	l.id = inst.ID
	request, err := stackRequest("instantiate_sandbox.json", "complex", l.networks[0], 1) // no machine has the virtual address yet
	if err != nil {
		t.Fatal(err)
	}
	want := func(masters, workers int) {
		t.Helper()
		var got [2]int
		for _, n := range kube.Nodes() {
			if n.Ready {
				got[map[bool]int{true: 0, false: 1}[n.ControlPlane]]++
			}
		}
		if got != [2]int{masters, workers} {
			t.Fatalf("cluster %+v", kube.Nodes())
		}
	}
	l.must(l.Instantiate(ctx, l.id, request))
	want(3, 1)
	now := l.must(l.Scale(ctx, l.id, scale(vnflcm.ScaleOut, 1)))
	want(3, 2)
	dead := workers(now)[0]
	if err := machines.Kill(server(now[dead])); err != nil {
		t.Fatal(err)
	}
	l.must(l.Heal(ctx, l.id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{dead}}))
	want(3, 2)
	if now = l.must(l.Scale(ctx, l.id, scale(vnflcm.ScaleIn, 1))); !slices.Contains(workers(now), dead) {
		t.Error("the healed worker is not the one that is older")
	}
	want(3, 1)
	healed := l.must(l.Heal(ctx, l.id, wholeHeal(t))) // the whole VNF: new servers for all
	want(3, 1)
	for id, v := range now {
		if len(healed) != len(now) || server(healed[id]) == server(v) || healed[id].VduID != v.VduID {
			t.Errorf("VNFC %s: %+v was healed to %+v", id, v, healed[id])
		}
	}
	l.terminate(vnflcm.TerminateForceful)
	for deadline := time.Now().Add(2 * time.Minute); len(hosts.IDs()) > 0; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d machines are left", len(hosts.IDs()))
		}
	}
}
