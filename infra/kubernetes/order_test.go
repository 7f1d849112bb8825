package kubernetes_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func TestNewestFirst(t *testing.T) {
	t.Parallel()
	vnfc := func(id, kind, pod, created string) vnflcm.VNFC {
		return vnflcm.VNFC{ID: id, ResourceID: pod, Metadata: map[string]string{"kind": kind, "name": "web", "creation_time": created}}
	}
	const early, late = "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"
	for name, c := range map[string]struct {
		known []vnflcm.VNFC
		want  []string
	}{
		"by age": {[]vnflcm.VNFC{vnfc("a", "Deployment", "web-z", late), vnfc("b", "Deployment", "web-y", early)}, []string{"a", "b"}},
		"of one second": {[]vnflcm.VNFC{vnfc("a", "Deployment", "web-z", early), vnfc("b", "Deployment", "web-x", early), vnfc("c", "Deployment", "web-y", early)},
			[]string{"c", "b", "a"}},
		"by ordinal": {[]vnflcm.VNFC{vnfc("a", "StatefulSet", "web-10", early), vnfc("b", "StatefulSet", "web-9", late)}, []string{"a", "b"}},
	} {
		list := slices.Clone(c.known)
		slices.SortFunc(list, kubernetes.NewestFirst(c.known))
		var got []string
		for _, v := range list {
			got = append(got, v.ID)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
