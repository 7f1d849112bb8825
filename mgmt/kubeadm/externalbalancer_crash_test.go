package kubeadm_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// balancerSetup returns the setup of prepare, with a load balancer.
func balancerSetup() *setup {
	return &setup{sandbox: sandbox.Config{Takes: takes}, pkg: balancerPackage}
}

// balancedWorld returns a running cluster behind a load balancer.
func balancedWorld(t *testing.T, flavour string) prepared {
	t.Helper()
	s := balancerSetup()
	l := openLab(t, *s)
	return prepared{setup: s, check: (*lab).onlyRoutes, instance: l.balanced(flavour, 1), from: l.Snapshot()}
}

// onlyRoutes checks the routes of the only instance.
func (l *lab) onlyRoutes() {
	l.t.Helper()
	instances := l.Records("instance")
	if len(instances) != 1 {
		l.t.Fatalf("%d instances", len(instances))
	}
	l.wantRoutes(instances[0].ID)
}

// TestBalancerCrash kills the process in each step that works on the load balancer, at alternating points. TestCrash cuts
// the code that all steps share at every point.
func TestBalancerCrash(t *testing.T) {
	t.Parallel()
	begin := func(machines ...string) func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error) {
		return func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error) {
			return m.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, machines...)}) //nolint:contextcheck // looks at the world only
		}
	}
	scale := func(to vnflcm.ScaleType) func(ctx context.Context, m *vnflcm.Manager, _ *lab, id string) (string, error) {
		return func(ctx context.Context, m *vnflcm.Manager, _ *lab, id string) (string, error) {
			return m.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: to, AspectID: "worker_instance"})
		}
	}
	simple, complex := balancedWorld(t, "simple"), balancedWorld(t, "complex")
	var cases []crashCase
	for _, c := range []struct {
		scenario
		prepared
	}{
		{scenario{name: "instantiate", only: []string{"init"}, begin: func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error) {
			return m.Instantiate(ctx, id, l.Request("instantiate_sandbox.json", behind(l.t, "simple", 1)...))
		}}, prepared{setup: balancerSetup(), check: (*lab).onlyRoutes}},
		{scenario{name: "scale out", begin: scale(vnflcm.ScaleOut)}, simple},
		{scenario{name: "scale in", begin: scale(vnflcm.ScaleIn), only: []string{"drain"}}, simple},
		{scenario{name: "heal the load balancer", begin: begin("externalLB-0"), only: []string{"replace-vm", "register-vim"}}, simple},
		{scenario{name: "heal the load balancer and a worker", begin: begin("externalLB-0", "workerNode-0"), only: []string{"join"}, variant: true}, simple},
		{scenario{name: "heal a control-plane node and a worker", begin: begin("masterNode-0", "workerNode-0")}, complex},
		{scenario{name: "renew certificates", begin: func(ctx context.Context, m *vnflcm.Manager, _ *lab, id string) (string, error) {
			return m.Maintain(ctx, id, renewal)
		}}, complex},
	} {
		if c.variant && fulltest.SkipsVariant(t, c.name) {
			continue
		}
		steps, want := c.undisturbed(t, c.prepared)
		var cuts []cut
		for _, step := range steps {
			name := strings.Split(step, "/")[1]
			if !strings.HasSuffix(step, "/externalLB-0") && name != "alive" && !slices.Contains(c.only, name) {
				continue
			}
			points := cutPointsOf(step)
			cuts = append(cuts, cut{step, points[len(cuts)%len(points)]})
		}
		if len(cuts) == 0 {
			t.Errorf("%s: no step is cut: %q", c.name, steps)
		}
		cases = append(cases, c.dying(c.prepared, cuts, want)...)
	}
	crash(t, cases)
}
