package inventory

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// deepest is the greatest depth of nested values.
const deepest = 64

// plain converts the value of a variable to nil, bool, int64, uint64 (if it exceeds int64), float64, string, Template,
// []any or map[string]any, so that the writers handle few types.
func plain(value any) (any, error) { return plainAt(value, 0) }

func plainAt(value any, depth int) (any, error) {
	if depth > deepest {
		return nil, fmt.Errorf("is nested more than %d deep", deepest)
	}
	switch v := value.(type) {
	case nil, bool:
		return v, nil
	case string:
		return v, checkText(v)
	case Template:
		return v, checkText(string(v))
	case json.Number:
		return plainNumber(v)
	case vnflcm.Secret:
		return nil, errors.New("a secret must be the whole value of a variable, not a part of it")
	}
	r := reflect.ValueOf(value)
	switch r.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return r.Int(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if r.Uint() > math.MaxInt64 {
			return r.Uint(), nil
		}
		return int64(r.Uint()), nil //nolint:gosec // within the range of int64
	case reflect.Float32, reflect.Float64:
		if math.IsNaN(r.Float()) || math.IsInf(r.Float(), 0) {
			return nil, errors.New("must be a finite number")
		}
		return r.Float(), nil
	case reflect.Slice, reflect.Array:
		return plainList(r, depth)
	case reflect.Map:
		if r.Type().Key().Kind() == reflect.String {
			return plainMap(r, depth)
		}
	}
	return nil, fmt.Errorf("cannot be written for Ansible: values are strings, numbers, booleans, lists and maps by string, not %T", value)
}

func plainNumber(n json.Number) (any, error) {
	if i, err := n.Int64(); err == nil {
		return i, nil
	}
	f, err := n.Float64()
	if err != nil {
		return nil, errors.New("must be a finite number")
	}
	return f, nil
}

func plainList(r reflect.Value, depth int) (any, error) {
	out := make([]any, r.Len())
	for i := range out {
		var err error
		if out[i], err = plainAt(r.Index(i).Interface(), depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func plainMap(r reflect.Value, depth int) (any, error) {
	out := make(map[string]any, r.Len())
	for each := r.MapRange(); each.Next(); {
		key := each.Key().String()
		if err := checkText(key); err != nil {
			return nil, err
		}
		if looksLikeTemplate(key) {
			return nil, errors.New("has a key that looks like a template")
		}
		value, err := plainAt(each.Value().Interface(), depth+1)
		if err != nil {
			return nil, err
		}
		out[key] = value
	}
	return out, nil
}

func checkText(text string) error {
	if !utf8.ValidString(text) {
		return errors.New("must be UTF-8 text")
	}
	return nil
}

// looksLikeTemplate reports whether Ansible would evaluate a string.
func looksLikeTemplate(text string) bool {
	return slices.ContainsFunc([]string{"{{", "{%", "{#"}, func(mark string) bool { return strings.Contains(text, mark) })
}

// hasTemplateData reports whether a plain value has a string that is data but that Ansible would evaluate.
func hasTemplateData(value any) bool {
	switch v := value.(type) {
	case string:
		return looksLikeTemplate(v)
	case []any:
		return slices.ContainsFunc(v, hasTemplateData)
	case map[string]any:
		for _, each := range v {
			if hasTemplateData(each) {
				return true
			}
		}
	}
	return false
}
