// Package vnfbalancer sets up load balancers that are machines of the VNF. They forward clients to the Kubernetes API and
// to services of CNFs.
package vnfbalancer

import (
	"context"
	"encoding/json"
	"net/netip"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/loadbalancer"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Balancing has the operation and the limits with which load balancers are set up and changed.
type Balancing struct {
	Op       *vnflcm.Operation
	Parallel int // bound of machines changed concurrently
	Limits   BalancingLimits
}

// BalancingLimits bound the duration of the steps.
type BalancingLimits struct {
	Install time.Duration // installing a machine, from packages or by the package's script
	Change  time.Duration // changing the routes
	Drain   time.Duration // waiting until the connections of a node have ended
}

// Lead has the nodes to which load balancers forward: Masters for the API, Workers for services.
type Lead struct{ Masters, Workers []mgmt.Node }

// on runs do as a step on each machine, several machines concurrently.
func (b Balancing) on(ctx context.Context, machines []mgmt.Node, step string, limit time.Duration, do func(context.Context, mgmt.Node) error) error {
	return vnflcm.Each(ctx, b.Parallel, machines, func(ctx context.Context, n mgmt.Node) error {
		return n.Do(ctx, b.Op, step, limit, func(ctx context.Context) error { return do(ctx, n) })
	})
}

// Install installs load balancers from packages of the distribution or, if script is set, by the package's script, which
// gets the addresses of the nodes. It is the step "load-balancer". env has the proxy for fetching packages
// (mgmt.Proxy.Environment).
func (b Balancing) Install(ctx context.Context, machines []mgmt.Node, script string, nodes Lead, env map[string]string) error {
	return b.on(ctx, machines, "load-balancer", b.Limits.Install, func(ctx context.Context, n mgmt.Node) error {
		if script == "" {
			return loadbalancer.On(n.SSH).Install(ctx, env)
		}
		content, err := mgmt.Artifacts(b.Op)(script)
		if err != nil {
			return err
		}
		defer func() { _ = content.Close() }() // the file was only read
		return loadbalancer.On(n.SSH).Script(ctx, content, ips(nodes.Masters), ips(nodes.Workers), env)
	})
}

func ips(nodes []mgmt.Node) (out []netip.Addr) {
	for _, n := range nodes {
		out = append(out, n.IP)
	}
	return out
}

// Route configures load balancers with exactly these nodes of the cluster. It is one step, named step.
func (b Balancing) Route(ctx context.Context, step string, machines []mgmt.Node, to Lead) error {
	part := loadbalancer.Cluster(loadbalancer.DefaultPort, Servers(to.Masters), Servers(to.Workers))
	return b.on(ctx, machines, step, b.Limits.Change, func(ctx context.Context, n mgmt.Node) error {
		return b.lenient(ctx, n, loadbalancer.On(n.SSH).Put(ctx, loadbalancer.ClusterOwner(b.Op.InstanceID), part))
	})
}

// lenient ignores an unreachable load balancer while an operation is rolled back. The next change writes the whole
// configuration.
func (b Balancing) lenient(ctx context.Context, n mgmt.Node, err error) error {
	if b.Op.RollingBack && clusternodes.Unreachable(ctx, err) {
		b.Op.Log.WarnContext(ctx, "the load balancer could not be brought up to date", "host", n.HostName, "error", err)
		return nil
	}
	return err
}

// Servers returns machines in the form of package loadbalancer.
func Servers(nodes []mgmt.Node) (out []loadbalancer.Server) {
	for _, n := range nodes {
		out = append(out, loadbalancer.Server{ID: n.ID, Name: n.HostName, Address: n.IP})
	}
	return out
}

// Release removes leaving nodes from the routes of load balancers: steps "drain-routes" and "routes". It waits until the
// connections of those that are alive have ended. staying are the remaining nodes.
func (b Balancing) Release(ctx context.Context, machines, alive []mgmt.Node, staying Lead) error {
	if len(alive) > 0 {
		if err := b.DrainRoutes(ctx, machines, alive); err != nil {
			return err
		}
	}
	return b.Route(ctx, "routes", machines, staying)
}

// DrainRoutes makes load balancers stop opening connections to leaving nodes, and waits until the existing connections have
// ended. It is the step "drain-routes".
func (b Balancing) DrainRoutes(ctx context.Context, machines, leave []mgmt.Node) error {
	return b.on(ctx, machines, "drain-routes", b.Limits.Drain+b.Limits.Change, func(ctx context.Context, n mgmt.Node) error {
		left, err := loadbalancer.On(n.SSH).Drain(ctx, ids(leave), b.Limits.Drain)
		if left > 0 && err == nil {
			b.Op.Log.WarnContext(ctx, "connections to nodes that go are cut", "host", n.HostName, "connections", left)
		}
		return b.lenient(ctx, n, err)
	})
}

func ids(nodes []mgmt.Node) (out []string) {
	for _, n := range nodes {
		out = append(out, n.ID)
	}
	return out
}

// RestoreParts gives new load balancers the routes to services of CNFs that the replaced ones had, and publishes the host
// keys of all load balancers for the drivers of the CNFs. It is the step "parts". A rejected part does not block the other
// parts.
func (b Balancing) RestoreParts(ctx context.Context, kube *clusternodes.Cluster, all []mgmt.Node, machines ...mgmt.Node) error {
	var keys []string
	for _, n := range all {
		key, err := mgmt.HostKey(ctx, b.Op, n.ResourceID)
		if err != nil {
			return err
		}
		keys = append(keys, key)
	}
	return b.on(ctx, machines, "parts", b.Limits.Change, func(ctx context.Context, n mgmt.Node) error {
		kept, err := kube.ConfigMaps(ctx, loadbalancer.StoredNamespace, loadbalancer.StoredLabel+"="+loadbalancer.StoredLabelValue)
		if err != nil {
			return err
		}
		for name, data := range kept {
			owner, part, err := loadbalancer.ParseStored(name, data)
			if err == nil {
				err = loadbalancer.On(n.SSH).Put(ctx, owner, part)
			}
			if ctx.Err() != nil || clusternodes.Unreachable(ctx, err) {
				return err
			}
			if err != nil {
				b.Op.Log.WarnContext(ctx, "the services of a CNF are not exposed any more", "configmap", name, "host", n.HostName, "error", err)
				continue
			}
			if err := kube.Apply(ctx, announcement(name, keys)); err != nil {
				return err
			}
		}
		return nil
	})
}

// announcement returns the patch of a CNF's ConfigMap that has the host keys.
func announcement(name string, hostKeys []string) []byte {
	text, _ := json.Marshal(map[string]any{ // cannot fail: strings only
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]string{"name": name, "namespace": loadbalancer.StoredNamespace},
		"data":     map[string]string{loadbalancer.StoredHostKeys: strings.Join(hostKeys, "\n")},
	})
	return text
}

// answerLimit bounds how long a machine may take to answer.
const answerLimit = 20 * time.Second

// Alive returns the machines to which the driver can log in. It is the step "alive".
func Alive(ctx context.Context, op *vnflcm.Operation, parallel int, nodes []mgmt.Node) ([]mgmt.Node, error) {
	answers := make([]bool, len(nodes))
	index := map[string]int{}
	for i, n := range nodes {
		index[n.ID] = i
	}
	err := vnflcm.Each(ctx, parallel, nodes, func(ctx context.Context, n mgmt.Node) (err error) {
		answers[index[n.ID]], err = vnflcm.Run(ctx, op, vnflcm.Step[bool]{Name: "alive", On: n.ID, Do: func(ctx context.Context) (bool, error) {
			err := mgmt.Within(ctx, answerLimit, func(ctx context.Context) error { return n.SSH.Run(ctx, []string{"true"}, nil, nil, nil) })
			if ctx.Err() != nil {
				return false, context.Cause(ctx)
			}
			return err == nil, nil
		}})
		return err
	})
	var out []mgmt.Node
	for i, n := range nodes {
		if answers[i] {
			out = append(out, n)
		}
	}
	return out, err
}
