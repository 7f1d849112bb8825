package kubeadm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/kubeversion"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/nodeprep"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// upgradeParam is the parameter "upgrade": which nodes an upgrade changes, and how. kubernetes_version has the version.
type upgradeParam struct {
	Through        []string `json:"through"`         // versions of the minor versions in between; default: those of newestPatches
	Scope          string   `json:"scope"`           // scopeControlPlane or scopeNodes; default: both, one after the other
	Nodes          []string `json:"nodes"`           // VNFCs whose kubelets are upgraded, by id, name or name of the node; default: all nodes
	MaxUnavailable int      `json:"max_unavailable"` // workers that are drained at the same time; default 1
	PassOver       []string `json:"pass_over"`       // checks whose refusal is a warning
}

// The values of scope.
const (
	scopeControlPlane = "control-plane" // API servers, etcd, controller managers and schedulers
	scopeNodes        = "nodes"         // kubelets
)

// newestPatches are the versions through which an upgrade over several minor versions leads unless the request names others.
var newestPatches = map[int]string{36: "1.36.3", 37: "1.37.2"}

// upgradePath returns the versions of an upgrade, one minor version after the other, the target last. An upgrade to the version of the
// cluster finishes an earlier upgrade.
func upgradePath(from, to string, through []string) ([]string, error) {
	first, _ := kubeversion.Parse(from)
	last, _ := kubeversion.Parse(to)
	fault := func(path, value, reason string) error {
		return &vnflcm.ParamError{Path: clusterPath + "." + path, Value: value, Reason: reason}
	}
	if last.Compare(first) < 0 {
		return nil, fault("kubernetes_version", to, "is older than "+from+", which the cluster has: Kubernetes cannot be downgraded")
	}
	named, faults := map[int]string{}, []error(nil)
	for i, text := range through {
		path := fmt.Sprintf("upgrade.through[%d]", i)
		switch v, ok := kubeversion.Parse(text); {
		case !ok:
			faults = append(faults, fault(path, text, "must be a full version such as "+from))
		case v.Major != last.Major || v.Minor <= first.Minor || v.Minor >= last.Minor:
			faults = append(faults, fault(path, text, fmt.Sprintf("is not between %s and %s", from, to)))
		default:
			named[v.Minor] = text
		}
	}
	var out []string
	for minor := first.Minor + 1; minor < last.Minor; minor++ {
		version := cmp.Or(named[minor], newestPatches[minor])
		if version == "" {
			faults = append(faults, fault("upgrade.through", "", fmt.Sprintf("must have a version of 1.%d: an upgrade leads through each minor version", minor)))
		}
		out = append(out, version)
	}
	return append(out, to), errors.Join(faults...)
}

// upgradeShape is the part of clusterShape that describes an upgrade.
type upgradeShape struct {
	Path           []string // versions, the target last
	ControlPlane   bool     // the control plane is upgraded
	Kubelets       []machine
	MaxUnavailable int
	Network        bool // the driver applies the manifest of the pod network
}

func upgrades(op *vnflcm.Operation) bool {
	return op.Maintain != nil && op.Maintain.Task == vnflcm.Upgrade
}

// upgradeShapeOf returns the nodes and versions of an upgrade. Faults of the path are found by Validate.
func upgradeShapeOf(op *vnflcm.Operation, p *parameters, c clusterShape) upgradeShape {
	if !upgrades(op) {
		return upgradeShape{}
	}
	u := p.Cluster.Upgrade
	s := upgradeShape{ControlPlane: u.Scope != scopeNodes && len(u.Nodes) == 0, MaxUnavailable: max(1, u.MaxUnavailable)}
	s.Path, _ = upgradePath(p.versions.from, p.Cluster.KubernetesVersion, u.Through)
	if u.Scope != scopeControlPlane {
		s.Kubelets = slices.DeleteFunc(c.nodes(), func(m machine) bool { return len(u.Nodes) > 0 && !p.named(op, m.ID, u.Nodes) })
	}
	s.Network = p.Cluster.usesFlannel() || p.newNetwork()
	return s
}

// checkUpgrade finds the faults of a request to upgrade.
func (p *parameters) checkUpgrade(op *vnflcm.Operation) error {
	c, k := newChecker(op), &p.Cluster
	u := k.Upgrade
	if !upgrades(op) {
		if _, given := givenBy(op)["upgrade"]; given {
			c.Fault("upgrade", "", "has an effect in a request to upgrade only")
		}
		return vnflcm.AtPath(clusterPath, c.Err())
	}
	if k.ScriptPath != "" {
		return fmt.Errorf("%w: the script of the package has made the cluster, and the driver does not know its packages and its load balancer: "+
			"upgrade the cluster by hand, or heal the whole VNF with a package whose script installs the other version", vnflcm.ErrNotSupported)
	}
	if _, given := p.versions.given["kubernetes_version"]; !given {
		c.Fault("kubernetes_version", "", "is required: the version that the cluster gets")
	} else if _, err := upgradePath(p.versions.from, k.KubernetesVersion, u.Through); err != nil {
		return err
	}
	if u.Scope != "" && u.Scope != scopeControlPlane && u.Scope != scopeNodes {
		c.Fault("upgrade.scope", u.Scope, "must be "+scopeControlPlane+" or "+scopeNodes+", or left out for both")
	}
	if u.Scope == scopeControlPlane && len(u.Nodes) > 0 {
		c.Fault("upgrade.nodes", "", "has no effect with the scope "+scopeControlPlane+", which changes every control-plane node")
	}
	if u.MaxUnavailable < 0 {
		c.Fault("upgrade.max_unavailable", fmt.Sprint(u.MaxUnavailable), "must be 1 or more")
	}
	for i, id := range u.Nodes {
		if !slices.ContainsFunc(op.VNFCs, func(v vnflcm.VNFC) bool { return slices.Contains(p.namesOf(v), id) }) {
			c.Fault(fmt.Sprintf("upgrade.nodes[%d]", i), id, "is neither the id nor the name of a VNFC with a node, nor the name of a node")
		}
	}
	for i, name := range u.PassOver {
		if !slices.Contains(upgradeChecks, name) {
			c.Fault(fmt.Sprintf("upgrade.pass_over[%d]", i), name, "is no check: there are "+strings.Join(upgradeChecks, ", "))
		}
	}
	if k.Packages.From() == nodeprep.FromNowhere {
		c.Fault("packages.source", k.Packages.Source, "leaves the driver no source of other packages: give image or repository")
	}
	return vnflcm.AtPath(clusterPath, c.Err())
}

