package objects_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/internal/kubeaccess"
	"github.com/vnfkit/vnfkit/internal/retry"
)

const template = `template: {metadata: {labels: {app: NAME}}, spec: {containers: [{name: c, image: registry.example/i:1}], tolerations: [{operator: Exists}], terminationGracePeriodSeconds: 5}}`

// workload is one of group apps.
func workload(kind, name, spec string) string {
	return strings.ReplaceAll("---\napiVersion: apps/v1\nkind: "+kind+"\nmetadata: {name: NAME}\nspec:\n  selector: {matchLabels: {app: NAME}}\n  "+template+"\n"+spec, "NAME", name)
}

// everything is in an order in which nothing could be made.
var everything = `apiVersion: example.com/v1
kind: Widget
metadata: {name: w}
spec: {size: 1}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 5, minReplicas: 2}
` + workload("Deployment", "web", "  replicas: 2\n") + workload("DaemonSet", "agent", "") + workload("StatefulSet", "db", `  serviceName: db
  replicas: 2
  volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: by-hand, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}}]
`) + `---
apiVersion: v1
kind: List
items:
- apiVersion: batch/v1
  kind: Job
  metadata: {name: once}
  spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
- {apiVersion: v1, kind: Service, metadata: {name: db, namespace: other}, spec: {clusterIP: None, selector: {app: db}}}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: r}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}, subjects: [{kind: ServiceAccount, name: a}]}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}
---
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: a}
---
apiVersion: v1
kind: Namespace
metadata: {name: other}
---
` + widgets

const widgets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}, status: {type: object, properties: {size: {type: integer}}}}}}
`

// volumes creates volumes, because the test's cluster has no provisioner.
func (w *world) volumes(n int) {
	w.t.Helper()
	for i := range n {
		name := w.namespace + "-" + string(rune('a'+i))
		w.remove("v1", "persistentvolumes", "", name)
		w.create("v1", "persistentvolumes", `apiVersion: v1
