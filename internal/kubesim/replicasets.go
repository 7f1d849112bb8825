package kubesim

import (
	"cmp"
	"slices"
	"strconv"
)

// active are pods that neither have ended nor are about to.
func active(pods []object) (out []object) {
	for _, p := range pods {
		if phase := textAt(p, "status", "phase"); phase != "Succeeded" && phase != "Failed" && at(p, "metadata", "deletionTimestamp") == nil {
			out = append(out, p)
		}
	}
	return out
}

func readyOf(pods []object) (n int) {
	for _, p := range pods {
		if hasCondition(p, "Ready") {
			n++
		}
	}
	return n
}

// replicaSets keeps as many pods as each wants.
func (w *World) replicaSets(c *cluster) error {
	all, err := c.objects(replicaSetKind)
	if err != nil {
		return err
	}
	for _, rs := range all {
		if at(rs, "spec", "template", "spec") == nil {
			continue
		}
		if err := w.replicaSet(c, rs); err != nil {
			return err
		}
	}
	return nil
}

func (w *World) replicaSet(c *cluster, rs object) error {
	all, err := c.controlled(podKind, rs)
	if err != nil {
		return err
	}
	pods := active(all)
	wanted := numberOr(1, rs, "spec", "replicas")
	going := at(rs, "metadata", "deletionTimestamp") != nil
	for i := len(pods); i < wanted && !going; i++ {
		made, err := c.makePod(rs, generated(textAt(rs, "metadata", "name")+"-"), nil)
		if err != nil || !made {
			return err
		}
	}
	if len(pods) > wanted && !going {
		leaving := slices.Clone(pods)
		slices.SortStableFunc(leaving, leavesBefore(pods))
		for _, p := range leaving[:len(pods)-wanted] {
			if err := w.endPod(c, clone(p), nil); err != nil {
				return err
			}
			if err := c.event(rs, "Normal", "SuccessfulDelete", "replicaset-controller", "Deleted pod: %s", textAt(p, "metadata", "name")); err != nil {
				return err
			}
		}
	}
	if all, err = c.controlled(podKind, rs); err != nil {
		return err
	}
	pods = active(all)
	ready := readyOf(pods)
	return c.setStatus(replicaSetKind, rs, object{"replicas": len(pods), "fullyLabeledReplicas": len(pods), "readyReplicas": ready, "availableReplicas": ready,
		"observedGeneration": at(rs, "metadata", "generation")})
}

// deletionCost says which pods a ReplicaSet shall delete first: those with the lowest.
const deletionCost = "controller.kubernetes.io/pod-deletion-cost"

// leavesBefore is the order in which a ReplicaSet deletes pods (controller.ActivePodsWithRanks): not scheduled, not
// running, not ready, cheap, doubled up on a node, new.
func leavesBefore(pods []object) func(a, b object) int {
	onNode := map[string]int{}
	for _, p := range pods {
		onNode[textAt(p, "spec", "nodeName")]++
	}
	cost := func(p object) int {
		n, _ := strconv.Atoi(textAt(p, "metadata", "annotations", deletionCost))
		return n
	}
	first := func(is bool) int {
		if is {
			return 0
		}
		return 1
	}
	return func(a, b object) int {
		return cmp.Or(
			cmp.Compare(first(textAt(a, "spec", "nodeName") == ""), first(textAt(b, "spec", "nodeName") == "")),
			cmp.Compare(first(textAt(a, "status", "phase") == "Pending"), first(textAt(b, "status", "phase") == "Pending")),
			cmp.Compare(first(!hasCondition(a, "Ready")), first(!hasCondition(b, "Ready"))),
			cmp.Compare(cost(a), cost(b)),
			-cmp.Compare(onNode[textAt(a, "spec", "nodeName")], onNode[textAt(b, "spec", "nodeName")]),
			-cmp.Compare(textAt(a, "metadata", "uid"), textAt(b, "metadata", "uid")),
		)
	}
}

// makePod makes a pod of a workload's template, and tells of it. It reports false when the API server refuses.
func (c *cluster) makePod(owner object, name string, edit func(pod object)) (bool, error) {
	template := clone(at(owner, "spec", "template"))
	namespace := textAt(owner, "metadata", "namespace")
	meta := object{"name": name, "namespace": namespace, "ownerReferences": ownerOf(owner), "generation": 1}
	for _, field := range []string{"labels", "annotations"} {
		if values, _ := at(template, "metadata", field).(object); len(values) > 0 {
			meta[field] = values
		}
	}
	if textAt(owner, "kind") == "ReplicaSet" || textAt(owner, "kind") == "DaemonSet" {
		meta["generateName"] = textAt(owner, "metadata", "name") + "-"
	}
	spec, _ := at(template, "spec").(object)
	if spec == nil {
		return false, nil
	}
	defaultPodSpec(spec)
	setDefault(spec, "serviceAccountName", "default")
	pod := object{"kind": "Pod", "apiVersion": "v1", "metadata": meta, "spec": spec, "status": object{"phase": "Pending"}}
	if edit != nil {
		edit(pod)
	}
	source := map[string]string{"ReplicaSet": "replicaset-controller", "StatefulSet": "statefulset-controller", "DaemonSet": "daemonset-controller", "Job": "job-controller"}[textAt(owner, "kind")]
	if account := textAt(spec, "serviceAccountName"); c.Objects[accountKind.key(namespace, account)] == nil {
		return false, c.event(owner, "Warning", "FailedCreate", source, "Error creating: pods %q is forbidden: error looking up service account %s/%s: serviceaccount %q not found", name, namespace, account, account)
	}
	if err := c.store(podKind, pod); err != nil {
		return false, err
	}
	return true, c.event(owner, "Normal", "SuccessfulCreate", source, "Created pod: %s", name)
}
