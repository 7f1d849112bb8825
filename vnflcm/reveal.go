package vnflcm

import (
	"encoding/json"
	"reflect"
	"sync"
)

// RevealJSON is json.Marshal with the secrets in clear. Use it for data that is sealed at once (a store) and for
// requests to another VNFM; never for logs, errors or answers to users.
func RevealJSON(v any) ([]byte, error) {
	if v == nil {
		return json.Marshal(v)
	}
	return json.Marshal(revealed(reflect.ValueOf(v)).Interface())
}

type revealer interface{ reveal() any }

var revealerType = reflect.TypeFor[revealer]()

// revealed copies v with every Secret and Params in it marked to be shown.
func revealed(v reflect.Value) reflect.Value {
	if plain(v.Type()) {
		return v
	}
	if v.Type().Implements(revealerType) && v.Kind() == reflect.Struct {
		return reflect.ValueOf(v.Interface().(revealer).reveal())
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return v
		}
		inner := revealed(v.Elem())
		if v.Kind() == reflect.Interface {
			return inner
		}
		p := reflect.New(v.Type().Elem())
		p.Elem().Set(inner)
		return p
	case reflect.Struct:
		return revealedStruct(v)
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		revealItems(out, v)
		return out
	case reflect.Array:
		out := reflect.New(v.Type()).Elem()
		revealItems(out, v)
		return out
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeMapWithSize(v.Type(), v.Len())
		for it := v.MapRange(); it.Next(); {
			out.SetMapIndex(it.Key(), revealed(it.Value()))
		}
		return out
	default:
		return v
	}
}

// plain reports whether values of a type can hold no secret: they need no copy.
func plain(t reflect.Type) bool {
	if known, found := plainTypes.Load(t); found {
		return known.(bool)
	}
	is := holdsNoSecret(t, map[reflect.Type]bool{})
	plainTypes.Store(t, is)
	return is
}

var plainTypes sync.Map // reflect.Type: bool

// holdsNoSecret looks through a type. Types in seen are being looked through already.
func holdsNoSecret(t reflect.Type, seen map[reflect.Type]bool) bool {
	if t.Implements(revealerType) {
		return false
	}
	if seen[t] {
		return true
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface:
		return false
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return holdsNoSecret(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); (f.IsExported() || f.Anonymous) && !holdsNoSecret(f.Type, seen) {
				return false
			}
		}
	}
	return true
}

func revealItems(out, v reflect.Value) {
	for i := range v.Len() {
		out.Index(i).Set(revealed(v.Index(i)))
	}
}

func revealedStruct(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	revealFields(out)
	return out
}

// revealFields works in place: exported fields of an unexported embedded struct are part of the JSON too, and can be
// set only through the struct that embeds it.
func revealFields(out reflect.Value) {
	for _, i := range secretFields(out.Type()) {
		if field := out.Field(i); field.CanSet() {
			field.Set(revealed(field))
		} else {
			revealFields(field)
		}
	}
}

// secretFields returns the indexes of the fields of a struct that are JSON and can hold secrets.
func secretFields(t reflect.Type) []int {
	if known, found := structFields.Load(t); found {
		return known.([]int)
	}
	var list []int
	for i := range t.NumField() {
		f := t.Field(i)
		if (f.IsExported() || f.Anonymous && f.Type.Kind() == reflect.Struct) && !plain(f.Type) {
			list = append(list, i)
		}
	}
	structFields.Store(t, list)
	return list
}

var structFields sync.Map // reflect.Type: []int
