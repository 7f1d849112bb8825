package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/internal/plan"
	"github.com/vnfkit/vnfkit/mgmt/internal/vnfbalancer"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/nodeprep"
	"github.com/vnfkit/vnfkit/mgmt/loadbalancer"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// externalBalancer checks external_lb_param. With it the API is at the load balancer, so other parameters of the API's
// address are faults.
func (c *checker) externalBalancer(k *clusterParam) {
	if k.Balancer == nil {
		return
	}
	others := []vnfbalancer.Role{{Machines: "control-plane nodes", CP: k.Master.SSHCPName}, {Machines: "workers", CP: k.Worker.SSHCPName}}
	if k.Storage != nil {
		others = append(others, vnfbalancer.Role{Machines: "the storage server", CP: k.Storage.SSHCPName})
	}
	k.Balancer.Check(&c.Checker, others...)
	for _, other := range []struct{ path, value, reason string }{
		{"api_endpoint", k.APIEndpoint, "cannot be given beside external_lb_param, whose load balancer is the endpoint: leave one of them out"},
		{"script_path", k.ScriptPath, "cannot be given beside external_lb_param: the script sets up the endpoint itself"},
		{"master_node.cluster_fip_name", k.Master.ClusterFIPName, "has no effect with external_lb_param: the floating address of the load balancer is found without it"},
	} {
		if other.value != "" {
			c.Fault(other.path, other.value, other.reason)
		}
	}
}

// balancerAddress returns the address of the API at the load balancer of the VNF.
func (e *environment) balancerAddress() apiAddress {
	first := e.balancers[0]
	a := apiAddress{host: first.IP.String(), port: strconv.Itoa(loadbalancer.DefaultPort)}
	if client := e.p.Balancer.ClientAddress(first); client != first.IP {
		a.floating = client
	}
	return a
}

// balancing returns the operation and the limits with which package vnfbalancer works on the load balancers.
func (e *environment) balancing() vnfbalancer.Balancing {
	t := e.config.Timeouts
	b := vnfbalancer.Balancing{Op: e.op, Limits: vnfbalancer.BalancingLimits{Install: t.Install, Change: t.Boot, Drain: t.Drain}}
	if e.p.Packages.From() == nodeprep.FromMirrors { // which the machine does not know
		b.Prepare = func(ctx context.Context, n mgmt.Node) error {
			return e.preparation().Need(ctx, n, nodeprep.Program{Package: "haproxy"}, nodeprep.Program{Package: "iproute2"})
		}
	}
	return b
}

// allNodes returns the nodes to which a load balancer forwards after the operation.
func (e *environment) allNodes() vnfbalancer.Lead {
	return vnfbalancer.Lead{ControlPlane: e.controlPlane, Workers: e.workers}
}

// presentNodes returns the nodes to which a load balancer forwards before new nodes join.
func (e *environment) presentNodes() vnfbalancer.Lead {
	if e.makesCluster() {
		return vnfbalancer.Lead{ControlPlane: e.controlPlane[:1]} // the other nodes are added once they are Ready
	}
	changes := []plan.Change{plan.IsReplaced, plan.IsRestarted, plan.IsRemoved}
	controlPlane := clusternodes.Without(e.controlPlane, e.having(e.controlPlane, changes...))
	if e.shape.Rebuilds {
		controlPlane = e.controlPlane[:1]
	}
	return vnfbalancer.Lead{ControlPlane: controlPlane,
		Workers: clusternodes.Without(e.workers, e.having(e.workers, changes...))}
}

func runInstallBalancer(ctx context.Context, e *environment, n mgmt.Node) error {
	return needed(e, e.balancing().Install(ctx, n, e.p.Balancer.ScriptPath, e.allNodes(), e.proxyEnvironment()))
}

func runRouteFirst(ctx context.Context, e *environment, n mgmt.Node) error {
	return needed(e, e.balancing().Route(ctx, "first-routes", n, e.presentNodes()))
}

// errNoBalancer is joined with the error of a load balancer, without which no cluster is created.
var errNoBalancer = errors.New("kubeadm: the control plane is not made, since its load balancer is not there")

// needed adds errNoBalancer to the error of a load balancer if the operation creates a cluster.
func needed(e *environment, err error) error {
	if err != nil && e.makesCluster() {
		return errors.Join(err, errNoBalancer)
	}
	return err
}

// runRoute configures a load balancer with exactly the nodes of the cluster.
func runRoute(ctx context.Context, e *environment, n mgmt.Node) error {
	return e.balancing().Route(ctx, "routes", n, e.allNodes())
}

// runRouteStaying removes leaving nodes from the routes of a load balancer.
func runRouteStaying(ctx context.Context, e *environment, n mgmt.Node) error {
	return e.balancing().Route(ctx, "routes", n, e.presentNodes())
}

func runCheckAlive(ctx context.Context, e *environment, n mgmt.Node) error {
	alive, err := clusternodes.Alive(ctx, e.op, n)
	e.alive.Set(n.ID, alive)
	return err
}

// runDrainRoutes waits until the connections of leaving workers that are alive have ended. It does not wait for connections
// to control-plane nodes: clients of the API, such as kubelets, keep their connections open.
func runDrainRoutes(ctx context.Context, e *environment, n mgmt.Node) error {
	leave := slices.DeleteFunc(slices.Clone(e.workers), func(w mgmt.Node) bool { return !e.alive.Of(w.ID) })
	if len(leave) == 0 {
		return nil
	}
	return e.balancing().DrainRoutes(ctx, n, leave)
}

// runRestoreParts gives a new load balancer the routes to services of CNFs that the replaced one had.
func runRestoreParts(ctx context.Context, e *environment, n mgmt.Node) error {
	return e.balancing().RestoreParts(ctx, e.kube, n, e.balancers)
}

// endpointState is the state key of the endpoint with which the cluster was created, if it is at a load balancer of the
// VNF. The nodes know no other endpoint.
const endpointState = "endpoint"

// noteEndpoint records the endpoint of a new cluster.
func noteEndpoint(ctx context.Context, e *environment) error {
	if e.p.Balancer == nil {
		return e.op.State().Delete(ctx, endpointState)
	}
	return e.op.State().Put(ctx, endpointState, e.endpoint())
}

// runCheckEndpoint fails if the endpoint of the API differs from the one with which the cluster was created.
func runCheckEndpoint(ctx context.Context, e *environment, _ mgmt.Node) error {
	var made string
	err := e.op.State().Get(ctx, endpointState, &made)
	if errors.Is(err, vnflcm.ErrNotFound) || err == nil && made == e.endpoint() {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("kubeadm: the cluster was made with its API at %s, where its nodes look for it, and now it would be at %s: "+
		"let the load balancer keep its address (in a template: with a separate port resource), or heal the whole VNF", made, e.endpoint())
}
