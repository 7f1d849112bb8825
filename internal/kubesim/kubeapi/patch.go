package kubeapi

import (
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// The types of patches.
const (
	applyPatch     = "application/apply-patch+yaml"
	mergePatch     = "application/merge-patch+json"
	strategicPatch = "application/strategic-merge-patch+json"
)

// patch changes an object.
func (q *request) patch() (any, error) {
	old, exists := q.load(q.path)
	switch {
	case q.patchType() == applyPatch:
		return q.apply(old)
	case !exists:
		return nil, q.notFound()
	}
	patch, err := q.decode()
	if err != nil {
		return nil, err
	}
	changed, err := q.patched(old, patch)
	if err != nil {
		return nil, err
	}
	if err := q.checkFields(changed, func(reason string) error { return q.invalid("patch: Invalid value: " + reason) }); err != nil {
		return nil, err
	}
	return q.write(old, changed)
}

func (q *request) patchType() string {
	if q.http.Method != http.MethodPatch {
		return ""
	}
	kind, _, _ := strings.Cut(q.http.Header.Get("Content-Type"), ";")
	return kind
}

// patchTypes are the types of patches that are simulated. Strategic merge patches need the types of client-go, as those of a real API
// server, which has JSON patches too.
func (q *request) patchTypes() []string {
	if q.path.kind.typed() == nil {
		return []string{mergePatch, applyPatch}
	}
	return []string{mergePatch, strategicPatch, applyPatch}
}

// patched is the object with the patch laid over it.
func (q *request) patched(old, patch Object) (Object, error) {
	changed := clone(old)
	if q.patchType() == strategicPatch {
		return strategicpatch.StrategicMergeMapPatch(changed, patch, q.path.kind.typed())
	}
	merge(changed, patch)
	return changed, nil
}

// merge follows RFC 7396.
func merge(into, patch Object) {
	for name, value := range patch {
		deeper, isMap := value.(Object)
		switch {
		case value == nil:
			delete(into, name)
		case isMap:
			merge(inner(into, name), deeper)
		default:
			into[name] = value
		}
	}
}
