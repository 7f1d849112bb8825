package kubeadm_test

import (
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// sleeping returns a package whose node script sleeps for a second before it does its work.
func sleeping(b *testing.B) string {
	return packageWith(b, func(s string) string { return strings.Replace(s, "\nprepare >&2\n", "\nsleep 1\nprepare >&2\n", 1) })
}

// makeCluster instantiates 3 control-plane nodes and 20 workers. It returns how long that took, and how long the scripts
// slept on the critical path: those of the control-plane nodes, which run one after the other.
func makeCluster(b *testing.B, pkg string, parallel int) (wall, critical time.Duration) {
	b.Helper()
	l := openLab(b, setup{pkg: pkg, driver: kubeadm.Config{Parallel: parallel}})
	begin := time.Now()
	l.Instantiated("instantiate_script.json", clustertest.Sized("complex", 19))
	wall = time.Since(begin)
	l.want(3, 20, 0)
	for _, h := range l.World.Hosts() {
		for _, r := range h.Commands() {
			if strings.HasPrefix(h.Name(), "master") && r.Argv[0] == "sleep" {
				critical += r.End.Sub(r.Start)
			}
		}
	}
	return wall, critical
}

// BenchmarkClusterOf3Plus20 compares the time to set up a cluster with its critical path, when the script of each node
// takes a second: three control-plane nodes join one after the other, and workers join concurrently. "sequential" is the
// same driver with Parallel 1.
func BenchmarkClusterOf3Plus20(b *testing.B) {
	pkg := sleeping(b)
	for b.Loop() {
		wall, critical := makeCluster(b, pkg, 0)
		sequential, _ := makeCluster(b, pkg, 1)
		b.ReportMetric(wall.Seconds(), "wall-s")
		b.ReportMetric(critical.Seconds(), "critical-path-s")
		b.ReportMetric(sequential.Seconds(), "sequential-s")
		b.ReportMetric(wall.Seconds()/critical.Seconds(), "wall/critical-path")
		b.ReportMetric(sequential.Seconds()/wall.Seconds(), "sequential/wall")
	}
}

// BenchmarkUpgradeOf3Plus20 compares the time to upgrade three control-plane nodes and 20 workers, four at the same time, with the longest
// chain of its steps, when installing a package and kubeadm take half a second each.
func BenchmarkUpgradeOf3Plus20(b *testing.B) {
	for b.Loop() {
		l := openLab(b, setup{sandbox: sandbox.Config{Takes: 500 * time.Millisecond}})
		id := l.Instantiated("instantiate_sandbox.json", append(virtual(b), clustertest.Sized("complex", 19), oldVersion(b))...)
		request := upgrading(b, `{"kubernetes_version":"1.36.3","upgrade":{"max_unavailable":4}}`)
		plan, err := l.Preview(b.Context(), id, request)
		if err != nil {
			b.Fatal(err)
		}
		begin := time.Now()
		opID, err := l.Maintain(b.Context(), id, request)
		l.Must(opID, err)
		wall, critical := time.Since(begin), l.criticalPath(plan, opID)
		l.wantVersions(all(3, 20, "1.36.3", "3.6.8"))
		b.ReportMetric(wall.Seconds(), "wall-s")
		b.ReportMetric(critical.Seconds(), "critical-path-s")
		b.ReportMetric(wall.Seconds()/critical.Seconds(), "wall/critical-path")
	}
}

// criticalPath returns how long the longest chain of steps of an operation took.
func (l *lab) criticalPath(plan *vnflcm.Preview, opID string) (longest time.Duration) {
	took := map[string]time.Duration{}
	for _, e := range l.Events() {
		if e.Kind == vnflcm.StepDone && e.OperationID == opID {
			took[e.Name+"/"+e.On] = e.Duration
		}
	}
	ends := make([]time.Duration, len(plan.Tasks))
	for i, task := range plan.Tasks {
		for _, before := range task.After {
			ends[i] = max(ends[i], ends[before])
		}
		ends[i] += took[task.Name+"/"+task.On]
		longest = max(longest, ends[i])
	}
	return longest
}
