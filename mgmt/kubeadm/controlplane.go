package kubeadm

import (
	"cmp"
	"context"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/controlplane"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// program returns the Program that sets up nodes: the package's script, or kubeadm with the driver's configuration.
func (e *environment) program() controlplane.Program {
	if e.p.ScriptPath != "" {
		return e.script()
	}
	return e.kubeadm()
}

func (e *environment) kubeadm() controlplane.Kubeadm {
	return controlplane.Kubeadm{Version: e.version(), Endpoint: e.endpoint(), PodSubnet: e.p.Master.PodCIDR, ServiceSubnet: e.p.Master.ClusterCIDR, Repository: e.p.ImageRepository,
		SANs: e.certSANs(), Validity: e.p.certificateValidity(), Components: e.p.componentDocuments(), User: e.p.userSettings(), IgnorePreflight: e.p.IgnorePreflight,
		Register: func(n mgmt.Node) controlplane.Registration {
			marks := e.marks(n)
			return controlplane.Registration{Labels: marks.byKubelet(), Taints: marks.taints()}
		}}
}

// runRevokeTokens deletes the tokens that kubeadm init or the script has created.
func runRevokeTokens(ctx context.Context, e *environment, n mgmt.Node) error {
	return e.tokens.RevokeAll(ctx, n)
}

func runRevokeCredentials(ctx context.Context, e *environment, _ mgmt.Node) error {
	return e.tokens.Revoke(ctx)
}

// runInitCluster initialises the control plane on the first node.
func runInitCluster(ctx context.Context, e *environment, first mgmt.Node) error {
	b, err := vnflcm.Run(ctx, e.op, vnflcm.Step[controlplane.Bootstrap]{
		Name: "init", On: first.ID,
		Probe: func(ctx context.Context) (controlplane.Bootstrap, bool, error) { return initialised(ctx, e, first) },
		Do: func(ctx context.Context) (b controlplane.Bootstrap, err error) {
			err = mgmt.Within(ctx, e.config.Timeouts.Install, func(ctx context.Context) error {
				if err := clean(ctx, e, first); err != nil {
					return err
				}
				if err := initNow(ctx, e, first); err != nil {
					return err
				}
				b, err = controlplane.Describe(ctx, first, e.endpoint())
				return err
			})
			return b, err
		},
	})
	b.Version = cmp.Or(b.Version, e.running.Of("").Version)
	e.running.Set("", b)
	return err
}

// initNow makes the first control-plane node: of a new cluster, or of one that is restored.
func initNow(ctx context.Context, e *environment, first mgmt.Node) error {
	restored := e.restored.Of("")
	if restored.Snapshot == "" {
		return e.program().Init(ctx, first)
	}
	if err := placeSnapshot(ctx, e, first); err != nil {
		return err
	}
	k := e.kubeadm()
	k.IgnorePreflight = append(slices.Clip(k.IgnorePreflight), controlplane.HasEtcdData)
	if err := k.Init(ctx, first); err != nil {
		return err
	}
	return restored.restore().MarkRestored(ctx, first)
}

// settle waits until no program that an earlier process has started runs on the machine.
func settle(ctx context.Context, e *environment, n mgmt.Node) error {
	return mgmt.Within(ctx, e.config.Timeouts.Install, func(ctx context.Context) error {
		if e.p.ScriptPath != "" {
			if err := controlplane.AwaitScript(ctx, n); err != nil {
				return err
			}
		}
		return controlplane.Await(ctx, n)
	})
}

// initialised reports whether kubeadm init has completed on the node. kubeadm init creates kube-proxy last: without
// kube-proxy the run was interrupted, and no other node can have joined.
func initialised(ctx context.Context, e *environment, n mgmt.Node) (controlplane.Bootstrap, bool, error) {
	if err := settle(ctx, e, n); err != nil {
		return controlplane.Bootstrap{}, false, err
	}
	begun, err := n.Root().Succeeds(ctx, "test", "-e", "/etc/kubernetes/admin.conf")
	if !begun || err != nil {
		return controlplane.Bootstrap{}, false, err
	}
	if err := cluster.Ready(ctx, n); err != nil {
		if ctx.Err() != nil {
			return controlplane.Bootstrap{}, false, err
		}
		return controlplane.Bootstrap{}, false, nil
	}
	kube := cluster.New([]mgmt.Node{n})
	defer kube.Close()
	done, err := kube.Exists(ctx, "kube-system", "daemonset", "kube-proxy")
	if restored := e.restored.Of(""); done && restored.Snapshot != "" { // the data of the snapshot have kube-proxy already
		done, err = restored.restore().IsMarked(ctx, n)
	}
	if !done || err != nil {
		return controlplane.Bootstrap{}, false, err
	}
	b, err := controlplane.Describe(ctx, n, e.endpoint())
	return b, err == nil, err
}

// clean resets a machine on which an earlier attempt was interrupted. It is called only before init and join, when the
// machine has no data that could be lost.
func clean(ctx context.Context, e *environment, n mgmt.Node) error {
	used, err := controlplane.IsUsed(ctx, n)
	if err != nil {
		return err
	}
	if used {
		e.op.Report(ctx, "an earlier attempt was cut short: resetting the machine")
		if err := controlplane.Reset(ctx, n); err != nil {
			return err
		}
	}
	return restoreRegistries(ctx, e, n)
}
