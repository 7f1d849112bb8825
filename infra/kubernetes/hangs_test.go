package kubernetes_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/internal/cnftest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// brief is a Config whose steps end soon.
func brief(c *kubernetes.Config) { c.Ready, c.Gone = 10*time.Second, 10*time.Second }

// webhook refuses to answer for objects of a resource, because its Service does not exist. The function that is returned
// removes the webhook.
func (l *lab) webhook(operation, group, resource string) (remove func()) {
	l.t.Helper()
	kind := l.dynamic.Resource(schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"})
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
		"metadata": map[string]any{"name": "foreign"}, "webhooks": []any{map[string]any{"name": "hook.example.com", "sideEffects": "None",
			"admissionReviewVersions": []any{"v1"}, "clientConfig": map[string]any{"service": map[string]any{"name": "hook", "namespace": "default"}},
			"rules": []any{map[string]any{"operations": []any{operation}, "apiGroups": []any{group}, "apiVersions": []any{"v1"}, "resources": []any{resource}}}}}}}
	if _, err := kind.Create(l.t.Context(), o, metav1.CreateOptions{}); err != nil {
		l.t.Fatal(err)
	}
	return func() {
		if err := kind.Delete(l.t.Context(), "foreign", metav1.DeleteOptions{}); err != nil {
			l.t.Fatal(err)
		}
	}
}

// heldNamespace makes the namespace shop, of another client, and deletes it. A finalizer of that name holds it.
func (l *lab) heldNamespace(finalizer string) (release func()) {
	l.t.Helper()
	l.create("", "namespaces", `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "finalizers": [%q]}}`, finalizer)
	namespaces := l.dynamic.Resource(resources["namespaces"])
	if err := namespaces.Delete(l.t.Context(), "shop", metav1.DeleteOptions{}); err != nil {
		l.t.Fatal(err)
	}
	return func() {
		if _, err := namespaces.Patch(context.WithoutCancel(l.t.Context()), "shop", types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{}); err != nil {
			l.t.Error(err)
		}
	}
}

// failsWith waits for an operation that fails, and compares parts of its error.
func (l *lab) failsWith(op string, err error, parts ...string) error {
	l.t.Helper()
	err = l.fails(op, err)
	text := err.Error()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			l.t.Errorf("the error does not have %q:\n%s", part, text)
		}
	}
	return err
}

// rollback rolls an operation back that has failed.
func (l *lab) rollback(op string) {
	l.t.Helper()
	if err := l.Rollback(l.t.Context(), op); err != nil {
		l.t.Fatal(err)
	}
	if occ, err := l.Wait(l.t.Context(), op); occ == nil || occ.OperationState != vnflcm.RolledBack {
		l.t.Fatalf("%+v %v", occ, err)
	}
}

// TestStepsHaveLimits: what does not pass within Config.Ready fails with the last reason, which is also reported while the
// operation waits. A retry continues.
func TestStepsHaveLimits(t *testing.T) {
	t.Parallel()
	const noHook = `failed calling webhook "hook.example.com"`
	for name, c := range map[string]struct {
		trouble func(l *lab) (remove func())
		parts   []string
	}{
		"webhook without a service": {func(l *lab) func() { return l.webhook("CREATE", "", "configmaps") }, []string{noHook, `service "hook" not found`, "ConfigMap shop/", "no success within 10s"}},
		"namespace that is being deleted": {func(l *lab) func() { return l.heldNamespace("example.com/hold") },
			[]string{"Namespace shop: is being deleted", "example.com/hold", "no success within 10s"}},
		"API that fails": {func(l *lab) func() {
			l.cluster.Fail(cnftest.Fault{Method: http.MethodPatch, Path: "/deployments", Code: http.StatusInternalServerError, Message: "etcdserver: no leader", Times: -1})
			return l.cluster.Heal
		}, []string{"etcdserver: no leader", "Deployment shop/", "no success within 10s"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, kubernetes.VimTypeV1)
			l.Manager = l.start(brief)
			remove := c.trouble(l)
			op, err := l.Instantiate(t.Context(), l.id, l.request("simple", plainParams))
			l.failsWith(op, err, c.parts...)
			if !l.heard("waiting: ") || !l.heard(c.parts[0]) {
				t.Error("the reason was not reported while the operation waited")
			}
			remove()
			l.Manager = l.start()
			l.must(op, l.Retry(t.Context(), op))
			l.terminate(vnflcm.TerminateForceful, "{}")
		})
	}
}

func TestScalingHasLimits(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV1)
	l.instantiate("simple", plainParams)
	l.Manager = l.start(brief)
	remove := l.webhook("UPDATE", "apps", "*/scale")
	op, err := l.Scale(t.Context(), l.id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "webs"})
	l.failsWith(op, err, `failed calling webhook "hook.example.com"`, "no success within 10s")
	if !l.heard(`failed calling webhook`) {
		t.Error("the reason was not reported while the operation waited")
	}
	remove()
	l.Manager = l.start()
	l.must(op, l.Retry(t.Context(), op))
}

// TestNamespaceIsReleased installs into a namespace that another client was deleting when the operation began.
func TestNamespaceIsReleased(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV1)
	release := l.heldNamespace("example.com/hold")
	op, err := l.Instantiate(t.Context(), l.id, l.request("simple", plainParams))
	for deadline := time.Now().Add(time.Minute); !l.heard("example.com/hold"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("what holds the namespace was not reported")
		}
	}
	release()
	l.must(op, err)
}

