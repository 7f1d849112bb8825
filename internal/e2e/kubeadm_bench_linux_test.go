package e2e_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// BenchmarkKubeadmCluster makes real clusters of three control-plane nodes and two workers, and compares the time
// with the critical path: the steps that must wait for each other, which are those of the first control-plane node,
// the longer join of the other two, and what comes when all nodes have joined. Beside it stands the sum of all steps: the
// time that a driver takes which works on one node after the other. All nodes share this machine's processors.
func BenchmarkKubeadmCluster(b *testing.B) {
	for b.Loop() {
		y := newYard(b, func(y *yard, _ *vmhost.Spec) {
			y.infra.Shared = map[string]netip.Addr{"vip_CP": site.network.Reserve()}
		})
		id, request := y.cluster("complex", highlyAvailable)
		levels := []vnflcm.ScaleInfo{{AspectID: "master_instance", ScaleLevel: 1}, {AspectID: "worker_instance", ScaleLevel: 1}}
		request.InstantiationLevelID, request.TargetScaleLevelInfo = "", levels
		begin := time.Now()
		y.must(y.Instantiate(b.Context(), id, request))
		wall := time.Since(begin)
		y.wantNodes(id, 3, 2)

		critical, all := y.paths(id)
		b.ReportMetric(wall.Seconds(), "wall-s")
		b.ReportMetric(critical.Seconds(), "critical-path-s")
		b.ReportMetric(wall.Seconds()/critical.Seconds(), "wall/critical-path")
		b.ReportMetric(all.Seconds()/wall.Seconds(), "sequential/wall")
		y.must(y.Terminate(b.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	}
}

// paths adds up the steps of an instantiation that wait for each other, and all steps.
func (y *yard) paths(id string) (critical, all time.Duration) {
	first, isMaster := "", map[string]bool{}
	for _, v := range y.vnfcs(id, masterVDU) {
		isMaster[v.ID] = true
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, e := range y.events {
		if e.Name == "init" {
			first = e.On
		}
	}
	var longest time.Duration
	for _, e := range y.events {
		if e.Kind != vnflcm.StepDone || e.Phase != string(vnflcm.InstantiateEnd) {
			continue
		}
		all += e.Duration
		switch {
		case e.On == first || e.On == "":
			critical += e.Duration
		case e.Name == "join" && isMaster[e.On]:
			longest = max(longest, e.Duration)
		}
	}
	return critical + longest, all
}
