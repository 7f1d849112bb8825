package kubeadm_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/crashtest"
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
		var request vnflcm.HealVnfRequest
		if len(machines) > 0 {
			request.VnfcInstanceID = l.vnfcs(id, machines...)
		}
		return request
	}
}

func scales(kind vnflcm.ScaleType) func(*lab, string) any {
	return func(*lab, string) any { return vnflcm.ScaleVnfRequest{Type: kind, AspectID: "worker_instance"} }
}

func terminates(kind vnflcm.TerminationType) func(*lab, string) any {
	return func(*lab, string) any { return vnflcm.TerminateVnfRequest{TerminationType: kind} }
}

// start starts the operation for a request.
func start(ctx context.Context, m *vnflcm.Manager, id string, request any) (string, error) {
	switch r := request.(type) {
	case vnflcm.InstantiateVnfRequest:
		return m.Instantiate(ctx, id, r)
	case vnflcm.ScaleVnfRequest:
		return m.Scale(ctx, id, r)
	case vnflcm.HealVnfRequest:
		return m.Heal(ctx, id, r)
	case vnflcm.TerminateVnfRequest:
		return m.Terminate(ctx, id, r)
	}
	return "", errors.ErrUnsupported
}

func stops(machines ...string) func(*lab, string) {
	return func(l *lab, _ string) { l.stop(machines...) }
}

// shapes are the operations and shapes of clusters that have different plans.
func shapes(t testing.TB) []shape {
	three := append(virtual(t), clustertest.Sized("complex", 1))
	two := []mgmttest.Change{clustertest.Sized("simple", 1)}
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
		{name: "scale-out", cluster: two, request: scales(vnflcm.ScaleOut)},
		{name: "scale-out-script", file: "instantiate_script.json", cluster: two, request: scales(vnflcm.ScaleOut)},
		{name: "scale-out-load-balancer", setup: behindLB, cluster: behind(t, "simple", 1), request: scales(vnflcm.ScaleOut)},
		{name: "scale-out-registries", setup: rotationSetup(t), cluster: []mgmttest.Change{with(t, firstList)}, request: rotates(vnflcm.ScaleOut)},
		{name: "scale-in", cluster: two, request: scales(vnflcm.ScaleIn)},
		{name: "scale-in-load-balancer", setup: behindLB, cluster: behind(t, "simple", 1), request: scales(vnflcm.ScaleIn)},
		{name: "scale-in-registries", setup: rotationSetup(t), cluster: append(two[:1:1], with(t, firstList)), request: rotates(vnflcm.ScaleIn)},
		{name: "heal-worker", cluster: two, before: stops("workerNode-0"), request: heals("workerNode-0")},
		{name: "heal-control-plane", cluster: three, before: stops("masterNode-0"), request: heals("masterNode-0")},
		{name: "heal-two-control-plane-nodes-and-worker", cluster: three, before: stops("masterNode-2"),
			request: heals("masterNode-1", "masterNode-2", "workerNode-0")},
		{name: "heal-control-plane-helm", setup: helm, cluster: append(three[:len(three):len(three)], with(t, helmParams)), request: heals("masterNode-1")},
		{name: "heal-control-plane-load-balancer", setup: behindLB, cluster: behind(t, "complex", 0), request: heals("masterNode-1", "workerNode-0")},
		{name: "heal-load-balancer", setup: behindLB, cluster: behind(t, "simple", 1), request: heals("externalLB-0")},
		{name: "heal-storage", setup: whole, cluster: []mgmttest.Change{with(t, storageParams)}, request: heals("storage-0")},
		{name: "heal-whole", cluster: two, request: heals()},
		{name: "terminate", cluster: two, request: terminates(vnflcm.TerminateForceful)},
		{name: "terminate-gracefully", cluster: two, request: terminates(vnflcm.TerminateGraceful)},
	}
}

// run runs the operation, and returns its steps as phase/name/machine and the earlier answer of Preview.
func (s shape) run(t *testing.T) (steps []string, plan *vnflcm.Preview) {
	t.Helper()
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
	recorded := new(crashtest.Steps)
	m := l.Process(recorded.Record)
	stored := l.Stored()
	plan, err := m.Preview(t.Context(), id, request)
	if err != nil {
		t.Fatal(err)
	}
	if l.Stored() != stored {
		t.Error("Preview has stored something")
	}
	opID, err := start(t.Context(), m, id, request)
	l.Must(opID, err, m)
	for _, info := range recorded.List() {
		if isHook(info.Phase) {
			steps = append(steps, l.stepName(info))
		}
	}
	slices.Sort(steps)
	return steps, plan
}

// isHook reports whether a phase is a hook of the driver, not a phase of the sandbox.
func isHook(phase string) bool {
	return strings.HasSuffix(phase, "_start") || strings.HasSuffix(phase, "_end")
}

// TestPlans compares the plan that Preview returns with testdata/plans, for reviewers, and the steps of the journal with
// the plan, except for tasks that have a condition. The keys of the journal must be those in testdata/journal, which
// released versions have written. Otherwise a new version could not finish operations that an old version has begun.
func TestPlans(t *testing.T) {
	for _, s := range shapes(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			steps, plan := s.run(t)
			golden(t, "plans/"+s.name+".txt", []byte(plan.String()))
			golden(t, "journal/"+s.name+".txt", []byte(strings.Join(steps, "\n")+"\n"))
			if diff := gocmp.Diff(plannedSteps(plan, steps), steps); diff != "" {
				t.Errorf("the journal is not the plan:\n%s", diff)
			}
		})
	}
}

// plannedSteps returns the steps of a plan. It leaves out a step with a condition unless the step has run.
func plannedSteps(plan *vnflcm.Preview, run []string) (out []string) {
	for _, task := range plan.Tasks {
		step := task.Phase + "/" + task.Name + "/" + task.Machine
		if isHook(task.Phase) && !task.Repeats && (task.If == "" || slices.Contains(run, step)) {
			out = append(out, step)
		}
	}
	slices.Sort(out)
	return out
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
