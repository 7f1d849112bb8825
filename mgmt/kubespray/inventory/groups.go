package inventory

import "slices"

// Generation selects the names of kubespray's groups, which depend on its release.
type Generation string

// The generations of group names. Kubespray has the current names in its playbooks since 2.16.0 (its commits 486b223e0 and
// 360aff4a5). Release 2.15 has kube-master, kube-node, calico-rr and k8s-cluster. The specification's sample has names from
// between the two: kube_control_plane together with kube-node.
const (
	// Current names: kube_control_plane, kube_node, etcd, calico_rr, k8s_cluster. It is the default.
	Current Generation = "current"
	// Legacy are the names of the specification's sample: kube_control_plane, kube-node, calico-rr, k8s-cluster. The
	// inventory also has groups kube-master, kube_node, calico_rr and k8s_cluster with these groups as children, so that
	// every release of kubespray finds its names. Releases before 2.16 look for kube-master. Later releases map the old
	// names while they run, and that mapping has faults: from 2.27 on it leaves workers out of k8s_cluster
	// (github.com/kubernetes-sigs/kubespray issue 12625), and up to 2.26 it leaves out every host that --limit does not
	// name (pull request 11577).
	Legacy Generation = "legacy"
)

// The groups by their current names.
const (
	groupAll            = "all"
	groupControlPlane   = "kube_control_plane"
	groupEtcd           = "etcd"
	groupWorker         = "kube_node"
	groupRouteReflector = "calico_rr"
	groupCluster        = "k8s_cluster"
	// groupMaster is only in inventories of the Legacy generation.
	groupMaster = "kube-master"
)

// roleGroups are the groups of the roles, in the order of the specification.
var roleGroups = []roleGroup{{ControlPlane, groupControlPlane}, {Etcd, groupEtcd}, {Worker, groupWorker}, {RouteReflector, groupRouteReflector}}

type roleGroup struct {
	role  Role
	group string
}

// clusterGroups are the children of k8s_cluster.
var clusterGroups = []string{groupControlPlane, groupWorker, groupRouteReflector}

var legacyNames = map[string]string{groupWorker: "kube-node", groupRouteReflector: "calico-rr", groupCluster: "k8s-cluster"}

// group returns the name of a group in this generation.
func (g Generation) group(current string) string {
	if old, renamed := legacyNames[current]; renamed && g == Legacy {
		return old
	}
	return current
}

// groupTree returns the groups that have groups as children, in order. For Legacy it has the specification's group first,
// then the names that other releases of kubespray use.
func (g Generation) groupTree() []parent {
	cluster := parent{name: g.group(groupCluster)}
	for _, child := range clusterGroups {
		cluster.children = append(cluster.children, g.group(child))
	}
	if g != Legacy {
		return []parent{cluster}
	}
	out := []parent{cluster, {groupMaster, []string{groupControlPlane}}}
	for _, current := range []string{groupWorker, groupRouteReflector, groupCluster} {
		out = append(out, parent{current, []string{g.group(current)}})
	}
	return out
}

type parent struct {
	name     string
	children []string
}

// currentGroup returns the current name of a group of any generation.
func currentGroup(name string) string {
	for current, old := range legacyNames {
		if name == old {
			return current
		}
	}
	if name == groupMaster {
		return groupControlPlane
	}
	return name
}

// ofKubespray reports whether a group, by its current name, is one that Generate writes for every inventory.
func ofKubespray(group string) bool {
	if group == groupAll || group == groupCluster {
		return true
	}
	return slices.ContainsFunc(roleGroups, func(each roleGroup) bool { return each.group == group })
}
