package kubesim

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// addDefaults makes the objects that every cluster begins with.
func (c *cluster) addDefaults() error {
	for _, name := range []string{"default", "kube-system", "kube-public", "kube-node-lease"} {
		if err := c.store(apiKind{Version: "v1", Kind: "Namespace"}, object{"metadata": object{"name": name}}); err != nil {
			return err
		}
	}
	for _, name := range []string{"cluster-admin", "admin", "edit", "view"} {
		if err := c.store(apiKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}, object{"metadata": object{"name": name}}); err != nil {
			return err
		}
	}
	return c.store(apiKind{Group: "apps", Version: "v1", Kind: "DaemonSet", Namespaced: true},
		object{"metadata": object{"name": "kube-proxy", "namespace": "kube-system"}})
}

// addNode makes a Node, with the pods that it is given: kube-proxy, and on a worker one of a Deployment.
func (c *cluster) addNode(n *node) error {
	c.Nodes[n.Name] = n
	if err := c.addPod("kube-system", "kube-proxy-"+n.Name, n.Name, "DaemonSet", "kube-proxy"); err != nil || n.ControlPlane {
		return err
	}
	return c.addPod("default", "workload-"+n.Name, n.Name, "ReplicaSet", "workload")
}

var podKind = apiKind{Version: "v1", Kind: "Pod", Plural: "pods", Namespaced: true}

func (c *cluster) addPod(namespace, name, node, ownerKind, owner string) error {
	return c.store(podKind, object{
		"metadata": object{"name": name, "namespace": namespace, "labels": object{"app": owner},
			"ownerReferences": []any{object{"apiVersion": "apps/v1", "kind": ownerKind, "name": owner, "uid": owner, "controller": true}}},
		"spec":   object{"nodeName": node, "containers": []any{object{"name": owner, "image": owner}}},
		"status": object{"phase": "Running", "conditions": []any{object{"type": "Ready", "status": "True"}}},
	})
}

func (w *World) nodeObject(c *cluster, n *node) object {
	ready, reason, message := "False", "KubeletNotReady", "container runtime network not ready: cni plugin not initialized"
	m := w.state.Machines[n.Machine]
	if w.ready(c, n) {
		ready, reason, message = "True", "KubeletReady", "kubelet is posting ready status"
	} else if m == nil || !m.runs("kubelet") {
		ready, reason, message = "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."
	}
	labels := object{"kubernetes.io/hostname": n.Name, "kubernetes.io/os": "linux"}
	taints := slices.Clone(n.Taints)
	if n.ControlPlane {
		labels["node-role.kubernetes.io/control-plane"] = ""
	}
	for name, value := range n.Labels {
		labels[name] = value
	}
	annotations := object{}
	for name, value := range n.Annotations {
		annotations[name] = value
	}
	spec := object{}
	if n.Unschedulable {
		spec["unschedulable"] = true
	}
	if len(taints) > 0 {
		spec["taints"] = taints
	}
	return object{"kind": "Node", "apiVersion": "v1", "spec": spec,
		"metadata": object{"name": n.Name, "uid": n.Machine + "/" + n.Name, "resourceVersion": strconv.Itoa(max(1, c.history.nodes[n.Name])), "labels": labels, "annotations": annotations},
		"status": object{
			"addresses":  []any{object{"type": "InternalIP", "address": n.Address.String()}, object{"type": "Hostname", "address": n.Name}},
			"conditions": []any{object{"type": "Ready", "status": ready, "reason": reason, "message": message}},
		}}
}

// writeNode takes over what clients may change of a Node.
func (q *request) writeNode(old, o object) (any, error) {
	n := q.c.Nodes[q.path.name]
	if n == nil || old == nil {
		return nil, apiFault(http.StatusForbidden, "Forbidden", "kubesim: nodes join with kubeadm")
	}
	for _, list := range []struct {
		name string
		into *map[string]string
	}{{"labels", &n.Labels}, {"annotations", &n.Annotations}} {
		*list.into = map[string]string{}
		values, _ := at(o, "metadata", list.name).(object)
		for name, value := range values {
			s, ok := value.(string)
			if !ok {
				return nil, apiFault(http.StatusBadRequest, "BadRequest", "cannot unmarshal %s %q into string", list.name, name)
			}
			if !labelNames.MatchString(name) || list.name == "labels" && !labelValues.MatchString(s) {
				return nil, q.invalid(fmt.Sprintf("metadata.%s: Invalid value: %q", list.name, name+"="+s))
			}
			(*list.into)[name] = s
		}
	}
	n.Unschedulable, _ = at(o, "spec", "unschedulable").(bool)
	n.Taints, _ = at(o, "spec", "taints").([]any)
	for _, t := range n.Taints {
		if effect := textAt(t, "effect"); textAt(t, "key") == "" || !slices.Contains([]string{"NoSchedule", "PreferNoSchedule", "NoExecute"}, effect) {
			return nil, q.invalid(fmt.Sprintf("spec.taints: Invalid value: %q", effect))
		}
	}
	q.w.recordNodes(q.c)
	return q.w.nodeObject(q.c, n), nil
}

