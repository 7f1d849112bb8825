package vnflcm

import (
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// DecodeRequest fills into (a pointer to one of the request types) from a JSON document, under the rules of
// Params.Decode: it reports all faults at once. It refuses *** as any value: a client that writes back a masked document would
// destroy the masked values. It refuses half of a surrogate pair, such as "\ud800", in any text: encoding/json would read another
// character.
//
// Each of the warnings names an attribute without effect and the reason, in the order of the paths: the attribute is unknown, with the
// nearest known name, or it is one of the standards (SOL003 v2.4.1 to v5.1.1, OpenStack Tacker) that vnfkit does not use.
//
// Requests to heal, to scale (also to a level), to terminate and to change the external connectivity are read strictly: an unknown
// attribute outside of additionalParams, at any depth, is a fault, and so is a vnfcInstanceId that is null or empty, or an item of
// scaleInfo without a level. If they were ignored, the operation would change more of the VNF than requested.
func DecodeRequest(data []byte, into any) (warnings []string, err error) {
	ignored, err := decodeAttributes(data, into, true)
	faults := []error{err, checkSurrogates(data)}
	isStrict := dataTypeOf(reflect.TypeOf(into).Elem()).strict
	for i, a := range ignored {
		if i >= maxSuggestions {
			a.known = nil
		}
		if isStrict && !a.standard {
			faults = append(faults, a.fault())
		} else {
			warnings = append(warnings, a.warning())
		}
	}
	if request, ok := into.(documentChecker); ok {
		faults = append(faults, request.checkDocument(data))
	}
	return warnings, errors.Join(faults...)
}

const vnfcAttribute = "vnfcInstanceId"

var errNoVNFC = &ParamError{Path: vnfcAttribute, Reason: "names no VNFC: leave the attribute out to heal the whole VNF"}

// hasAttribute reports whether a JSON object has an attribute, be it null.
func hasAttribute(data []byte, name string) bool {
	var object map[string]json.RawMessage
	if json.Unmarshal(data, &object) != nil {
		return false
	}
	_, there := object[name]
	return there
}

// decodeAttributes returns the attributes without effect in the order of their paths.
func decodeAttributes(data []byte, into any, refuseMasked bool) ([]ignoredAttribute, error) {
	var tree any
	if err := decodeUseNumber(data, &tree); err != nil {
		return nil, &ParamError{Path: wholeDocument, Reason: "is not JSON: " + err.Error()}
	}
	if tree == nil {
		return nil, &ParamError{Path: wholeDocument, Reason: "must be an object"}
	}
	d := attributeDecoder{refuseMasked: refuseMasked}
	d.value("", tree, reflect.ValueOf(into).Elem())
	slices.SortFunc(d.ignored, func(a, b ignoredAttribute) int { return strings.Compare(a.path, b.path) })
	return d.ignored, errors.Join(d.faults...)
}

// checkParams finds every *** and every half of a surrogate pair in a request.
func checkParams(request Params) error {
	return errors.Join(checkUnmasked(request), checkSurrogates(request.Reveal()))
}

// checkUnmasked finds every *** in a request.
func checkUnmasked(request Params) error {
	var tree any
	if err := decodeUseNumber(request.Reveal(), &tree); err != nil {
		return err
	}
	d := attributeDecoder{refuseMasked: true}
	d.findMasked("", tree)
	return errors.Join(d.faults...)
}

// wholeDocument is the path of a fault that lies in no attribute.
const wholeDocument = "(document)"

// attributeDecoder walks a JSON tree and a Go value together. encoding/json stops at the first fault and
// knows no paths; users of a VNFM want every fault, by name.
type attributeDecoder struct {
	faults       []error
	ignored      []ignoredAttribute
	refuseMasked bool
}

// fault reports the fault of one value. A scalar in the place of an object is not shown: it may be a secret of that
// object, written one level too high.
func (d *attributeDecoder) fault(path string, tree any, v reflect.Value, reason string) {
	e := &ParamError{Path: path, Reason: reason}
	if path == "" {
		e.Path = wholeDocument
	}
	if _, secret := v.Interface().(revealer); !secret && v.Kind() != reflect.Struct && v.Kind() != reflect.Map {
		e.Value = scalarText(tree)
	}
	d.faults = append(d.faults, e)
}

// scalarText shows a value in an error: scalars only, bounded, URLs without their credentials.
func scalarText(tree any) string {
	switch t := tree.(type) {
	case string:
		return maskURLs(t)
	case json.Number, bool:
		return fmt.Sprint(t)
	default:
		return ""
	}
}

func (d *attributeDecoder) value(path string, tree any, v reflect.Value) {
	if tree == nil {
		return
	}
	if tree == Mask && d.refuseMasked {
		d.findMasked(path, tree)
		return
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		d.value(path, tree, v.Elem())
		return
	}
	if d.custom(path, tree, v) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.object(path, tree, v)
	case reflect.Slice:
		d.list(path, tree, v)
	case reflect.Map:
		d.dictionary(path, tree, v)
	default:
		d.scalar(path, tree, v)
	}
}

