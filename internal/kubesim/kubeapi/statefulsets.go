package kubeapi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const controllerHash = "controller-revision-hash"

// statefulSets makes pods with ordinals, and a set of claims for each.
func statefulSets(c *Cluster) error {
	all, err := c.objects(statefulKind)
	if err != nil {
		return err
	}
	for _, s := range all {
		if at(s, "spec", "template", "spec") == nil || at(s, "metadata", "deletionTimestamp") != nil {
			continue
		}
		if err := statefulSet(c, s); err != nil {
			return err
		}
	}
	return nil
}

func statefulSet(c *Cluster, s Object) error {
	pods, err := c.controlled(podKind, s)
	if err != nil {
		return err
	}
	name, wanted := Text(s, "metadata", "name"), numberOr(1, s, "spec", "replicas")
	start := numberOr(0, s, "spec", "ordinals", "start")
	hash := name + "-" + hashOf(at(s, "spec", "template"))
	byName := map[string]Object{}
	for _, p := range pods {
		byName[Text(p, "metadata", "name")] = p
	}
	parallel := Text(s, "spec", "podManagementPolicy") == "Parallel"
	for i := start; i < start+wanted; i++ {
		p := byName[fmt.Sprintf("%s-%d", name, i)]
		if p == nil {
			if made, err := c.makeOrdinal(s, i, hash); err != nil || !made {
				return err
			}
		} else if phase := Text(p, "status", "phase"); phase == "Failed" || phase == "Succeeded" {
			if err := c.endPod(clone(p), nil); err != nil {
				return err
			}
		}
		if !parallel && (p == nil || !hasCondition(p, "Ready") || at(p, "metadata", "deletionTimestamp") != nil) {
			return c.statefulStatus(s, hash, wanted) // the next one waits for it
		}
	}
	if err := condemn(c, pods, start, wanted, parallel); err != nil {
		return err
	}
	if err := updateOrdinals(c, s, byName, start, wanted, hash); err != nil {
		return err
	}
	return c.statefulStatus(s, hash, wanted)
}

// ordinalOf is the number at the end of a pod's name.
func ordinalOf(p Object) int {
	name := Text(p, "metadata", "name")
	n, err := strconv.Atoi(name[strings.LastIndex(name, "-")+1:])
	if err != nil {
		return -1
	}
	return n
}

// condemn deletes surplus pods, the highest ordinal first and one after the other.
func condemn(c *Cluster, pods []Object, start, wanted int, parallel bool) error {
	slices.SortFunc(pods, func(a, b Object) int { return ordinalOf(b) - ordinalOf(a) })
	for _, p := range pods {
		if n := ordinalOf(p); n >= start && n < start+wanted {
			continue
		}
		if at(p, "metadata", "deletionTimestamp") == nil {
			if err := c.endPod(clone(p), nil); err != nil {
				return err
			}
		}
		if !parallel && c.Objects[podKind.key(Text(p, "metadata", "namespace"), Text(p, "metadata", "name"))] != nil {
			return nil
		}
	}
	return nil
}

// updateOrdinals replaces pods of an older template, the highest first, each after the last one is ready.
func updateOrdinals(c *Cluster, s Object, byName map[string]Object, start, wanted int, hash string) error {
	partition := numberOr(0, s, "spec", "updateStrategy", "rollingUpdate", "partition")
	for i := start + wanted - 1; i >= max(start, partition); i-- {
		p := byName[fmt.Sprintf("%s-%d", Text(s, "metadata", "name"), i)]
		if p == nil || at(p, "metadata", "deletionTimestamp") != nil {
			return nil
		}
		if Text(p, "metadata", "labels", controllerHash) != hash {
			return c.endPod(clone(p), nil)
		}
		if !hasCondition(p, "Ready") {
			return nil
		}
	}
	return nil
}

func (c *Cluster) makeOrdinal(s Object, i int, hash string) (bool, error) {
	setName := Text(s, "metadata", "name")
	name, namespace := fmt.Sprintf("%s-%d", setName, i), Text(s, "metadata", "namespace")
	var volumes []any
	for _, t := range list(s, "spec", "volumeClaimTemplates") {
		claim := Text(t, "metadata", "name") + "-" + name
		volumes = append(volumes, Object{"name": Text(t, "metadata", "name"), "persistentVolumeClaim": Object{"claimName": claim}})
		if c.Objects[claimKind.key(namespace, claim)] != nil {
			continue
		}
		labels, _ := clone(at(s, "spec", "selector", "matchLabels")).(Object)
		meta := Object{"name": claim, "namespace": namespace, "labels": labels}
		if Text(s, "spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted") == "Delete" {
			meta["ownerReferences"] = []any{Object{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": setName, "uid": Text(s, "metadata", "uid")}}
		}
		spec, _ := clone(at(t, "spec")).(Object)
		if err := c.Store(claimKind, Object{"metadata": meta, "spec": spec, "status": Object{"phase": "Pending"}}); err != nil {
			return false, err
		}
		if err := c.event(s, "Normal", "SuccessfulCreate", "statefulset-controller", "create Claim %s Pod %s in StatefulSet %s success", claim, name, setName); err != nil {
			return false, err
		}
	}
	refused, err := c.makePod(s, name, func(pod Object) {
		labels := inner(inner(pod, "metadata"), "labels")
		labels[controllerHash], labels["statefulset.kubernetes.io/pod-name"], labels["apps.kubernetes.io/pod-index"] = hash, name, strconv.Itoa(i)
		spec := inner(pod, "spec")
		spec["volumes"] = append(list(spec, "volumes"), volumes...)
		spec["hostname"], spec["subdomain"] = name, at(s, "spec", "serviceName")
	})
	return refused == "", err
}

func (c *Cluster) statefulStatus(s Object, hash string, wanted int) error {
	all, err := c.controlled(podKind, s)
	if err != nil {
		return err
	}
	pods := active(all)
	updated := 0
	for _, p := range pods {
		if Text(p, "metadata", "labels", controllerHash) == hash {
			updated++
		}
	}
	ready := readyOf(pods)
	current := Text(s, "status", "currentRevision")
	partition := numberOr(0, s, "spec", "updateStrategy", "rollingUpdate", "partition")
	if current == "" || updated == len(pods) && ready == wanted && len(pods) == wanted && partition == 0 {
		current = hash
	}
	status := Object{"observedGeneration": at(s, "metadata", "generation"), "replicas": len(pods), "readyReplicas": ready, "availableReplicas": ready,
		"currentRevision": current, "updateRevision": hash, "updatedReplicas": updated, "collisionCount": 0}
	if old := len(pods) - updated; current == hash {
		status["currentReplicas"] = updated
	} else if old > 0 {
		status["currentReplicas"] = old
	}
	return c.setStatus(statefulKind, s, status)
}
