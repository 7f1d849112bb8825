package kubesim

import (
	"fmt"
	"hash/fnv"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The marks that the deployment controller leaves.
const (
	templateHash       = "pod-template-hash"
	revisionAnnotation = "deployment.kubernetes.io/revision"
)

// deployments rolls templates out by ReplicaSets.
func (w *World) deployments(c *cluster) error {
	all, err := c.objects(deploymentKind)
	if err != nil {
		return err
	}
	for _, d := range all {
		if at(d, "spec", "template", "spec") == nil || at(d, "metadata", "deletionTimestamp") != nil {
			continue
		}
		if err := w.deployment(c, d); err != nil {
			return err
		}
	}
	return nil
}

func (w *World) deployment(c *cluster, d object) error {
	sets, err := c.controlled(replicaSetKind, d)
	if err != nil {
		return err
	}
	wanted := numberOr(1, d, "spec", "replicas")
	current := slices.IndexFunc(sets, func(rs object) bool { return sameTemplate(d, rs) })
	paused := at(d, "spec", "paused") == true
	if current < 0 && !paused {
		return c.makeReplicaSet(d, sets)
	}
	var fresh object
	var old []object
	for i, rs := range sets {
		if i == current {
			fresh = rs
		} else {
			old = append(old, rs)
		}
	}
	if fresh != nil && !paused {
		if err := c.newest(d, fresh, old); err != nil {
			return err
		}
		if err := c.roll(d, fresh, old, wanted); err != nil {
			return err
		}
	} else if len(sets) > 0 {
		if err := c.resize(d, sets[len(sets)-1], wanted); err != nil {
			return err
		}
	}
	return c.deploymentStatus(d, fresh, old, wanted)
}

// sameTemplate compares a template without the hash that ReplicaSets add.
func sameTemplate(d, rs object) bool {
	template, _ := clone(at(rs, "spec", "template")).(object)
	labels, _ := at(template, "metadata", "labels").(object)
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

func revisionOf(rs object) int {
	n, _ := strconv.Atoi(textAt(rs, "metadata", "annotations", revisionAnnotation))
	return n
}

func (c *cluster) makeReplicaSet(d object, sets []object) error {
	hash := hashOf(at(d, "spec", "template"))
	revision := 1
	for _, rs := range sets {
		revision = max(revision, revisionOf(rs)+1)
	}
	template, _ := clone(at(d, "spec", "template")).(object)
	inner(inner(template, "metadata"), "labels")[templateHash] = hash
	selector, _ := clone(at(d, "spec", "selector")).(object)
	inner(selector, "matchLabels")[templateHash] = hash
	return c.store(replicaSetKind, object{
		"metadata": object{"name": textAt(d, "metadata", "name") + "-" + hash, "namespace": textAt(d, "metadata", "namespace"), "labels": at(template, "metadata", "labels"),
			"annotations": object{revisionAnnotation: strconv.Itoa(revision)}, "ownerReferences": ownerOf(d), "generation": 1},
		"spec": object{"replicas": 0, "selector": selector, "template": template}, "status": object{"replicas": 0},
	})
}

// newest gives the ReplicaSet of the present template the highest revision; after a rollback it is an old one.
func (c *cluster) newest(d, fresh object, old []object) error {
	revision := revisionOf(fresh)
	for _, rs := range old {
		if revisionOf(rs) >= revision {
			revision = revisionOf(rs) + 1
		}
	}
	for _, marked := range []struct {
		kind apiKind
		o    object
	}{{replicaSetKind, fresh}, {deploymentKind, d}} {
		if text := strconv.Itoa(revision); textAt(marked.o, "metadata", "annotations", revisionAnnotation) != text {
			inner(inner(marked.o, "metadata"), "annotations")[revisionAnnotation] = text
			if err := c.store(marked.kind, marked.o); err != nil {
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
		return numberOr(0, object{"n": v}, "n")
	}
	percent, _ := strconv.Atoi(strings.TrimSuffix(text, "%"))
	exact := float64(of) * float64(percent) / 100
	if up {
		return int(math.Ceil(exact))
	}
	return int(math.Floor(exact))
}

// roll moves replicas from the old ReplicaSets to the new one, by the strategy.
func (c *cluster) roll(d, fresh object, old []object, wanted int) error {
	oldTotal, oldReady, oldPods := 0, 0, 0
	for _, rs := range old {
		oldTotal += numberOr(0, rs, "spec", "replicas")
		oldReady += numberOr(0, rs, "status", "availableReplicas")
		oldPods += numberOr(0, rs, "status", "replicas")
	}
	if textAt(d, "spec", "strategy", "type") == "Recreate" {
		for _, rs := range old {
			if err := c.resize(d, rs, 0); err != nil {
				return err
			}
		}
		if oldTotal > 0 || oldPods > 0 || c.lingering(old) {
			return nil
		}
		return c.resize(d, fresh, wanted)
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

// lingering reports whether pods of the ReplicaSets are there still.
func (c *cluster) lingering(sets []object) bool {
	for _, rs := range sets {
		if pods, err := c.controlled(podKind, rs); err != nil || len(pods) > 0 {
			return true
		}
	}
	return false
}

func (c *cluster) resize(d, rs object, n int) error {
	was := numberOr(0, rs, "spec", "replicas")
	if was == n {
		return nil
	}
	rs = clone(rs)
	inner(rs, "spec")["replicas"] = n
	inner(rs, "metadata")["generation"] = numberOr(1, rs, "metadata", "generation") + 1
	if err := c.store(replicaSetKind, rs); err != nil {
		return err
	}
	verb := "up"
	if n < was {
		verb = "down"
	}
	return c.event(d, "Normal", "ScalingReplicaSet", "deployment-controller", "Scaled %s replica set %s from %d to %d", verb, textAt(rs, "metadata", "name"), was, n)
}

func (c *cluster) deploymentStatus(d, fresh object, old []object, wanted int) error {
	total, ready, updated, updatedReady := 0, 0, numberOr(0, fresh, "status", "replicas"), numberOr(0, fresh, "status", "availableReplicas")
	for _, rs := range old {
		total += numberOr(0, rs, "status", "replicas")
		ready += numberOr(0, rs, "status", "readyReplicas")
	}
	total, ready = total+updated, ready+updatedReady
	status := object{"observedGeneration": at(d, "metadata", "generation"), "replicas": total, "updatedReplicas": updated, "readyReplicas": ready, "availableReplicas": ready}
	if missing := wanted - ready; missing > 0 {
		status["unavailableReplicas"] = missing
	}
	unavailable := share(at(d, "spec", "strategy", "rollingUpdate", "maxUnavailable"), wanted, false)
	available := condition(d, "Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
	if ready < wanted-unavailable {
		available = condition(d, "Available", "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
	}
	name := textAt(fresh, "metadata", "name")
	progressing := condition(d, "Progressing", "True", "NewReplicaSetAvailable", fmt.Sprintf("ReplicaSet %q has successfully progressed.", name))
	if updatedReady < wanted || total > updated || updated < wanted {
		progressing = c.progress(d, name, status)
	}
	setDefault(progressing, "lastUpdateTime", progressing["lastTransitionTime"])
	setDefault(available, "lastUpdateTime", available["lastTransitionTime"])
	status["conditions"] = []any{available, progressing}
	return c.setStatus(deploymentKind, d, status)
}

// progress is the condition of a rollout that is under way, or has made no step for too long.
func (c *cluster) progress(d object, set string, status object) object {
	seconds := numberOr(600, d, "spec", "progressDeadlineSeconds")
	last := time.Now()
	same := true
	for _, name := range []string{"updatedReplicas", "readyReplicas", "observedGeneration", "replicas"} {
		same = same && numberOr(-1, d, "status", name) == numberOr(-1, status, name)
	}
	for _, was := range list(d, "status", "conditions") {
		if textAt(was, "type") != "Progressing" || !same {
			continue
		}
		if textAt(was, "reason") == "ProgressDeadlineExceeded" {
			kept, _ := clone(was).(object)
			return kept
		}
		if t, err := time.Parse(time.RFC3339, textAt(was, "lastUpdateTime")); err == nil && textAt(was, "reason") == "ReplicaSetUpdated" {
			last = t
		}
	}
	deadline := last.Add(time.Duration(seconds) * time.Second)
	if !time.Now().Before(deadline) {
		out := condition(d, "Progressing", "False", "ProgressDeadlineExceeded", fmt.Sprintf("ReplicaSet %q has timed out progressing.", set))
		out["lastUpdateTime"] = now()
		return out
	}
	c.dueAt(deadline)
	out := condition(d, "Progressing", "True", "ReplicaSetUpdated", fmt.Sprintf("ReplicaSet %q is progressing.", set))
	out["lastUpdateTime"] = last.UTC().Format(time.RFC3339)
	return out
}
