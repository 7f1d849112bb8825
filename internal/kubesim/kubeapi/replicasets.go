package kubeapi

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
)

// active are pods that neither have ended nor are about to.
func active(pods []Object) (out []Object) {
	for _, p := range pods {
		if phase := Text(p, "status", "phase"); phase != "Succeeded" && phase != "Failed" && at(p, "metadata", "deletionTimestamp") == nil {
			out = append(out, p)
		}
	}
	return out
}

func readyOf(pods []Object) (n int) {
	for _, p := range pods {
		if hasCondition(p, "Ready") {
			n++
		}
	}
	return n
}

// replicaSets keeps as many pods as each wants.
func replicaSets(c *Cluster) error {
	all, err := c.objects(replicaSetKind)
	if err != nil {
		return err
	}
	for _, rs := range all {
		if at(rs, "spec", "template", "spec") == nil {
			continue
		}
		if err := replicaSet(c, rs); err != nil {
			return err
		}
	}
	return nil
}

func replicaSet(c *Cluster, rs Object) error {
	all, err := c.controlled(podKind, rs)
	if err != nil {
		return err
	}
	pods := active(all)
	wanted := numberOr(1, rs, "spec", "replicas")
	going := at(rs, "metadata", "deletionTimestamp") != nil
	refused := ""
	for i := len(pods); i < wanted && !going && refused == ""; i++ {
		if refused, err = c.makePod(rs, generated(Text(rs, "metadata", "name")+"-"), nil); err != nil {
			return err
		}
	}
	if len(pods) > wanted && !going {
		leaving := slices.Clone(pods)
		slices.SortStableFunc(leaving, leavesBefore(pods))
		for _, p := range leaving[:len(pods)-wanted] {
			if err := c.endPod(clone(p), nil); err != nil {
				return err
			}
			if err := c.event(rs, "Normal", "SuccessfulDelete", "replicaset-controller", "Deleted pod: %s", Text(p, "metadata", "name")); err != nil {
				return err
			}
		}
	}
	if all, err = c.controlled(podKind, rs); err != nil {
		return err
	}
	pods = active(all)
	ready := readyOf(pods)
	status := Object{"replicas": len(pods), "fullyLabeledReplicas": len(pods), "readyReplicas": ready, "availableReplicas": ready,
		"observedGeneration": at(rs, "metadata", "generation")}
	if refused != "" {
		status["conditions"] = []any{condition(rs, "ReplicaFailure", "True", "FailedCreate", refused)}
	}
	return c.setStatus(replicaSetKind, rs, status)
}

// deletionCost says which pods a ReplicaSet shall delete first: those with the lowest.
const deletionCost = "controller.kubernetes.io/pod-deletion-cost"

// leavesBefore is the order in which a ReplicaSet deletes pods (controller.ActivePodsWithRanks): not scheduled, not
// running, not ready, cheap, doubled up on a node, new.
func leavesBefore(pods []Object) func(a, b Object) int {
	onNode := map[string]int{}
	for _, p := range pods {
		onNode[Text(p, "spec", "nodeName")]++
	}
	cost := func(p Object) int {
		n, _ := strconv.Atoi(Text(p, "metadata", "annotations", deletionCost))
		return n
	}
	first := func(is bool) int {
		if is {
			return 0
		}
		return 1
	}
	return func(a, b Object) int {
		return cmp.Or(
			cmp.Compare(first(Text(a, "spec", "nodeName") == ""), first(Text(b, "spec", "nodeName") == "")),
			cmp.Compare(first(Text(a, "status", "phase") == "Pending"), first(Text(b, "status", "phase") == "Pending")),
			cmp.Compare(first(!hasCondition(a, "Ready")), first(!hasCondition(b, "Ready"))),
			cmp.Compare(cost(a), cost(b)),
			-cmp.Compare(onNode[Text(a, "spec", "nodeName")], onNode[Text(b, "spec", "nodeName")]),
			-cmp.Compare(Text(a, "metadata", "uid"), Text(b, "metadata", "uid")),
		)
	}
}

// makePod makes a pod of a workload's template, and tells of it. refused is the answer of the API server if it refuses the
// pod.
func (c *Cluster) makePod(owner Object, name string, edit func(pod Object)) (refused string, err error) {
	template := clone(at(owner, "spec", "template"))
	namespace := Text(owner, "metadata", "namespace")
	meta := Object{"name": name, "namespace": namespace, "ownerReferences": ownerOf(owner), "generation": 1}
	for _, field := range []string{"labels", "annotations"} {
		if values, _ := at(template, "metadata", field).(Object); len(values) > 0 {
			meta[field] = values
		}
	}
	if Text(owner, "kind") == "ReplicaSet" || Text(owner, "kind") == "DaemonSet" {
		meta["generateName"] = Text(owner, "metadata", "name") + "-"
	}
	spec, _ := at(template, "spec").(Object)
	if spec == nil {
		return "no template", nil
	}
	defaultPodSpec(spec)
	setDefault(spec, "serviceAccountName", "default")
	pod := Object{"kind": "Pod", "apiVersion": "v1", "metadata": meta, "spec": spec, "status": Object{"phase": "Pending"}}
	if edit != nil {
		edit(pod)
	}
	source := map[string]string{"ReplicaSet": "replicaset-controller", "StatefulSet": "statefulset-controller", "DaemonSet": "daemonset-controller", "Job": "job-controller"}[Text(owner, "kind")]
	if refusal := c.admitPod(pod, Text(owner, "kind") != "StatefulSet"); refusal != nil {
		text := "Error creating: "
		if Text(owner, "kind") == "StatefulSet" {
			text = fmt.Sprintf("create Pod %s in StatefulSet %s failed error: ", name, Text(owner, "metadata", "name"))
		}
		return refusal.Error(), c.event(owner, "Warning", "FailedCreate", source, "%s", text+refusal.Error())
	}
	if err := c.Store(podKind, pod); err != nil {
		return "", err
	}
	return "", c.event(owner, "Normal", "SuccessfulCreate", source, "Created pod: %s", name)
}

// admitPod returns the refusal of a pod that a controller wants to make. A generated name is replaced by the same one in
// each refusal, so that the controllers come to rest.
func (c *Cluster) admitPod(pod Object, generatedName bool) error {
	meta := inner(pod, "metadata")
	name, namespace := Text(meta, "name"), Text(meta, "namespace")
	if generatedName {
		meta["name"] = name[:len(name)-5] + "x5mrt"
		defer func() { meta["name"] = name }()
	}
	if account := Text(pod, "spec", "serviceAccountName"); c.Objects[accountKind.key(namespace, account)] == nil {
		return apiFault(http.StatusForbidden, "Forbidden", "pods %q is forbidden: error looking up service account %s/%s: serviceaccount %q not found", meta["name"], namespace, account, account)
	}
	if err := c.callWebhooks("CREATE", apiPath{kind: podKind, namespace: namespace, name: name}, pod, webhookLists...); err != nil {
		return err
	}
	return c.checkQuota(podKind, pod)
}
