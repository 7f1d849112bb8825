package kubeapi

import (
	"maps"
	"slices"
)

// daemonSets makes a pod on each node that fits. Pods of kube-proxy come with their nodes (AddNode).
func daemonSets(c *Cluster) error {
	all, err := c.objects(daemonKind)
	if err != nil {
		return err
	}
	for _, d := range all {
		if Text(d, "metadata", "name") == proxyName || at(d, "spec", "template", "spec") == nil || at(d, "metadata", "deletionTimestamp") != nil {
			continue
		}
		if err := daemonSet(c, d); err != nil {
			return err
		}
	}
	return nil
}

// daemonTolerations are added by the controller: its pods also run on nodes that accept no other pods.
var daemonTolerations = []any{
	Object{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"},
	Object{"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"},
	Object{"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"},
}

func daemonSet(c *Cluster, d Object) error {
	pods, err := c.controlled(podKind, d)
	if err != nil {
		return err
	}
	hash := hashOf(at(d, "spec", "template"))
	has := map[string]Object{}
	for _, p := range pods {
		has[Text(p, "spec", "nodeName")] = p
	}
	template, _ := clone(at(d, "spec", "template")).(Object)
	inner(template, "spec")["tolerations"] = union(list(template, "spec", "tolerations"), daemonTolerations)
	desired := 0
	for _, name := range slices.Sorted(maps.Keys(c.Nodes)) {
		if _, fits := fits(c, c.Nodes[name], template, false); !fits {
			if p := has[name]; p != nil && at(p, "metadata", "deletionTimestamp") == nil {
				if err := c.endPod(clone(p), nil); err != nil {
					return err
				}
			}
			continue
		}
		desired++
		if has[name] != nil {
			continue
		}
		refused, err := c.makePod(d, generated(Text(d, "metadata", "name")+"-"), func(pod Object) {
			inner(inner(pod, "metadata"), "labels")[controllerHash] = hash
			inner(pod, "spec")["nodeName"], inner(pod, "spec")["tolerations"] = name, at(template, "spec", "tolerations")
		})
		if err != nil || refused != "" {
			return err
		}
	}
	if err := updateDaemons(c, d, pods, hash); err != nil {
		return err
	}
	if pods, err = c.controlled(podKind, d); err != nil {
		return err
	}
	pods = active(pods)
	updated := 0
	for _, p := range pods {
		if Text(p, "metadata", "labels", controllerHash) == hash {
			updated++
		}
	}
	ready := readyOf(pods)
	status := Object{"observedGeneration": at(d, "metadata", "generation"), "desiredNumberScheduled": desired, "currentNumberScheduled": len(pods), "numberReady": ready,
		"numberMisscheduled": 0}
	for name, n := range map[string]int{"numberAvailable": ready, "numberUnavailable": desired - ready, "updatedNumberScheduled": updated} {
		if n > 0 {
			status[name] = n
		}
	}
	return c.setStatus(daemonKind, d, status)
}

// updateDaemons replaces one pod of an older template at a time.
func updateDaemons(c *Cluster, d Object, pods []Object, hash string) error {
	var old []Object
	for _, p := range pods {
		switch is := Text(p, "metadata", "labels", controllerHash) == hash; {
		case at(p, "metadata", "deletionTimestamp") != nil, is && !hasCondition(p, "Ready"):
			return nil
		case !is && !hasCondition(p, "Ready"):
			return c.endPod(clone(p), nil)
		case !is:
			old = append(old, p)
		}
	}
	if len(old) == 0 {
		return nil
	}
	return c.endPod(clone(old[0]), nil)
}