// podsOn lists the pods of a node by key.
func (c *cluster) podsOn(node string) map[string]object {
	out := map[string]object{}
	for key, raw := range c.Objects {
		var o object
		if strings.HasPrefix(key, "Pod/") && json.Unmarshal(raw, &o) == nil && textAt(o, "spec", "nodeName") == node {
			out[key] = o
		}
	}
	return out
}

func ownedBy(pod object, kind string) bool {
	owners, _ := at(pod, "metadata", "ownerReferences").([]any)
	return slices.ContainsFunc(owners, func(o any) bool { return textAt(o, "kind") == kind })
}

// guarded marks a pod that was asked to leave and may not.
const guarded = "kubesim/guarded"

// deleteNode removes a Node; its pods end with it. It refuses to remove a Ready node with pods, which a real API server
// does not: a caller that does so has forgotten to drain the node, unless disruption budgets prevented that.
func (w *World) deleteNode(c *cluster, name string) error {
	pods := c.podsOn(name)
	for key, pod := range pods {
		if w.ready(c, c.Nodes[name]) && !ownedBy(pod, "DaemonSet") && !ownedBy(pod, "Node") && textAt(pod, "metadata", "annotations", guarded) == "" {
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
func (w *World) endPod(c *cluster, pod object, grace *int) error {
	n := c.Nodes[textAt(pod, "spec", "nodeName")]
	seconds := numberOr(0, pod, "spec", "terminationGracePeriodSeconds")
	if grace != nil {
		seconds = *grace
	}
	ended := textAt(pod, "status", "phase") == "Succeeded" || textAt(pod, "status", "phase") == "Failed"
	if force := grace != nil && *grace == 0; force || n == nil || w.ready(c, n) && (c.delay <= 0 || ended) {
		seconds = 0
	} else if !w.ready(c, n) {
		seconds = max(seconds, 1) // the kubelet would have to confirm the end
	}
	if left, going := numberAt(pod, "metadata", "deletionGracePeriodSeconds"); going && seconds >= left && seconds > 0 {
		return nil
	}
	mark(pod, seconds)
	if err := c.store(podKind, pod); err != nil {
		return err
	}
	c.finish(podKind, pod)
	return nil
}

// evict ends a pod unless a disruption budget forbids it (policy/v1).
func (q *request) evict(pod object) (any, error) {
	eviction, err := q.decode()
	if err != nil {
		return nil, err
	}
	if textAt(eviction, "kind") != "Eviction" || textAt(eviction, "apiVersion") != "policy/v1" {
		return nil, apiFault(http.StatusBadRequest, "BadRequest", "no kind %q is registered for version %q", textAt(eviction, "kind"), textAt(eviction, "apiVersion"))
	}
	for _, key := range slices.Sorted(maps.Keys(q.c.Objects)) {
		if strings.HasPrefix(key, "PodDisruptionBudget/"+q.path.namespace+"/") {
			if err := q.c.budget(key, pod); err != nil {
				inner(inner(pod, "metadata"), "annotations")[guarded] = key
				return nil, errors.Join(err, q.c.store(podKind, pod))
			}
		}
	}
	return object{"kind": "Status", "apiVersion": "v1", "status": "Success"}, q.w.endPod(q.c, pod, nil)
}

// budget fails if a disruption budget needs the pod.
func (c *cluster) budget(key string, pod object) error {
	var budget object
	if err := json.Unmarshal(c.Objects[key], &budget); err != nil {
		return err
	}
	matches := func(pod object) bool { return selects(at(budget, "spec", "selector"), at(pod, "metadata", "labels")) }
	if !matches(pod) {
		return nil
	}
	healthy, all := 0, 0
	for other, raw := range c.Objects {
		var o object
		if !strings.HasPrefix(other, "Pod/"+textAt(pod, "metadata", "namespace")+"/") || json.Unmarshal(raw, &o) != nil || !matches(o) {
			continue
		}
		all++
		if at(o, "metadata", "deletionTimestamp") == nil && hasCondition(o, "Ready") {
			healthy++
		}
	}
	needed := 0
	if v := at(budget, "spec", "minAvailable"); v != nil {
		needed = share(v, all, true)
	}
	if v := at(budget, "spec", "maxUnavailable"); v != nil {
		needed = max(0, all-share(v, all, true))
	}
	if healthy > needed || !hasCondition(pod, "Ready") {
		return nil
	}
	return &apiError{code: http.StatusTooManyRequests, reason: "TooManyRequests", message: "Cannot evict pod as it would violate the pod's disruption budget.",
		details: map[string]any{"causes": []any{map[string]any{"reason": "DisruptionBudget",
			"message": fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", textAt(budget, "metadata", "name"), needed, healthy)}}}}
}
