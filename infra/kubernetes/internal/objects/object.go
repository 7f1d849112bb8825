package objects

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Label is on each object that a VNF instance owns; its value is the instance's id.
const Label = "vnfkit.io/vnf-instance"

// FieldManager owns, in server-side apply, the fields that this package sets.
const FieldManager = "vnfkit"

// Object is an object of a cluster or of a manifest.
type Object = unstructured.Unstructured

// Owner is the VNF instance that objects belong to.
type Owner struct {
	Instance string // id of the VNF instance
	// Adopted are the objects that another program has made for the VNF. They have no label until Apply applies them.
	Adopted []types.UID
}

// Owns reports whether an object belongs to the owner.
func (w Owner) Owns(o *Object) bool {
	of := o.GetLabels()[Label]
	return w.Instance != "" && (of == w.Instance || of == "" && slices.Contains(w.Adopted, o.GetUID()))
}

// Ref names an object. If UID is set, it means exactly the object with that UID, and no later one with the same name.
type Ref struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Namespace  string    `json:"namespace,omitempty"`
	Name       string    `json:"name"`
	UID        types.UID `json:"uid,omitempty"`
}

// RefOf names an object.
func RefOf(o *Object) Ref {
	return Ref{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID()}
}

// Refs name objects.
func Refs(objs []*Object) []Ref {
	out := make([]Ref, 0, len(objs))
	for _, o := range objs {
		out = append(out, RefOf(o))
	}
	return out
}

// String is the kind and the name: Deployment shop/web.
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

func (r Ref) gvk() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(r.APIVersion, r.Kind)
}

// identity is what two objects cannot share: a kind is served in several versions.
type identity struct {
	schema.GroupKind
	namespace, name string
}

func (r Ref) identity() identity { return identity{r.gvk().GroupKind(), r.Namespace, r.Name} }

// means reports whether both name the same object, as far as they say.
func (r Ref) means(other Ref) bool {
	return r.identity() == other.identity() && cmp.Or(r.UID, other.UID) == cmp.Or(other.UID, r.UID)
}
