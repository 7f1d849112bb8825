package kubeapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

func now() string { return time.Now().UTC().Format(time.RFC3339) }

// Kinds that controllers make or look at.
var (
	namespaceKind  = Kind{"", "v1", "namespaces", "Namespace", false}
	accountKind    = Kind{"", "v1", "serviceaccounts", "ServiceAccount", true}
	configKind     = Kind{"", "v1", "configmaps", "ConfigMap", true}
	deploymentKind = Kind{"apps", "v1", "deployments", "Deployment", true}
	replicaSetKind = Kind{"apps", "v1", "replicasets", "ReplicaSet", true}
	statefulKind   = Kind{"apps", "v1", "statefulsets", "StatefulSet", true}
	daemonKind     = Kind{"apps", "v1", "daemonsets", "DaemonSet", true}
	jobKind        = Kind{"batch", "v1", "jobs", "Job", true}
	eventKind      = Kind{"", "v1", "events", "Event", true}
)

// rounds are how often the controllers look during one request. Long rollouts continue with the next request.
const rounds = 200

// controllers do the work of a cluster, in this order.
var controllers = []func(*Cluster) error{
	definitions, namespaces, volumes, collect, deployments, replicaSets, statefulSets,
	daemonSets, jobs, schedule, kubelets, budgets, apiServices, quotas,
}

// RunControllers runs the controllers, the scheduler and the kubelets until they have no more work, or have looked often. They run while a request is
// answered or watched, in a fixed order, so that the result does not depend on goroutines.
func (c *Cluster) RunControllers() error {
	if !c.Host.Quorate() {
		return nil
	}
	c.recordNodes()
	if c.idleAt == c.Revision && c.idleAt > 0 && (c.due.IsZero() || time.Now().Before(c.due)) {
		return nil
	}
	type look struct {
		revision int       // of the cluster when the controller last had no work
		due      time.Time // when the controller wants to look again
	}
	last := make([]look, len(controllers))
	for range rounds {
		before := c.Revision
		for i, control := range controllers {
			if last[i].revision == c.Revision && c.Revision > 0 {
				continue // nothing has changed since the controller looked
			}
			start := c.Revision
			c.due = time.Time{}
			if err := control(c); err != nil {
				return err
			}
			last[i] = look{due: c.due}
			if c.Revision == start {
				last[i].revision = start
			}
		}
		if c.Revision == before {
			c.idleAt, c.due = c.Revision, time.Time{}
			for _, l := range last {
				if !l.due.IsZero() {
					c.dueAt(l.due)
				}
			}
			return nil
		}
	}
	return nil
}

// dueAt makes runControllers run again at that time.
func (c *Cluster) dueAt(t time.Time) {
	if c.due.IsZero() || t.Before(c.due) {
		c.due = t
	}
}

// recordNodes notes how nodes have changed, for watches, and gives them revisions.
func (c *Cluster) recordNodes() {
	h := &c.history
	if h.nodes == nil {
		h.nodes, h.seen = map[string]int{}, map[string]jsonObject{}
	}
	names := slices.Sorted(maps.Keys(c.Nodes))
	for _, name := range names {
		raw, err := json.Marshal(c.nodeObject(c.Nodes[name]))
		if err != nil || bytes.Equal(raw, h.seen[name]) {
			continue
		}
		c.Revision++
		h.nodes[name] = c.Revision
		raw, _ = json.Marshal(c.nodeObject(c.Nodes[name]))
		c.record(change{c.Revision, "Node//" + name, raw, h.seen[name]})
		h.seen[name] = raw
	}
	for _, name := range slices.Sorted(maps.Keys(h.seen)) {
		if c.Nodes[name] == nil {
			c.Revision++
			c.record(change{c.Revision, "Node//" + name, nil, h.seen[name]})
			delete(h.seen, name)
		}
	}
}

