package sol003

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// attributes are the attributes of a kind of document that a list request can select.
type attributes struct {
	all       []string // at the top of the document
	optional  []string // paths of objects and lists that may be missing: selectors choose among them (SOL013 v2.6.1 5.3)
	byDefault []string // that are left out of a list unless the request says otherwise
}

var (
	// SOL003 v2.6.1 5.4.2.3.2
	instanceAttributes = attributesOf(reflect.TypeFor[vnflcm.VnfInstance](), nil,
		"vnfConfigurableProperties", "vimConnectionInfo", "instantiatedVnfInfo", "metadata", "extensions")
	// SOL003 v2.6.1 5.4.12.3.2. The specification has operationParams 0..1 (5.5.2.13), the Go type always has them.
	operationAttributes = attributesOf(reflect.TypeFor[vnflcm.VnfLcmOpOcc](), []string{"operationParams"},
		"operationParams", "error", "resourceChanges", "changedInfo", "changedExtConnectivity")
	// SOL003 v3.3.1 5.4.23.3.2
	snapshotAttributes = attributesOf(reflect.TypeFor[vnflcm.VnfSnapshotInfo](), nil)
	// SOL003 v2.6.1 5.4.18.3.2 has no selectors: subscriptions are always whole.
	subscriptionAttributes = attributes{all: []string{"id", "filter", "callbackUri", "verbosity"}}
)

func attributesOf(document reflect.Type, alsoOptional []string, byDefault ...string) attributes {
	a := attributes{byDefault: byDefault, optional: alsoOptional}
	walkAttributes(document, func(path string, complexType, optional bool) {
		if !strings.Contains(path, "/") {
			a.all = append(a.all, path)
		}
		// Version 2 requires currentVnfExtCpData (SOL003 v3.3.1 5.5.3.2).
		if complexType && optional && !strings.HasSuffix(path, "/currentVnfExtCpData") {
			a.optional = append(a.optional, path)
		}
	}, "")
	slices.Sort(a.optional)
	return a
}

// walkAttributes visits every attribute of a document, by the json tags of its Go type.
func walkAttributes(t reflect.Type, visit func(path string, complexType, optional bool), prefix string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[vnflcm.Params]() || t == reflect.TypeFor[time.Time]() {
		return
	}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		kind := f.Type
		for kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		complexType := kind != reflect.TypeFor[time.Time]() && slices.Contains([]reflect.Kind{reflect.Struct, reflect.Slice, reflect.Map}, kind.Kind())
		visit(prefix+name, complexType, strings.HasPrefix(options, "omit"))
		walkAttributes(f.Type, visit, prefix+name+"/")
	}
}

// selection is which optional attributes a list leaves out.
type selection [][]string

// selectAttributes reads the selectors of a query (SOL013 v2.6.1 5.3.2): none, all_fields, fields, exclude_fields,
// exclude_default, or fields and exclude_default together.
func (a attributes) selectAttributes(query map[string]string) (selection, error) {
	fields, hasFields := query["fields"]
	excluded, hasExcluded := query["exclude_fields"]
	_, hasAll := query["all_fields"]
	_, hasDefault := query["exclude_default"]
	wanted, err := a.paths("fields", fields)
	if err != nil {
		return nil, err
	}
	unwanted, err := a.paths("exclude_fields", excluded)
	if err != nil {
		return nil, err
	}
	switch {
	case hasAll && (hasFields || hasExcluded || hasDefault), hasExcluded && (hasFields || hasDefault):
		return nil, badRequest("all_fields and exclude_fields stand alone, fields can only stand with exclude_default (SOL013 v2.6.1 5.3.2)")
	case hasAll:
		return nil, nil
	case hasExcluded:
		return split(unwanted), nil
	case hasFields && !hasDefault:
		return split(a.except(a.optional, wanted)), nil
	default: // no selector is as exclude_default
		return split(a.except(a.byDefault, wanted)), nil
	}
}

// except returns the paths that are neither wanted, nor contain a wanted path, nor lie within one.
func (a attributes) except(paths, wanted []string) []string {
	// An attribute within one that is wanted in part is left out unless it is wanted.
	var out []string
	for _, path := range a.optional {
		isBelow := func(ancestor string) bool { return path == ancestor || strings.HasPrefix(path, ancestor+"/") }
		if !slices.ContainsFunc(paths, isBelow) {
			continue
		}
		if !slices.ContainsFunc(wanted, func(w string) bool { return isBelow(w) || strings.HasPrefix(w, path+"/") }) {
			out = append(out, path)
		}
	}
	return out
}

// paths reads a list of attributes.
func (a attributes) paths(parameter, list string) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	paths := strings.Split(list, ",")
	for _, path := range paths {
		if !slices.Contains(a.optional, path) {
			return nil, badRequest(fmt.Sprintf("%s: %q is no attribute that can be chosen: only objects and lists that are not mandatory can%s", parameter, beginning(path), didYouMean(path, a.optional)))
		}
	}
	return paths, nil
}

func split(paths []string) (out selection) {
	for _, path := range paths {
		out = append(out, strings.Split(path, "/"))
	}
	return out
}

// apply removes attributes from a document.
func (s selection) apply(document object) {
	for _, path := range s {
		remove(document, path, "")
	}
}

// mapped are the attributes that are lists in version 1 and maps in version 2.
var mapped = []string{"vimConnectionInfo", "cpConfig"}

func remove(node any, path []string, name string) {
	switch n := node.(type) {
	case []any:
		for _, item := range n {
			remove(item, path, "")
		}
	case []object:
		for _, item := range n {
			remove(item, path, "")
		}
	case object:
		switch {
		case slices.Contains(mapped, name):
			for _, item := range n {
				remove(item, path, "")
			}
		case len(path) == 1:
			delete(n, path[0])
		default:
			remove(n[path[0]], path[1:], path[0])
		}
	}
}
