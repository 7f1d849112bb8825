package cnftest_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/vnfkit/vnfkit/internal/cnftest"
)

func web(t *testing.T, replicas, image string) *unstructured.Unstructured {
	t.Helper()
	return parse(t, strings.NewReplacer("{{.Release.Name}}", "r", "{{.Values.replicas}}", replicas, "{{.Values.image}}", image).Replace(deployment))
}

func TestInformerSeesPods(t *testing.T) {
	c := cnftest.Start(t)
	d := client(t, c)
	var added, gone, readyNow atomic.Int32
	factory := dynamicinformer.NewDynamicSharedInformerFactory(d, 0)
	_, err := factory.ForResource(pods).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { added.Add(1) }, DeleteFunc: func(any) { gone.Add(1) },
		UpdateFunc: func(_, now any) {
			if o, ok := now.(*unstructured.Unstructured); ok {
				if phase, _, _ := unstructured.NestedString(o.Object, "status", "phase"); phase == "Running" {
					readyNow.Add(1)
				}
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	defer cancel()
	factory.WaitForCacheSync(ctx.Done())
	r := d.Resource(deployments).Namespace("default")
	if _, err := r.Create(t.Context(), web(t, "3", "web:1"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return added.Load() == 3 && readyNow.Load() >= 3 })
	if err := r.Delete(t.Context(), "r-web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return gone.Load() == 3 })
}

func TestDeleteWithPropagation(t *testing.T) {
	for _, c := range []struct {
		policy metav1.DeletionPropagation
		left   string
	}{{metav1.DeletePropagationForeground, ""}, {metav1.DeletePropagationBackground, ""}, {metav1.DeletePropagationOrphan, "web:1"}} {
		t.Run(string(c.policy), func(t *testing.T) {
			k := cnftest.Start(t)
			r := client(t, k).Resource(deployments).Namespace("default")
			if _, err := r.Create(t.Context(), web(t, "1", "web:1"), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			running(t, k, "web:1")
			other := "another"
			uid := metav1.Preconditions{ResourceVersion: &other}
			if err := r.Delete(t.Context(), "r-web", metav1.DeleteOptions{Preconditions: &uid}); !apierrors.IsConflict(err) {
				t.Errorf("another version: %v", err)
			}
			if err := r.Delete(t.Context(), "r-web", metav1.DeleteOptions{PropagationPolicy: &c.policy}); err != nil {
				t.Fatal(err)
			}
			eventually(t, func() bool {
				_, err := r.Get(t.Context(), "r-web", metav1.GetOptions{})
				return apierrors.IsNotFound(err) && images(t, k) == c.left
			})
		})
	}
}

func TestNamespaceIsEmptied(t *testing.T) {
	c := cnftest.Start(t)
	d := client(t, c)
	namespaces := d.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	if _, err := namespaces.Create(t.Context(), parse(t, "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	maps := d.Resource(configMaps).Namespace("shop")
	_, err := maps.Create(t.Context(), parse(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, finalizers: [example.com/held]}}"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := namespaces.Delete(t.Context(), "shop", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	ns, err := namespaces.Get(t.Context(), "shop", metav1.GetOptions{})
	if phase, _, _ := unstructured.NestedString(ns.Object, "status", "phase"); err != nil || phase != "Terminating" {
		t.Errorf("%q, %v", phase, err)
	}
	if _, err := maps.Create(t.Context(), parse(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: late}}"), metav1.CreateOptions{}); !apierrors.HasStatusCause(err, "NamespaceTerminating") {
		t.Errorf("%v", err)
	}
	held, err := maps.Get(t.Context(), "c", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	held.SetFinalizers(nil)
	if _, err := maps.Update(t.Context(), held, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool {
		_, err := namespaces.Get(t.Context(), "shop", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

func TestOptimisticLocking(t *testing.T) {
	c := cnftest.Start(t)
	r := client(t, c).Resource(configMaps).Namespace("default")
	o, err := r.Create(t.Context(), parse(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stale := o.DeepCopy()
	o.Object["data"] = map[string]any{"a": "1"}
	if _, err := r.Update(t.Context(), o, metav1.UpdateOptions{DryRun: []string{"All"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Update(t.Context(), o, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	stale.Object["data"] = map[string]any{"a": "2"}
	if _, err := r.Update(t.Context(), stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("%v", err)
	}
}

func TestUnhappyPods(t *testing.T) {
	c := cnftest.Start(t)
	d := client(t, c)
	for _, text := range []string{
		"{apiVersion: v1, kind: Pod, metadata: {name: missing}, spec: {containers: [{name: c, image: missing.example.net/a:1}]}}",
		"{apiVersion: v1, kind: Pod, metadata: {name: crash}, spec: {containers: [{name: c, image: 'example.net/crashing:1'}]}}",
		"{apiVersion: v1, kind: Pod, metadata: {name: nowhere}, spec: {nodeSelector: {a: b}, containers: [{name: c, image: a}]}}",
	} {
		if _, err := d.Resource(pods).Namespace("default").Create(t.Context(), parse(t, text), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	reason := func(name string) string {
		o, err := d.Resource(pods).Namespace("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		states, _, _ := unstructured.NestedSlice(o.Object, "status", "containerStatuses")
		for _, s := range states {
			state, _ := s.(map[string]any)
			if why, found, _ := unstructured.NestedString(state, "state", "waiting", "reason"); found {
				return why
			}
		}
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, item := range conditions {
			if cond, _ := item.(map[string]any); cond["status"] == "False" {
				why, _ := cond["reason"].(string)
				return why
			}
		}
		return ""
	}
	for name, want := range map[string][2]string{"missing": {"ImagePullBackOff", "BackOff"}, "crash": {"CrashLoopBackOff", "BackOff"}, "nowhere": {"Unschedulable", "FailedScheduling"}} {
		eventually(t, func() bool { return reason(name) == want[0] })
		events, err := d.Resource(schema.GroupVersionResource{Version: "v1", Resource: "events"}).Namespace("default").List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + name + ",reason=" + want[1]})
		if err != nil || len(events.Items) == 0 {
			t.Errorf("%s: no event %s: %v", name, want[1], err)
		}
	}
}

func TestScaleInHonoursCost(t *testing.T) {
	c := cnftest.Start(t)
	d := client(t, c)
	if _, err := d.Resource(deployments).Namespace("default").Create(t.Context(), web(t, "3", "web:1"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	running(t, c, "web:1 web:1 web:1")
	r := d.Resource(pods).Namespace("default")
	var all *unstructured.UnstructuredList
	eventually(t, func() bool {
		var err error
		all, err = r.List(t.Context(), metav1.ListOptions{FieldSelector: "status.phase=Running", LabelSelector: "app in (web, x),pod-template-hash"})
		return err == nil && len(all.Items) == 3
	})
	cheap := all.Items[0].GetName()
	if _, err := r.Patch(t.Context(), cheap, "application/merge-patch+json", []byte(`{"metadata":{"annotations":{"controller.kubernetes.io/pod-deletion-cost":"-1"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Resource(deployments).Namespace("default").Patch(t.Context(), "r-web", "application/merge-patch+json", []byte(`{"spec":{"replicas":2}}`), metav1.PatchOptions{}, "scale"); err != nil {
		t.Fatal(err)
	}
	running(t, c, "web:1 web:1")
	if _, err := r.Get(t.Context(), cheap, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("another one went: %v", err)
	}
}

func TestFaults(t *testing.T) {
	c := cnftest.Start(t)
	r := client(t, c).Resource(configMaps).Namespace("default")
	get := func() error {
		_, err := r.Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
		return err
	}
	var asked atomic.Int32
	c.Observe(func(string, string) { asked.Add(1) })
	c.Fail(cnftest.Fault{Path: "/configmaps", Code: 403})
	if err := get(); !apierrors.IsForbidden(err) {
		t.Errorf("%v", err)
	}
	c.Fail(cnftest.Fault{Method: "GET", Path: "/configmaps", Drop: true, Times: -1})
	if err := get(); err == nil {
		t.Error("a cut connection answered")
	}
	c.Heal()
	c.Fail(cnftest.Fault{Delay: 50 * time.Millisecond})
	if err := get(); err != nil {
		t.Error(err)
	}
	c.Stop()
	if err := get(); err == nil {
		t.Error("a stopped server answered")
	}
	c.Start()
	if err := get(); err != nil {
		t.Error(err)
	}
	if asked.Load() == 0 {
		t.Error("nothing was observed")
	}
	c.ExpireToken()
	if err := get(); !apierrors.IsUnauthorized(err) {
		t.Errorf("%v", err)
	}
}
