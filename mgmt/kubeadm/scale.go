package kubeadm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/internal/nodedrain"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// scaleStart empties the nodes that will be removed.
func (d *Driver) scaleStart(ctx context.Context, op *vnflcm.Operation) error {
	if op.Scale.Type != vnflcm.ScaleIn {
		return nil
	}
	dep, err := d.open(ctx, op)
	if err != nil {
		return err
	}
	defer dep.close()
	gone := clusternodes.Among(dep.workers, op.Change.Removed)
	if err := dep.unroute(ctx, gone); err != nil {
		return err
	}
	return vnflcm.Each(ctx, d.config.Parallel, gone, func(ctx context.Context, n mgmt.Node) error {
		if err := dep.evict(ctx, n, op.RollingBack); err != nil {
			return err
		}
		return dep.do(ctx, "reset", n, time.Minute, func(ctx context.Context) error {
			if err := dep.reset(ctx, n); err != nil {
				op.Log.WarnContext(ctx, "the removed machine could not be reset", "host", n.HostName, "error", err)
			}
			return nil // the machine goes away in any case
		})
	})
}

// evict empties a node whose machine will be removed. With force, a drain that fails does not stop the operation.
func (d *deployment) evict(ctx context.Context, n mgmt.Node, force bool) error {
	o := cluster.DrainOptions{Timeout: d.config.Timeouts.Drain, Force: force, Policy: d.p.DrainPolicy}
	return nodedrain.Withdraw(ctx, d.op, d.kube, n, o)
}

// scaleEnd makes new machines nodes, or deletes the nodes of removed machines, and tells the other machines which nodes
// there are.
func (d *Driver) scaleEnd(ctx context.Context, op *vnflcm.Operation) error {
	dep, err := d.open(ctx, op)
	if err != nil {
		return err
	}
	defer dep.close()
	if op.Scale.Type == vnflcm.ScaleIn {
		if err := nodedrain.DeleteNodes(ctx, op, dep.kube, d.config.Parallel, op.Change.Removed); err != nil {
			return err
		}
		err = errors.Join(d.forget(ctx, op, op.Change.Removed), dep.changeRegistries(ctx, dep.staying()))
		return errors.Join(err, vnflcm.Each(ctx, d.config.Parallel, dep.machines(), dep.updateOther))
	}
	if err := dep.changeRegistries(ctx, dep.staying()); err != nil {
		return err
	}
	return dep.addWorkers(ctx, clusternodes.Among(dep.workers, op.Change.Added))
}

// addWorkers joins new machines to the running cluster.
func (d *deployment) addWorkers(ctx context.Context, added []mgmt.Node) error {
	if err := d.checkScriptNames(); err != nil {
		return err
	}
	b, err := d.existing(ctx)
	if err != nil {
		return err
	}
	tokens := &batch{d: d}
	err = vnflcm.Each(ctx, d.config.Parallel, d.machines(), func(ctx context.Context, n mgmt.Node) error {
		if len(clusternodes.Among(added, []vnflcm.VNFC{n.VNFC})) == 0 {
			return d.updateOther(ctx, n)
		}
		if err := d.prepare(ctx, n); err != nil {
			return err
		}
		return d.join(ctx, n, b, tokens, false)
	})
	if err = errors.Join(err, d.revokeTokens(ctx)); err != nil {
		return err
	}
	if err := clusternodes.AwaitReady(ctx, d.op, d.kube, added, d.config.Timeouts.Ready); err != nil {
		return err
	}
	if err := d.route(ctx); err != nil {
		return err
	}
	return d.label(ctx, added)
}

// existing describes the running cluster, as whichever control-plane node answers sees it.
func (d *deployment) existing(ctx context.Context) (bootstrap, error) {
	if err := d.checkEndpoint(ctx); err != nil {
		return bootstrap{}, err
	}
	b, err := vnflcm.Run(ctx, d.op, vnflcm.Step[bootstrap]{Name: "cluster", Do: func(ctx context.Context) (bootstrap, error) {
		leader, err := d.kube.Leader(ctx)
		if err != nil {
			return bootstrap{}, err
		}
		b, err := d.describe(ctx, leader)
		if err == nil && d.p.ScriptPath == "" {
			b.Version, err = d.clusterVersion(ctx)
		}
		return b, err
	}})
	d.p.KubernetesVersion = cmp.Or(b.Version, d.p.KubernetesVersion) // a script chooses its version itself
	return b, err
}

// clusterVersion reads the version of the control plane from kubeadm-config, which "kubeadm upgrade" keeps up to date
// and "kubeadm join" demands of a node.
func (d *deployment) clusterVersion(ctx context.Context) (string, error) {
	maps, err := d.kube.ConfigMaps(ctx, "kube-system", "")
	if err != nil {
		return "", err
	}
	var config clusterConfiguration
	if err := yaml.Unmarshal([]byte(maps["kubeadm-config"]["ClusterConfiguration"]), &config); err != nil {
		return "", fmt.Errorf("kubeadm: the ConfigMap kubeadm-config: %w", err)
	}
	text := strings.TrimPrefix(config.KubernetesVersion, "v")
	if _, ok := parseVersion(text); !ok {
		return "", fmt.Errorf("kubeadm: the ConfigMap kubeadm-config has no version of Kubernetes, but %q", config.KubernetesVersion)
	}
	return text, nil
}

// updateHosts tells machines that stay as they are which nodes there are. One that cannot be reached is passed
// over: it may be dead, and its heal writes the file anew.
func (d *deployment) updateHosts(ctx context.Context, nodes []mgmt.Node) error {
	return vnflcm.Each(ctx, d.config.Parallel, nodes, func(ctx context.Context, n mgmt.Node) error {
		return d.do(ctx, "hosts", n, time.Minute, func(ctx context.Context) error {
			err := d.writeHosts(ctx, n)
			if clusternodes.Unreachable(ctx, err) {
				d.op.Log.WarnContext(ctx, "the hosts file of a node could not be brought up to date", "host", n.HostName, "error", err)
				return nil
			}
			return err
		})
	})
}

// forget drops what is kept of machines that are gone: connections, host keys, and joins that have not ended.
func (d *Driver) forget(ctx context.Context, op *vnflcm.Operation, gone []vnflcm.VNFC) error {
	var errs []error
	for _, v := range gone {
		d.config.Pool.Forget(v.ResourceID)
		errs = append(errs, mgmt.ForgetHostKey(ctx, op, v.ResourceID), op.State().Delete(ctx, joiningState+v.ResourceID))
	}
	return errors.Join(errs...)
}
