package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/internal/fanout"
	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/controlplane"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/kubeversion"
)

// Names of checks before an upgrade, for upgrade.pass_over.
const (
	checkSkew          = "skew"            // versions of API servers and kubelets
	checkAPIServers    = "api-servers"     // /readyz of each API server
	checkMembers       = "members"         // every member of etcd is healthy
	checkNodes         = "nodes"           // every node is Ready, and lets the driver log in
	checkAPIs          = "deprecated-apis" // clients use no version of an API that a version does not serve
	checkSettings      = "settings"        // no flag and no feature gate that a version has removed
	checkClocks        = "clocks"          // the clocks of the machines agree
	checkCertificates  = "certificates"    // no certificate ends soon
	checkRuntime       = "runtime"         // kubelets work with the container runtime
	checkPackage       = "packages"        // the packages of each version can be installed
	checkDisk          = "disk"            // space for the copies of etcd's data
	checkConfiguration = "configuration"   // kubeadm config validate
	checkDryRun        = "dry-run"         // kubeadm upgrade apply --dry-run
	checkImages        = "images"          // each node has the images of the version
	checkSnapshot      = "snapshot"        // the data of etcd are saved, and have passed a test
)

var upgradeChecks = []string{checkSkew, checkAPIServers, checkMembers, checkNodes, checkAPIs, checkSettings, checkClocks, checkCertificates, checkRuntime, checkPackage,
	checkDisk, checkConfiguration, checkDryRun, checkImages, checkSnapshot}

// passesOver reports whether the request passes over a check.
func (p *clusterParam) passesOver(check string) bool {
	return slices.Contains(p.Upgrade.PassOver, check) || check == checkImages && slices.Contains(p.IgnorePreflight, "ImagePull")
}

// refuse returns what a check has found, nil without a finding. A check that the request passes over is a warning.
func (e *environment) refuse(ctx context.Context, check string, finding error) error {
	switch {
	case finding == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case e.p.passesOver(check):
		e.op.Warn(ctx, fmt.Sprintf("passed over by the request%s: %s: %v", e.bySender(), check, finding))
		return nil
	}
	return fmt.Errorf("kubeadm: the check %s: %w", check, finding)
}

// bySender names who has sent the request, if that is known.
func (e *environment) bySender() string {
	if e.op.Sender() == "" {
		return ""
	}
	return " of " + e.op.Sender()
}

// runCheckPath compares the path of the upgrade with the versions in the cluster, which may have been upgraded by hand.
func runCheckPath(ctx context.Context, e *environment, _ mgmt.Node) error {
	path := e.shape.Upgrade.Path
	target, _ := kubeversion.Parse(path[len(path)-1])
	first, _ := kubeversion.Parse(path[0])
	stored, err := storedVersion(ctx, e)
	if err != nil {
		return err
	}
	switch {
	case stored.Compare(target) > 0:
		return fmt.Errorf("kubeadm: the cluster has Kubernetes %s, which cannot be downgraded to %s", stored, target)
	case stored.Minor+1 < first.Minor:
		return fmt.Errorf("kubeadm: the cluster has Kubernetes %s, and the upgrade begins with %s: it must lead through each minor version", stored, first)
	}
	servers, err := e.kube.StaticPodTags(ctx, controlplane.StaticAPIServer)
	if err != nil {
		return err
	}
	nodes, err := e.kube.Nodes(ctx)
	if err != nil {
		return err
	}
	var findings []error
	for _, n := range nodes {
		server, isServer := kubeversion.OfTag(servers[n.Address])
		kubelet, _ := kubeversion.OfTag(n.Status.NodeInfo.KubeletVersion)
		switch {
		case isServer && !e.shape.Upgrade.ControlPlane && server.Compare(target) < 0:
			findings = append(findings, fmt.Errorf("the API server of %s has %s: upgrade the control plane before the nodes", n.Name, server))
		case isServer && server.Compare(stored) < 0 && stored.Compare(first) > 0 && !slices.Contains(path, stored.String()):
			findings = append(findings, fmt.Errorf("the API server of %s has %s, and the cluster %s: upgrade to %s first", n.Name, server, stored, stored))
		}
		if kubelet.Minor+kubeletSkew < first.Minor || len(e.shape.Upgrade.Kubelets) == 0 && kubelet.Minor+kubeletSkew < target.Minor {
			findings = append(findings, fmt.Errorf("the kubelet of %s has %s, and may be at most %d minor versions older than the API servers", n.Name, kubelet, kubeletSkew))
		}
	}
	return e.refuse(ctx, checkSkew, errors.Join(findings...))
}

