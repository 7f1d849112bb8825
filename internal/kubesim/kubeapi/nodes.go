package kubeapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// addDefaults makes the objects that every cluster begins with.
func (c *Cluster) addDefaults() error {
	for _, name := range []string{"default", "kube-system", "kube-public", "kube-node-lease"} {
		if err := c.Store(Kind{Version: "v1", Kind: "Namespace"}, Object{"metadata": Object{"name": name}}); err != nil {
			return err
		}
	}
	for _, name := range []string{"cluster-admin", "admin", "edit", "view"} {
		if err := c.Store(Kind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}, Object{"metadata": Object{"name": name}}); err != nil {
			return err
		}
	}
	return c.SetProxy()
}

const proxyName = "kube-proxy"

// SetProxy makes kube-proxy have the version of the cluster.
func (c *Cluster) SetProxy() error {
	return c.Store(daemonKind, Object{"metadata": Object{"name": proxyName, "namespace": "kube-system"}, "spec": Object{"selector": Object{"matchLabels": Object{"k8s-app": proxyName}}, "template": Object{
		"metadata": Object{"labels": Object{"k8s-app": proxyName}}, "spec": Object{"containers": []any{Object{"name": proxyName, "image": cmp.Or(c.Images, "registry.k8s.io") + "/kube-proxy:v" + c.Version}}}}}})
}

// AddNode makes a Node, with the pods that it is given: kube-proxy, and on a worker one of a Deployment.
func (c *Cluster) AddNode(n *Node) error {
	c.Nodes[n.Name] = n
	if err := c.addPod("kube-system", "kube-proxy-"+n.Name, n.Name, "DaemonSet", "kube-proxy"); err != nil || n.ControlPlane {
		return err
	}
	return c.addPod("default", "workload-"+n.Name, n.Name, "ReplicaSet", "workload")
}

var podKind = Kind{Version: "v1", Kind: "Pod", Plural: "pods", Namespaced: true}

func (c *Cluster) addPod(namespace, name, node, ownerKind, owner string) error {
	return c.Store(podKind, Object{
		"metadata": Object{"name": name, "namespace": namespace, "labels": Object{"app": owner},
			"ownerReferences": []any{Object{"apiVersion": "apps/v1", "kind": ownerKind, "name": owner, "uid": owner, "controller": true}}},
		"spec":   Object{"nodeName": node, "containers": []any{Object{"name": owner, "image": owner}}},
		"status": Object{"phase": "Running", "conditions": []any{Object{"type": "Ready", "status": "True"}}},
	})
}

func (c *Cluster) nodeObject(n *Node) Object {
	ready, reason, message := "False", "KubeletNotReady", "container runtime network not ready: cni plugin not initialized"
	runs, isReady := c.Host.Kubelet(n)
	if isReady {
		ready, reason, message = "True", "KubeletReady", "kubelet is posting ready status"
	} else if !runs {
		ready, reason, message = "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."
	}
	labels := Object{"kubernetes.io/hostname": n.Name, "kubernetes.io/os": "linux"}
	taints := slices.Clone(n.Taints)
	if n.ControlPlane {
		labels["node-role.kubernetes.io/control-plane"] = ""
	}
	for name, value := range n.Labels {
		labels[name] = value
	}
	annotations := Object{}
	for name, value := range n.Annotations {
		annotations[name] = value
	}
	spec := Object{}
	if n.Unschedulable {
		spec["unschedulable"] = true
	}
	if len(taints) > 0 {
		spec["taints"] = taints
	}
	return Object{"kind": "Node", "apiVersion": "v1", "spec": spec,
		"metadata": Object{"name": n.Name, "uid": n.Machine + "/" + n.Name, "resourceVersion": strconv.Itoa(max(1, c.history.nodes[n.Name])), "labels": labels, "annotations": annotations},
		"status": Object{
			"addresses":  []any{Object{"type": "InternalIP", "address": n.Address.String()}, Object{"type": "Hostname", "address": n.Name}},
			"nodeInfo":   Object{"kubeletVersion": "v" + c.kubeletVersion(n)},
			"conditions": []any{Object{"type": "Ready", "status": ready, "reason": reason, "message": message}},
		}}
}

