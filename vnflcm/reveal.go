package vnflcm

import (
	"encoding/json"
	"reflect"
)

// RevealJSON is json.Marshal with the secrets in clear. It is for what is sealed at once (a store) and for
// programs that send requests to another VNFM; never for logs, errors or answers to users.
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
		if v.IsNil() || plain(v.Type().Elem()) {
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

// plain types hold no secret: text and bytes need no copy.
func plain(t reflect.Type) bool {
	return t.Kind() == reflect.String || t.Kind() >= reflect.Bool && t.Kind() <= reflect.Complex128
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

// revealFields works in place: what an unexported embedded struct exports is JSON too, and can be set only
// through the struct that embeds it.
func revealFields(out reflect.Value) {
	for i := range out.NumField() {
		switch f := out.Type().Field(i); {
		case f.IsExported():
			out.Field(i).Set(revealed(out.Field(i)))
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			revealFields(out.Field(i))
		}
	}
}