// kubeletSkew is how many minor versions a kubelet may be older than the API servers (kubernetes.io, "Version Skew Policy").
const kubeletSkew = 3

// storedVersion returns the version in the ConfigMap kubeadm-config.
func storedVersion(ctx context.Context, e *environment) (kubeversion.Version, error) {
	text, err := clusterVersion(ctx, e)
	v, _ := kubeversion.Parse(text)
	return v, err
}

// runCheckCluster finds what is wrong in the cluster before anything is changed, all at once.
func runCheckCluster(ctx context.Context, e *environment, _ mgmt.Node) error {
	nodes, err := e.kube.Nodes(ctx)
	if err != nil {
		return err
	}
	servers := fanout.Each(ctx, len(e.controlPlane), e.config.Parallel, func(i int) error {
		if err := cluster.Ready(ctx, e.controlPlane[i]); err != nil {
			return fmt.Errorf("the API server of %s is not ready: %w", e.controlPlane[i].Label(), err)
		}
		return nil
	})
	var notReady []error
	for _, n := range nodes {
		if !n.Ready {
			notReady = append(notReady, fmt.Errorf("node %s is not Ready: %s", n.Name, n.Reason))
		}
	}
	budgets, errBudgets := e.kube.BlockingBudgets(ctx)
	if len(budgets) > 0 {
		e.op.Warn(ctx, "disruption budgets allow no eviction now, drain_policy decides when the turn of a node comes: "+strings.Join(budgets, ", "))
	}
	if u := e.shape.Upgrade; u.ControlPlane && !u.Network {
		e.op.Warn(ctx, fmt.Sprintf("the pod network of %s stays as it is: give cni_manifest_path if Kubernetes %s needs a newer one", e.p.CNIManifestPath, u.target()))
	}
	settings, errSettings := e.removedSettings(ctx)
	return errors.Join(errBudgets, errSettings, e.refuse(ctx, checkAPIServers, servers), e.refuse(ctx, checkMembers, e.etcd().Check(ctx, e.controlPlane)),
		e.refuse(ctx, checkNodes, errors.Join(notReady...)), e.refuse(ctx, checkAPIs, e.removedAPIs(ctx)), e.refuse(ctx, checkSettings, errors.Join(settings...)))
}

// target returns the last version of an upgrade.
func (u upgradeShape) target() kubeversion.Version {
	v, _ := kubeversion.Parse(u.Path[len(u.Path)-1]) // checked
	return v
}

// removedSettings returns the settings of the cluster that a version of the path does not accept.
func (e *environment) removedSettings(ctx context.Context) ([]error, error) {
	maps, err := e.kube.ConfigMaps(ctx, "kube-system", "")
	if err != nil {
		return nil, err
	}
	return controlplane.RemovedSettings(maps, e.shape.Upgrade.target()), nil
}

// removedAPIs returns an error that names the versions of APIs that clients use and that the target does not serve. Each API server counts its own
// requests. API servers that do not answer are left to another check.
func (e *environment) removedAPIs(ctx context.Context) error {
	if !e.shape.Upgrade.ControlPlane {
		return nil
	}
	target := e.shape.Upgrade.target()
	return fanout.Each(ctx, len(e.controlPlane), e.config.Parallel, func(i int) error {
		requested, err := cluster.RequestedAPIs(ctx, e.controlPlane[i])
		if err != nil {
			return nil //nolint:nilerr // see above
		}
		var findings []error
		for _, api := range requested {
			removed, planned := kubeversion.Parse(api.Removed + ".0")
			if planned && removed.Compare(target) <= 0 {
				findings = append(findings, fmt.Errorf("since the API server of %s has started, clients have used %s, which Kubernetes %s does not serve", e.controlPlane[i].Label(), api.Resource, api.Removed))
			}
		}
		return errors.Join(findings...)
	})
}

// runFindDead finds out whether a worker is dead. Nothing is done on a dead worker: healing it brings it to the version of the cluster.
func runFindDead(ctx context.Context, e *environment, n mgmt.Node) error {
	fault, err := clusternodes.Answers(ctx, n)
	if fault != nil && err == nil {
		e.dead.Set(n.ID, true)
		e.op.Warn(ctx, fmt.Sprintf("%s does not answer and is not upgraded: heal it: %v", n.Label(), fault))
	}
	return err
}

func runRecordPackages(ctx context.Context, e *environment, _ mgmt.Node) error {
	return recordUpgraded(ctx, e, "")
}

func runRecordVersion(ctx context.Context, e *environment, _ mgmt.Node, h hop) error {
	return recordUpgraded(ctx, e, string(h))
}
