package objects_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/internal/retry"
)

func TestScale(t *testing.T) {
	w := newWorld(t)
	refs := w.ready(workload("Deployment", "web", "  replicas: 4\n") + workload("StatefulSet", "db", "  serviceName: db\n  replicas: 3\n") + workload("DaemonSet", "agent", ""))
	web, db, agent := refs[0], refs[1], refs[2]
	if n, err := w.Replicas(t.Context(), web); n != 4 || err != nil {
		t.Error(n, err)
	}
	if err := w.SetReplicas(t.Context(), agent, 1); !errors.Is(err, objects.ErrNotScalable) {
		t.Error(err)
	}
	pods := w.pods(web)
	// First others are chosen: that choice must not last.
	if err := w.MarkForRemoval(t.Context(), pods[:1]); err != nil {
		t.Fatal(err)
	}
	if err := w.MarkForRemoval(t.Context(), pods[1:3]); err != nil {
		t.Fatal(err)
	}
	sets := w.pods(db)
	if err := w.MarkForRemoval(t.Context(), sets[:1]); !errors.Is(err, objects.ErrOrder) {
		t.Error(err)
	}
	if err := w.MarkForRemoval(t.Context(), sets[1:]); err != nil {
		t.Error(err)
	}
	for r, n := range map[objects.Ref]int{web: 2, db: 1} {
		if err := w.SetReplicas(t.Context(), r, n); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Await(w.context(time.Minute), refs, nil); err != nil {
		t.Fatal(err)
	}
	want := []string{pods[0].Name, pods[3].Name}
	var left []string
	for _, p := range w.pods(web) {
		if !p.Leaving {
			left = append(left, p.Name)
		}
	}
	slices.Sort(want)
	slices.Sort(left)
	if diff := cmp.Diff(want, left); diff != "" {
		t.Error(diff)
	}
}

// A custom resource with the subresource, whose workload is owned by it; and one that takes its definition along.
func TestCustomResource(t *testing.T) {
	w := newWorld(t)
	own := strings.NewReplacer("example.com", "custom.example.com", "Widget", "Custom", "widget", "custom").Replace(widgets)
	refs := w.ready(own + "---\napiVersion: custom.example.com/v1\nkind: Custom\nmetadata: {name: w}\nspec: {size: 3}\n")
	w.patch("custom.example.com/v1", "customs", "w", `{"metadata":{"finalizers":["example.com/hold"]}}`)
	r := refs[1]
	if err := w.SetReplicas(t.Context(), r, 5); err != nil {
		t.Fatal(err)
	}
	if n, err := w.Replicas(t.Context(), r); n != 5 || err != nil {
		t.Error(n, err)
	}
	uid := string(w.get(r).GetUID())
	w.create("apps/v1", "deployments", strings.Replace(workload("Deployment", "made", ""), "{name: made}",
		"{name: made, namespace: "+w.namespace+", ownerReferences: [{apiVersion: custom.example.com/v1, kind: Custom, name: w, uid: "+uid+", controller: true}]}", 1))
	for len(w.pods(r)) != 1 {
		if retry.Pause(w.context(time.Minute), 100*time.Millisecond) != nil {
			t.Fatal("no pod")
		}
	}
	if p := w.pods(r)[0]; p.Top.Kind != "Custom" || p.Controller.Kind != "ReplicaSet" {
		t.Errorf("%+v", p)
	}
	err := w.Delete(w.context(3*time.Second), refs[:1], objects.DeleteOptions{Owner: w.owner})
	if e, ok := errors.AsType[*objects.StuckError](err); !ok || e.Objects[0].Kind != "Custom" {
		t.Error(err)
	}
	w.patch("custom.example.com/v1", "customs", "w", `{"metadata":{"finalizers":null}}`)
	if err := w.Delete(w.context(time.Minute), refs, objects.DeleteOptions{Owner: w.owner}); err != nil {
		t.Error(err)
	}
}

func TestReplace(t *testing.T) {
	w := newWorld(t)
	refs := w.ready(workload("Deployment", "web", "  replicas: 3\n") + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: bare, labels: {app: bare}}\nspec: {tolerations: [{operator: Exists}], containers: [{name: c, image: i}]}\n")
	before := w.pods(refs...)
	var bare, web []objects.Pod
	for _, p := range before {
		if p.Name == "bare" {
			bare = append(bare, p)
		} else {
			web = append(web, p)
		}
	}
	if len(bare) != 1 || len(web) != 3 || bare[0].Top != bare[0].Ref() {
		t.Fatalf("%+v", before)
	}
	var kept []*objects.Object
	chosen := []objects.Pod{web[1], bare[0]}
	grace := time.Second
	options := objects.ReplaceOptions{Grace: &grace, Save: func(_ context.Context, bare []*objects.Object) error { kept = bare; return nil }}
	if err := w.Replace(w.context(time.Minute), chosen, options); err != nil {
		t.Fatal(err)
	}
	after := w.pods(refs...)
	if len(kept) != 1 || len(after) != 4 {
		t.Fatalf("%d kept, %+v", len(kept), after)
	}
	data, err := kept[0].MarshalJSON()
	for _, part := range []string{`"nodeName"`, `"kube-api-access-`, `"status"`, `"uid"`, `"resourceVersion"`} {
		if err != nil || strings.Contains(string(data), part) {
			t.Errorf("%s is in %s, %v", part, data, err)
		}
	}
	for _, p := range after {
		if !p.Ready || p.UID == chosen[0].UID || p.UID == chosen[1].UID {
			t.Errorf("%+v", p)
		}
		if p.Name == "bare" && w.get(p.Ref()).GetLabels()[objects.Label] != w.owner.Instance {
			t.Error("the pod has lost its owner")
		}
	}
	// Killed after the pod was deleted: what was kept makes it again.
	w.remove("v1", "pods", w.namespace, "bare")
	options.Earlier, options.Save = kept, nil
	if err := w.Replace(w.context(time.Minute), chosen, options); err != nil {
		t.Fatal(err)
	}
	if n := len(w.pods(refs...)); n != 4 {
		t.Errorf("%d pods", n)
	}
}

func TestEvict(t *testing.T) {
	w := newWorld(t)
	refs := w.ready(workload("Deployment", "web", "  replicas: 2\n") +
		"---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: keep}\nspec: {minAvailable: 2, selector: {matchLabels: {app: web}}}\n")
	pods := w.pods(refs...)
	err := w.Replace(w.context(4*time.Second), pods[:1], objects.ReplaceOptions{Evict: true})
	e, ok := errors.AsType[*objects.BlockedError](err)
	if !ok || e.Pod.Name != pods[0].Name || !strings.Contains(err.Error(), "keep") {
		t.Fatal(err)
	}
	w.patch("policy/v1", "poddisruptionbudgets", "keep", `{"spec":{"minAvailable":1}}`)
	if err := w.Replace(w.context(time.Minute), pods, objects.ReplaceOptions{Evict: true}); err != nil {
		t.Fatal(err)
	}
	for _, p := range w.pods(refs...) {
		if p.UID == pods[0].UID || p.UID == pods[1].UID {
			t.Errorf("%s is there", p.Name)
		}
	}
}