// custom decodes types that have their own JSON form.
func (d *attributeDecoder) custom(path string, tree any, v reflect.Value) bool {
	target := v.Addr().Interface()
	switch target.(type) {
	case json.Unmarshaler, encoding.TextUnmarshaler:
	default:
		return false
	}
	if list, ok := target.(listOrMap); ok {
		d.list(path, list.asList(tree), v)
		return true
	}
	raw, err := json.Marshal(tree)
	if err == nil {
		err = json.Unmarshal(raw, target)
	}
	if err != nil {
		d.fault(path, tree, v, err.Error())
	} else {
		d.findMasked(path, tree)
	}
	return true
}

// findMasked reports every *** in a tree, where that is refused.
func (d *attributeDecoder) findMasked(path string, tree any) {
	switch t := tree.(type) {
	case map[string]any:
		for _, key := range sortedKeys(t) {
			d.findMasked(join(path, key), t[key])
		}
	case []any:
		for i, item := range t {
			d.findMasked(fmt.Sprintf("%s[%d]", path, i), item)
		}
	case string:
		if t == Mask && d.refuseMasked {
			d.faults = append(d.faults, &ParamError{Path: cmp.Or(path, wholeDocument), Reason: errMasked.Error()})
		}
	}
}

func (d *attributeDecoder) object(path string, tree any, v reflect.Value) {
	object, ok := tree.(map[string]any)
	if !ok {
		d.fault(path, tree, v, "must be an object")
		return
	}
	fields, kind := jsonFields(v.Type()), dataTypeOf(v.Type())
	for _, key := range sortedKeys(object) {
		at, child := join(path, key), object[key]
		index, known := fields[key]
		if known {
			d.value(at, child, v.FieldByIndex(index))
		} else {
			d.findMasked(at, child)
		}
		switch isIdle := slices.Contains(kind.idle, key); {
		case isIdle && (child == nil || child == ""), known && !isIdle:
		case isIdle, slices.Contains(kind.ignored, key):
			d.ignored = append(d.ignored, ignoredAttribute{path: at, name: key, standard: true})
		default:
			d.ignored = append(d.ignored, ignoredAttribute{path: at, name: key, known: fields})
		}
	}
}

func (d *attributeDecoder) list(path string, tree any, v reflect.Value) {
	items, ok := tree.([]any)
	if !ok {
		items = []any{tree} // Tacker's attributes come as one or as a list
	}
	out := reflect.MakeSlice(v.Type(), len(items), len(items))
	for i, item := range items {
		d.value(fmt.Sprintf("%s[%d]", path, i), item, out.Index(i))
	}
	v.Set(out)
}

func (d *attributeDecoder) dictionary(path string, tree any, v reflect.Value) {
	object, ok := tree.(map[string]any)
	if !ok {
		d.fault(path, tree, v, "must be an object")
		return
	}
	out := reflect.MakeMap(v.Type())
	for _, key := range sortedKeys(object) {
		item := reflect.New(v.Type().Elem()).Elem()
		d.value(join(path, key), object[key], item)
		out.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), item)
	}
	v.Set(out)
}

func (d *attributeDecoder) scalar(path string, tree any, v reflect.Value) {
	text, isText := tree.(string)
	number, isNumber := tree.(json.Number)
	switch v.Kind() {
	case reflect.Interface:
		v.Set(reflect.ValueOf(tree))
		d.findMasked(path, tree)
		return
	case reflect.String:
		if isText || isNumber {
			v.SetString(text + number.String())
			return
		}
		d.fault(path, tree, v, "must be a string")
	case reflect.Bool:
		if b, err := strconv.ParseBool(strings.ToLower(fmt.Sprint(tree))); err == nil && !isNumber {
			v.SetBool(b)
			return
		}
		d.fault(path, tree, v, "must be true or false")
	case reflect.Int, reflect.Int64:
		if n, err := strconv.ParseInt(text+number.String(), 10, 64); err == nil && !v.OverflowInt(n) {
			v.SetInt(n)
			return
		}
		d.fault(path, tree, v, "must be a whole number")
	default:
		d.fault(path, tree, v, "cannot be read into "+v.Type().String())
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// jsonFields maps JSON names to fields, embedded structs included.
func jsonFields(t reflect.Type) map[string][]int {
	fields := map[string][]int{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "" && name != "-" {
			fields[name] = f.Index
		}
	}
	return fields
}

// listOrMap is a list that API version 2 writes as a map (SOL003 v3.3.1 4.4.1.6 and 4.4.1.10).
type listOrMap interface{ asList(tree any) any }

// idKeyed turns {"k": {...}} into [{"id": "k", ...}], in the order of the keys.
func idKeyed(tree any, idField string) any {
	object, ok := tree.(map[string]any)
	if !ok {
		return tree
	}
	list := make([]any, 0, len(object))
	for _, key := range sortedKeys(object) {
		item, isObject := object[key].(map[string]any)
		switch {
		case object[key] == nil:
			continue // null says that the key is not to be there
		case !isObject:
			list = append(list, object[key]) // a fault, which is found where the item is read
			continue
		case item[idField] == nil:
			item[idField] = key
		}
		list = append(list, item)
	}
	return list
}

func unmarshalList[T any](data []byte, into *[]T, asList func(any) any) error {
	var tree any
	if err := decodeUseNumber(data, &tree); err != nil {
		return err
	}
	raw, err := json.Marshal(asList(tree))
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}