// volumes runs the volume controllers and the provisioner: a claim whose class exists gets a volume at once. An empty
// or missing class means the default one if the cluster has one.
func volumes(c *Cluster) error {
	if err := c.controlVolumes(); err != nil {
		return err
	}
	claims, err := c.objects(claimKind)
	if err != nil {
		return err
	}
	for _, claim := range claims {
		if Text(claim, "status", "phase") == "Bound" || Text(claim, "spec", "volumeName") != "" {
			continue
		}
		provisioned, err := c.provisions(claim)
		if err != nil {
			return err
		}
		if !provisioned {
			continue
		}
		claim = clone(claim)
		inner(claim, "spec")["volumeName"] = "pvc-" + Text(claim, "metadata", "uid")
		status := inner(claim, "status")
		status["phase"], status["accessModes"], status["capacity"] = "Bound", at(claim, "spec", "accessModes"), at(claim, "spec", "resources", "requests")
		if err := c.Store(claimKind, claim); err != nil {
			return err
		}
	}
	return nil
}

// provisions reports whether a claim gets a volume now: its class exists, and a pod uses the claim if the class waits for
// that. Otherwise an event says what is missing.
func (c *Cluster) provisions(claim Object) (bool, error) {
	wanted, named := at(claim, "spec", "storageClassName").(string)
	classes, err := c.objects(Kind{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"})
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(classes, func(class Object) bool {
		if named {
			return Text(class, "metadata", "name") == wanted
		}
		return Text(class, "metadata", "annotations", "storageclass.kubernetes.io/is-default-class") == "true"
	})
	const source = "persistentvolume-controller"
	switch {
	case i < 0 && wanted == "":
		return false, c.event(claim, "Normal", "FailedBinding", source, "no persistent volumes available for this claim and no storage class is set")
	case i < 0:
		return false, c.event(claim, "Warning", "ProvisioningFailed", source, "storageclass.storage.k8s.io %q not found", wanted)
	case Text(classes[i], "volumeBindingMode") != "WaitForFirstConsumer":
		return true, nil
	}
	pods, err := c.objects(podKind)
	if err != nil || slices.ContainsFunc(pods, func(p Object) bool { return uses(p, claim) }) {
		return err == nil, err
	}
	return false, c.event(claim, "Normal", "WaitForFirstConsumer", source, "waiting for first consumer to be created before binding")
}

// uses reports whether a pod has a volume of a claim.
func uses(pod, claim Object) bool {
	return Text(pod, "metadata", "namespace") == Text(claim, "metadata", "namespace") && slices.ContainsFunc(list(pod, "spec", "volumes"), func(v any) bool {
		return Text(v, "persistentVolumeClaim", "claimName") == Text(claim, "metadata", "name")
	})
}

// setStatus stores an object with that status, unless the object has it already.
func (c *Cluster) setStatus(k Kind, o, status Object) error {
	if was, err := json.Marshal(o["status"]); err == nil {
		if is, err := json.Marshal(status); err == nil && bytes.Equal(is, was) {
			return nil
		}
	}
	out := clone(o)
	out["status"] = status
	return c.Store(k, out)
}

// condition is one of a status. It keeps the times of the one before unless it changes.
func condition(o Object, kind, status, reason, message string) Object {
	at := now()
	for _, was := range list(o, "status", "conditions") {
		if Text(was, "type") == kind && Text(was, "status") == status && Text(was, "lastTransitionTime") != "" {
			at = Text(was, "lastTransitionTime")
		}
	}
	out := Object{"type": kind, "status": status, "lastTransitionTime": at}
	if reason != "" {
		out["reason"] = reason
	}
	if message != "" {
		out["message"] = message
	}
	return out
}

// hasCondition reports whether an object has a condition that is true.
func hasCondition(o any, kind string) bool {
	return slices.ContainsFunc(list(o, "status", "conditions"), func(c any) bool { return Text(c, "type") == kind && Text(c, "status") == "True" })
}

// event records an event about an object, once. Only the last ones are kept.
func (c *Cluster) event(about Object, kind, reason, source, format string, args ...any) error {
	namespace, message := Text(about, "metadata", "namespace"), fmt.Sprintf(format, args...)
	if namespace == "" {
		namespace = "default"
	}
	uid := Text(about, "metadata", "uid")
	if told := uid + reason + message; c.history.events[told] {
		return nil
	} else if c.history.events == nil {
		c.history.events = map[string]bool{told: true}
	} else {
		c.history.events[told] = true
	}
	events, err := c.objects(eventKind)
	if err != nil {
		return err
	}
	if len(events) >= 300 {
		oldest := slices.MinFunc(events, compareIn("metadata", "uid"))
		c.drop(eventKind.key(Text(oldest, "metadata", "namespace"), Text(oldest, "metadata", "name")))
	}
	return c.Store(eventKind, Object{
		"metadata": Object{"name": Text(about, "metadata", "name") + "." + strconv.FormatInt(time.Now().UnixNano(), 16) + randomName(2), "namespace": namespace},
		"involvedObject": Object{"kind": about["kind"], "apiVersion": about["apiVersion"], "name": Text(about, "metadata", "name"), "namespace": Text(about, "metadata", "namespace"), "uid": uid,
			"resourceVersion": Text(about, "metadata", "resourceVersion")},
		"type": kind, "reason": reason, "message": message, "source": Object{"component": source}, "reportingComponent": source, "reportingInstance": "",
		"firstTimestamp": now(), "lastTimestamp": now(), "count": 1, "eventTime": nil,
	})
}

// ownerOf refers to an object as the controller of another one.
func ownerOf(o Object) []any {
	return []any{Object{"apiVersion": o["apiVersion"], "kind": o["kind"], "name": Text(o, "metadata", "name"), "uid": Text(o, "metadata", "uid"),
		"controller": true, "blockOwnerDeletion": true}}
}

// controlled are the objects of a kind that an object is the controller of, the oldest first.
func (c *Cluster) controlled(k Kind, owner Object) (out []Object, err error) {
	all, err := c.objects(k)
	if err != nil {
		return nil, err
	}
	uid := Text(owner, "metadata", "uid")
	for _, o := range all {
		if Text(o, "metadata", "namespace") == Text(owner, "metadata", "namespace") && slices.ContainsFunc(list(o, "metadata", "ownerReferences"), func(r any) bool {
			return at(r, "controller") == true && Text(r, "uid") == uid
		}) {
			out = append(out, o)
		}
	}
	slices.SortStableFunc(out, compareIn("metadata", "uid"))
	return out, nil
}

// definitions has new kinds served.
func definitions(c *Cluster) error {
	all, err := c.objects(definitionKind)
	if err != nil {
		return err
	}
	for _, crd := range all {
		if at(crd, "metadata", "deletionTimestamp") != nil {
			if err := c.endKind(crd); err != nil {
				return err
			}
			continue
		}
		var stored []any
		for _, v := range list(crd, "spec", "versions") {
			if at(v, "storage") == true {
				stored = append(stored, Text(v, "name"))
			}
		}
		status := Object{"acceptedNames": at(crd, "spec", "names"), "storedVersions": stored, "conditions": []any{
			condition(crd, "NamesAccepted", "True", "NoConflicts", "no conflicts found"), condition(crd, "Established", "True", "InitialNamesAccepted", "the initial names have been accepted")}}
		if err := c.setStatus(definitionKind, crd, status); err != nil {
			return err
		}
	}
	return nil
}

// endKind deletes the objects of a kind, and then its definition.
func (c *Cluster) endKind(crd Object) error {
	k := Kind{Text(crd, "spec", "group"), Text(list(crd, "spec", "versions")[0], "name"), Text(crd, "spec", "names", "plural"), Text(crd, "spec", "names", "kind"), Text(crd, "spec", "scope") == "Namespaced"}
	left, err := c.objects(k)
	if err != nil {
		return err
	}
	for _, o := range left {
		if at(o, "metadata", "deletionTimestamp") == nil {
			if err := c.end(k, clone(o), "Background"); err != nil {
				return err
			}
		}
	}
	if left, err = c.objects(k); err != nil || len(left) > 0 {
		return err
	}
	crd = clone(crd)
	return c.release(definitionKind, crd, "customresourcecleanup.apiextensions.k8s.io")
}

// release takes a finalizer away.
func (c *Cluster) release(k Kind, o Object, finalizer string) error {
	meta := inner(o, "metadata")
	meta["finalizers"] = without(list(meta, "finalizers"), finalizer)
	if len(list(meta, "finalizers")) == 0 {
		delete(meta, "finalizers")
	}
	if err := c.Store(k, o); err != nil {
		return err
	}
	if meta["deletionTimestamp"] != nil {
		c.finish(k, o)
	}
	return nil
}

// kindByKey finds the kind of the objects with such keys.
func (c *Cluster) kindByKey(key string, kinds []Kind) (Kind, bool) {
	prefix, _, _ := strings.Cut(key, "/")
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.prefix() == prefix+"/" })
	if i < 0 {
		return Kind{}, false
	}
	return kinds[i], true
}
