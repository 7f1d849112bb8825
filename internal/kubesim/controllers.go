package kubesim

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
	namespaceKind  = apiKind{"", "v1", "namespaces", "Namespace", false}
	accountKind    = apiKind{"", "v1", "serviceaccounts", "ServiceAccount", true}
	configKind     = apiKind{"", "v1", "configmaps", "ConfigMap", true}
	deploymentKind = apiKind{"apps", "v1", "deployments", "Deployment", true}
	replicaSetKind = apiKind{"apps", "v1", "replicasets", "ReplicaSet", true}
	statefulKind   = apiKind{"apps", "v1", "statefulsets", "StatefulSet", true}
	daemonKind     = apiKind{"apps", "v1", "daemonsets", "DaemonSet", true}
	jobKind        = apiKind{"batch", "v1", "jobs", "Job", true}
	eventKind      = apiKind{"", "v1", "events", "Event", true}
)

// rounds are how often the controllers look before they are said to chase each other.
const rounds = 200

// controllers do the work of a cluster, in this order.
var controllers = []func(*World, *cluster) error{
	(*World).definitions, (*World).namespaces, (*World).volumes, (*World).collect, (*World).deployments, (*World).replicaSets, (*World).statefulSets,
	(*World).daemonSets, (*World).jobs, (*World).schedule, (*World).kubelets,
}

