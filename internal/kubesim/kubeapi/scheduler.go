package kubeapi

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// schedule gives pods nodes: one that fits and has the fewest pods of the same owner, then the fewest of all. What pods
// ask for (resources, affinity to other pods, spreading) is not looked at.
func schedule(c *Cluster) error {
	pods, err := c.objects(podKind)
	if err != nil {
		return err
	}
	slices.SortStableFunc(pods, compareIn("metadata", "uid"))
	for _, p := range pods {
		if Text(p, "spec", "nodeName") != "" || at(p, "metadata", "deletionTimestamp") != nil || at(p, "spec") == nil {
			continue
		}
		if err := place(c, p, pods); err != nil {
			return err
		}
	}
	return nil
}

func place(c *Cluster, p Object, pods []Object) error {
	var fit []*Node
	reasons := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(c.Nodes)) {
		reason, fits := fits(c, c.Nodes[name], p, true)
		if fits {
			fit = append(fit, c.Nodes[name])
		} else {
			reasons[reason]++
		}
	}
	missing := c.missingClaim(p)
	if len(fit) == 0 || missing != "" {
		var why []string
		for _, reason := range slices.Sorted(maps.Keys(reasons)) {
			why = append(why, fmt.Sprintf("%d %s", reasons[reason], reason))
		}
		if missing != "" {
			why = []string{missing}
		}
		message := fmt.Sprintf("0/%d nodes are available: %s. preemption: 0/%d nodes are available: %d Preemption is not helpful for scheduling.",
			len(c.Nodes), strings.Join(why, ", "), len(c.Nodes), len(c.Nodes))
		if err := c.event(p, "Warning", "FailedScheduling", "default-scheduler", "%s", message); err != nil {
			return err
		}
		return c.setStatus(podKind, p, Object{"phase": "Pending", "qosClass": "BestEffort", "conditions": []any{condition(p, "PodScheduled", "False", "Unschedulable", message)}})
	}
	chosen := slices.MinFunc(fit, func(a, b *Node) int {
		sameA, allA := crowd(pods, p, a.Name)
		sameB, allB := crowd(pods, p, b.Name)
		return cmp.Or(cmp.Compare(sameA, sameB), cmp.Compare(allA, allB), cmp.Compare(a.Name, b.Name))
	})
	inner(p, "spec")["nodeName"] = chosen.Name // seen by those that are placed after it
	if err := c.Store(podKind, p); err != nil {
		return err
	}
	return c.event(p, "Normal", "Scheduled", "default-scheduler", "Successfully assigned %s/%s to %s", Text(p, "metadata", "namespace"), Text(p, "metadata", "name"), chosen.Name)
}

// crowd counts the pods on a node, those of the same owner and all.
func crowd(pods []Object, p Object, node string) (same, all int) {
	owner := ""
	if refs := list(p, "metadata", "ownerReferences"); len(refs) > 0 {
		owner = Text(refs[0], "uid")
	}
	for _, other := range active(pods) {
		if Text(other, "spec", "nodeName") != node {
			continue
		}
		all++
		if refs := list(other, "metadata", "ownerReferences"); owner != "" && len(refs) > 0 && Text(refs[0], "uid") == owner {
			same++
		}
	}
	return same, all
}

// missingClaim says what claim keeps a pod from being placed.
func (c *Cluster) missingClaim(p Object) string {
	for _, v := range list(p, "spec", "volumes") {
		name := Text(v, "persistentVolumeClaim", "claimName")
		if name == "" {
			continue
		}
		claim := c.object(claimKind.key(Text(p, "metadata", "namespace"), name))
		switch {
		case claim == nil:
			return fmt.Sprintf("persistentvolumeclaim %q not found", name)
		case Text(claim, "status", "phase") != "Bound":
			return "pod has unbound immediate PersistentVolumeClaims"
		}
	}
	return ""
}

const controlPlaneTaint = "node-role.kubernetes.io/control-plane"

// fits reports whether a pod, or those of a template, may be on a node, or why not. A control-plane node has the taint
// that kubeadm gives it.
func fits(c *Cluster, n *Node, p Object, ready bool) (reason string, fits bool) {
	o := c.nodeObject(n)
	labels, _ := at(o, "metadata", "labels").(Object)
	wanted, _ := at(p, "spec", "nodeSelector").(Object)
	for name, value := range wanted {
		if labels[name] != value {
			return "node(s) didn't match Pod's node affinity/selector", false
		}
	}
	if terms := list(p, "spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"); len(terms) > 0 &&
		!slices.ContainsFunc(terms, func(t any) bool { return selectorOf(t).Matches(setOf(labels)) }) {
		return "node(s) didn't match Pod's node affinity/selector", false
	}
	taints := slices.Clone(n.Taints)
	if n.ControlPlane && !slices.ContainsFunc(taints, func(t any) bool { return Text(t, "key") == controlPlaneTaint }) {
		taints = append(taints, Object{"key": controlPlaneTaint, "effect": "NoSchedule"})
	}
	if ready && !c.ready(n) {
		taints = append(taints, Object{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"})
	}
	for _, t := range taints {
		if Text(t, "effect") != "PreferNoSchedule" && !tolerated(p, t) {
			return fmt.Sprintf("node(s) had untolerated taint(s) {%s: %s}", Text(t, "key"), Text(t, "value")), false
		}
	}
	if n.Unschedulable && !tolerated(p, Object{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}) {
		return "node(s) were unschedulable", false
	}
	return "", true
}

func tolerated(p Object, taint any) bool {
	return slices.ContainsFunc(list(p, "spec", "tolerations"), func(t any) bool {
		if effect := Text(t, "effect"); effect != "" && effect != Text(taint, "effect") {
			return false
		}
		if Text(t, "operator") == "Exists" {
			return Text(t, "key") == "" || Text(t, "key") == Text(taint, "key")
		}
		return Text(t, "key") == Text(taint, "key") && Text(t, "value") == Text(taint, "value")
	})
}
