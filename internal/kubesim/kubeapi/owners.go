package kubeapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// fieldSet are fields by their paths: elements of meta/v1 FieldsV1, "f:name", `k:{"name":"x"}` or `v:"x"`, which are
// joined. A path that ends with an item of a list stands for its being there.
type fieldSet map[string]bool

const joint = "\x00"

func split(path string) []string { return strings.Split(path, joint) }

// isItem reports whether a path ends with an item of a list.
func isItem(path string) bool {
	return strings.HasPrefix(path[strings.LastIndex(path, joint)+1:], "k:")
}

// covers reports whether the path, something in it, or all around it is in the set. An empty map is not all around: who owns
// that owns nothing in it.
func (s fieldSet) covers(path string) bool {
	for other := range s {
		if other == path || strings.HasPrefix(other, path+joint) || strings.HasPrefix(path, other+joint) && isAtomic(names(other)) {
			return true
		}
	}
	return false
}

// names are the names of fields in a path.
func names(path string) (out []string) {
	for _, element := range split(path) {
		if name, isField := strings.CutPrefix(element, "f:"); isField {
			out = append(out, name)
		}
	}
	return out
}

// owner is an entry of managedFields.
type owner struct {
	manager, operation, version, subresource, time string

	fields fieldSet
}

func (o *owner) same(other *owner) bool {
	return o.manager == other.manager && o.operation == other.operation && o.subresource == other.subresource
}

// name is how conflicts call it.
func (o *owner) name() string {
	out := fmt.Sprintf("%q", o.manager)
	if o.subresource != "" {
		out += fmt.Sprintf(" with subresource %q", o.subresource)
	}
	if o.operation == "Update" {
		out += " using " + o.version
	}
	return out
}

func ownersOf(o Object) (out []*owner) {
	for _, entry := range list(o, "metadata", "managedFields") {
		one := &owner{Text(entry, "manager"), Text(entry, "operation"), Text(entry, "apiVersion"), Text(entry, "subresource"), Text(entry, "time"), fieldSet{}}
		tree, _ := at(entry, "fieldsV1").(Object)
		flatten(tree, nil, one.fields)
		out = append(out, one)
	}
	return out
}

func flatten(tree Object, path []string, into fieldSet) {
	if len(tree) == 0 && len(path) > 0 {
		into[strings.Join(path, joint)] = true
	}
	for name, value := range tree {
		if name == "." {
			into[strings.Join(path, joint)] = true
			continue
		}
		deeper, _ := value.(Object)
		flatten(deeper, append(path[:len(path):len(path)], name), into)
	}
}

// setOwners writes managedFields. Entries that own what they did before keep their time.
func setOwners(o, old Object, owners []*owner) {
	var out []any
	was := ownersOf(old)
	for _, one := range owners {
		if len(one.fields) == 0 {
			continue
		}
		if i := slices.IndexFunc(was, one.same); i < 0 || !maps.Equal(was[i].fields, one.fields) || one.time == "" {
			one.time = now()
		}
		tree := Object{}
		for path := range one.fields {
			at := tree
			for _, element := range split(path) {
				at = inner(at, element)
			}
			if isItem(path) {
				at["."] = Object{}
			}
		}
		entry := Object{"manager": one.manager, "operation": one.operation, "apiVersion": one.version, "time": one.time, "fieldsType": "FieldsV1", "fieldsV1": tree}
		if one.subresource != "" {
			entry["subresource"] = one.subresource
		}
		out = append(out, entry)
	}
	if delete(inner(o, "metadata"), "managedFields"); out != nil {
		inner(o, "metadata")["managedFields"] = out
	}
}

