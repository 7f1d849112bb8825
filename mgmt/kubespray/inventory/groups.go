package inventory

import "slices"

// Generation says by which names kubespray knows its groups.
type Generation string

// The generations. Kubespray 2.16.0 has the current names in its playbooks (its commits 486b223e0 and 360aff4a5), 2.15 has
// kube-master, kube-node, calico-rr and k8s-cluster. The specification's sample is from between the two: kube_control_plane
// beside kube-node.
const (
	// Current names: kube_control_plane, kube_node, etcd, calico_rr, k8s_cluster. It is the default.
	Current Generation = "current"
	// Legacy names are those of the specification's sample: kube_control_plane, kube-node, calico-rr, k8s-cluster. The groups
	// kube-master, kube_node, calico_rr and k8s_cluster have them as children, so that any kubespray finds its own: before 2.16 it
	// looks for kube-master, later it maps old names while it runs, which leaves workers out of k8s_cluster from 2.27 on
	// (github.com/kubernetes-sigs/kubespray issue 12625), and with --limit whoever is not named up to 2.26 (pull request 11577).
	Legacy Generation = "legacy"
)

// The groups, by their current names.
const (
	groupAll            = "all"
	groupControlPlane   = "kube_control_plane"
	groupEtcd           = "etcd"
	groupWorker         = "kube_node"
	groupRouteReflector = "calico_rr"
	groupCluster        = "k8s_cluster"
	// groupMaster exists in the Legacy generation only.
	groupMaster = "kube-master"
)

// roleGroups are the groups of the roles in the specification's order.
var roleGroups = []roleGroup{{ControlPlane, groupControlPlane}, {Etcd, groupEtcd}, {Worker, groupWorker}, {RouteReflector, groupRouteReflector}}

type roleGroup struct {
	role  Role
	group string
}

// clusterGroups are the children of k8s_cluster.
var clusterGroups = []string{groupControlPlane, groupWorker, groupRouteReflector}

var legacyNames = map[string]string{groupWorker: "kube-node", groupRouteReflector: "calico-rr", groupCluster: "k8s-cluster"}

// group is how the generation spells a group.
func (g Generation) group(current string) string {
	if old, renamed := legacyNames[current]; renamed && g == Legacy {
		return old
	}
	return current
}

// groupTree are the groups of groups, in order. The Legacy generation has the specification's one, then each group by the name that
// other releases of kubespray have for it.
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
