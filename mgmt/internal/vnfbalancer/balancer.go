// Package vnfbalancer works on load balancers that are machines of the VNF: they lead to the API and to the services of CNFs.
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

// Balancing is how an operation on a cluster works on its load balancers.
type Balancing struct {
	Op       *vnflcm.Operation
	Parallel int // machines worked on at once
	Limits   BalancingLimits
}

// BalancingLimits bound the steps.
type BalancingLimits struct {
	Install time.Duration // of a machine: packages or the package's script
	Change  time.Duration // of what it leads to
	Drain   time.Duration // until the connections of a node have ended
}

// Lead is whom load balancers lead to.
type Lead struct{ Masters, Workers []mgmt.Node }

// on runs a step on machines.
func (b Balancing) on(ctx context.Context, machines []mgmt.Node, step string, limit time.Duration, do func(context.Context, mgmt.Node) error) error {
	return vnflcm.Each(ctx, b.Parallel, machines, func(ctx context.Context, n mgmt.Node) error {
		return n.Do(ctx, b.Op, step, limit, func(ctx context.Context) error { return do(ctx, n) })
	})
}

// Install makes machines load balancers: by the package's script, which is told the nodes, or, without one, from packages
// of the distribution: step "load-balancer". env is how packages are fetched (mgmt.Proxy.Environment).
func (b Balancing) Install(ctx context.Context, machines []mgmt.Node, script string, nodes Lead, env map[string]string) error {
	return b.on(ctx, machines, "load-balancer", b.Limits.Install, func(ctx context.Context, n mgmt.Node) error {
		if script == "" {
			return loadbalancer.On(n.SSH).Install(ctx, env)
		}
		content, err := mgmt.Artifacts(b.Op)(script)
		if err != nil {
			return err
		}
		defer func() { _ = content.Close() }() // it was only read
		return loadbalancer.On(n.SSH).Script(ctx, content, ips(nodes.Masters), ips(nodes.Workers), env)
	})
}

func ips(nodes []mgmt.Node) (out []netip.Addr) {
	for _, n := range nodes {
		out = append(out, n.IP)
	}
	return out
}

// Route has load balancers lead to these nodes of the cluster, and to nobody else: the step of that name.
func (b Balancing) Route(ctx context.Context, step string, machines []mgmt.Node, to Lead) error {
	part := loadbalancer.Cluster(loadbalancer.DefaultPort, Servers(to.Masters), Servers(to.Workers))
	return b.on(ctx, machines, step, b.Limits.Change, func(ctx context.Context, n mgmt.Node) error {
		return b.lenient(ctx, n, loadbalancer.On(n.SSH).Put(ctx, loadbalancer.ClusterOwner(b.Op.InstanceID), part))
	})
}

// lenient lets an operation be undone while the load balancer cannot be reached: what it does now is rendered anew with
// the next change.
func (b Balancing) lenient(ctx context.Context, n mgmt.Node, err error) error {
	if b.Op.RollingBack && clusternodes.Unreachable(ctx, err) {
		b.Op.Log.WarnContext(ctx, "the load balancer could not be brought up to date", "host", n.HostName, "error", err)
		return nil
	}
	return err
}

// Servers are machines as load balancers know them.
func Servers(nodes []mgmt.Node) (out []loadbalancer.Server) {
	for _, n := range nodes {
		out = append(out, loadbalancer.Server{ID: n.ID, Name: n.HostName, Address: n.IP})
	}
	return out
}

// Release takes nodes that will go out of the load balancers' routes, and leads to those that stay: steps "drain-routes" and
// "routes". Of those that are alive their connections have ended before.
func (b Balancing) Release(ctx context.Context, machines, alive []mgmt.Node, staying Lead) error {
	if len(alive) > 0 {
		if err := b.DrainRoutes(ctx, machines, alive); err != nil {
			return err
		}
	}
	return b.Route(ctx, "routes", machines, staying)
}

// DrainRoutes has load balancers make no new connections to nodes that leave, and waits until the connections that there are have
// ended: step "drain-routes".
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

// RestoreParts gives new load balancers what CNFs have had on the old ones, and lets the drivers of the CNFs know the host
// keys of all new ones: step "parts". A rejected part does not block the other parts.
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

// announcement is what is applied to a ConfigMap of a CNF's part.
func announcement(name string, hostKeys []string) []byte {
	text, _ := json.Marshal(map[string]any{ // of strings only
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]string{"name": name, "namespace": loadbalancer.StoredNamespace},
		"data":     map[string]string{loadbalancer.StoredHostKeys: strings.Join(hostKeys, "\n")},
	})
	return text
}

// answerLimit is how long a machine is given to show that it is alive.
const answerLimit = 20 * time.Second

// Alive are those of the machines that let us log in: step "alive".
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
