package readiness_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/readiness"
)

func TestPodReason(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ status, want string }{
		"ready": {`{phase: Running, conditions: [{type: Ready, status: "True"}]}`, ""},
		"done":  {`{phase: Succeeded}`, ""},
		"no node": {`{phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: no nodes}]}`,
			"Unschedulable: no nodes"},
		"starting":           {`{phase: Pending, containerStatuses: [{name: a, state: {waiting: {reason: ContainerCreating}}}]}`, "Pending: no node is assigned yet"},
		"image":              {`{phase: Pending, containerStatuses: [{name: a, state: {waiting: {reason: ErrImagePull, message: denied}}}]}`, "a: ErrImagePull: denied"},
		"init container":     {`{phase: Pending, initContainerStatuses: [{name: i, state: {terminated: {reason: Error, exitCode: 2}}}]}`, "i: Error (Error, exit code 2)"},
		"init is done":       {`{phase: Running, initContainerStatuses: [{name: i, state: {terminated: {reason: Completed, exitCode: 0}}}], conditions: [{type: Ready, status: "True"}]}`, ""},
		"crashes":            {`{phase: Running, containerStatuses: [{name: a, state: {waiting: {reason: CrashLoopBackOff, message: back-off}}, lastState: {terminated: {reason: Error, exitCode: 1, message: "no config\n"}}}]}`, "a: CrashLoopBackOff: back-off (Error, exit code 1: no config)"},
		"not ready":          {`{phase: Running, conditions: [{type: Ready, status: "False", reason: ContainersNotReady, message: "[a]"}]}`, "ContainersNotReady: [a]"},
		"evicted":            {`{phase: Failed, message: low on memory}`, "Failed: low on memory"},
		"ready without more": {`{phase: Running}`, ""},
	} {
		pod := object("{apiVersion: v1, kind: Pod, metadata: {name: p}, status: " + c.status + "}")
		if diff := cmp.Diff(c.want, readiness.PodReason(&pod)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestFailedContainers(t *testing.T) {
	t.Parallel()
	pod := object(`{apiVersion: v1, kind: Pod, metadata: {name: p}, status: {
		initContainerStatuses: [{name: init, state: {terminated: {exitCode: 0}}}, {name: migrate, state: {terminated: {exitCode: 2}}}],
		containerStatuses: [{name: crashes, ready: false, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1}}},
			{name: recovered, ready: true, state: {running: {}}, lastState: {terminated: {exitCode: 1}}}, {name: waits, state: {waiting: {reason: ImagePullBackOff}}}]}}`)
	want := []readiness.Container{{Name: "migrate"}, {Name: "crashes", Previous: true}}
	if diff := cmp.Diff(want, readiness.FailedContainers(&pod)); diff != "" {
		t.Error(diff)
	}
}

// A status may contain invalid values: other clients write it.
func TestNonsense(t *testing.T) {
	t.Parallel()
	for _, status := range []string{`{phase: 3, containerStatuses: [7, {state: 1}], conditions: {a: b}}`, `{}`, `7`} {
		pod := object("{apiVersion: v1, kind: Pod, metadata: {name: p, uid: p}, status: " + status + "}")
		readiness.Of([]unstructured.Unstructured{pod}, readiness.Related{Pods: []unstructured.Unstructured{pod}, Events: []unstructured.Unstructured{pod}})
	}
}

// Pods and events count for the object that they are of, and for no other one that is called alike.
func TestRelated(t *testing.T) {
	t.Parallel()
	set := object(`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: a, uid: s, generation: 1}, spec: {replicas: 1}, status: {observedGeneration: 1}}`)
	job := object(`{apiVersion: batch/v1, kind: Job, metadata: {name: db-1, namespace: a, uid: j}, status: {startTime: "2026-01-01T00:00:00Z"}}`)
	ready := object(`{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: a, uid: c}}`)
	pods := []unstructured.Unstructured{
		object(`{apiVersion: v1, kind: Pod, metadata: {name: db-0, namespace: a, uid: p0, ownerReferences: [{uid: s}]}, spec: {nodeName: n1}, status: {phase: Pending}}`),
		object(`{apiVersion: v1, kind: Pod, metadata: {name: db-1, namespace: a, uid: p1, ownerReferences: [{uid: other}]}, status: {phase: Failed}}`),
		object(`{apiVersion: v1, kind: Pod, metadata: {name: db-0, namespace: b, uid: p2, ownerReferences: [{uid: s}]}, status: {phase: Failed}}`),
	}
	var events []unstructured.Unstructured
	for _, e := range []string{
		`type: Warning, reason: Old, lastTimestamp: "2026-01-01T00:00:00Z", involvedObject: {uid: p0}`,
		`type: Warning, reason: D, lastTimestamp: "2026-01-01T00:00:04Z", involvedObject: {uid: s}`,
		`type: Warning, reason: C, lastTimestamp: "2026-01-01T00:00:03Z", involvedObject: {uid: p0}`,
		`type: Warning, reason: B, lastTimestamp: "2026-01-01T00:00:02Z", involvedObject: {uid: p0}`,
		`type: Normal, reason: Pulled, lastTimestamp: "2026-01-01T00:00:05Z", involvedObject: {uid: p0}`,
		`type: Warning, reason: Else, lastTimestamp: "2026-01-01T00:00:05Z", involvedObject: {uid: p1}`,
	} {
		events = append(events, object("{apiVersion: v1, kind: Event, "+e+"}"))
	}
	got := readiness.Of([]unstructured.Unstructured{set, ready, job}, readiness.Related{Pods: pods, Events: events})
	want := helmclient.Progress{Ready: 2, Total: 3, Waiting: []helmclient.Object{{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "a", Name: "db",
		Reason: "Replicas: 0/1", Pods: []string{"pod db-0: Pending: node n1 does not run it yet"}, Events: []string{"B", "C", "D"}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestBetween: the reason why a Deployment has no pods is at its ReplicaSet, and that of a pod can be at its claim. ReplicaSets of
// earlier revisions do not count.
func TestBetween(t *testing.T) {
	t.Parallel()
	const refused = `{conditions: [{type: ReplicaFailure, status: "True", reason: FailedCreate, message: "pods \"web-2-x\" is forbidden: exceeded quota: few"}]}`
	web := object(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: a, uid: d}, spec: {replicas: 2}}`)
	got := readiness.About(&web, readiness.Related{
		Between: []unstructured.Unstructured{
			object(`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-1, namespace: a, uid: r1, ownerReferences: [{uid: d}]}, spec: {replicas: 0}, status: ` + refused + `}`),
			object(`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-2, namespace: a, uid: r2, ownerReferences: [{uid: d}]}, spec: {replicas: 2}, status: ` + refused + `}`),
			object(`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: other, namespace: a, uid: r3, ownerReferences: [{uid: other}]}, spec: {replicas: 2}, status: ` + refused + `}`),
		},
		Pods: []unstructured.Unstructured{object(`{apiVersion: v1, kind: Pod, metadata: {name: web-2-a, namespace: a, uid: p, ownerReferences: [{uid: r2}]},
			spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: data}}, {name: tmp, ephemeral: {}}]},
			status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: unbound claims}]}}`)},
		Claims: []unstructured.Unstructured{
			object(`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: a, uid: c1}, status: {phase: Pending}}`),
			object(`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: web-2-a-tmp, namespace: a, uid: c2}, status: {phase: Bound}}`),
			object(`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: other, namespace: a, uid: c3}, status: {phase: Pending}}`),
		},
		Events: []unstructured.Unstructured{
			object(`{apiVersion: v1, kind: Event, type: Warning, reason: FailedCreate, message: "Error creating: pods \"web-2-x\" is forbidden: exceeded quota: few", involvedObject: {uid: r2}}`),
			object(`{apiVersion: v1, kind: Event, type: Warning, reason: FailedCreate, message: "Error creating: pods \"web-2-y\" is forbidden: exceeded quota: few", involvedObject: {uid: r2}}`),
			object(`{apiVersion: v1, kind: Event, type: Warning, reason: FailedCreate, message: "(combined from similar events): Error creating: pods \"web-2-z\" is forbidden: exceeded quota: few", involvedObject: {uid: r2}}`),
			object(`{apiVersion: v1, kind: Event, type: Normal, reason: WaitForFirstConsumer, message: waiting, involvedObject: {kind: PersistentVolumeClaim, uid: c1}}`),
			object(`{apiVersion: v1, kind: Event, type: Normal, reason: ProvisioningSucceeded, involvedObject: {kind: PersistentVolumeClaim, uid: c1}}`),
		},
	})
	want := helmclient.Object{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "a", Name: "web", Reason: got.Reason,
		Pods: []string{`ReplicaSet web-2: FailedCreate: pods "web-2-x" is forbidden: exceeded quota: few`, "pod web-2-a: Unschedulable: unbound claims",
			"claim data: PVC is not Bound. phase: Pending"},
		Events: []string{"WaitForFirstConsumer: waiting"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFailed(t *testing.T) {
	t.Parallel()
	job := object(`{apiVersion: batch/v1, kind: Job, metadata: {name: j}, status: {conditions: [{type: Failed, status: "True", message: "it has failed 6 times"}]}}`)
	if !readiness.Failed(&job) {
		t.Error("a failed Job may still become ready")
	}
	if ready, reason := readiness.State(&job); ready || reason == "" {
		t.Error(ready, reason)
	}
	gone := object(`{apiVersion: v1, kind: ConfigMap, metadata: {name: c, deletionTimestamp: "2026-01-01T00:00:00Z"}}`)
	if ready, _ := readiness.State(&gone); ready {
		t.Error("what is being deleted is ready")
	}
}
