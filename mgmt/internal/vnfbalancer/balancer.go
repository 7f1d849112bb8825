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
	Op     *vnflcm.Operation
	Limits BalancingLimits
	// Prepare runs on a machine before packages are installed. Default: nothing.
	Prepare func(context.Context, mgmt.Node) error
}

// BalancingLimits bound the duration of the steps.
type BalancingLimits struct {
	Install time.Duration // installing a machine, from packages or by the package's script
	Change  time.Duration // changing the routes
	Drain   time.Duration // waiting until the connections of a node have ended
}

// Lead has the nodes to which load balancers forward: the control plane for the API, workers for services.
type Lead struct{ ControlPlane, Workers []mgmt.Node }

// Install installs a load balancer from packages of the distribution or, if script is set, by the package's script, which
// gets the addresses of the nodes. It is the step "load-balancer". env has the proxy for fetching packages
// (mgmt.Proxy.Environment).
func (b Balancing) Install(ctx context.Context, n mgmt.Node, script string, nodes Lead, env map[string]string) error {
	return n.Do(ctx, b.Op, "load-balancer", b.Limits.Install, func(ctx context.Context) error {
		if script == "" && b.Prepare != nil {
			if err := b.Prepare(ctx, n); err != nil {
				return err
			}
		}
		if script == "" {
			return loadbalancer.On(n.SSH).Install(ctx, env)
		}
		content, err := mgmt.Artifacts(b.Op)(script)
		if err != nil {
			return err
		}
		defer func() { _ = content.Close() }() // the file was only read
		return loadbalancer.On(n.SSH).Script(ctx, content, ips(nodes.ControlPlane), ips(nodes.Workers), env)
	})
}

func ips(nodes []mgmt.Node) (out []netip.Addr) {
	for _, n := range nodes {
		out = append(out, n.IP)
	}
	return out
}

// Route configures a load balancer with exactly these nodes of the cluster. It is one step, named step.
func (b Balancing) Route(ctx context.Context, step string, n mgmt.Node, to Lead) error {
	return n.Do(ctx, b.Op, step, b.Limits.Change, func(ctx context.Context) error { return b.lenient(ctx, n, b.Lead(ctx, n, to)) })
}

// Lead configures a load balancer as Route does. It is no step.
func (b Balancing) Lead(ctx context.Context, n mgmt.Node, to Lead) error {
	part := loadbalancer.Cluster(loadbalancer.DefaultPort, Servers(to.ControlPlane), Servers(to.Workers))
	return loadbalancer.On(n.SSH).Put(ctx, loadbalancer.ClusterOwner(b.Op.InstanceID), part)
}

// lenient ignores an unreachable load balancer while an operation is rolled back. The next change writes the whole
// configuration.
func (b Balancing) lenient(ctx context.Context, n mgmt.Node, err error) error {
	if b.Op.RollingBack && clusternodes.Unreachable(ctx, err) {
		b.Op.Log.WarnContext(ctx, "the load balancer could not be brought up to date", "host", n.Label(), "error", err)
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

// DrainRoutes makes a load balancer stop opening connections to leaving nodes, and waits until the existing connections have
// ended. It is the step "drain-routes".
func (b Balancing) DrainRoutes(ctx context.Context, n mgmt.Node, leave []mgmt.Node) error {
	return n.Do(ctx, b.Op, "drain-routes", b.Limits.Drain+b.Limits.Change, func(ctx context.Context) error {
		left, err := loadbalancer.On(n.SSH).Drain(ctx, ids(leave), b.Limits.Drain)
		if left > 0 && err == nil {
			b.Op.Log.WarnContext(ctx, "connections to nodes that go are cut", "host", n.Label(), "connections", left)
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

// RestoreParts gives a new load balancer the routes to services of CNFs that the replaced one had, and publishes the host keys
// of all load balancers for the drivers of the CNFs. It is the step "parts". A rejected part does not block the other parts.
func (b Balancing) RestoreParts(ctx context.Context, kube *clusternodes.Cluster, n mgmt.Node, all []mgmt.Node) error {
	var keys []string
	for _, balancer := range all {
		key, err := mgmt.HostKey(ctx, b.Op, balancer.ResourceID)
		if err != nil {
			return err
		}
		keys = append(keys, key)
	}
	return n.Do(ctx, b.Op, "parts", b.Limits.Change, func(ctx context.Context) error {
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
				b.Op.Log.WarnContext(ctx, "the services of a CNF are not exposed any more", "configmap", name, "host", n.Label(), "error", err)
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
