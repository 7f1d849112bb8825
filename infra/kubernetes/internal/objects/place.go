package objects

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vnfkit/vnfkit/internal/kubeaccess"
)

// Place sets the namespace of objects of namespaced kinds that have none, and removes it from objects of other kinds.
// It returns an error for an object whose kind neither the cluster nor a definition among the objects defines
// (kubeaccess.ErrNoKind), and for duplicates; all are reported at once.
func (c *Client) Place(ctx context.Context, objs []*Object, namespace string) error {
	made := kindsMadeBy(objs)
	seen := map[identity]bool{}
	var faults []error
	for _, o := range objs {
		namespaced, own := made[o.GroupVersionKind()]
		if !own {
			k, err := c.cluster.Kind(ctx, o.GroupVersionKind())
			if err != nil && !errors.Is(err, kubeaccess.ErrNoKind) {
				return err
			}
			if err != nil {
				faults = append(faults, fmt.Errorf("%s: %w", RefOf(o), err))
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
		id := RefOf(o).identity()
		if seen[id] {
			faults = append(faults, fmt.Errorf("%s: is there twice: an object must be in one manifest", RefOf(o)))
		}
		seen[id] = true
	}
	return errors.Join(faults...)
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