// newNetwork reports whether the request gives a manifest of the pod network.
func (p *parameters) newNetwork() bool {
	_, given := p.versions.given["cni_manifest_path"]
	return given
}

// namesOf returns the texts by which a request names a VNFC with a node: its id, its name and the name of the node. It returns nil for other
// VNFCs.
func (p *parameters) namesOf(v vnflcm.VNFC) []string {
	for role, of := range map[string]nodeParam{"master": p.Cluster.Master.nodeParam, "worker": p.Cluster.Worker} {
		if _, is := v.CP(of.SSHCPName); !is {
			continue
		}
		names := []string{v.ID}
		if v.Name != "" {
			names = append(names, v.Name)
		}
		if cp, _ := v.CP(cmp.Or(of.NICCPName, of.SSHCPName)); len(cp.Fixed) > 0 {
			names = append(names, mgmt.HostName(role, cp.Fixed[0]))
		}
		return names
	}
	return nil
}

// named reports whether one of the texts names the VNFC with that id.
func (p *parameters) named(op *vnflcm.Operation, id string, texts []string) bool {
	return slices.ContainsFunc(op.VNFCs, func(v vnflcm.VNFC) bool {
		return v.ID == id && slices.ContainsFunc(p.namesOf(v), func(name string) bool { return slices.Contains(texts, name) })
	})
}

// upgradedState is the state key of what upgrades have changed of the parameters of the instantiation.
const upgradedState = "upgraded"

// upgraded is the value under upgradedState.
type upgraded struct {
	Version  string             `json:"version,omitempty"` // of the control plane
	Packages *nodeprep.Packages `json:"packages,omitempty"`
	// Before is Packages before an upgrade that has not ended. Packages of the version before are there.
	Before *nodeprep.Packages `json:"before,omitempty"`
	// From is Version before the operation changed it. A resumed operation has the same plan by it.
	From      string `json:"from"`
	Operation string `json:"operation"`
}

// findUpgraded replaces parameters of the instantiation by those that upgrades have changed, unless the request gives them. recorded is the
// version of a cluster whose instantiation has named none.
func (p *parameters) findUpgraded(ctx context.Context, op *vnflcm.Operation, recorded string) error {
	c := &p.Cluster
	if op.Kind == vnflcm.OpInstantiate {
		return nil
	}
	p.versions.given = givenBy(op)
	if _, given := p.versions.given["preflight"]; !given {
		c.Preflight = preflightParam{}
	}
	_, versionGiven := p.versions.given["kubernetes_version"]
	var initial parameters
	request := op.Initial
	if op.Former != nil {
		request = op.Former.Initial // Initial has the parameters of the change of the package
	}
	_, _ = request.AdditionalParams.Decode(&initial) // read has reported the error
	p.versions.from, p.versions.initial = cmp.Or(initial.Cluster.KubernetesVersion, recorded), &initial.Cluster.Packages
	err := op.State().Get(ctx, upgradedState, &p.versions.upgraded)
	if errors.Is(err, vnflcm.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	p.versions.from = cmp.Or(p.versions.upgraded.Version, p.versions.from)
	if p.versions.upgraded.Operation == op.ID {
		p.versions.from = p.versions.upgraded.From
	}
	if p.versions.upgraded.Version != "" && !versionGiven {
		c.KubernetesVersion = p.versions.upgraded.Version
	}
	if _, given := p.versions.given["packages"]; p.versions.upgraded.Packages != nil && !given {
		c.Packages = *p.versions.upgraded.Packages
	}
	return nil
}

// givenBy returns the parameters of the cluster that the request of a later operation gives.
func givenBy(op *vnflcm.Operation) map[string]json.RawMessage {
	var request struct {
		Cluster map[string]json.RawMessage `json:"k8s_cluster_installation_param"`
	}
	_, _ = op.RequestParams().Decode(&request) // read reports the error
	return request.Cluster
}

// recordUpgraded records the version of the control plane, "" if it is the one before, and the packages of the request.
func recordUpgraded(ctx context.Context, e *environment, version string) error {
	kept := e.versions.upgraded
	if _, given := e.versions.given["packages"]; given {
		if kept.Operation != e.op.ID {
			kept.Before = cmp.Or(kept.Before, kept.Packages, e.versions.initial)
		}
		kept.Packages = &e.p.Packages
	}
	if version != "" {
		kept.Version, kept.Before = version, nil
	}
	kept.From, kept.Operation = e.versions.from, e.op.ID
	return e.op.State().Put(ctx, upgradedState, kept)
}
