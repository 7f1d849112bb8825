package vnflcm

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/tosca/problem"
)

// DecodeParams fills into, a pointer to a struct, from Params, under the rules of Params.Decode. The error has every fault, with its path
// in the request: additionalParams.nginx_param.port.
//
// Attributes without effect are a warning (Warn), with the nearest known name of each: attributes that into does not have within an object
// that it has, and beside these objects attributes with a name like one of theirs. Other attributes can belong to other drivers.
func (op *Operation) DecodeParams(ctx context.Context, into any) error {
	unknown, err := op.Params.Decode(into)
	var idle []string
	for _, path := range unknown {
		nearest := problem.Nearest(lastSegment(path), attributesBeside(reflect.TypeOf(into).Elem(), path))
		if path == lastSegment(path) && (nearest == "" || slices.Contains(op.declaredParams, path)) {
			continue // of another driver
		}
		text := additionalParamsPath + "." + path
		if nearest != "" {
			text += fmt.Sprintf(" (did you mean %q?)", nearest)
		}
		idle = append(idle, text)
	}
	if len(idle) > 0 {
		op.Warn(ctx, "attributes that are not known have no effect: "+strings.Join(idle, ", "))
	}
	return AtPath(additionalParamsPath, err)
}

func lastSegment(path string) string { return path[strings.LastIndex(path, ".")+1:] }

// attributesBeside returns the attributes that a data type has in the object to which the last segment of a path belongs.
func attributesBeside(t reflect.Type, path string) []string {
	segments := strings.Split(path, ".")
	for _, segment := range segments[:len(segments)-1] {
		name, _, _ := strings.Cut(segment, "[")
		switch t = structOf(t); t.Kind() {
		case reflect.Map:
			t = t.Elem()
		case reflect.Struct:
			index, known := jsonFields(t)[name]
			if !known {
				return nil
			}
			t = t.FieldByIndex(index).Type
		default:
			return nil
		}
	}
	if t = structOf(t); t.Kind() != reflect.Struct {
		return nil
	}
	return sortedKeys(jsonFields(t))
}

// structOf returns the type of the items of lists and of what pointers point to.
func structOf(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

// paramsOf returns the attributes of additionalParams that drivers declare.
func paramsOf(drivers ...any) (names []string) {
	secret, public := declared(drivers...)
	for _, path := range append(secret, public...) {
		name, _, _ := strings.Cut(path, ".")
		names = append(names, strings.TrimSuffix(name, listItem))
	}
	return names
}
