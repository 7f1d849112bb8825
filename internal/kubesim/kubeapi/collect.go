package kubeapi

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// namespaces creates the default objects of namespaces, and empties those that are marked for deletion.
func namespaces(c *Cluster) error {
	all, err := c.objects(namespaceKind)
	if err != nil {
		return err
	}
	for _, ns := range all {
		name := Text(ns, "metadata", "name")
		if at(ns, "metadata", "deletionTimestamp") != nil {
			if err := empty(c, ns, name); err != nil {
				return err
			}
			continue
		}
		if c.Objects[accountKind.key(name, "default")] == nil {
			if err := c.Store(accountKind, Object{"metadata": Object{"name": "default", "namespace": name}}); err != nil {
				return err
			}
		}
		if c.Objects[configKind.key(name, "kube-root-ca.crt")] == nil {
			if err := c.Store(configKind, Object{"metadata": Object{"name": "kube-root-ca.crt", "namespace": name}, "data": Object{"ca.crt": c.CA}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// empty deletes the objects in a namespace, and then the namespace, unless finalizers block that.
func empty(c *Cluster, ns Object, name string) error {
	kinds, left := c.kinds(), map[string]int{}
	held := map[string]int{}
	for _, key := range slices.Sorted(maps.Keys(c.Objects)) {
		if strings.SplitN(key, "/", 3)[1] != name {
			continue
		}
		k, known := c.kindByKey(key, kinds)
		o := c.object(key)
		var err error
		switch {
		case !known || o == nil || at(o, "metadata", "deletionTimestamp") != nil:
		case k.Kind == "Pod":
			err = c.endPod(clone(o), nil)
		default:
			err = c.end(k, clone(o), "Background")
		}
		if err != nil {
			return err
		}
		if o = c.object(key); o != nil {
			left[k.Plural+"."+k.Group]++
			for _, f := range texts(at(o, "metadata", "finalizers")) {
				held[f]++
			}
		}
	}
	undiscovered := c.undiscovered()
	if undiscovered != "" || len(left) > 0 || len(list(ns, "metadata", "finalizers")) > 0 {
		status, _ := clone(at(ns, "status")).(Object)
		status["conditions"] = remaining(ns, undiscovered, left, held)
		return c.setStatus(namespaceKind, ns, status)
	}
	c.drop(namespaceKind.key("", name))
	return nil
}

// remaining are the conditions of a namespace that is being deleted.
func remaining(ns Object, undiscovered string, left, held map[string]int) []any {
	discovered := condition(ns, "NamespaceDeletionDiscoveryFailure", "False", "ResourcesDiscovered", "All resources successfully discovered")
	if undiscovered != "" {
		discovered = condition(ns, "NamespaceDeletionDiscoveryFailure", "True", "DiscoveryFailed", "Discovery failed for some groups, 1 failing: "+undiscovered)
	}
	content := condition(ns, "NamespaceContentRemaining", "False", "ContentRemoved", "All content successfully removed")
	if len(left) > 0 {
		content = condition(ns, "NamespaceContentRemaining", "True", "SomeResourcesRemain", "Some resources are remaining: "+counted(left, "%s has %d resource instances"))
	}
	finalizers := condition(ns, "NamespaceFinalizersRemaining", "False", "ContentHasNoFinalizers", "All content-preserving finalizers finished")
	if len(held) > 0 {
		finalizers = condition(ns, "NamespaceFinalizersRemaining", "True", "SomeFinalizersRemain", "Some content in the namespace has finalizers remaining: "+counted(held, "%s in %d resource instances"))
	}
	return []any{discovered, content, finalizers}
}

func counted(n map[string]int, format string) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(n)) {
		out = append(out, fmt.Sprintf(format, name, n[name]))
	}
	return strings.Join(out, ", ")
}

// uidLength is the length of generated uids. Owners with other uids are stand-ins, such as those of the initial pods of
// clusters: they count as existing.
const uidLength = 36

// collect is the garbage collector.
func collect(c *Cluster) error {
	kinds := c.kinds()
	alive := map[string]string{} // how they are deleted, by uid
	dependents := map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(c.Objects)) {
		o := c.light(key)
		uid := Text(o, "metadata", "uid")
		alive[uid] = ""
		if at(o, "metadata", "deletionTimestamp") != nil {
			for _, f := range texts(at(o, "metadata", "finalizers")) {
				if f == foreground || f == orphan {
					alive[uid] = f
				}
			}
		}
		for _, ref := range list(o, "metadata", "ownerReferences") {
			if len(Text(ref, "uid")) != uidLength {
				continue
			}
			dependents[Text(ref, "uid")] = append(dependents[Text(ref, "uid")], key)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Nodes)) {
		alive[Text(c.nodeObject(c.Nodes[name]), "metadata", "uid")] = ""
	}
	for _, owner := range slices.Sorted(maps.Keys(dependents)) {
		how, lives := alive[owner]
		if lives && how == "" {
			continue
		}
		for _, key := range dependents[owner] {
			if err := collectOne(c, kinds, key, owner, alive, how); err != nil {
				return err
			}
		}
	}
	return releaseOwners(c, kinds, dependents)
}

// collectOne deletes an object all of whose owners no longer exist, or removes the reference to the missing owner.
func collectOne(c *Cluster, kinds []Kind, key, owner string, alive map[string]string, how string) error {
	k, known := c.kindByKey(key, kinds)
	o := clone(c.object(key))
	if !known || o == nil || c.Objects[key] == nil {
		return nil
	}
	var others []any
	solid := false
	for _, ref := range list(o, "metadata", "ownerReferences") {
		if uid := Text(ref, "uid"); uid != owner {
			others = append(others, ref)
			state, lives := alive[uid]
			solid = solid || lives && state == ""
		}
	}
	switch {
	case how == orphan || solid:
		inner(o, "metadata")["ownerReferences"] = others
		if len(others) == 0 {
			delete(inner(o, "metadata"), "ownerReferences")
		}
		return c.Store(k, o)
	case at(o, "metadata", "deletionTimestamp") != nil:
		return nil
	case k.Kind == "Pod":
		return c.endPod(o, nil)
	case how == foreground:
		return c.end(k, o, "Foreground")
	}
	return c.end(k, o, "Background")
}

// releaseOwners deletes owners that have waited for their dependents.
func releaseOwners(c *Cluster, kinds []Kind, dependents map[string][]string) error {
	for _, key := range slices.Sorted(maps.Keys(c.Objects)) {
		o := c.light(key)
		if o == nil || at(o, "metadata", "deletionTimestamp") == nil {
			continue
		}
		k, known := c.kindByKey(key, kinds)
		if !known {
			continue
		}
		uid := Text(o, "metadata", "uid")
		waits := slices.ContainsFunc(dependents[uid], func(d string) bool {
			return slices.ContainsFunc(list(c.object(d), "metadata", "ownerReferences"), func(r any) bool { return Text(r, "uid") == uid && at(r, "blockOwnerDeletion") == true })
		})
		for _, f := range texts(at(o, "metadata", "finalizers")) {
			if f == orphan || f == foreground && !waits {
				if err := c.release(k, clone(o), f); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// light is an object whose owners or end matter, otherwise only its uid: large objects need not be decoded.
func (c *Cluster) light(key string) Object {
	raw := c.Objects[key]
	if !bytes.Contains(raw, []byte(`"ownerReferences"`)) && !bytes.Contains(raw, []byte(`"deletionTimestamp"`)) {
		if at := bytes.LastIndex(raw, []byte(`"uid":"`)); at >= 0 && bytes.Count(raw, []byte(`"uid":"`)) == 1 {
			uid, _, _ := bytes.Cut(raw[at+7:], []byte(`"`))
			return Object{"metadata": Object{"uid": string(uid)}}
		}
	}
	return c.object(key)
}
