package objects_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
)

// TestRefresh changes fields of objects as other clients do. Fields that they have not changed keep the form of the manifest.
func TestRefresh(t *testing.T) {
	w := newWorld(t)
	const text = `apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {password: first, user: admin}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {a: b}}
data: {a: x, b: z}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  revisionHistoryLimit: null
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: web:1
        args: [serve, now]
        resources: {requests: {cpu: "0.5", memory: 1024Mi}}
        ports: [{containerPort: 80}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: missing}
data: {a: x}
`
	for _, o := range w.parse(text)[:3] {
		o.SetNamespace(w.namespace)
		w.apply(asYAML(t, o))
	}
	w.patch("v1", "secrets", "login", `{"stringData": {"password": "second"}}`)
	w.patch("v1", "configmaps", "settings", `{"metadata": {"labels": {"a": "changed", "more": "x"}}, "data": {"b": "changed", "c": "more", "a": null}}`)
	w.patch("apps/v1", "deployments", "web", `{"spec": {"replicas": 2, "template": {"spec": {"containers": [{"name": "web", "image": "web:2", "args": ["serve"],
		"resources": {"requests": {"cpu": "500m", "memory": "2Gi"}}, "ports": [{"containerPort": 81}]}, {"name": "sidecar", "image": "sidecar"}]}}}}`)
	m, err := w.Manifest(t.Context(), "test", []byte(text), w.namespace)
	if err != nil {
		t.Fatal(err)
	}
	before, err := w.Manifest(t.Context(), "test", []byte(text), w.namespace)
	if err != nil {
		t.Fatal(err)
	}
	got, err := w.Refresh(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, m); diff != "" {
		t.Errorf("the manifest itself was changed:\n%s", diff)
	}
	want := strings.NewReplacer("first", "second", "labels: {a: b}", "labels: {a: changed}", "b: z", "b: changed", "replicas: 1", "replicas: 2", "web:1", "web:2", "[serve, now]", "[serve]",
		"1024Mi", "2Gi", "containerPort: 80", "containerPort: 81").Replace(text)
	if diff := cmp.Diff(w.parse(want), got.Objects); diff != "" {
		t.Error(diff)
	}
}

// TestRefreshOfLists: Helm replaces lists of custom resources, and lists without names, as a whole. Elements that other clients
// have added are among them afterwards.
func TestRefreshOfLists(t *testing.T) {
	w := newWorld(t)
	w.remove("apiextensions.k8s.io/v1", "customresourcedefinitions", "", "routes.refresh.example.com")
	t.Cleanup(func() {
		w.remove("apiextensions.k8s.io/v1", "customresourcedefinitions", "", "routes.refresh.example.com")
	})
	w.ready(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: routes.refresh.example.com}
spec:
  group: refresh.example.com
  scope: Namespaced
  names: {plural: routes, singular: route, kind: Route}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}
`)
	const text = `apiVersion: refresh.example.com/v1
kind: Route
metadata: {name: web}
spec: {named: [{name: a, to: b}], plain: [x], maps: [{to: b}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {a: b}, ports: [{name: a, port: 80, protocol: TCP}]}
`
	w.apply(text)
	w.patch("refresh.example.com/v1", "routes", "web", `{"spec": {"named": [{"name": "c", "to": "d"}, {"name": "a", "to": "e"}], "plain": ["x", "z"], "maps": [{"to": "e"}, {"to": "f"}]}}`)
	w.patch("v1", "services", "web", `{"spec": {"ports": [{"name": "a", "port": 81, "protocol": "TCP"}, {"name": "c", "port": 82}]}}`)
	m, err := w.Manifest(t.Context(), "test", []byte(text), w.namespace)
	if err != nil {
		t.Fatal(err)
	}
	got, err := w.Refresh(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer("[{name: a, to: b}]", "[{name: a, to: e}, {name: c, to: d}]", "[x]", "[x, z]", "[{to: b}]", "[{to: e}, {to: f}]", "port: 80", "port: 81").Replace(text)
	if diff := cmp.Diff(w.parse(want), got.Objects); diff != "" {
		t.Error(diff)
	}
}

func asYAML(t *testing.T, o *objects.Object) string {
	t.Helper()
	text, err := yaml.Marshal(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAutoscaled(t *testing.T) {
	w := newWorld(t)
	w.create("autoscaling/v2", "horizontalpodautoscalers", `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web, namespace: `+w.namespace+`},
		spec: {maxReplicas: 2, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}`)
	for _, c := range []struct {
		ref  objects.Ref
		want bool
	}{
		{objects.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: w.namespace, Name: "web"}, true},
		{objects.Ref{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: w.namespace, Name: "web"}, false},
		{objects.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: w.namespace, Name: "other"}, false},
		{objects.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "default", Name: "web"}, false},
	} {
		if got, err := w.Autoscaled(t.Context(), c.ref); got != c.want || err != nil {
			t.Errorf("%s: %t, %v", c.ref, got, err)
		}
	}
}