kind: PersistentVolume
metadata: {name: `+name+`}
spec: {storageClassName: by-hand, accessModes: [ReadWriteOnce], capacity: {storage: 1Mi}, nfs: {server: nfs.example, path: /a}}
`)
		w.t.Cleanup(func() { // after the claim that has it
			w.remove("v1", "namespaces", "", w.namespace)
			w.remove("v1", "persistentvolumes", "", name)
		})
	}
}

func TestLife(t *testing.T) {
	w := newWorld(t)
	w.volumes(2)
	objs := w.apply(strings.ReplaceAll(everything, "other", w.namespace+"-2"))
	refs := objects.Refs(objs)
	var told []helmclient.Progress
	if err := w.Await(w.context(time.Minute), refs, func(p helmclient.Progress) { told = append(told, p) }); err != nil {
		t.Fatal(err)
	}
	if last := told[len(told)-1]; last.Ready != len(refs) || last.Total != len(refs) || len(last.Waiting) != 0 {
		t.Errorf("%+v", last)
	}
	count := map[string]int{}
	for _, p := range w.pods(refs...) {
		count[p.Top.Kind]++
		if p.Labels[objects.Label] != "" || p.UID == "" || p.Node == "" || p.Top.UID == "" || p.Controller.Name == "" || p.Created.IsZero() || p.Ready == p.Finished() {
			t.Errorf("%+v", p)
		}
	}
	nodes, err := w.cluster.Dynamic.Resource(resource("v1", "nodes")).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"Deployment": 2, "StatefulSet": 2, "DaemonSet": len(nodes.Items), "Job": 1}, count); diff != "" {
		t.Error(diff)
	}
	before := map[string]string{}
	for _, r := range refs {
		o := w.get(r)
		if o.GetLabels()[objects.Label] != w.owner.Instance {
			t.Errorf("%s has no owner", r)
		}
		before[r.String()] = string(o.GetUID())
	}
	// Once more, as a process does that was killed.
	if err := w.Apply(w.context(time.Minute), objs, w.owner); err != nil {
		t.Fatal(err)
	}
	for _, r := range refs {
		if string(w.get(r).GetUID()) != before[r.String()] {
			t.Errorf("%s was made again", r)
		}
	}
	claims, err := w.Claims(t.Context(), refs)
	if err != nil || len(claims) != 2 {
		t.Fatalf("%v, %v", claims, err)
	}
	// An object of that name that belongs to another owner stays.
	w.patch("v1", "configmaps", "c", `{"metadata":{"labels":{"vnfkit.io/vnf-instance":"other"}}}`)
	for range 2 {
		if err := w.Delete(w.context(time.Minute), refs, objects.DeleteOptions{Owner: w.owner, Propagation: metav1.DeletePropagationBackground}); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range refs {
		if o := w.get(r); (o != nil) != (r.Kind == "ConfigMap") {
			t.Errorf("%s: %v", r, o)
		}
	}
	for _, r := range claims {
		if w.get(r) == nil {
			t.Errorf("%s is gone", r)
		}
	}
}

func TestClaims(t *testing.T) {
	w := newWorld(t)
	w.volumes(1)
	refs := w.ready(workload("StatefulSet", "db", "  serviceName: db\n  volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: by-hand, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}}]\n"))
	claims, err := w.Claims(t.Context(), refs)
	if err != nil || len(claims) != 1 {
		t.Fatalf("%v, %v", claims, err)
	}
	w.create("v1", "persistentvolumeclaims", "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data-db-0-mine, namespace: "+w.namespace+", labels: {app: db}}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}")
	if err := w.Delete(w.context(time.Minute), refs, objects.DeleteOptions{Owner: w.owner, Claims: true}); err != nil {
		t.Fatal(err)
	}
	if w.get(claims[0]) != nil {
		t.Error("the claim is there")
	}
	if w.get(objects.Ref{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: w.namespace, Name: "data-db-0-mine"}) == nil {
		t.Error("a claim that is none of the set's is gone")
	}
}

func TestForeign(t *testing.T) {
	w := newWorld(t)
	w.create("v1", "configmaps", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: "+w.namespace+"}")
	objs := w.parse("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n")
	if err := w.Place(t.Context(), objs, w.namespace); err != nil {
		t.Fatal(err)
	}
	err := w.Apply(t.Context(), objs, w.owner)
	if !errors.Is(err, objects.ErrForeign) || !strings.Contains(err.Error(), w.namespace+"/b") {
		t.Error(err)
	}
	if w.get(objects.RefOf(objs[0])) != nil {
		t.Error("something was applied")
	}
}

func TestPlaceFaults(t *testing.T) {
	w := newWorld(t)
	objs := w.parse("apiVersion: none.example/v1\nkind: Gadget\nmetadata: {name: g}\n---\napiVersion: v1\nkind: Gadget\nmetadata: {name: g}\n---\napiVersion: v1\nkind: Node\nmetadata: {name: node, namespace: x}\n")
	err := w.Place(t.Context(), objs, w.namespace)
	if !errors.Is(err, kubeaccess.ErrNoKind) || strings.Count(err.Error(), "\n") != 1 {
		t.Error(err)
	}
	if objs[2].GetNamespace() != "" {
		t.Error("a node has a namespace")
	}
}

// TestDistinct compares objects after they have their namespaces.
func TestDistinct(t *testing.T) {
	w := newWorld(t)
	const config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {a: %s}\n"
	objs := w.parse(fmt.Sprintf(config, "a", "x") + "---\n" + fmt.Sprintf(config, "b", "x") + "---\n" + fmt.Sprintf(config, "a, namespace: "+w.namespace, "x") +
		"---\n" + fmt.Sprintf(config, "b", "y"))
	if err := w.Place(t.Context(), objs, w.namespace); err != nil {
		t.Fatal(err)
	}
	got, err := objects.Distinct(objs, []string{"one", "one", "two", "three"})
	if diff := cmp.Diff(objs[:2], got); diff != "" {
		t.Error(diff)
	}
	if !errors.Is(err, objects.ErrUnequal) || !strings.Contains(err.Error(), "ConfigMap "+w.namespace+"/b of one and of three") || strings.Contains(err.Error(), "two") {
		t.Error(err)
	}
}

// TestRendered reads what Helm and the API server accept, and no manifest of a package may have.
func TestRendered(t *testing.T) {
	w := newWorld(t)
	const config = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {a: %s}\n"
	m, err := w.Manifest(t.Context(), "rendered", []byte(fmt.Sprintf(config, "a, annotations: {n: 1}, labels: ", "x")+fmt.Sprintf(config, "b", "v")+
		fmt.Sprintf(config, "a", "z")+"---\napiVersion: none.example/v1\nkind: Gadget\nmetadata: {name: g}\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {generateName: once-}\n"), w.namespace)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, r := range m.Refs {
		got = append(got, fmt.Sprint(r, m.Objects[i].Object["data"]))
	}
	want := []string{"ConfigMap " + w.namespace + "/a map[a:z]", "ConfigMap " + w.namespace + "/b map[a:v]", "Gadget g <nil>", "Job " + w.namespace + "/ <nil>"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRefused(t *testing.T) {
	w := newWorld(t)
	w.apply(workload("Deployment", "web", ""))
	for name, c := range map[string]struct{ manifest, text string }{
		"immutable": {strings.ReplaceAll(workload("Deployment", "web", ""), "app: web", "app: other"), "field is immutable"},
		"invalid":   {"apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: 99999}]}", "99999"},
		"mistyped":  {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\ndata: [1]", "ConfigMap"},
		"namespace": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s, namespace: nowhere}", `namespaces "nowhere" not found`},
	} {
		objs := w.parse(c.manifest)
		ctx := w.context(time.Minute)
		if err := w.Place(ctx, objs, w.namespace); err != nil {
			t.Fatal(err)
		}
		err := w.Apply(ctx, objs, w.owner)
		if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), objects.RefOf(objs[0]).String()) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNotReady(t *testing.T) {
	w := newWorld(t)
	refs := objects.Refs(w.apply(strings.Replace(workload("Deployment", "web", ""), "containers:", "nodeSelector: {none: such}, containers:", 1)))
	refs = append(refs, objects.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: w.namespace, Name: "absent"})
	err := w.Await(w.context(4*time.Second), refs, func(helmclient.Progress) {})
	e, ok := errors.AsType[*objects.NotReadyError](err)
	if !ok || !errors.Is(err, helmclient.ErrNotReady) || e.Failed || len(e.Objects) != 2 {
		t.Fatal(err)
	}
	for _, part := range []string{"Deployment web", "Unschedulable", "FailedScheduling", "absent, does not exist"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %v", part, err)
		}
	}
}

// TestReasons: the error says why, wherever Kubernetes has the reason. Clusters of the real part have no kubelets, so the cases with
// containers are for the simulation only.
func TestReasons(t *testing.T) {
	limit, kubelets := 2*time.Second, true
	if os.Getenv("VNFKIT_KUBECONFIG") != "" {
		limit, kubelets = 20*time.Second, false
	}
	claim := func(class string) string {
		return "{accessModes: [ReadWriteOnce], storageClassName: " + class + ", resources: {requests: {storage: 1Gi}}}"
	}
	for name, c := range map[string]struct {
		manifest string
		parts    []string
	}{
		"quota": {"apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: few}\nspec: {hard: {pods: \"0\"}}\n" + workload("Deployment", "web", ""),
			[]string{"Deployment web", "ReplicaSet web-", "FailedCreate: pods", "exceeded quota: few, requested: pods=1, used: pods=0, limited: pods=0"}},
		"class of a claim": {workload("StatefulSet", "db", "  serviceName: db\n  volumeClaimTemplates: [{metadata: {name: data}, spec: "+claim("none")+"}]\n"),
			[]string{"StatefulSet db", "pod db-0: ", "claim data-db-0: PVC is not Bound", `ProvisioningFailed: storageclass.storage.k8s.io "none" not found`}},
		"claim without a consumer": {"apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: later}\nprovisioner: example.org/disk\nvolumeBindingMode: WaitForFirstConsumer\n---\n" +
			"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: " + claim("later") + "\n", []string{"PersistentVolumeClaim data", "WaitForFirstConsumer: waiting for first consumer to be created before binding"}},
		"run init container": {strings.Replace(workload("Deployment", "web", ""), "containers:", `initContainers: [{name: prepare, image: "crash:1"}], containers:`, 1),
			[]string{"pod web-", "prepare: CrashLoopBackOff", "last lines of container prepare: prepare begins | fatal: prepare cannot go on"}},
		"run image": {strings.Replace(workload("Deployment", "web", ""), "containers:", `initContainers: [{name: prepare, image: "missing.example.com/prepare:1"}], containers:`, 1),
			[]string{"prepare: ImagePullBackOff", "no such host"}},
	} {
		if strings.HasPrefix(name, "run ") && !kubelets {
			continue
		}
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			err := w.Await(w.context(limit), objects.Refs(w.apply(c.manifest)), nil)
			for _, part := range c.parts {
				if !strings.Contains(fmt.Sprint(err), part) {
					t.Errorf("%q is not in %v", part, err)
				}
			}
			if n := strings.Count(fmt.Sprint(err), "exceeded quota"); n > 1 {
				t.Errorf("the reason is there %d times: %v", n, err)
			}
		})
	}
}

func TestJobFails(t *testing.T) {
	w := newWorld(t)
	refs := objects.Refs(w.apply("apiVersion: batch/v1\nkind: Job\nmetadata: {name: once}\nspec: {activeDeadlineSeconds: 1, backoffLimit: 0, template: {spec: {restartPolicy: Never, nodeSelector: {none: such}, containers: [{name: c, image: i}]}}}"))
	ctx := w.context(time.Minute)
	for !strings.Contains(fmt.Sprint(w.get(refs[0]).Object["status"]), "type:Failed") {
		if retry.Pause(ctx, 100*time.Millisecond) != nil {
			t.Fatal("the job does not fail")
		}
	}
	err := w.Await(ctx, refs, nil)
	e, ok := errors.AsType[*objects.NotReadyError](err)
	if !ok || !e.Failed || ctx.Err() != nil || !strings.Contains(err.Error(), "Job once") {
		t.Error(err)
	}
}

// TestEnded waits for objects that no longer exist: a Job that Kubernetes has deleted after its end, and a custom resource
// that its operator has deleted, are done. A Job that failed before it was deleted, and other kinds of objects, are not.
func TestEnded(t *testing.T) {
	w := newWorld(t)
	job := func(name, fields string) string {
		return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: " + name + "}\nspec: {ttlSecondsAfterFinished: 0, template: {spec: {restartPolicy: Never, " +
			"containers: [{name: c, image: \"web:1\"}]" + fields + "}\n"
	}
	for _, c := range []struct {
		name, manifest string
		remove         string // resource that another client deletes
		want           string // part of the error
	}{
		{"Job", job("done", "}}"), "", ""},
		{"Job that failed", job("bad", ", nodeSelector: {none: such}}}, activeDeadlineSeconds: 1"), "", "Job bad, DeadlineExceeded: Job was active longer than specified deadline"},
		{"custom resource", widgets + "\n---\napiVersion: example.com/v1\nkind: Widget\nmetadata: {name: once}\n", "widgets", ""},
		{"ConfigMap", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: once}\n", "configmaps", "ConfigMap once, does not exist"},
	} {
		refs := objects.Refs(w.apply(c.manifest))
		last := refs[len(refs)-1]
		if c.remove != "" {
			w.remove(last.APIVersion, c.remove, w.namespace, last.Name)
		}
		for ctx := w.context(time.Minute); w.get(last) != nil; {
			if retry.Pause(ctx, 100*time.Millisecond) != nil {
				t.Fatalf("%s: it does not end", c.name)
			}
		}
		limit := time.Minute
		if c.name == "ConfigMap" {
			limit = 2 * time.Second
		}
		err := w.Await(w.context(limit), refs, nil)
		if (err == nil) != (c.want == "") || !strings.Contains(fmt.Sprint(err), c.want) || err != nil && !errors.Is(err, helmclient.ErrNotReady) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	w.remove("apiextensions.k8s.io/v1", "customresourcedefinitions", "", "widgets.example.com")
}

func TestStuck(t *testing.T) {
	w := newWorld(t)
	refs := w.ready("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, finalizers: [example.com/hold]}\n")
	err := w.Delete(w.context(3*time.Second), refs, objects.DeleteOptions{Owner: w.owner})
	e, ok := errors.AsType[*objects.StuckError](err)
	if !ok || len(e.Objects) != 1 || !strings.Contains(err.Error(), "example.com/hold") {
		t.Error(err)
	}
	w.patch("v1", "configmaps", "c", `{"metadata":{"finalizers":null}}`)
	if err := w.Delete(w.context(time.Minute), refs, objects.DeleteOptions{Owner: w.owner}); err != nil {
		t.Error(err)
	}
}

// The pods of a node that no longer exists do not end: without grace they are deleted immediately.
func TestForceful(t *testing.T) {
	w := newWorld(t)
	node := "gone"
	if w.sim != nil { // only on a cluster without real nodes
		node = "node-1"
		w.sim.SetNodeDown(node, true)
	}
	w.apply(strings.Replace(workload("StatefulSet", "db", "  serviceName: db\n"), "containers:", "nodeName: "+node+", containers:", 1) +
		"---\napiVersion: v1\nkind: Pod\nmetadata: {name: bare}\nspec: {nodeName: " + node + ", containers: [{name: c, image: i}]}\n")
	refs := []objects.Ref{{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: w.namespace, Name: "db"}, {APIVersion: "v1", Kind: "Pod", Namespace: w.namespace, Name: "bare"}}
	for ctx := w.context(time.Minute); len(w.pods(refs...)) != 2; {
		if retry.Pause(ctx, 100*time.Millisecond) != nil {
			t.Fatal("no pods")
		}
	}
	err := w.Delete(w.context(4*time.Second), refs, objects.DeleteOptions{Owner: w.owner})
	if _, ok := errors.AsType[*objects.StuckError](err); !ok || !strings.Contains(err.Error(), "on node "+node) || !strings.Contains(err.Error(), "/db-0") {
		t.Error(err)
	}
	var none time.Duration
	if err := w.Delete(w.context(time.Minute), append(refs, objects.Ref{APIVersion: "v1", Kind: "Pod", Namespace: w.namespace, Name: "db-0"}), objects.DeleteOptions{Owner: w.owner, Grace: &none}); err != nil {
		t.Error(err)
	}
	if o := w.get(objects.Ref{APIVersion: "v1", Kind: "Pod", Namespace: w.namespace, Name: "db-0"}); o != nil {
		t.Error("the pod is there")
	}
}