// unowned are metadata that no manager owns.
var unowned = []string{"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "managedFields", "generateName"}

// fieldsOf are the fields of an object that managers own.
func (q *request) fieldsOf(o Object) fieldSet {
	out := fieldSet{}
	custom := q.path.kind.custom()
	for name, value := range o {
		if name == "kind" || name == "apiVersion" || name == "status" && q.c.hasStatus(q.path.kind) {
			continue
		}
		if meta, isMap := value.(Object); name == "metadata" && isMap {
			meta = maps.Clone(meta)
			for _, field := range unowned {
				delete(meta, field)
			}
			if len(meta) == 0 {
				continue
			}
			value = meta
		}
		collectFields(value, []string{name}, []string{"f:" + name}, custom, out)
	}
	return out
}

// listKeys are the keys of a list; of custom kinds only lists in the metadata have some.
func listKeys(path []string, custom bool) []string {
	if custom && path[0] != "metadata" {
		return nil
	}
	return mergeKeys(path)
}

func collectFields(value any, path, elements []string, custom bool, into fieldSet) {
	switch value := value.(type) {
	case nil:
		return
	case Object:
		if isAtomic(path) && !custom || len(value) == 0 {
			break
		}
		for name, inner := range value {
			collectFields(inner, append(path[:len(path):len(path)], name), append(elements[:len(elements):len(elements)], "f:"+name), custom, into)
		}
		return
	case []any:
		keys := listKeys(path, custom)
		if keys == nil && !isSet(path) {
			break
		}
		for _, item := range value {
			element := elementOf(item, keys)
			below := slices.Concat(elements, []string{element})
			into[strings.Join(below, joint)] = true
			if fields, isMap := item.(Object); isMap && keys != nil {
				for name, inner := range fields {
					collectFields(inner, append(path[:len(path):len(path)], name), append(below[:len(below):len(below)], "f:"+name), custom, into)
				}
			}
		}
		return
	}
	into[strings.Join(elements, joint)] = true
}

// elementOf names an item of a list: by its keys or, in a set, by itself.
func elementOf(item any, keys []string) string {
	if keys == nil {
		raw, _ := json.Marshal(item)
		return "v:" + string(raw)
	}
	values := Object{}
	for _, key := range keys {
		if v := keyValue(item, key); v != nil {
			values[key] = v
		}
	}
	raw, _ := json.Marshal(values)
	return "k:" + string(raw)
}

// find is where in a list an element is, -1 if nowhere.
func find(items []any, element string) int {
	var wanted any
	if json.Unmarshal([]byte(element[2:]), &wanted) != nil {
		return -1
	}
	if strings.HasPrefix(element, "v:") {
		return slices.IndexFunc(items, func(item any) bool { return sameJSON(item, wanted) })
	}
	keys, _ := wanted.(Object)
	return indexBy(items, slices.Collect(maps.Keys(keys)), wanted)
}

// valueAt returns the value at a path.
func valueAt(o any, path string) (any, bool) {
	for _, element := range split(path) {
		if name, isField := strings.CutPrefix(element, "f:"); isField {
			fields, _ := o.(Object)
			value, there := fields[name]
			if !there {
				return nil, false
			}
			o = value
			continue
		}
		items, _ := o.([]any)
		i := find(items, element)
		if i < 0 {
			return nil, false
		}
		o = items[i]
	}
	return o, true
}

// removeAt removes the value at a path, and containers that become empty. It returns the rest of o.
func removeAt(o any, elements []string) any {
	element := elements[0]
	if name, isField := strings.CutPrefix(element, "f:"); isField {
		fields, isMap := o.(Object)
		if !isMap || fields[name] == nil {
			return o
		}
		if len(elements) == 1 {
			delete(fields, name)
			return fields
		}
		switch left := removeAt(fields[name], elements[1:]).(type) {
		case Object:
			if fields[name] = left; len(left) == 0 {
				delete(fields, name)
			}
		case []any:
			if fields[name] = left; len(left) == 0 {
				delete(fields, name)
			}
		}
		return fields
	}
	items, _ := o.([]any)
	i := find(items, element)
	switch {
	case i < 0:
	case len(elements) == 1:
		return append(items[:i:i], items[i+1:]...)
	default:
		items[i] = removeAt(items[i], elements[1:])
	}
	return items
}

// readable is a path as messages have it: .spec.containers[name="web"].image.
func readable(path string) string {
	var b strings.Builder
	for _, element := range split(path) {
		switch element[:2] {
		case "f:":
			b.WriteString("." + element[2:])
		case "v:":
			b.WriteString("[=" + element[2:] + "]")
		default:
			var keys map[string]any
			_ = json.Unmarshal([]byte(element[2:]), &keys)
			var terms []string
			for _, name := range slices.Sorted(maps.Keys(keys)) {
				raw, _ := json.Marshal(keys[name])
				terms = append(terms, name+"="+string(raw))
			}
			b.WriteString("[" + strings.Join(terms, ",") + "]")
		}
	}
	return b.String()
}
