package kubeadm_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// shape is an operation on a cluster of a certain shape.
type shape struct {
	name    string // name of the files in testdata
	setup   setup
	file    string            // of the instantiate request; default instantiate_sandbox.json
	cluster []mgmttest.Change // changes of the instantiate request
	before  func(*lab, string)
	request func(l *lab, id string) any // nil: the operation is the instantiation
}

// heals returns a request to heal these machines, or all machines if none is named.
func heals(machines ...string) func(*lab, string) any {
	return func(l *lab, id string) any {
		if len(machines) == 0 {
			return wholeHeal
		}
		return vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, machines...)}
	}
}

func scales(kind vnflcm.ScaleType) func(*lab, string) any {
	return func(*lab, string) any { return vnflcm.ScaleVnfRequest{Type: kind, AspectID: "worker_instance"} }
}

func terminates(kind vnflcm.TerminationType) func(*lab, string) any {
	return func(*lab, string) any { return vnflcm.TerminateVnfRequest{TerminationType: kind} }
}

func operates(request vnflcm.OperateVnfRequest) func(*lab, string) any {
	return func(*lab, string) any { return request }
}

func renews(*lab, string) any { return renewal }

func stops(machines ...string) func(*lab, string) {
	return func(l *lab, _ string) { l.stop(machines...) }
}

