package kubeapi

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtime "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
)

// notInTables are differences that the tables do not know: lists in the status of pods and jobs, and a reference that is one value in
// one version of its kind only.
var notInTables = map[string]string{"v1 Pod": "status", "batch/v1 Job": "status", "autoscaling/v1 HorizontalPodAutoscaler": "spec/scaleTargetRef"}

// replacedByPatches are lists that server-side apply merges and strategic merge patches replace. The simulation merges them.
var replacedByPatches = []string{"resources/claims", "volumeMounts/bindMountOptions", "podPreemptionPolicy/disableResizePreemption"}

// compared reports how the tables differ from the types of a kind, by path.
func compared[V any](t *testing.T, k Kind, types, tables map[string]V) {
	t.Helper()
	name := k.apiVersion() + " " + k.Kind
	left := cmpopts.IgnoreMapEntries(func(path string, _ V) bool {
		return notInTables[name] != "" && strings.HasPrefix(path, notInTables[name])
	})
	if diff := gocmp.Diff(types, tables, left); diff != "" {
		t.Errorf("%s\n%s", name, diff)
	}
}

// shape says how a list or map is merged and owned.
type shape struct {
	Keys        []string // of the items of a list
	Set, Atomic bool
}

// TestSchema compares how the tables say that lists and maps are merged with what the types of client-go say: for all fields of all
// built-in kinds, but for those below what is replaced as a whole.
func TestSchema(t *testing.T) {
	t.Parallel()
	converter := applyconfigurations.NewTypeConverter(scheme.Scheme)
	for _, k := range builtin {
		gvk := runtime.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind}
		if !scheme.Scheme.Recognizes(gvk) {
			continue // CustomResourceDefinition
		}
		var o unstructured.Unstructured
		o.SetGroupVersionKind(gvk)
		typed, err := converter.ObjectToTyped(&o)
		if err != nil {
			t.Fatal(err)
		}
		types, tables := map[string]shape{}, map[string]shape{}
		shapes(typed.Schema(), typed.TypeRef(), nil, types, tables)
		compared(t, k, types, tables)

		value, err := scheme.Scheme.New(gvk)
		if err != nil {
			t.Fatal(err)
		}
		keys, known := map[string]string{}, map[string]string{}
		patchKeys(reflect.TypeOf(value).Elem(), nil, keys, known)
		compared(t, k, keys, known)
	}
}

// shapes adds the lists and maps of a type.
func shapes(s *schema.Schema, ref schema.TypeRef, path []string, types, tables map[string]shape) {
	atom, known := s.Resolve(ref)
	at := strings.Join(path, "/")
	switch {
	case !known || atom.Scalar != nil: // also what can be of any type
	case atom.List != nil:
		l, merged := atom.List, atom.List.ElementRelationship == schema.Associative
		types[at] = shape{Keys: l.Keys, Set: merged && len(l.Keys) == 0}
		tables[at] = shape{Keys: mergeKeys(path), Set: isSet(path)}
		if merged {
			shapes(s, l.ElementType, path, types, tables)
		}
	case atom.Map != nil:
		if _, item := types[at]; !item && len(path) > 0 { // not of a list
			types[at] = shape{Atomic: atom.Map.ElementRelationship == schema.Atomic}
			tables[at] = shape{Atomic: isAtomic(path)}
		}
		if atom.Map.ElementRelationship == schema.Atomic {
			return
		}
		for _, field := range atom.Fields {
			shapes(s, field.Type, below(path, field.Name), types, tables)
		}
	}
}

func below(path []string, name string) []string { return append(path[:len(path):len(path)], name) }

// patchKeys adds how strategic merge patches treat the lists of a type: the key by which they merge, "values" if they have none, or
// "" if they replace.
func patchKeys(of reflect.Type, path []string, types, tables map[string]string) {
	for field := range of.Fields() {
		at, typ := path, field.Type
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			at = below(path, name)
		}
		if typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		if name := strings.Join(at, "/"); typ.Kind() == reflect.Slice && typ.Elem().Kind() != reflect.Uint8 {
			typ = typ.Elem()
			if strings.Contains(field.Tag.Get("patchStrategy"), "merge") {
				types[name] = cmp.Or(field.Tag.Get("patchMergeKey"), "values")
			}
			if keys := mergeKeys(at); slices.Contains(replacedByPatches, tail(at, 2)) {
				continue
			} else if isSet(at) {
				tables[name] = "values"
			} else if keys != nil {
				tables[name] = keys[0]
			}
			if types[name] == "" {
				continue
			}
		}
		if typ.Kind() == reflect.Struct && typ.PkgPath() != "time" {
			patchKeys(typ, at, types, tables)
		}
	}
}
