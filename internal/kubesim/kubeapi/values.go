package kubeapi

import (
	"encoding/json"
	"reflect"
	"slices"
)

// numberAt reads a whole number, as JSON or this package has it.
func numberAt(o any, path ...string) (int, bool) {
	switch n := at(o, path...).(type) {
	case int:
		return n, true
	case float64:
		return int(n), n == float64(int(n))
	}
	return 0, false
}

// numberOr is the number there, or another one where there is none.
func numberOr(otherwise int, o any, path ...string) int {
	if n, ok := numberAt(o, path...); ok {
		return n
	}
	return otherwise
}

// clone copies a value deeply.
func clone[T any](v T) T {
	out, _ := deepCopy(v).(T)
	return out
}

func deepCopy(v any) any {
	switch v := v.(type) {
	case Object:
		if v == nil {
			return v
		}
		out := make(Object, len(v))
		for name, value := range v {
			out[name] = deepCopy(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = deepCopy(value)
		}
		return out
	}
	return v
}

// plain is a value as JSON gives it back, to compare it.
func plain(v any) (out any) {
	if raw, err := json.Marshal(v); err == nil {
		_ = json.Unmarshal(raw, &out)
	}
	return out
}

// list is a list in an object, nil where there is none.
func list(o any, path ...string) []any {
	l, _ := at(o, path...).([]any)
	return l
}

func without(items []any, gone any) []any {
	return slices.DeleteFunc(slices.Clone(items), func(item any) bool { return reflect.DeepEqual(item, gone) })
}

// union is a list with those of more that are not in it.
func union(items, more []any) []any {
	out := slices.Clone(items)
	for _, item := range more {
		if !slices.ContainsFunc(out, func(is any) bool { return reflect.DeepEqual(is, item) }) {
			out = append(out, item)
		}
	}
	return out
}
