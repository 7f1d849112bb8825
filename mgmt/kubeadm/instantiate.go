package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusterparam"
	"github.com/vnfkit/vnfkit/mgmt/internal/vnfbalancer"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func (d *Driver) instantiateEnd(ctx context.Context, op *vnflcm.Operation) error {
	dep, err := d.open(ctx, op)
	if err != nil {
		return err
	}
	defer dep.close()
	return dep.build(ctx)
}

// build makes the cluster: all machines are prepared at once, the storage server too; the first control-plane node
// is initialised as soon as it is ready for that; the others join as soon as they and the first are, control-plane
// nodes one after the other because etcd takes one new member at a time. Everybody reaches the API through the load
// balancer of the VNF, if it has one: that is made beside the nodes.
func (d *deployment) build(ctx context.Context) error {
	if err := d.checkScriptNames(); err != nil {
		return err
	}
	settings := clusterparam.Settings{PodCIDR: d.p.Master.PodCIDR, ClusterCIDR: d.p.Master.ClusterCIDR, KubernetesVersion: d.p.KubernetesVersion}
	if err := errors.Join(d.noteEndpoint(ctx), settings.Record(ctx, d.op)); err != nil {
		return err
	}
	tokens, way := &batch{d: d}, newPassage()
	err := vnflcm.Each(ctx, 0, []func(context.Context) error{
		func(ctx context.Context) error {
			first := vnfbalancer.Lead{Masters: d.masters[:1]} // the others, and the workers, once they are Ready
			return way.open(func() error { return d.setUpBalancers(ctx, d.balancers, first) })
		},
		func(ctx context.Context) error { return d.makeNodes(ctx, tokens, way) },
	}, func(ctx context.Context, do func(context.Context) error) error { return do(ctx) })
	err = errors.Join(err, d.revokeTokens(ctx))
	if err != nil {
		return err
	}
	if err := clusternodes.AwaitReady(ctx, d.op, d.kube, d.nodes(), d.config.Timeouts.Ready); err != nil {
		return err
	}
	if err := d.route(ctx); err != nil {
		return err
	}
	if err := d.label(ctx, d.nodes()); err != nil {
		return err
	}
	if err := d.registerVolumes(ctx); err != nil {
		return err
	}
	if err := d.setUpHelm(ctx, d.masters); err != nil {
		return err
	}
	return d.registerVIM(ctx)
}

// makeNodes makes all machines of the cluster what they shall be, but for the load balancer.
func (d *deployment) makeNodes(ctx context.Context, tokens *batch, way *passage) error {
	control := newControlPlane()
	return vnflcm.Each(ctx, d.config.Parallel, append(d.nodes(), d.storage...), func(ctx context.Context, n mgmt.Node) error {
		if n.ID == d.masters[0].ID {
			return control.open(func() (bootstrap, error) { return d.bringUp(ctx, n, way) })
		}
		if len(clusternodes.Among(d.storage, []vnflcm.VNFC{n.VNFC})) > 0 {
			return d.setUpStorage(ctx, n)
		}
		if err := d.prepare(ctx, n); err != nil {
			return err
		}
		b, up := control.wait(ctx)
		if !up {
			return context.Cause(ctx) // nil when the control plane failed: that error is reported already
		}
		if !d.isMaster(n) {
			return d.join(ctx, n, b, tokens, false)
		}
		return control.oneByOne(func() error { return d.join(ctx, n, b, tokens, true) })
	})
}

func (d *deployment) isMaster(n mgmt.Node) bool {
	return len(clusternodes.Among(d.masters, []vnflcm.VNFC{n.VNFC})) > 0
}

// bringUp makes the control plane on its first node.
func (d *deployment) bringUp(ctx context.Context, first mgmt.Node, way *passage) (bootstrap, error) {
	if err := d.prepare(ctx, first); err != nil {
		return bootstrap{}, err
	}
	if err := way.wait(ctx); err != nil {
		return bootstrap{}, err
	}
	b, err := d.init(ctx)
	if err != nil {
		return bootstrap{}, err
	}
	err = d.do(ctx, "revoke-tokens", first, time.Minute, func(ctx context.Context) error { return d.revokeAll(ctx, first) })
	if err != nil {
		return bootstrap{}, err
	}
	return b, d.applyCNI(ctx)
}

func (d *deployment) applyCNI(ctx context.Context) error {
	manifest, err := d.networkManifest()
	if manifest == nil || err != nil {
		return err // or the script has done it
	}
	return vnflcm.Do(ctx, d.op, "network", "", func(ctx context.Context) error {
		return mgmt.Within(ctx, d.config.Timeouts.Ready, func(ctx context.Context) error { return d.kube.Apply(ctx, manifest) })
	})
}

// label gives nodes the labels that kubelets may not give themselves and, where a script has made them nodes, their
// taints.
func (d *deployment) label(ctx context.Context, nodes []mgmt.Node) error {
	return vnflcm.Each(ctx, d.config.Parallel, nodes, func(ctx context.Context, n mgmt.Node) error {
		labels, taints := d.nodeLabels(n), d.taintsAfterScript(n)
		if len(labels) == 0 && len(taints) == 0 {
			return nil
		}
		return d.do(ctx, "labels", n, time.Minute, func(ctx context.Context) error {
			node, found, err := d.kube.NodeAt(ctx, n.IP)
			if err == nil && !found {
				err = fmt.Errorf("kubeadm: no node has the address %s", n.IP)
			}
			if err != nil {
				return err
			}
			if err := d.kube.SetLabels(ctx, node.Name, labels); err != nil {
				return err
			}
			return d.kube.SetTaints(ctx, node.Name, taints)
		})
	})
}

// controlPlane is what the nodes that join wait for.
type controlPlane struct {
	opened chan struct{}
	b      bootstrap
	err    error
	etcd   sync.Mutex
}

func newControlPlane() *controlPlane { return &controlPlane{opened: make(chan struct{})} }

func (c *controlPlane) open(bringUp func() (bootstrap, error)) error {
	defer close(c.opened)
	c.b, c.err = bringUp()
	return c.err
}

// wait returns when the control plane is up, has failed, or ctx has ended.
func (c *controlPlane) wait(ctx context.Context) (b bootstrap, up bool) {
	select {
	case <-c.opened:
		return c.b, c.err == nil
	case <-ctx.Done():
		return bootstrap{}, false
	}
}

func (c *controlPlane) oneByOne(join func() error) error {
	c.etcd.Lock()
	defer c.etcd.Unlock()
	return join()
}
