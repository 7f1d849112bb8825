package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func (d *Driver) instantiateEnd(ctx context.Context, op *vnflcm.Operation) error {
	dep, err := d.open(op)
	if err != nil {
		return err
	}
	defer dep.close()
	return dep.build(ctx)
}

// build makes the cluster: all machines are prepared at once; the first control-plane node is initialised as
// soon as it is ready for that; the others join as soon as they and the first are, control-plane nodes one
// after the other because etcd takes one new member at a time.
func (d *deployment) build(ctx context.Context) error {
	if err := d.checkScriptNames(); err != nil {
		return err
	}
	tokens := &batch{d: d}
	control := newControlPlane()
	err := vnflcm.Each(ctx, d.config.Parallel, d.nodes(), func(ctx context.Context, n mgmt.Node) error {
		if n.ID == d.masters[0].ID {
			return control.open(func() (bootstrap, error) { return d.bringUp(ctx, n) })
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
	err = errors.Join(err, d.revokeTokens(ctx))
	if err != nil {
		return err
	}
	if err := d.awaitReady(ctx, d.nodes()); err != nil {
		return err
	}
	if err := d.label(ctx, d.nodes()); err != nil {
		return err
	}
	if err := d.setUpHelm(ctx, d.masters); err != nil {
		return err
	}
	return d.registerVIM(ctx)
}

func (d *deployment) isMaster(n mgmt.Node) bool {
	return len(among(d.masters, []vnflcm.VNFC{n.VNFC})) > 0
}

// bringUp makes the control plane on its first node.
func (d *deployment) bringUp(ctx context.Context, first mgmt.Node) (bootstrap, error) {
	if err := d.prepare(ctx, first); err != nil {
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
		return within(ctx, d.config.Timeouts.Ready, func(ctx context.Context) error { return d.kube.Apply(ctx, manifest) })
	})
}

func (d *deployment) awaitReady(ctx context.Context, nodes []mgmt.Node) error {
	var addrs []netip.Addr
	for _, n := range nodes {
		addrs = append(addrs, n.IP)
	}
	return vnflcm.Do(ctx, d.op, "ready", "", func(ctx context.Context) error {
		return within(ctx, d.config.Timeouts.Ready, func(ctx context.Context) error {
			return d.kube.WaitReady(ctx, addrs, func(message string) { d.op.Report(ctx, message) })
		})
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