// aggregate registers an API whose server does not exist.
func (l *lab) aggregate() {
	l.t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1beta1.metrics.example.com"},
		"spec": map[string]any{"group": "metrics.example.com", "version": "v1beta1", "groupPriorityMinimum": int64(100), "versionPriority": int64(100),
			"service": map[string]any{"name": "metrics", "namespace": "kube-system"}}}}
	if _, err := l.dynamic.Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}).Create(context.WithoutCancel(l.t.Context()), o, metav1.CreateOptions{}); err != nil {
		l.t.Error(err)
	}
}

// TestNamespaceStays terminates a VNF whose namespace cannot be inspected: the operation completes, warns, and leaves the
// namespace.
func TestNamespaceStays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		trouble func(l *lab)
		warning string
	}{
		"an aggregated API is down": {(*lab).aggregate, "metrics.example.com/v1beta1"},
		"a kind may not be listed": {func(l *lab) {
			l.cluster.Fail(cnftest.Fault{Method: http.MethodGet, Path: "/resourcequotas", Code: http.StatusForbidden, Times: -1,
				Message: `resourcequotas is forbidden: User "vnfm" cannot list resource "resourcequotas" in API group "" in the namespace "shop"`})
		}, "cannot list resource"},
		"claims may not be listed": {func(l *lab) {
			l.cluster.Fail(cnftest.Fault{Method: http.MethodGet, Path: "/persistentvolumeclaims", Code: http.StatusForbidden, Times: -1,
				Message: `persistentvolumeclaims is forbidden: User "vnfm" cannot list resource "persistentvolumeclaims" in API group "" in the namespace "shop"`})
		}, "they stay"},
		"a kind answers with an error": {func(l *lab) {
			l.cluster.Fail(cnftest.Fault{Method: http.MethodGet, Path: "/limitranges", Code: http.StatusServiceUnavailable, Message: "the server is currently unable to handle the request", Times: -1})
		}, "limitranges"},
		"an aggregated API fails while the namespace is deleted": {func(l *lab) {
			var once sync.Once
			l.cluster.Observe(func(method, path string) {
				if method == http.MethodDelete && strings.Contains(path, "/namespaces/shop?") {
					once.Do(l.aggregate)
				}
			})
		}, "metrics.example.com/v1beta1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, kubernetes.VimTypeV1)
			params := plainParams
			if name == "claims may not be listed" {
				params = twoReleases
			}
			l.instantiate("simple", params)
			var log bytes.Buffer
			cfg := l.config()
			cfg.Gone = 20 * time.Second // removals must succeed in this time, and the unreadable kinds are asked for until its end
			l.Manager = l.compose(kubernetes.New(cfg), func(c *vnflcm.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
			c.trouble(l)
			l.terminate(vnflcm.TerminateForceful, "{}")
			if err := l.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(log.String(), c.warning) || !strings.Contains(log.String(), "namespace=shop") {
				t.Errorf("the log does not have %q:\n%s", c.warning, &log)
			}
			l.get("", "namespaces", "shop")
			l.cluster.Heal()
			if left := l.objects("shop", workloads...); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// jobManifests are like those of ingress-nginx: the Jobs that make and register a certificate are deleted when they are done.
const jobManifests = `
---
apiVersion: batch/v1
kind: Job
metadata: {name: admission-create}
spec:
  ttlSecondsAfterFinished: 0
  template:
    spec: {restartPolicy: OnFailure, containers: [{name: create, image: certgen}]}
`

// TestJobsThatEnd instantiates and scales manifests with a Job that Kubernetes deletes as soon as the Job is done.
func TestJobsThatEnd(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV1)
	l.files["Files/plain.yaml"].Data = []byte(plainManifests + jobManifests)
	l.instantiate("simple", plainParams)
	l.scale(vnflcm.ScaleOut, "webs", 1)
	l.terminate(vnflcm.TerminateForceful, "{}")
}

// TestWaitsAreReported: while objects are deleted and pods are replaced, the operation reports what it waits for.
func TestWaitsAreReported(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV1)
	l.files["Files/plain.yaml"].Data = []byte(strings.Replace(plainManifests, "{name: settings}", "{name: settings, finalizers: [example.com/hold]}", 1))
	l.instantiate("simple", plainParams)
	for _, node := range []string{"node-1", "node-2", "node-3"} {
		l.cluster.SetNodeDown(node, true)
	}
	var web string
	for id := range l.vnfcs("WEB") {
		web = id
	}
	l.Manager = l.start(func(c *kubernetes.Config) { c.Ready, c.Gone = 5*time.Second, 5*time.Second })
	op, err := l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{web}})
	l.failsWith(op, err, "containers have not ended on node")
	if !l.heard("waiting: kubernetes: not gone: Pod shop/web-") {
		t.Error("the heal did not report what it waited for")
	}
	for _, node := range []string{"node-1", "node-2", "node-3"} {
		l.cluster.SetNodeDown(node, false)
	}
	if err := l.Fail(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	op, err = l.Terminate(t.Context(), l.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
	l.failsWith(op, err, "ConfigMap shop/settings", "example.com/hold")
	if !l.heard("waiting: kubernetes: not gone: ConfigMap shop/settings: held by the finalizers example.com/hold") {
		t.Error("the termination did not report what it waited for")
	}
}
