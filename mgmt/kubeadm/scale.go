package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/internal/nodedrain"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/controlplane"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/kubeversion"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// runReset stops what kubeadm has started on a machine. The machine is removed even if that fails.
func runReset(ctx context.Context, e *environment, n mgmt.Node) error {
	if err := controlplane.Reset(ctx, n); err != nil {
		e.op.Log.WarnContext(ctx, "the removed machine could not be reset", "host", n.HostName, "error", err)
	}
	return nil
}

// runRecordNode records the Node object of a leaving machine, and whether the node is not Ready.
func runRecordNode(ctx context.Context, e *environment, n mgmt.Node) error {
	silent, err := nodedrain.RecordNode(ctx, e.op, e.kube, n)
	e.silent.Set(n.ID, silent)
	return err
}

func runStopMachine(ctx context.Context, e *environment, n mgmt.Node) error {
	if !e.silent.Of(n.ID) {
		return nil
	}
	off, err := nodedrain.StopMachine(ctx, e.op, n)
	e.off.Set(n.ID, off)
	return err
}

// runDrain drains a node whose machine will be removed. A failed drain does not stop a heal or a rollback.
func runDrain(ctx context.Context, e *environment, n mgmt.Node) error {
	return nodedrain.Drain(ctx, e.op, e.kube, n, e.leaveWithin(e.config.Timeouts.Drain))
}

// runAwaitDetached waits for the volumes of a node, unless its machine is known to be off. Volumes that stay attached do not stop a
// heal or a rollback.
func runAwaitDetached(ctx context.Context, e *environment, n mgmt.Node) error {
	if e.off.Of(n.ID) {
		return nil
	}
	return nodedrain.AwaitDetached(ctx, e.op, e.kube, n, e.leaveWithin(e.config.Timeouts.Detach))
}

// leaveWithin returns the options for a node that leaves the cluster.
func (d *environment) leaveWithin(limit time.Duration) cluster.DrainOptions {
	return cluster.DrainOptions{Timeout: limit, Force: d.op.Heal != nil || d.op.RollingBack, Policy: d.p.DrainPolicy}
}

func runDeleteNode(ctx context.Context, e *environment, n mgmt.Node) error {
	return nodedrain.DeleteNode(ctx, e.op, e.kube, n.VNFC)
}

// runReadCluster describes the running cluster, as seen by the first control-plane node that answers.
func runReadCluster(ctx context.Context, e *environment, _ mgmt.Node) error {
	if err := e.checkScriptNames(); err != nil {
		return err
	}
	b, err := vnflcm.Run(ctx, e.op, vnflcm.Step[controlplane.Bootstrap]{Name: "cluster", Do: func(ctx context.Context) (controlplane.Bootstrap, error) {
		leader, err := e.kube.Leader(ctx)
		if err != nil {
			return controlplane.Bootstrap{}, err
		}
		warnOfEnd(ctx, e, leader)
		b, err := controlplane.Describe(ctx, leader, e.endpoint())
		if err == nil && e.p.ScriptPath == "" {
			b.Version, err = clusterVersion(ctx, e)
		}
		return b, err
	}})
	e.running.Set("", b)
	return err
}

// clusterVersion reads the version of the control plane from kubeadm-config. "kubeadm upgrade" keeps it up to date, and
// "kubeadm join" requires nodes to have it.
func clusterVersion(ctx context.Context, e *environment) (string, error) {
	text, err := clusterConfiguration(ctx, e)
	if err != nil {
		return "", err
	}
	var config struct {
		KubernetesVersion string `yaml:"kubernetesVersion"`
	}
	if err := yaml.Unmarshal([]byte(text), &config); err != nil {
		return "", fmt.Errorf("kubeadm: the ConfigMap kubeadm-config: %w", err)
	}
	version := strings.TrimPrefix(config.KubernetesVersion, "v")
	if _, ok := kubeversion.Parse(version); !ok {
		return "", fmt.Errorf("kubeadm: the ConfigMap kubeadm-config has no version of Kubernetes, but %q", config.KubernetesVersion)
	}
	return version, nil
}

// clusterConfiguration reads the configuration of the cluster, which kubeadm keeps in the ConfigMap kubeadm-config.
func clusterConfiguration(ctx context.Context, e *environment) (controlplane.Configuration, error) {
	maps, err := e.kube.ConfigMaps(ctx, "kube-system", "")
	return controlplane.Configuration(maps["kubeadm-config"]["ClusterConfiguration"]), err
}

// runUpdateHosts updates the hosts file of a machine that stays. It ignores a machine that cannot be reached, because the
// machine may be dead, and healing it writes the file again.
func runUpdateHosts(ctx context.Context, e *environment, n mgmt.Node) error {
	err := runWriteHosts(ctx, e, n)
	if clusternodes.Unreachable(ctx, err) {
		e.op.Log.WarnContext(ctx, "the hosts file of a node could not be brought up to date", "host", n.HostName, "error", err)
		return nil
	}
	return err
}

// runForget deletes the connections, host keys and unfinished joins of machines that are removed or replaced.
func runForget(ctx context.Context, e *environment, _ mgmt.Node) error {
	var errs []error
	for _, v := range slices.Concat(e.op.Change.Removed, e.op.Change.Replaced) {
		e.config.Pool.Forget(v.ResourceID)
		errs = append(errs, mgmt.ForgetHostKey(ctx, e.op, v.ResourceID), e.op.State().Delete(ctx, joiningState+v.ResourceID))
	}
	return errors.Join(errs...)
}
