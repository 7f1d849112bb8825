package cluster_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/vnfkit/vnfkit/mgmt/cluster"
)

// widgets has the objects before what they need: a kind, a namespace.
const widgets = `# nothing
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: w, namespace: shop}
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Secret, metadata: {name: s}}
---
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "shop"}, "data": {"a": "1"}}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`

func TestApply(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for range 2 {
		s.apply(widgets)
	}
	asked := s.asked()
	for _, want := range []string{"PATCH /apis/example.com/v1/namespaces/shop/widgets/w", "PATCH /api/v1/namespaces/default/secrets/s", "PATCH /api/v1/namespaces/shop/configmaps/c"} {
		if !slices.Contains(asked, want) {
			t.Errorf("%s was not asked for:\n%s", want, strings.Join(asked, "\n"))
		}
	}
	for _, c := range []struct{ namespace, kind, name string }{{"default", "Secret", "s"}, {"shop", "configmap", "c"}, {"", "namespace", "shop"}} {
		if found, err := s.Exists(t.Context(), c.namespace, c.kind, c.name); !found || err != nil {
			t.Errorf("%+v: %v, %v", c, found, err)
		}
		for range 2 {
			if err := s.Delete(t.Context(), c.namespace, c.kind, c.name); err != nil {
				t.Error(err)
			}
		}
		if found, err := s.Exists(t.Context(), c.namespace, c.kind, c.name); found || err != nil {
			t.Errorf("%+v: %v, %v", c, found, err)
		}
	}
	if err := s.Delete(t.Context(), "", "widget", "w"); err == nil {
		t.Error("a kind that has no name here is no error")
	}
}

// TestApplyFails: what does not pass ends it at once, long before the end of the context.
func TestApplyFails(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.apply("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a}\n")
	for name, c := range map[string]struct {
		manifest string
		want     []string
	}{
		"no YAML":       {"a: [", []string{"document 1 of the manifest"}},
		"tabs":          {"a: 1\n---\n\tb: 1\n", []string{"document 1 of the manifest"}},
		"no name":       {"apiVersion: v1\nkind: Secret\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: ../../a}\n", []string{"document 1", "must be given"}},
		"a scalar":      {"hello", []string{"document 1"}},
		"invalid":       {"apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: d}\n", []string{"DaemonSet/d", "spec.selector: Required value"}},
		"changed role":  {binding("view") + "---\n" + binding("edit"), []string{"ClusterRoleBinding/b", "cannot change roleRef"}},
		"forbidden":     {"apiVersion: v1\nkind: Node\nmetadata: {name: x}\n", []string{"Node/x", "nodes join with kubeadm"}},
		"a path":        {"apiVersion: v1\nkind: Secret\nmetadata: {name: ../../a}\n", []string{"Secret/../../a"}},
		"another group": {"apiVersion: a/b/c\nkind: Secret\nmetadata: {name: a}\n", []string{"Secret/a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			err := s.Apply(ctx, []byte(c.manifest))
			if err == nil || ctx.Err() != nil {
				t.Fatalf("%v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in %v", want, err)
				}
			}
		})
	}
}

func binding(role string) string {
	return "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: b}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: " + role + "}\n"
}

// TestApplyTriesAgain: what may pass is tried until it does, or the time is over.
func TestApplyTriesAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	tries := 0
	s.when(func(method, _ string) {
		if tries++; method == "PATCH" && tries < 3 {
			s.hosts["m1"].CutConnections()
		}
	})
	s.apply(network)
	s.when(nil)
	if tries < 3 {
		t.Errorf("%d tries", tries)
	}
	errLate := errors.New("too late")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	rounds := 0
	s.when(func(_, path string) {
		if strings.HasSuffix(path, "/namespaces/none/secrets/s") {
			if rounds++; rounds == 2 {
				cancel(errLate)
			}
		}
	})
	err := s.Apply(ctx, []byte("apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: none}\n"))
	if !errors.Is(err, errLate) || !apierrors.IsNotFound(err) {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{"Widget/w", "does not know the kind Widget of example.com/v1", "Secret/s", `namespaces "none" not found`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}

// FuzzApply: a manifest of a hostile package is an error or objects, and never more than that.
func FuzzApply(f *testing.F) {
	for _, seed := range []string{widgets, "", "---", "a: [", "{}", "[]", "null", "kind: List\nitems: [{}]", "kind: SecretList\nitems: 1", "a: &a [*a]", "\x00", "kind: Secret\napiVersion: v1\nmetadata: {name: 1}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, manifest []byte) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // no API is asked: what is left is the reading
		_ = cluster.New([]cluster.ControlPlaneNode{dead{}}).Apply(ctx, manifest)
	})
}
