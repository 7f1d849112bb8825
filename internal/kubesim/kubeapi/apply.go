package kubeapi

import (
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// apply is server-side apply.
func (q *request) apply(old Object) (any, error) {
	patch, err := q.decode()
	if err != nil {
		return nil, err
	}
	query := q.http.URL.Query()
	switch {
	case query.Get("fieldManager") == "":
		return nil, q.invalid("fieldManager: Required value: is required for apply patch")
	case old == nil && Text(patch, "metadata", "uid") != "":
		return nil, apiFault(http.StatusConflict, "Conflict", "uid mismatch: the provided object specified uid %s, and no existing object was found", Text(patch, "metadata", "uid"))
	}
	patch, _ = plain(patch).(Object)
	setDefault(inner(patch, "metadata"), "name", q.path.name)
	owners, err := q.owners()
	if err != nil {
		return nil, err
	}
	changed, err := owners.Apply(q.orEmpty(old), &unstructured.Unstructured{Object: patch}, query.Get("fieldManager"), query.Get("force") == "true")
	if err != nil {
		return nil, err
	}
	q.applied = true
	return q.write(old, contentOf(changed))
}

// ownUpdate makes the manager of a request other than apply own the fields that it changes.
func (q *request) ownUpdate(old, o Object) error {
	owners, err := q.owners()
	if err != nil {
		return err
	}
	_, err = owners.Update(q.orEmpty(old), &unstructured.Unstructured{Object: o}, q.manager())
	return err
}

// orEmpty is an object as the library takes it: of a kind, also if it does not exist.
func (q *request) orEmpty(o Object) *unstructured.Unstructured {
	if o == nil {
		o = Object{"apiVersion": q.path.kind.apiVersion(), "kind": q.path.kind.Kind}
	}
	return &unstructured.Unstructured{Object: o}
}

func contentOf(o runtime.Object) Object {
	u, _ := o.(*unstructured.Unstructured)
	return u.UnstructuredContent()
}

// builtinScheme has client-go's types. Programs may register further types in the scheme of client-go itself, as Helm does.
var builtinScheme = sync.OnceValue(func() *runtime.Scheme {
	out := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(out))
	return out
})

// builtinTypes has the schema of client-go's types. Reading it takes a moment.
var builtinTypes = sync.OnceValue(func() managedfields.TypeConverter { return applyconfigurations.NewTypeConverter(builtinScheme()) })

// typed is an empty object of client-go's type for the kind; nil if client-go has no type for it.
func (k Kind) typed() runtime.Object {
	out, err := builtinScheme().New(k.gvk())
	if err != nil {
		return nil
	}
	return out
}

// owners tracks which manager owns which fields of objects of the kind. Lists of kinds that client-go does not know are owned as a whole.
func (q *request) owners() (*managedfields.FieldManager, error) {
	gvk, types := q.path.kind.gvk(), managedfields.NewDeducedTypeConverter()
	if q.path.kind.typed() != nil {
		types = builtinTypes()
	}
	var unowned map[fieldpath.APIVersion]fieldpath.Filter
	if q.c.hasStatus(q.path.kind) {
		status := fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
		unowned = fieldpath.NewExcludeFilterSetMap(map[fieldpath.APIVersion]*fieldpath.Set{fieldpath.APIVersion(q.path.kind.apiVersion()): status})
	}
	return managedfields.NewDefaultFieldManager(types, untyped{}, untyped{}, untyped{}, gvk, gvk.GroupVersion(), q.path.sub, unowned)
}

// untyped makes objects, and converts them from one version of their kind to another, which has the same fields. Defaults are set
// elsewhere.
type untyped struct{ runtime.ObjectConvertor }

func (untyped) Default(runtime.Object) {}

func (untyped) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	return o, nil
}

func (untyped) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	kind := in.GetObjectKind().GroupVersionKind()
	if to, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{kind}); ok && to != kind {
		in = in.DeepCopyObject()
		in.GetObjectKind().SetGroupVersionKind(to)
	}
	return in, nil
}
