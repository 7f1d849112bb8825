package objects

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vnfkit/vnfkit/internal/kubeaccess"
)

// Place sets the namespace of objects of namespaced kinds that have none, and removes it from objects of other kinds.
// It returns an error for each object whose kind neither the cluster nor a definition among the objects defines
// (kubeaccess.ErrNoKind); all are reported at once.
func (c *Client) Place(ctx context.Context, objs []*Object, namespace string) error {
	unknown, err := c.place(ctx, objs, namespace)
	return errors.Join(append(unknown, err)...)
}

// place returns the kubeaccess.ErrNoKind of each object whose kind is not defined, and leaves the object as it is.
func (c *Client) place(ctx context.Context, objs []*Object, namespace string) (unknown []error, err error) {
	made := kindsMadeBy(objs)
	for _, o := range objs {
		namespaced, own := made[o.GroupVersionKind()]
		if !own {
			k, err := c.cluster.Kind(ctx, o.GroupVersionKind())
			if err != nil && !errors.Is(err, kubeaccess.ErrNoKind) {
				return unknown, err
			}
			if err != nil {
				unknown = append(unknown, fmt.Errorf("%s: %w", RefOf(o), err))
				continue
			}
			namespaced = k.Namespaced
		}
		switch {
		case !namespaced:
			o.SetNamespace("")
		case o.GetNamespace() == "":
			o.SetNamespace(namespace)
		}
	}
	return unknown, nil
}

// Distinct returns placed objects without repetitions; files are the names of the manifests that contain them, one for each
// object. Objects of one name must be equal. The error (ErrUnequal, joined) names the other ones with their files.
func Distinct(objs []*Object, files []string) ([]*Object, error) {
	var out []*Object
	var faults []error
	first := map[identity]int{}
	for i, o := range objs {
		id := RefOf(o).identity()
		n, again := first[id]
		switch {
		case !again:
			first[id], out = i, append(out, o)
		case !reflect.DeepEqual(objs[n].Object, o.Object):
			faults = append(faults, fmt.Errorf("%s of %s and of %s %w", RefOf(o), files[n], files[i], ErrUnequal))
		}
	}
	return out, errors.Join(faults...)
}

// kindsMadeBy lists the kinds that definitions among the objects make, and whether they are namespaced.
func kindsMadeBy(objs []*Object) map[schema.GroupVersionKind]bool {
	out := map[schema.GroupVersionKind]bool{}
	for _, o := range objs {
		if o.GroupVersionKind().GroupKind() != crdKind {
			continue
		}
		versions, _, _ := unstructured.NestedSlice(o.Object, "spec", "versions")
		for _, v := range versions {
			if m, ok := v.(map[string]any); ok && m["served"] == true {
				gvk := schema.GroupVersionKind{Group: field(o, "spec", "group"), Version: text(m, "name"), Kind: field(o, "spec", "names", "kind")}
				out[gvk] = strings.EqualFold(field(o, "spec", "scope"), "Namespaced")
			}
		}
	}
	return out
}

func field(o *Object, path ...string) string { return text(o.Object, path...) }

func text(m map[string]any, path ...string) string {
	s, _, _ := unstructured.NestedString(m, path...)
	return s
}
