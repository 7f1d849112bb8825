package kubesim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const controllerHash = "controller-revision-hash"

// statefulSets makes pods with ordinals, and a set of claims for each.
func (w *World) statefulSets(c *cluster) error {
	all, err := c.objects(statefulKind)
	if err != nil {
		return err
	}
	for _, s := range all {
		if at(s, "spec", "template", "spec") == nil || at(s, "metadata", "deletionTimestamp") != nil {
			continue
		}
		if err := w.statefulSet(c, s); err != nil {
			return err
		}
	}
	return nil
}

func (w *World) statefulSet(c *cluster, s object) error {
	pods, err := c.controlled(podKind, s)
	if err != nil {
		return err
	}
	name, wanted := textAt(s, "metadata", "name"), numberOr(1, s, "spec", "replicas")
	start := numberOr(0, s, "spec", "ordinals", "start")
	hash := name + "-" + hashOf(at(s, "spec", "template"))
	byName := map[string]object{}
	for _, p := range pods {
		byName[textAt(p, "metadata", "name")] = p
	}
	parallel := textAt(s, "spec", "podManagementPolicy") == "Parallel"
	for i := start; i < start+wanted; i++ {
		p := byName[fmt.Sprintf("%s-%d", name, i)]
		if p == nil {
			if made, err := c.makeOrdinal(s, i, hash); err != nil || !made {
				return err
			}
		} else if phase := textAt(p, "status", "phase"); phase == "Failed" || phase == "Succeeded" {
			if err := w.endPod(c, clone(p), nil); err != nil {
				return err
			}
		}
		if !parallel && (p == nil || !hasCondition(p, "Ready") || at(p, "metadata", "deletionTimestamp") != nil) {
			return c.statefulStatus(s, hash, wanted) // the next one waits for it
		}
	}
	if err := w.condemn(c, pods, start, wanted, parallel); err != nil {
		return err
	}
	if err := w.updateOrdinals(c, s, byName, start, wanted, hash); err != nil {
		return err
	}
	return c.statefulStatus(s, hash, wanted)
}

// ordinalOf is the number at the end of a pod's name.
func ordinalOf(p object) int {
	name := textAt(p, "metadata", "name")
	n, err := strconv.Atoi(name[strings.LastIndex(name, "-")+1:])
	if err != nil {
		return -1
	}
	return n
}

// condemn deletes surplus pods, the highest ordinal first and one after the other.
func (w *World) condemn(c *cluster, pods []object, start, wanted int, parallel bool) error {
	slices.SortFunc(pods, func(a, b object) int { return ordinalOf(b) - ordinalOf(a) })
	for _, p := range pods {
		if n := ordinalOf(p); n >= start && n < start+wanted {
			continue
		}
		if at(p, "metadata", "deletionTimestamp") == nil {
			if err := w.endPod(c, clone(p), nil); err != nil {
				return err
			}
		}
		if !parallel && c.Objects[podKind.key(textAt(p, "metadata", "namespace"), textAt(p, "metadata", "name"))] != nil {
			return nil
		}
	}
	return nil
}

// updateOrdinals replaces pods of an older template, the highest first, each after the last one is ready.
func (w *World) updateOrdinals(c *cluster, s object, byName map[string]object, start, wanted int, hash string) error {
	if textAt(s, "spec", "updateStrategy", "type") == "OnDelete" {
		return nil
	}
	partition := numberOr(0, s, "spec", "updateStrategy", "rollingUpdate", "partition")
	for i := start + wanted - 1; i >= max(start, partition); i-- {
		p := byName[fmt.Sprintf("%s-%d", textAt(s, "metadata", "name"), i)]
		if p == nil || at(p, "metadata", "deletionTimestamp") != nil {
			return nil
		}
		if textAt(p, "metadata", "labels", controllerHash) != hash {
			return w.endPod(c, clone(p), nil)
		}
		if !hasCondition(p, "Ready") {
			return nil
		}
	}
	return nil
}

func (c *cluster) makeOrdinal(s object, i int, hash string) (bool, error) {
	setName := textAt(s, "metadata", "name")
	name, namespace := fmt.Sprintf("%s-%d", setName, i), textAt(s, "metadata", "namespace")
	var volumes []any
	for _, t := range list(s, "spec", "volumeClaimTemplates") {
		claim := textAt(t, "metadata", "name") + "-" + name
		volumes = append(volumes, object{"name": textAt(t, "metadata", "name"), "persistentVolumeClaim": object{"claimName": claim}})
		if c.Objects[claimKind.key(namespace, claim)] != nil {
			continue
		}
		labels, _ := clone(at(s, "spec", "selector", "matchLabels")).(object)
		meta := object{"name": claim, "namespace": namespace, "labels": labels}
		if textAt(s, "spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted") == "Delete" {
			meta["ownerReferences"] = []any{object{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": setName, "uid": textAt(s, "metadata", "uid")}}
		}
		spec, _ := clone(at(t, "spec")).(object)
		if err := c.store(claimKind, object{"metadata": meta, "spec": spec, "status": object{"phase": "Pending"}}); err != nil {
			return false, err
		}
		if err := c.event(s, "Normal", "SuccessfulCreate", "statefulset-controller", "create Claim %s Pod %s in StatefulSet %s success", claim, name, setName); err != nil {
			return false, err
		}
	}
	return c.makePod(s, name, func(pod object) {
		labels := inner(inner(pod, "metadata"), "labels")
		labels[controllerHash], labels["statefulset.kubernetes.io/pod-name"], labels["apps.kubernetes.io/pod-index"] = hash, name, strconv.Itoa(i)
		spec := inner(pod, "spec")
		spec["volumes"] = append(list(spec, "volumes"), volumes...)
		spec["hostname"], spec["subdomain"] = name, at(s, "spec", "serviceName")
	})
}

func (c *cluster) statefulStatus(s object, hash string, wanted int) error {
	all, err := c.controlled(podKind, s)
	if err != nil {
		return err
	}
	pods := active(all)
	updated := 0
	for _, p := range pods {
		if textAt(p, "metadata", "labels", controllerHash) == hash {
			updated++
		}
	}
	ready := readyOf(pods)
	current := textAt(s, "status", "currentRevision")
	partition := numberOr(0, s, "spec", "updateStrategy", "rollingUpdate", "partition")
	if current == "" || updated == len(pods) && ready == wanted && len(pods) == wanted && partition == 0 {
		current = hash
	}
	status := object{"observedGeneration": at(s, "metadata", "generation"), "replicas": len(pods), "readyReplicas": ready, "availableReplicas": ready,
		"currentRevision": current, "updateRevision": hash, "updatedReplicas": updated, "collisionCount": 0}
	if old := len(pods) - updated; current == hash {
		status["currentReplicas"] = updated
	} else if old > 0 {
		status["currentReplicas"] = old
	}
	return c.setStatus(statefulKind, s, status)
}