// runControllers runs the controllers, the scheduler and the kubelets until they have no more work. They run while a request is
// answered or watched, in a fixed order, so that the result does not depend on goroutines.
func (w *World) runControllers(c *cluster) error {
	if !w.quorate(c) {
		return nil
	}
	w.recordNodes(c)
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
			if err := control(w, c); err != nil {
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
	return fmt.Errorf("kubesim: the controllers of cluster %s do not come to rest", c.ID)
}

// dueAt makes runControllers run again at that time.
func (c *cluster) dueAt(t time.Time) {
	if c.due.IsZero() || t.Before(c.due) {
		c.due = t
	}
}

// recordNodes notes how nodes have changed, for watches, and gives them revisions.
func (w *World) recordNodes(c *cluster) {
	h := &c.history
	if h.nodes == nil {
		h.nodes, h.seen = map[string]int{}, map[string]jsonObject{}
	}
	names := slices.Sorted(maps.Keys(c.Nodes))
	for _, name := range names {
		raw, err := json.Marshal(w.nodeObject(c, c.Nodes[name]))
		if err != nil || bytes.Equal(raw, h.seen[name]) {
			continue
		}
		c.Revision++
		h.nodes[name] = c.Revision
		raw, _ = json.Marshal(w.nodeObject(c, c.Nodes[name]))
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
func (w *World) volumes(c *cluster) error {
	if err := c.controlVolumes(); err != nil {
		return err
	}
	claims, err := c.objects(claimKind)
	if err != nil {
		return err
	}
	for _, claim := range claims {
		if textAt(claim, "status", "phase") == "Bound" || textAt(claim, "spec", "volumeName") != "" || !c.hasClass(claim) {
			continue
		}
		claim = clone(claim)
		inner(claim, "spec")["volumeName"] = "pvc-" + textAt(claim, "metadata", "uid")
		status := inner(claim, "status")
		status["phase"], status["accessModes"], status["capacity"] = "Bound", at(claim, "spec", "accessModes"), at(claim, "spec", "resources", "requests")
		if err := c.store(claimKind, claim); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) hasClass(claim object) bool {
	wanted, named := at(claim, "spec", "storageClassName").(string)
	classes, _ := c.objects(apiKind{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"})
	return slices.ContainsFunc(classes, func(class object) bool {
		if named {
			return textAt(class, "metadata", "name") == wanted
		}
		return textAt(class, "metadata", "annotations", "storageclass.kubernetes.io/is-default-class") == "true"
	})
}

// setStatus stores an object with that status, unless the object has it already.
func (c *cluster) setStatus(k apiKind, o, status object) error {
	if was, err := json.Marshal(o["status"]); err == nil {
		if is, err := json.Marshal(status); err == nil && bytes.Equal(is, was) {
			return nil
		}
	}
	out := clone(o)
	out["status"] = status
	return c.store(k, out)
}

// condition is one of a status. It keeps the times of the one before unless it changes.
func condition(o object, kind, status, reason, message string) object {
	at := now()
	for _, was := range list(o, "status", "conditions") {
		if textAt(was, "type") == kind && textAt(was, "status") == status && textAt(was, "lastTransitionTime") != "" {
			at = textAt(was, "lastTransitionTime")
		}
	}
	out := object{"type": kind, "status": status, "lastTransitionTime": at}
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
	return slices.ContainsFunc(list(o, "status", "conditions"), func(c any) bool { return textAt(c, "type") == kind && textAt(c, "status") == "True" })
}

// event records an event about an object. Only the last ones are kept.
func (c *cluster) event(about object, kind, reason, source, format string, args ...any) error {
	namespace, message := textAt(about, "metadata", "namespace"), fmt.Sprintf(format, args...)
	if namespace == "" {
		namespace = "default"
	}
	uid := textAt(about, "metadata", "uid")
	events, err := c.objects(eventKind)
	if err != nil {
		return err
	}
	for _, e := range events {
		if textAt(e, "involvedObject", "uid") == uid && textAt(e, "reason") == reason && textAt(e, "message") == message {
			return nil
		}
	}
	if len(events) >= 300 {
		oldest := slices.MinFunc(events, compareIn("metadata", "uid"))
		c.drop(eventKind.key(textAt(oldest, "metadata", "namespace"), textAt(oldest, "metadata", "name")))
	}
	return c.store(eventKind, object{
		"metadata": object{"name": textAt(about, "metadata", "name") + "." + strconv.FormatInt(time.Now().UnixNano(), 16) + randomName(2), "namespace": namespace},
		"involvedObject": object{"kind": about["kind"], "apiVersion": about["apiVersion"], "name": textAt(about, "metadata", "name"), "namespace": textAt(about, "metadata", "namespace"), "uid": uid,
			"resourceVersion": textAt(about, "metadata", "resourceVersion")},
		"type": kind, "reason": reason, "message": message, "source": object{"component": source}, "reportingComponent": source, "reportingInstance": "",
		"firstTimestamp": now(), "lastTimestamp": now(), "count": 1, "eventTime": nil,
	})
}

// ownerOf refers to an object as the controller of another one.
func ownerOf(o object) []any {
	return []any{object{"apiVersion": o["apiVersion"], "kind": o["kind"], "name": textAt(o, "metadata", "name"), "uid": textAt(o, "metadata", "uid"),
		"controller": true, "blockOwnerDeletion": true}}
}

// controlled are the objects of a kind that an object is the controller of, the oldest first.
func (c *cluster) controlled(k apiKind, owner object) (out []object, err error) {
	all, err := c.objects(k)
	if err != nil {
		return nil, err
	}
	uid := textAt(owner, "metadata", "uid")
	for _, o := range all {
		if textAt(o, "metadata", "namespace") == textAt(owner, "metadata", "namespace") && slices.ContainsFunc(list(o, "metadata", "ownerReferences"), func(r any) bool {
			return at(r, "controller") == true && textAt(r, "uid") == uid
		}) {
			out = append(out, o)
		}
	}
	slices.SortStableFunc(out, compareIn("metadata", "uid"))
	return out, nil
}

// definitions has new kinds served.
func (w *World) definitions(c *cluster) error {
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
				stored = append(stored, textAt(v, "name"))
			}
		}
		status := object{"acceptedNames": at(crd, "spec", "names"), "storedVersions": stored, "conditions": []any{
			condition(crd, "NamesAccepted", "True", "NoConflicts", "no conflicts found"), condition(crd, "Established", "True", "InitialNamesAccepted", "the initial names have been accepted")}}
		if err := c.setStatus(definitionKind, crd, status); err != nil {
			return err
		}
	}
	return nil
}

// endKind deletes the objects of a kind, and then its definition.
func (c *cluster) endKind(crd object) error {
	k := apiKind{textAt(crd, "spec", "group"), textAt(list(crd, "spec", "versions")[0], "name"), textAt(crd, "spec", "names", "plural"), textAt(crd, "spec", "names", "kind"), textAt(crd, "spec", "scope") == "Namespaced"}
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
func (c *cluster) release(k apiKind, o object, finalizer string) error {
	meta := inner(o, "metadata")
	meta["finalizers"] = without(list(meta, "finalizers"), []any{finalizer})
	if len(list(meta, "finalizers")) == 0 {
		delete(meta, "finalizers")
	}
	if err := c.store(k, o); err != nil {
		return err
	}
	if meta["deletionTimestamp"] != nil {
		c.finish(k, o)
	}
	return nil
}

// kindByKey finds the kind of the objects with such keys.
func (c *cluster) kindByKey(key string, kinds []apiKind) (apiKind, bool) {
	prefix, _, _ := strings.Cut(key, "/")
	i := slices.IndexFunc(kinds, func(k apiKind) bool { return k.prefix() == prefix+"/" })
	if i < 0 {
		return apiKind{}, false
	}
	return kinds[i], true
}
