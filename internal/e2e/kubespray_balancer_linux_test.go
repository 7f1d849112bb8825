package e2e_test

import (
	"context"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/internal/e2e/vminfra"
	"github.com/vnfkit/vnfkit/mgmt/loadbalancer"
)

const balancerVDU = "externalLB"

// balancers lets load balancers be machines without haproxy, which they get from the repository of packages.
func (y *yard) balancers() {
	repositories, key := serveRepositories(y.t, y.parts), read(y.t, y.parts.Key())
	y.machines.Change = func(m vminfra.Machine, spec *vmhost.Spec) {
		if m.VDU == balancerVDU {
			spec.Data = nil
			bare(y.parts, repositories, key, spec)
		}
	}
}

// exposeWeb leads to the service of the pods.
func (y *yard) exposeWeb(ctx context.Context, lb *loadbalancer.Balancer) error {
	return lb.Put(ctx, "cnf/web", loadbalancer.Part{Frontends: []loadbalancer.Frontend{
		{Name: "web", Port: webPort, Toward: webPort, To: []string{loadbalancer.Workers}},
		{Name: "local", Port: localPort, Toward: localPort, To: []string{loadbalancer.Workers}},
	}})
}
