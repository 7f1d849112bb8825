package kubeapi

import (
	"fmt"
	"hash/fnv"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// The marks that the deployment controller leaves.
const (
	templateHash       = "pod-template-hash"
	revisionAnnotation = "deployment.kubernetes.io/revision"
)

// deployments rolls templates out by ReplicaSets.
func deployments(c *Cluster) error {
	all, err := c.objects(deploymentKind)
	if err != nil {
		return err
	}
	for _, d := range all {
		if at(d, "spec", "template", "spec") == nil || at(d, "metadata", "deletionTimestamp") != nil {
			continue
		}
		if err := deployment(c, d); err != nil {
			return err
		}
	}
	return nil
}

func deployment(c *Cluster, d Object) error {
	sets, err := c.controlled(replicaSetKind, d)
	if err != nil {
		return err
	}
	wanted := numberOr(1, d, "spec", "replicas")
	current := slices.IndexFunc(sets, func(rs Object) bool { return sameTemplate(d, rs) })
	if current < 0 {
		return c.makeReplicaSet(d, sets)
	}
	fresh, old := sets[current], slices.Delete(slices.Clone(sets), current, current+1)
	if err := c.newest(d, fresh, old); err != nil {
		return err
	}
	if err := c.roll(d, fresh, old, wanted); err != nil {
		return err
	}
	return c.deploymentStatus(d, fresh, old, wanted)
}

// sameTemplate compares a template without the hash that ReplicaSets add.
func sameTemplate(d, rs Object) bool {
	template, _ := clone(at(rs, "spec", "template")).(Object)
	labels, _ := at(template, "metadata", "labels").(Object)
	delete(labels, templateHash)
	return reflect.DeepEqual(plain(template), plain(at(d, "spec", "template")))
}

func hashOf(template any) string {
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%v", plain(template)) // maps are printed in order
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	var b strings.Builder
	for _, r := range strconv.FormatUint(uint64(h.Sum32()), 10) {
		b.WriteByte(letters[int(r)%len(letters)])
	}
	return b.String()
}

func revisionOf(rs Object) int {
	n, _ := strconv.Atoi(Text(rs, "metadata", "annotations", revisionAnnotation))
	return n
}

func (c *Cluster) makeReplicaSet(d Object, sets []Object) error {
	hash := hashOf(at(d, "spec", "template"))
	revision := 1
	for _, rs := range sets {
		revision = max(revision, revisionOf(rs)+1)
	}
	template, _ := clone(at(d, "spec", "template")).(Object)
	inner(inner(template, "metadata"), "labels")[templateHash] = hash
	selector, _ := clone(at(d, "spec", "selector")).(Object)
	inner(selector, "matchLabels")[templateHash] = hash
	return c.Store(replicaSetKind, Object{
		"metadata": Object{"name": Text(d, "metadata", "name") + "-" + hash, "namespace": Text(d, "metadata", "namespace"), "labels": at(template, "metadata", "labels"),
			"annotations": Object{revisionAnnotation: strconv.Itoa(revision)}, "ownerReferences": ownerOf(d), "generation": 1},
		"spec": Object{"replicas": 0, "selector": selector, "template": template}, "status": Object{"replicas": 0},
	})
}

// newest gives the ReplicaSet of the present template the highest revision; after a rollback it is an old one.
func (c *Cluster) newest(d, fresh Object, old []Object) error {
	revision := revisionOf(fresh)
	for _, rs := range old {
		if revisionOf(rs) >= revision {
			revision = revisionOf(rs) + 1
		}
	}
	for _, marked := range []struct {
		kind Kind
		o    Object
	}{{replicaSetKind, fresh}, {deploymentKind, d}} {
		if text := strconv.Itoa(revision); Text(marked.o, "metadata", "annotations", revisionAnnotation) != text {
			inner(inner(marked.o, "metadata"), "annotations")[revisionAnnotation] = text
			if err := c.Store(marked.kind, marked.o); err != nil {
				return err
			}
		}
	}
	return nil
}

// share is a number or a percentage of one.
func share(v any, of int, up bool) int {
	text, isText := v.(string)
	if !isText {
		return numberOr(0, Object{"n": v}, "n")
	}
	percent, _ := strconv.Atoi(strings.TrimSuffix(text, "%"))
	exact := float64(of) * float64(percent) / 100
	if up {
		return int(math.Ceil(exact))
	}
	return int(math.Floor(exact))
}

// roll moves replicas from the old ReplicaSets to the new one, whatever the strategy is.
func (c *Cluster) roll(d, fresh Object, old []Object, wanted int) error {
	oldTotal, oldReady := 0, 0
	for _, rs := range old {
		oldTotal += numberOr(0, rs, "spec", "replicas")
		oldReady += numberOr(0, rs, "status", "availableReplicas")
	}
	surge := share(at(d, "spec", "strategy", "rollingUpdate", "maxSurge"), wanted, true)
	unavailable := share(at(d, "spec", "strategy", "rollingUpdate", "maxUnavailable"), wanted, false)
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	freshHas := numberOr(0, fresh, "spec", "replicas")
	if room := wanted + surge - oldTotal - freshHas; freshHas > wanted || room > 0 && freshHas < wanted {
		freshHas = min(wanted, freshHas+max(room, 0))
		if err := c.resize(d, fresh, freshHas); err != nil {
			return err
		}
	}
	freshReady := min(numberOr(0, fresh, "status", "availableReplicas"), freshHas)
	spare := oldTotal + freshHas - (wanted - unavailable) - (freshHas - freshReady)
	broken := oldTotal - oldReady // pods that do not work are removed first, without counting as unavailable
	for _, rs := range old {
		n := numberOr(0, rs, "spec", "replicas")
		gone := min(n, max(spare, 0))
		if freshReady >= wanted {
			gone = n
		} else if broken > 0 {
			gone = max(gone, min(n-numberOr(0, rs, "status", "availableReplicas"), broken))
		}
		spare -= gone
		if err := c.resize(d, rs, n-gone); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) resize(d, rs Object, n int) error {
	was := numberOr(0, rs, "spec", "replicas")
	if was == n {
		return nil
	}
	rs = clone(rs)
	inner(rs, "spec")["replicas"] = n
	inner(rs, "metadata")["generation"] = numberOr(1, rs, "metadata", "generation") + 1
	if err := c.Store(replicaSetKind, rs); err != nil {
		return err
	}
	verb := "up"
	if n < was {
		verb = "down"
	}
	return c.event(d, "Normal", "ScalingReplicaSet", "deployment-controller", "Scaled %s replica set %s from %d to %d", verb, Text(rs, "metadata", "name"), was, n)
}

func (c *Cluster) deploymentStatus(d, fresh Object, old []Object, wanted int) error {
	total, ready, updated, updatedReady := 0, 0, numberOr(0, fresh, "status", "replicas"), numberOr(0, fresh, "status", "availableReplicas")
	for _, rs := range old {
		total += numberOr(0, rs, "status", "replicas")
		ready += numberOr(0, rs, "status", "readyReplicas")
	}
	total, ready = total+updated, ready+updatedReady
	status := Object{"observedGeneration": at(d, "metadata", "generation"), "replicas": total, "updatedReplicas": updated, "readyReplicas": ready, "availableReplicas": ready}
	if missing := wanted - ready; missing > 0 {
		status["unavailableReplicas"] = missing
	}
	unavailable := share(at(d, "spec", "strategy", "rollingUpdate", "maxUnavailable"), wanted, false)
	available := condition(d, "Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
	if ready < wanted-unavailable {
		available = condition(d, "Available", "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
	}
	name := Text(fresh, "metadata", "name")
	progressing := condition(d, "Progressing", "True", "NewReplicaSetAvailable", fmt.Sprintf("ReplicaSet %q has successfully progressed.", name))
	if updatedReady < wanted || total > updated || updated < wanted {
		progressing = condition(d, "Progressing", "True", "ReplicaSetUpdated", fmt.Sprintf("ReplicaSet %q is progressing.", name))
	}
	setDefault(progressing, "lastUpdateTime", progressing["lastTransitionTime"])
	setDefault(available, "lastUpdateTime", available["lastTransitionTime"])
	status["conditions"] = []any{available, progressing}
	for _, failure := range list(fresh, "status", "conditions") { // of its ReplicaSet
		status["conditions"] = append(list(status, "conditions"), failure)
	}
	return c.setStatus(deploymentKind, d, status)
}
