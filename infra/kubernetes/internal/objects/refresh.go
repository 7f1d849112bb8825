package objects

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Refresh returns a manifest with the values that its fields have on the cluster, where another client may have changed
// them. Fields and objects that the cluster does not have, or does not show, are as in m.
func (c *Client) Refresh(ctx context.Context, m Manifest) (Manifest, error) {
	out := Manifest{make([]*Object, len(m.Refs)), m.Refs}
	err := each(ctx, m.Refs, func(ctx context.Context, i int, r Ref) error {
		live, err := c.Get(ctx, r)
		if err != nil && !apierrors.IsForbidden(err) {
			return err
		}
		out.Objects[i] = m.Objects[i]
		if live != nil {
			out.Objects[i] = refreshObject(m.Objects[i], live)
		}
		return nil
	})
	return out, err
}

func refreshObject(o, live *Object) *Object {
	showTexts(o, live)
	out, f := o.DeepCopy(), freshness{wholeLists: !builtIn(o)}
	for name, value := range out.Object {
		switch name {
		case "apiVersion", "kind", "metadata", "status":
		default:
			out.Object[name] = f.refresh(value, entry(live.Object, name))
		}
	}
	meta, _ := out.Object["metadata"].(map[string]any)
	for _, name := range []string{"labels", "annotations"} {
		if value, ok := meta[name]; ok {
			meta[name] = f.refresh(value, entry(live.Object["metadata"], name))
		}
	}
	return out
}

// builtIn reports whether Kubernetes itself defines the kind of an object.
func builtIn(o *Object) bool {
	group := o.GroupVersionKind().Group
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// showTexts adds the texts of a Secret to live, which has them encoded.
func showTexts(o, live *Object) {
	wanted, _ := o.Object["stringData"].(map[string]any)
	if o.GetKind() != "Secret" || wanted == nil {
		return
	}
	texts := map[string]any{}
	for name := range wanted {
		encoded, _ := entry(live.Object["data"], name).(string)
		if text, err := base64.StdEncoding.DecodeString(encoded); err == nil && encoded != "" && utf8.Valid(text) {
			texts[name] = string(text)
		}
	}
	live.Object["stringData"] = texts
}

// freshness says how values of the cluster are taken over.
type freshness struct {
	wholeLists bool // Helm replaces a list as a whole, so that elements of other clients have to be among those of the manifest
}

// refresh returns the value of a field on the cluster, in the form that the manifest has.
func (f freshness) refresh(had, live any) any {
	switch h := had.(type) {
	case nil:
		return nil
	case map[string]any:
		out := make(map[string]any, len(h))
		for name, value := range h {
			out[name] = f.refresh(value, entry(live, name))
		}
		return out
	case []any:
		if l, ok := live.([]any); ok {
			return f.refreshList(h, l)
		}
		return had
	}
	switch live.(type) {
	case nil, nothing, map[string]any, []any:
		return had
	}
	if sameQuantity(had, live) {
		return had
	}
	return live
}

func (f freshness) refreshList(had, live []any) any {
	if namesOf(had) != nil && namesOf(live) != nil {
		return f.refreshNamed(had, live)
	}
	if len(had) != len(live) { // which element is which is not known
		return live
	}
	out := make([]any, len(had))
	for i, e := range had {
		out[i] = f.refresh(e, live[i])
	}
	return out
}

func (f freshness) refreshNamed(had, live []any) any {
	var out []any
	for _, name := range namesOf(had) {
		out = append(out, f.refresh(element(had, name), element(live, name)))
	}
	for _, name := range namesOf(live) {
		if f.wholeLists && element(had, name) == absent {
			out = append(out, element(live, name))
		}
	}
	return out
}

// sameQuantity reports whether two values are one quantity: the API writes 0.5 as 500m.
func sameQuantity(a, b any) bool {
	x, err := quantity(a)
	y, err2 := quantity(b)
	return err == nil && err2 == nil && x.Cmp(y) == 0
}

func quantity(v any) (resource.Quantity, error) { return resource.ParseQuantity(fmt.Sprint(v)) }
