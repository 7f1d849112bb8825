package objects

import (
	"context"
	"reflect"
)

// Manifest is the objects of a manifest, and their names on the cluster: objects of namespaced kinds may have no namespace.
type Manifest struct {
	Objects []*Object
	Refs    []Ref
}

// Manifest reads a manifest that Helm has rendered for a namespace. An object of a kind that the cluster does not define has the
// namespace that the manifest gives the object: Helm may create the definition before the object. Of several objects with one
// name the last one counts, as when Helm applies them one after the other.
func (c *Client) Manifest(ctx context.Context, name string, text []byte, namespace string) (m Manifest, err error) {
	all, err := Rendered(name, text)
	if err != nil {
		return Manifest{}, err
	}
	var placed []*Object // copies, so that the manifest stays unchanged
	for _, o := range all {
		placed = append(placed, o.DeepCopy())
	}
	if _, err := c.place(ctx, placed, namespace); err != nil {
		return Manifest{}, err
	}
	index := map[identity]int{}
	for i, r := range Refs(placed) {
		if n, again := index[r.identity()]; again && r.Name != "" {
			m.Objects[n] = all[i]
			continue
		}
		index[r.identity()] = len(m.Refs)
		m.Objects, m.Refs = append(m.Objects, all[i]), append(m.Refs, r)
	}
	return m, nil
}

// Placed returns copies of the objects with their namespaces.
func (m Manifest) Placed() []*Object {
	out := make([]*Object, len(m.Objects))
	for i, o := range m.Objects {
		out[i] = o.DeepCopy()
		out[i].SetNamespace(m.Refs[i].Namespace)
	}
	return out
}

// at returns the fields of an object, absent if the manifest does not have it.
func (m Manifest) at(r Ref) any {
	for i := range m.Refs {
		if m.Refs[i].identity() == r.identity() {
			return m.Objects[i].Object
		}
	}
	return absent
}

// Change is what an operation changes in a rendered manifest: the difference between Before and After. Again is a second
// rendering of the same input as After. A field that differs between After and Again depends on chance or on the time.
type Change struct{ Before, After, Again Manifest }

// Apply returns the manifest m with the change, and with nothing else that differs from m in the renderings. Fields that
// depend on chance are those of m; an object that no rendering before the change has is as After has it.
func (c Change) Apply(m Manifest) (out Manifest) {
	add := func(r Ref) {
		f := fields{c.Before.at(r), c.After.at(r), c.Again.at(r)}
		if o, ok := f.apply(m.at(r)).(map[string]any); ok {
			out.Objects, out.Refs = append(out.Objects, &Object{Object: o}), append(out.Refs, r)
		}
	}
	for _, r := range c.After.Refs {
		add(r)
	}
	for _, r := range m.Refs {
		if c.After.at(r) == absent {
			add(r)
		}
	}
	return out
}

// absent is the value of a field that does not exist.
var absent any = nothing{}

type nothing struct{}

// fields are the values of a field in the renderings of a Change.
type fields struct{ before, after, again any }

func (f fields) each(value func(any) any) fields {
	return fields{value(f.before), value(f.after), value(f.again)}
}

// apply returns the value of a field that had a value.
func (f fields) apply(had any) any {
	old, isMap := had.(map[string]any)
	after, both := f.after.(map[string]any)
	if isMap && both {
		return f.applyMap(old, after)
	}
	if list := f.applyList(had); list != nil {
		return list
	}
	switch {
	case had == absent && f.before == absent && f.again != absent:
		return f.after
	case reflect.DeepEqual(f.after, f.again) && !reflect.DeepEqual(f.before, f.after):
		return f.after
	}
	return had
}

func (f fields) applyMap(had, after map[string]any) any {
	out := map[string]any{}
	for _, names := range []map[string]any{had, after} {
		for name := range names {
			of := func(v any) any { return entry(v, name) }
			if v := f.each(of).apply(of(had)); v != absent {
				out[name] = v
			}
		}
	}
	return out
}

// entry returns an entry of a map.
func entry(v any, name string) any {
	m, _ := v.(map[string]any)
	if value, ok := m[name]; ok {
		return value
	}
	return absent
}

// applyList returns nil unless the elements of the lists correspond: by their names, or because all lists have one length.
func (f fields) applyList(had any) any {
	old, isList := had.([]any)
	after, both := f.after.([]any)
	if !isList || !both {
		return nil
	}
	if namesOf(old) == nil || namesOf(after) == nil {
		before, _ := f.before.([]any)
		again, _ := f.again.([]any)
		if len(before) != len(old) || len(after) != len(old) || len(again) != len(old) {
			return nil
		}
		out := make([]any, len(old))
		for i := range old {
			out[i] = fields{before[i], after[i], again[i]}.apply(old[i])
		}
		return out
	}
	out, seen := []any{}, map[string]bool{}
	for _, names := range [][]string{namesOf(after), namesOf(old)} {
		for _, name := range names {
			of := func(v any) any { return element(v, name) }
			if v := f.each(of).apply(of(had)); v != absent && !seen[name] {
				out = append(out, v)
			}
			seen[name] = true
		}
	}
	return out
}

// namesOf returns the names of the elements of a list, nil if not every element is a map with a name that no other has.
func namesOf(list []any) []string {
	var out []string
	seen := map[string]bool{}
	for _, e := range list {
		name, ok := entry(e, "name").(string)
		if !ok || seen[name] {
			return nil
		}
		out, seen[name] = append(out, name), true
	}
	return out
}

// element returns the element of a list that has a name.
func element(v any, name string) any {
	list, _ := v.([]any)
	for _, e := range list {
		if entry(e, "name") == name {
			return e
		}
	}
	return absent
}
