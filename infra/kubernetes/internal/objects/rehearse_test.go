package objects_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
)

const rehearsedWeb = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web}]}
`

// TestRehearse: dry runs find what the API server refuses, and change nothing.
func TestRehearse(t *testing.T) {
	w := newWorld(t)
	web := w.ready(rehearsedWeb + "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: mine}, data: {a: b}}\n")[0]
	w.create("v1", "configmaps", "{apiVersion: v1, kind: ConfigMap, metadata: {name: foreign, namespace: "+w.namespace+"}}")
	before := w.get(web)
	objs := w.parse(rehearsedWeb + `---
{apiVersion: v1, kind: ConfigMap, metadata: {name: mine}, data: {a: c}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: foreign}}
---
{apiVersion: v1, kind: Secret, metadata: {name: fresh}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: invalid, labels: {a: "b c"}}}
---
{apiVersion: none.example.com/v1, kind: Unknown, metadata: {name: a}}
---
{apiVersion: own.example.com/v1, kind: Own, metadata: {name: a}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: owns.own.example.com}
spec:
  group: own.example.com
  scope: Namespaced
  names: {plural: owns, singular: own, kind: Own, listKind: OwnList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`)
	for _, o := range objs {
		if o.GetKind() != "CustomResourceDefinition" {
			o.SetNamespace(w.namespace)
		}
	}
	findings, err := w.Rehearse(w.context(time.Minute), objs, w.owner)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range findings {
		got = append(got, f.String())
	}
	if diff := cmp.Diff([]string{"ConfigMap " + w.namespace + "/foreign", "ConfigMap " + w.namespace + "/invalid", "Unknown " + w.namespace + "/a"}, got); diff != "" {
		t.Errorf("%v\n%s", findings, diff)
	}
	if now := w.get(web); now.GetResourceVersion() != before.GetResourceVersion() || w.get(objects.Ref{APIVersion: "v1", Kind: "Secret", Namespace: w.namespace, Name: "fresh"}) != nil {
		t.Error("a dry run has changed something")
	}
}

// TestClear: pods of a StatefulSet are deleted, and its claims stay although its retention policy says otherwise.
func TestClear(t *testing.T) {
	w := newWorld(t)
	w.volumes(2)
	w.ready(workload("StatefulSet", "db", "  serviceName: db\n  replicas: 2\n  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}\n"+
		"  volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: by-hand, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}}]\n"))
	set := objects.RefOf(w.get(objects.Ref{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: w.namespace, Name: "db"}))
	claims, err := w.Claims(t.Context(), []objects.Ref{set})
	if err != nil || len(claims) != 2 {
		t.Fatal(claims, err)
	}
	var pods []objects.Ref
	for _, p := range w.pods(set) {
		pods = append(pods, p.Ref())
	}
	for range 2 { // the second time there is nothing to do
		if err := w.Clear(w.context(time.Minute), []objects.Ref{set}, pods); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range append([]objects.Ref{set}, pods...) {
		if w.get(r) != nil {
			t.Errorf("%s exists", r)
		}
	}
	for _, r := range claims {
		if o := w.get(r); o == nil || o.GetDeletionTimestamp() != nil || len(o.GetOwnerReferences()) > 0 {
			t.Errorf("%s: %v", r, o)
		}
	}
}