// kubeletVersion returns the version of the kubelet that runs on a node.
func (c *Cluster) kubeletVersion(n *Node) string {
	if host, knows := c.Host.(interface{ KubeletVersion(n *Node) string }); knows {
		return host.KubeletVersion(n)
	}
	return c.Version
}

// writeNode takes over what clients may change of a Node.
func (q *request) writeNode(old, o Object) (any, error) {
	n := q.c.Nodes[q.path.name]
	if n == nil || old == nil {
		return nil, apiFault(http.StatusForbidden, "Forbidden", "kubesim: nodes join with kubeadm")
	}
	if q.faults != nil {
		return nil, q.invalid()
	}
	n.Labels, n.Annotations = labelsOf(o), setOf(at(o, "metadata", "annotations"))
	if _, marked := n.Labels[controlPlaneTaint]; marked {
		n.ControlPlane = true
	}
	n.Unschedulable, _ = at(o, "spec", "unschedulable").(bool)
	n.Taints, _ = at(o, "spec", "taints").([]any)
	for _, t := range n.Taints {
		if effect := Text(t, "effect"); Text(t, "key") == "" || !slices.Contains([]string{"NoSchedule", "PreferNoSchedule", "NoExecute"}, effect) {
			return nil, q.invalid(fmt.Sprintf("spec.taints: Invalid value: %q", effect))
		}
	}
	q.c.recordNodes()
	return q.c.nodeObject(n), nil
}

// podsOn lists the pods of a node by key.
func (c *Cluster) podsOn(node string) map[string]Object {
	out := map[string]Object{}
	for key, raw := range c.Objects {
		var o Object
		if strings.HasPrefix(key, "Pod/") && json.Unmarshal(raw, &o) == nil && Text(o, "spec", "nodeName") == node {
			out[key] = o
		}
	}
	return out
}

func ownedBy(pod Object, kind string) bool {
	owners, _ := at(pod, "metadata", "ownerReferences").([]any)
	return slices.ContainsFunc(owners, func(o any) bool { return Text(o, "kind") == kind })
}

// guarded marks a pod that was asked to leave and may not.
const guarded = "kubesim/guarded"

// DeleteNode removes a Node; its pods end with it. It refuses to remove a Ready node with pods, which a real API server
// does not: a caller that does so has forgotten to drain the node, unless disruption budgets prevented that.
func (c *Cluster) DeleteNode(name string) error {
	pods := c.podsOn(name)
	for key, pod := range pods {
		if c.ready(c.Nodes[name]) && !ownedBy(pod, "DaemonSet") && !ownedBy(pod, "Node") && Text(pod, "metadata", "annotations", guarded) == "" {
			return apiFault(http.StatusForbidden, "Forbidden", "kubesim: node %s is deleted with %s running: drain it first", name, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(pods)) {
		c.drop(key)
	}
	delete(c.Nodes, name)
	return nil
}

// endPod ends a pod after the delay of pods, if its kubelet answers. Otherwise nothing confirms its end, and it exists
// until it or its node is deleted by force. Without an explicit grace the pod has that of its spec.
func (c *Cluster) endPod(pod Object, grace *int) error {
	n := c.Nodes[Text(pod, "spec", "nodeName")]
	seconds := numberOr(0, pod, "spec", "terminationGracePeriodSeconds")
	if grace != nil {
		seconds = *grace
	}
	ended := Text(pod, "status", "phase") == "Succeeded" || Text(pod, "status", "phase") == "Failed"
	if force := grace != nil && *grace == 0; force || n == nil || c.ready(n) && (c.delay <= 0 || ended) {
		seconds = 0
	} else if !c.ready(n) {
		seconds = max(seconds, 1) // the kubelet would have to confirm the end
	}
	if left, going := numberAt(pod, "metadata", "deletionGracePeriodSeconds"); going && seconds >= left && seconds > 0 {
		return nil
	}
	mark(pod, seconds)
	if err := c.Store(podKind, pod); err != nil {
		return err
	}
	c.finish(podKind, pod)
	return nil
}
