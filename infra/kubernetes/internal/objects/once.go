package objects

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// CheckReady reads objects once. If some are not ready, the error is a *NotReadyError with the reasons of their pods.
func (c *Client) CheckReady(ctx context.Context, refs []Ref) error {
	objs, err := c.read(ctx, refs)
	if err != nil {
		return err
	}
	refs, objs, ended := c.withoutEnded(ctx, refs, objs)
	p, err := c.progress(ctx, refs, objs, false)
	if err != nil {
		return err
	}
	if list := slices.Concat(ended, p.Waiting); len(list) > 0 {
		return &NotReadyError{Objects: list, Failed: len(ended) > 0 || slices.ContainsFunc(objs, failed)}
	}
	return nil
}

// Instances returns how many objects there are of the kind that a definition defines, and the kind.
func (c *Client) Instances(ctx context.Context, definition *Object) (n int, kind string, err error) {
	kind = field(definition, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, v := range versions {
		m, ok := v.(map[string]any)
		if !ok || m["served"] != true {
			continue
		}
		gvk := schema.GroupVersionKind{Group: field(definition, "spec", "group"), Version: text(m, "name"), Kind: kind}
		list, err := c.list(ctx, gvk, "", metav1.ListOptions{}) // one version shows them all
		return len(list), kind, err
	}
	return 0, kind, nil
}

// Object returns the object of m with a name, nil if there is no such object.
func (m Manifest) Object(r Ref) *Object {
	for i := range m.Refs {
		if m.Refs[i].identity() == r.identity() {
			return m.Objects[i]
		}
	}
	return nil
}

// Images returns the images of a workload's containers, by their names.
func Images(o *Object) map[string]string {
	out := map[string]string{}
	for _, at := range [][]string{{"spec", "template", "spec"}, {"spec", "jobTemplate", "spec", "template", "spec"}, {"spec"}} {
		for _, kind := range []string{"initContainers", "containers"} {
			list, _, _ := unstructured.NestedSlice(o.Object, append(slices.Clone(at), kind)...)
			for _, e := range list {
				if m, isMap := e.(map[string]any); isMap && text(m, "image") != "" {
					out[text(m, "name")] = text(m, "image")
				}
			}
		}
	}
	return out
}
