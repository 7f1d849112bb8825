package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/internal/vnfbalancer"
	"github.com/vnfkit/vnfkit/mgmt/loadbalancer"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// externalBalancer checks external_lb_param, which says by itself where the API is.
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

// balancerAddress is where the API is reached behind the load balancer of the VNF.
func (d *deployment) balancerAddress() apiAddress {
	first := d.balancers[0]
	a := apiAddress{host: first.IP.String(), port: strconv.Itoa(loadbalancer.DefaultPort)}
	if client := d.p.Balancer.ClientAddress(first); client != first.IP {
		a.floating = client
	}
	return a
}

// ways is how the load balancers are worked on.
func (d *deployment) ways() vnfbalancer.Balancing {
	t := d.config.Timeouts
	return vnfbalancer.Balancing{Op: d.op, Parallel: d.config.Parallel,
		Limits: vnfbalancer.BalancingLimits{Install: t.Install, Change: t.Boot, Drain: t.Drain}}
}

// setUpBalancers makes machines load balancers that lead to these nodes.
func (d *deployment) setUpBalancers(ctx context.Context, machines []mgmt.Node, to vnfbalancer.Lead) error {
	if len(machines) == 0 {
		return nil
	}
	err := vnflcm.Each(ctx, d.config.Parallel, machines, func(ctx context.Context, n mgmt.Node) error {
		return n.Reach(ctx, d.op, d.config.Timeouts.Boot)
	})
	if err != nil {
		return err
	}
	everybody := vnfbalancer.Lead{Masters: d.masters, Workers: d.workers}
	if err := d.ways().Install(ctx, machines, d.p.Balancer.ScriptPath, everybody, d.environment()); err != nil {
		return err
	}
	return d.ways().Route(ctx, "first-routes", machines, to)
}

// route has the load balancers lead to all nodes, and to nobody else.
func (d *deployment) route(ctx context.Context) error {
	return d.ways().Route(ctx, "routes", d.balancers, vnfbalancer.Lead{Masters: d.masters, Workers: d.workers})
}

// unroute takes nodes that will go out of the routes of the load balancers that stay. The connections of workers that are
// alive have ended before. Those of control-plane nodes are not waited for: clients of the API, such as kubelets, keep
// theirs for as long as they get answers.
func (d *deployment) unroute(ctx context.Context, gone []mgmt.Node) error {
	balancers := clusternodes.Without(d.balancers, clusternodes.Among(d.balancers, d.op.Change.Replaced))
	if len(balancers) == 0 || len(gone) == 0 {
		return nil
	}
	alive, err := vnfbalancer.Alive(ctx, d.op, d.config.Parallel, clusternodes.Without(gone, d.masters))
	if err != nil {
		return err
	}
	staying := vnfbalancer.Lead{Masters: clusternodes.Without(d.masters, gone), Workers: clusternodes.Without(d.workers, gone)}
	return d.ways().Release(ctx, balancers, alive, staying)
}

// healBalancers makes new machines the load balancers that the old ones were, before anybody joins through them. The parts
// of CNFs are restored too.
func (d *deployment) healBalancers(ctx context.Context, replaced []mgmt.Node) error {
	if len(replaced) == 0 {
		return nil
	}
	if err := d.checkEndpoint(ctx); err != nil {
		return err
	}
	newNodes := clusternodes.Among(d.nodes(), d.op.Change.Replaced)
	there := vnfbalancer.Lead{Masters: clusternodes.Without(d.masters, newNodes), Workers: clusternodes.Without(d.workers, newNodes)}
	if err := d.setUpBalancers(ctx, replaced, there); err != nil {
		return err
	}
	return d.ways().RestoreParts(ctx, d.kube, replaced, replaced...)
}

// endpointState is where the state of the instance has the endpoint that the cluster was made with, if it is at a load
// balancer of the VNF: the nodes know no other.
const endpointState = "endpoint"

// noteEndpoint notes the endpoint of the cluster that will be made.
func (d *deployment) noteEndpoint(ctx context.Context) error {
	if d.p.Balancer == nil {
		return d.op.State().Delete(ctx, endpointState)
	}
	return d.op.State().Put(ctx, endpointState, d.endpoint())
}

// checkEndpoint makes sure that the API is where the nodes know it.
func (d *deployment) checkEndpoint(ctx context.Context) error {
	var made string
	err := d.op.State().Get(ctx, endpointState, &made)
	if errors.Is(err, vnflcm.ErrNotFound) || err == nil && made == d.endpoint() {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("kubeadm: the cluster was made with its API at %s, where its nodes look for it, and now it would be at %s: "+
		"let the load balancer keep its address (in a template: a port of its own), or heal the whole VNF", made, d.endpoint())
}

// passage is opened when the load balancers lead to the first control-plane node, which is initialised through them.
type passage struct {
	opened chan struct{}
	err    error
}

func newPassage() *passage { return &passage{opened: make(chan struct{})} }

func (p *passage) open(lead func() error) error {
	defer close(p.opened)
	p.err = lead()
	return p.err
}

// errPassage is beside the error that tells why.
var errPassage = errors.New("kubeadm: the control plane is not made, since its load balancer is not there")

func (p *passage) wait(ctx context.Context) error {
	select {
	case <-p.opened:
		if p.err != nil {
			return errPassage
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