// shapes are the operations and shapes of clusters that have different plans.
func shapes(t testing.TB) []shape {
	three := append(virtual(t), clustertest.Sized("complex", 1))
	two := []mgmttest.Change{clustertest.Sized("simple", 1)}
	old := func(cluster []mgmttest.Change) []mgmttest.Change { return append(slices.Clip(cluster), oldVersion(t)) }
	behindLB, whole := setup{pkg: balancerPackage}, storageSetup(t)
	whole.sandbox = sandbox.Config{}
	helm := setup{pkg: helmPackage(t, helmInstaller)}
	rotates := func(kind vnflcm.ScaleType) func(*lab, string) any {
		return func(l *lab, _ string) any { return scaling(l.t, kind, secondList) }
	}
	return []shape{
		{name: "instantiate", cluster: two},
		{name: "instantiate-virtual-address", cluster: three},
		{name: "instantiate-script", file: "instantiate_script.json", cluster: []mgmttest.Change{clustertest.Sized("complex", 0)}},
		{name: "instantiate-load-balancer", setup: behindLB, cluster: behind(t, "complex", 0)},
		{name: "instantiate-storage", setup: whole, cluster: []mgmttest.Change{with(t, storageParams)}},
		{name: "instantiate-helm", setup: helm, cluster: append(three[:len(three):len(three)], with(t, helmParams))},
		{name: "instantiate-registries", setup: rotationSetup(t), cluster: []mgmttest.Change{with(t, firstList)}},
		{name: "scale-out-kubeadm-files", cluster: append(two[:1:1], with(t, patchParams)), request: scales(vnflcm.ScaleOut)},
		{name: "scale-out", cluster: two, request: scales(vnflcm.ScaleOut)},
		{name: "scale-out-script", file: "instantiate_script.json", cluster: two, request: scales(vnflcm.ScaleOut)},
		{name: "scale-out-load-balancer", setup: behindLB, cluster: behind(t, "simple", 1), request: scales(vnflcm.ScaleOut)},
		{name: "scale-out-registries", setup: rotationSetup(t), cluster: []mgmttest.Change{with(t, firstList)}, request: rotates(vnflcm.ScaleOut)},
		{name: "scale-in", cluster: two, request: scales(vnflcm.ScaleIn)},
		{name: "scale-in-load-balancer", setup: behindLB, cluster: behind(t, "simple", 1), request: scales(vnflcm.ScaleIn)},
		{name: "scale-in-registries", setup: rotationSetup(t), cluster: append(two[:1:1], with(t, firstList)), request: rotates(vnflcm.ScaleIn)},
		{name: "scale-out-control-plane", setup: helm, cluster: append(virtual(t), atLevel(oneMaster), with(t, helmParams)), request: func(*lab, string) any { return masters(vnflcm.ScaleOut, 1) }},
		{name: "scale-in-control-plane", setup: setup{snapshots: archives(t)}, cluster: three, request: func(*lab, string) any { return masters(vnflcm.ScaleIn, 1) }},
		{name: "heal-worker", cluster: two, before: stops("workerNode-0"), request: heals("workerNode-0")},
		{name: "heal-control-plane", cluster: three, before: stops("masterNode-0"), request: heals("masterNode-0")},
		{name: "heal-two-control-plane-nodes-and-worker", cluster: three, before: stops("masterNode-2"),
			request: heals("masterNode-1", "masterNode-2", "workerNode-0")},
		{name: "heal-control-plane-helm", setup: helm, cluster: append(three[:len(three):len(three)], with(t, helmParams)), request: heals("masterNode-1")},
		{name: "heal-control-plane-load-balancer", setup: behindLB, cluster: behind(t, "complex", 0), request: heals("masterNode-1", "workerNode-0")},
		{name: "heal-load-balancer", setup: behindLB, cluster: behind(t, "simple", 1), request: heals("externalLB-0")},
		{name: "heal-storage", setup: whole, cluster: []mgmttest.Change{with(t, storageParams)}, request: heals("storage-0")},
		{name: "heal-whole", cluster: two, request: heals()},
		{name: "heal-restore", cluster: three, before: stops("masterNode-0", "masterNode-2"), request: func(l *lab, id string) any {
			return l.restoring(id, fromSurvivor, "masterNode-0", "masterNode-2")
		}},
		{name: "revert", setup: setup{snapshots: archives(t)}, cluster: three, request: reverts},
		{name: "renew-certificates", cluster: three, request: renews},
		{name: "renew-certificates-load-balancer", setup: behindLB, cluster: behind(t, "complex", 0), request: renews},
		{name: "renew-certificates-one-control-plane-node", cluster: two, request: renews},
		{name: "upgrade", cluster: old(three), request: upgradesTo(`{"kubernetes_version":"1.37.2","upgrade":{"max_unavailable":2}}`)},
		{name: "upgrade-load-balancer", setup: behindLB, cluster: old(behind(t, "complex", 0)), request: upgradesTo(`{"kubernetes_version":"1.36.3"}`)},
		{name: "upgrade-one-control-plane-node", cluster: old(two), request: upgradesTo(`{"kubernetes_version":"1.35.6"}`)},
		{name: "upgrade-control-plane", cluster: old(two), request: upgradesTo(`{"kubernetes_version":"1.36.3","upgrade":{"scope":"control-plane"}}`)},
		{name: "change-package", cluster: append(virtual(t), clustertest.Sized("complex", 0)), request: changesPackage(`{}`)},
		{name: "change-package-only-control-plane-node", cluster: two, request: changesPackage(`{"allow_data_loss":["masterNode"],"max_unavailable":2}`)},
		{name: "change-package-load-balancer", setup: behindLB, cluster: behind(t, "simple", 0), request: changesPackage(`{"allow_data_loss":["masterNode"]}`)},
		{name: "stop-gracefully", setup: behindLB, cluster: behind(t, "simple", 1), request: operates(gently)},
		{name: "start", cluster: two, before: func(l *lab, id string) { l.Must(l.Operate(l.t.Context(), id, gently)) },
			request: operates(vnflcm.OperateVnfRequest{ChangeStateTo: vnflcm.VnfStarted})},
		{name: "terminate", cluster: two, request: terminates(vnflcm.TerminateForceful)},
		{name: "terminate-gracefully", cluster: two, request: terminates(vnflcm.TerminateGraceful)},
	}
}

// TestPlans holds plans and journals of the operations; see clustertest.Lab.CheckPlan.
func TestPlans(t *testing.T) {
	for _, s := range shapes(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, s.setup)
			file := cmp.Or(s.file, "instantiate_sandbox.json")
			var id string
			var request any
			if s.request == nil {
				id, request = l.Created(), l.Request(file, s.cluster...)
			} else {
				id = l.Instantiated(file, s.cluster...)
				if s.before != nil {
					s.before(l, id)
				}
				request = s.request(l, id)
			}
			l.CheckPlan(s.name, id, request, l.stepName)
		})
	}
}

// TestTerminateWithoutWorkers checks that the account is removed after the VIM entry, also if there is no worker to drain.
func TestTerminateWithoutWorkers(t *testing.T) {
	t.Parallel()
	var got []string
	for _, task := range kubeadm.TerminateWithoutWorkers() {
		got = append(got, fmt.Sprint(task.Phase, " ", task.Name, " ", task.After))
	}
	want := []string{"terminate_start remove-vim []", "terminate_start remove-account [0]", "terminate_end remove-vim []", "terminate_end forget [2]"}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
