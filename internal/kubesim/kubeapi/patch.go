package kubeapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// The types of patches.
const (
	applyPatch     = "application/apply-patch+yaml"
	mergePatch     = "application/merge-patch+json"
	strategicPatch = "application/strategic-merge-patch+json"
	jsonPatch      = "application/json-patch+json"
)

// patch changes an object.
func (q *request) patch() (any, error) {
	old, exists := q.load(q.path)
	kind, _, _ := strings.Cut(q.http.Header.Get("Content-Type"), ";")
	switch {
	case kind != applyPatch && kind != mergePatch && kind != strategicPatch && kind != jsonPatch:
		return nil, apiFault(http.StatusUnsupportedMediaType, "UnsupportedMediaType", "the body of the request was in an unknown format - accepted media types include: %s, %s, %s, %s", jsonPatch, mergePatch, strategicPatch, applyPatch)
	case kind == strategicPatch && q.path.kind.custom():
		return nil, apiFault(http.StatusUnsupportedMediaType, "UnsupportedMediaType", "the body of the request was in an unknown format - accepted media types include: %s, %s, %s", jsonPatch, mergePatch, applyPatch)
	case kind == jsonPatch:
		return nil, apiFault(http.StatusNotImplemented, "NotImplemented", "kubesim: JSON patches are not simulated")
	case kind == applyPatch:
		return q.apply(old)
	case !exists:
		return nil, q.notFound()
	}
	patch, err := q.decode()
	if err != nil {
		return nil, err
	}
	changed, err := q.patched(kind, old, patch)
	if err != nil {
		return nil, err
	}
	if err := q.checkFields(changed, func(reason string) error { return q.invalid("patch: Invalid value: " + reason) }); err != nil {
		return nil, err
	}
	return q.write(old, changed)
}

// patched is the object with the patch laid over it.
func (q *request) patched(kind string, old, patch Object) (Object, error) {
	changed := clone(old)
	if kind == mergePatch {
		merge(changed, patch)
		return changed, nil
	}
	if err := strategicMerge(changed, patch, nil); err != nil {
		return nil, apiFault(http.StatusInternalServerError, "", "%v", err)
	}
	return changed, nil
}

// merge follows RFC 7396.
func merge(into, patch Object) {
	for name, value := range patch {
		deeper, isMap := value.(Object)
		switch {
		case value == nil:
			delete(into, name)
		case isMap:
			merge(inner(into, name), deeper)
		default:
			into[name] = value
		}
	}
}

// The directives of strategic merge patches.
const (
	patchDirective  = "$patch"
	retainDirective = "$retainKeys"
	orderDirective  = "$setElementOrder/"
	deleteDirective = "$deleteFromPrimitiveList/"
)

// strategicMerge applies a patch to an object: as a merge patch, but lists whose items have a key are merged by it.
// path is the position in the object.
func strategicMerge(into, patch Object, path []string) error {
	if patch[patchDirective] == "replace" {
		clear(into)
	}
	if keep, given := patch[retainDirective]; given {
		kept := texts(keep)
		for name := range into {
			if !contains(kept, name) {
				delete(into, name)
			}
		}
	}
	for name, value := range patch {
		if base, ok := strings.CutPrefix(name, deleteDirective); ok {
			into[base] = without(list(into, base), value)
		}
	}
	for name, value := range patch {
		if strings.HasPrefix(name, "$") {
			continue
		}
		if err := mergeField(into, name, value, append(path[:len(path):len(path)], name)); err != nil {
			return err
		}
	}
	for name, value := range patch {
		if base, ok := strings.CutPrefix(name, orderDirective); ok {
			into[base] = ordered(list(into, base), value, mergeKeys(append(path[:len(path):len(path)], base)))
		}
	}
	return nil
}

func mergeField(into Object, name string, value any, path []string) error {
	switch value := value.(type) {
	case nil:
		delete(into, name)
	case Object:
		if value[patchDirective] == "delete" {
			delete(into, name)
			return nil
		}
		return strategicMerge(inner(into, name), value, path)
	case []any:
		keys := mergeKeys(path)
		switch {
		case isSet(path):
			into[name] = union(list(into, name), value)
		case keys == nil:
			into[name] = value
		default:
			merged, err := mergeList(list(into, name), value, keys, path)
			into[name] = merged
			return err
		}
	default:
		into[name] = value
	}
	return nil
}

// mergeList merges a list by the keys of its items. Only the first key counts for these patches, as in the real API.
func mergeList(now, patch []any, keys []string, path []string) ([]any, error) {
	out, fresh := append([]any{}, now...), 0
	for _, p := range patch {
		item, isMap := p.(Object)
		if isMap && item[patchDirective] == "replace" {
			return withoutDirective(patch), nil
		}
		if !isMap || item[keys[0]] == nil {
			return nil, fmt.Errorf("map: %v does not contain declared merge key: %s", p, keys[0])
		}
		i := indexBy(out, keys[:1], item)
		switch {
		case item[patchDirective] == "delete" && i >= 0:
			out = append(out[:i:i], out[i+1:]...)
		case item[patchDirective] == "delete":
		case i < 0:
			added := Object{}
			if err := strategicMerge(added, item, path); err != nil {
				return nil, err
			}
			out = slices.Insert(out, fresh, any(added)) // before those that were there
			fresh++
		default:
			merged, _ := clone(out[i]).(Object)
			if err := strategicMerge(merged, item, path); err != nil {
				return nil, err
			}
			out[i] = merged
		}
	}
	return out, nil
}

func withoutDirective(items []any) []any {
	out := []any{}
	for _, item := range items {
		if Text(item, patchDirective) == "" {
			out = append(out, item)
		}
	}
	return out
}

func indexBy(items []any, keys []string, wanted any) int {
	for i, item := range items {
		same := true
		for _, key := range keys {
			same = same && keyValue(item, key) == keyValue(wanted, key)
		}
		if same {
			return i
		}
	}
	return -1
}

// keyValue is a key of an item with its default.
func keyValue(item any, key string) any {
	v := at(item, key)
	if v == nil && key == "protocol" {
		return "TCP"
	}
	if n, isInt := v.(int); isInt {
		return float64(n)
	}
	return v
}

func contains(list []string, wanted string) bool {
	for _, s := range list {
		if s == wanted {
			return true
		}
	}
	return false
}

func without(items []any, gone any) []any {
	drop, _ := gone.([]any)
	out := []any{}
	for _, item := range items {
		if !containsValue(drop, item) {
			out = append(out, item)
		}
	}
	return out
}

func union(items, more []any) []any {
	out := append([]any{}, items...)
	for _, item := range more {
		if !containsValue(out, item) {
			out = append(out, item)
		}
	}
	return out
}

func containsValue(items []any, wanted any) bool {
	text, _ := json.Marshal(wanted)
	for _, item := range items {
		if one, _ := json.Marshal(item); string(one) == string(text) {
			return true
		}
	}
	return false
}

// ordered sorts items in the requested order; the remaining ones follow.
func ordered(items []any, order any, keys []string) []any {
	out, wanted := []any{}, list(Object{"order": order}, "order")
	taken := map[int]bool{}
	for _, w := range wanted {
		for i, item := range items {
			if !taken[i] && (keys == nil && containsValue([]any{w}, item) || keys != nil && keyValue(item, keys[0]) == keyValue(w, keys[0])) {
				out, taken[i] = append(out, item), true
				break
			}
		}
	}
	for i, item := range items {
		if !taken[i] {
			out = append(out, item)
		}
	}
	return out
}
