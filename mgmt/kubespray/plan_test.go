package kubespray_test

import (
	"testing"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// heals returns a request to heal these machines, or all machines if none is named.
func heals(machines ...string) func(*lab, string) any {
	return func(l *lab, id string) any {
		var request vnflcm.HealVnfRequest
		for _, v := range l.VNFCs(id) {
			for _, name := range machines {
				if l.NameOf(v.ID) == name {
					request.VnfcInstanceID = append(request.VnfcInstanceID, v.ID)
				}
			}
		}
		return request
	}
}

func scales(kind vnflcm.ScaleType) func(*lab, string) any {
	return func(*lab, string) any { return vnflcm.ScaleVnfRequest{Type: kind, AspectID: "worker_instance"} }
}

// partitions makes machines unreachable.
func partitions(machines ...string) func(*lab, string) {
	return func(l *lab, id string) {
		for _, v := range l.VNFCs(id) {
			for _, name := range machines {
				if l.NameOf(v.ID) != name {
					continue
				}
				if err := l.World.Partition(v.ComputeResource.ResourceID); err != nil {
					l.t.Fatal(err)
				}
			}
		}
	}
}

// TestPlans holds plans and journals of the operations; see clustertest.Lab.CheckPlan.
func TestPlans(t *testing.T) {
	two := []mgmttest.Change{clustertest.Sized("simple", 1)}
	for _, s := range []struct {
		name    string // name of the files in testdata
		before  func(*lab, string)
		request func(*lab, string) any // nil: the operation is the instantiation
	}{
		{name: "instantiate"},
		{name: "scale-out", request: scales(vnflcm.ScaleOut)},
		{name: "scale-in", request: scales(vnflcm.ScaleIn)},
		{name: "scale-in-dead-worker", before: partitions("workerNode-1"), request: scales(vnflcm.ScaleIn)},
		{name: "heal-worker", before: partitions("workerNode-0"), request: heals("workerNode-0")},
		{name: "heal-load-balancer", request: heals("externalLB-0")},
		{name: "heal-worker-and-load-balancer", request: heals("workerNode-1", "externalLB-0")},
		{name: "heal-whole", request: heals()},
		{name: "stop", request: func(*lab, string) any { return vnflcm.OperateVnfRequest{ChangeStateTo: vnflcm.VnfStopped} }},
		{name: "terminate", request: func(*lab, string) any {
			return vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}
		}},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			var id string
			var request any
			if s.request == nil {
				id, request = l.Created(), l.Request(sample, two...)
			} else {
				id = l.Instantiated(sample, two...)
				if s.before != nil {
					s.before(l, id)
				}
				request = s.request(l, id)
			}
			l.CheckPlan(s.name, id, request, l.stepName)
		})
	}
}
