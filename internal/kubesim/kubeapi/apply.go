package kubeapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// apply is server-side apply: the applied fields are merged into the object. Fields that the manager applied before and
// no longer applies are removed, unless another manager owns them. Different values for fields of other managers are a
// conflict. Lists of custom kinds are owned as a whole, independent of their schemas.
func (q *request) apply(old Object) (any, error) {
	q.http.Header.Set("Content-Type", "yaml")
	patch, err := q.decode()
	if err != nil {
		return nil, err
	}
	query := q.http.URL.Query()
	switch {
	case query.Get("fieldManager") == "":
		return nil, q.invalid("fieldManager: Required value: is required for apply patch")
	case Text(patch, "kind") == "" || Text(patch, "apiVersion") == "":
		return nil, apiFault(http.StatusBadRequest, "BadRequest", "invalid object type: /, Kind=: apiVersion and kind must be set")
	case at(patch, "metadata", "managedFields") != nil:
		return nil, apiFault(http.StatusBadRequest, "BadRequest", "metadata.managedFields must be nil")
	case old == nil && Text(patch, "metadata", "uid") != "":
		return nil, apiFault(http.StatusConflict, "Conflict", "uid mismatch: the provided object specified uid %s, and no existing object was found", Text(patch, "metadata", "uid"))
	}
	unknown, err := q.unknownFields(patch)
	if err == nil && len(unknown) > 0 {
		err = fmt.Errorf(".%s: field not declared in schema", strings.Join(unknown, ", ."))
	}
	if err != nil {
		return nil, q.untyped(q.undecoded(err.Error()))
	}
	inner(patch, "metadata")["name"] = orElse(Text(patch, "metadata", "name"), q.path.name)
	patch, _ = plain(patch).(Object)
	if secrets, _ := patch["stringData"].(Object); secrets != nil && q.path.kind.Kind == "Secret" {
		if err := q.defaults(old, patch); err != nil {
			return nil, err
		}
		delete(patch, "type")
	}
	owners := ownersOf(old)
	mine := owner{manager: query.Get("fieldManager"), operation: "Apply", version: q.path.kind.apiVersion(), fields: q.fieldsOf(patch)}
	if err := resolveConflicts(owners, mine, old, patch, query.Get("force") == "true"); err != nil {
		return nil, err
	}
	changed := Object{}
	if old != nil {
		changed = clone(old)
	}
	mergeApplied(changed, patch, nil, q.path.kind.custom())
	i := slices.IndexFunc(owners, mine.same)
	if i >= 0 {
		before := owners[i].fields
		owners[i].fields, owners[i].version = mine.fields, mine.version
		forget(changed, before, owners)
	} else {
		owners = append(owners, &mine)
	}
	q.applied = patch
	setOwners(changed, old, owners)
	out, err := q.write(old, changed)
	return out, q.untyped(err)
}

// untyped is the error of a field of a wrong type as server-side apply has it.
func (q *request) untyped(err error) error {
	if err == nil || !strings.Contains(err.Error(), "cannot be handled as a ") {
		return err
	}
	return apiFault(http.StatusInternalServerError, "", "failed to create typed patch object (%s/%s; %s, Kind=%s): %v",
		q.path.namespace, q.path.name, q.path.kind.apiVersion(), q.path.kind.Kind, err)
}

func orElse(s, otherwise string) string {
	if s != "" {
		return s
	}
	return otherwise
}

// mergeApplied merges applied fields into an object: maps and lists with keys are merged, other values are replaced.
func mergeApplied(into, patch Object, path []string, custom bool) {
	for name, value := range patch {
		below := slices.Concat(path, []string{name})
		switch value := value.(type) {
		case nil:
		case Object:
			if _, isMap := into[name].(Object); !isMap || isAtomic(below) && !custom {
				into[name] = Object{}
			}
			mergeApplied(inner(into, name), value, below, custom)
		case []any:
			into[name] = mergeAppliedList(list(into, name), value, below, custom)
		default:
			into[name] = value
		}
	}
}

func mergeAppliedList(now, patch []any, path []string, custom bool) []any {
	keys := listKeys(path, custom)
	if isSet(path) {
		return union(now, patch)
	}
	if keys == nil {
		return patch
	}
	out := append([]any{}, now...)
	for _, p := range patch {
		item, isMap := p.(Object)
		if !isMap {
			continue
		}
		i := indexBy(out, keys, item)
		if i < 0 {
			out = append(out, Object{})
			i = len(out) - 1
		}
		merged, _ := clone(out[i]).(Object)
		mergeApplied(merged, item, path, custom)
		out[i] = merged
	}
	return out
}

// resolveConflicts finds fields that other managers own with different values. With force the manager takes them over.
func resolveConflicts(owners []*owner, mine owner, old, patch Object, force bool) error {
	var messages []string
	var causes []any
	for _, other := range owners {
		if mine.same(other) {
			continue
		}
		var fields []string
		for path := range mine.fields {
			if !other.fields[path] || isItem(path) {
				continue
			}
			is, there := valueAt(old, path)
			wanted, _ := valueAt(patch, path)
			if !there || sameJSON(is, wanted) {
				continue
			}
			if force {
				delete(other.fields, path)
				continue
			}
			fields = append(fields, readable(path))
		}
		slices.Sort(fields)
		for _, field := range fields {
			causes = append(causes, Object{"reason": "FieldManagerConflict", "message": "conflict with " + other.name(), "field": field})
		}
		switch len(fields) {
		case 0:
		case 1:
			messages = append(messages, fmt.Sprintf("conflict with %s: %s", other.name(), fields[0]))
		default:
			messages = append(messages, fmt.Sprintf("conflicts with %s:\n- %s", other.name(), strings.Join(fields, "\n- ")))
		}
	}
	if len(causes) == 0 {
		return nil
	}
	many := ""
	if len(causes) > 1 {
		many = "s"
	}
	return &apiError{code: http.StatusConflict, reason: "Conflict", details: Object{"causes": causes},
		message: fmt.Sprintf("Apply failed with %d conflict%s: %s", len(causes), many, strings.Join(messages, "\n"))}
}

// forget removes fields that the manager owned before and that no manager owns now.
func forget(o Object, before fieldSet, owners []*owner) {
	// Items of lists come before their fields: without their keys they would not be found.
	paths := slices.SortedFunc(maps.Keys(before), func(a, b string) int { return len(a) - len(b) })
	for _, path := range paths {
		owned := slices.ContainsFunc(owners, func(one *owner) bool { return one.fields.covers(path) })
		if !owned {
			removeAt(o, split(path))
		}
	}
}

// ownUpdate makes the manager of a request other than apply own the fields that it changes.
func (q *request) ownUpdate(old, o Object) {
	owners := ownersOf(old)
	was, is := fieldSet{}, q.fieldsOf(o)
	if old != nil {
		was = q.fieldsOf(old)
	}
	mine := &owner{manager: q.manager(), operation: "Update", version: q.path.kind.apiVersion(), subresource: q.path.sub, fields: fieldSet{}}
	if i := slices.IndexFunc(owners, mine.same); i >= 0 {
		mine = owners[i]
	} else {
		owners = append(owners, mine)
	}
	for path := range is {
		now, _ := valueAt(o, path)
		before, there := valueAt(old, path)
		if there && (isItem(path) || sameJSON(now, before)) {
			continue
		}
		for _, other := range owners {
			delete(other.fields, path)
		}
		mine.fields[path] = true
	}
	for path := range was {
		if !is[path] {
			for _, other := range owners {
				delete(other.fields, path)
			}
		}
	}
	setOwners(o, old, owners)
}

func sameJSON(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}
