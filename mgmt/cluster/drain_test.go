package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt/cluster"
)

// pod is a manifest of a pod on w2. Without an owner it is a pod that no controller recreates.
func pod(namespace, name, owner, more string) string {
	owners := ""
	if owner != "" {
		owners = fmt.Sprintf(", ownerReferences: [{apiVersion: apps/v1, kind: %s, name: o, uid: u, controller: true}]", owner)
	}
	return fmt.Sprintf("---\napiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: %s, labels: {app: %s}%s%s}\nspec: {nodeName: w2, containers: [{name: c, image: c}]}\n", name, namespace, name, owners, more)
}

const shop = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"

func budgetFor(app string) string {
	return "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: keep, namespace: shop}\nspec: {minAvailable: 1, selector: {matchLabels: {app: " + app + "}}}\n"
}

func (s *site) hasPod(namespace, name string) bool {
	s.t.Helper()
	found, err := s.Exists(s.t.Context(), namespace, "pod", name)
	if err != nil {
		s.t.Fatal(err)
	}
	return found
}

func (s *site) cordoned(name string) bool {
	s.t.Helper()
	return s.nodeOf(name).Spec.Unschedulable
}

func (s *site) nodeOf(name string) cluster.Node {
	s.t.Helper()
	n, found, err := s.NodeAt(s.t.Context(), addressOf(name))
	if err != nil || !found {
		s.t.Fatal(found, err)
	}
	return n
}

// TestDrain: pods of all namespaces leave; those that belong to the node stay.
func TestDrain(t *testing.T) {
	t.Parallel()
	s := newSite(t, "w2", "w3")
	s.apply(shop + pod("shop", "a", "ReplicaSet", "") + pod("default", "b", "StatefulSet", "") +
		pod("kube-system", "static", "Node", `, annotations: {kubernetes.io/config.mirror: "x"}`) + pod("shop", "daemon", "DaemonSet", ""))
	for range 2 {
		if err := s.Drain(t.Context(), "w2", cluster.DrainOptions{Timeout: time.Minute}); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]bool{}
	for _, name := range []string{"shop/a", "default/b", "kube-system/static", "shop/daemon", "default/workload-w2", "default/workload-w3", "kube-system/kube-proxy-w2"} {
		namespace, pod, _ := strings.Cut(name, "/")
		got[name] = s.hasPod(namespace, pod)
	}
	want := map[string]bool{"shop/a": false, "default/b": false, "kube-system/static": true, "shop/daemon": true, "default/workload-w2": false, "default/workload-w3": true, "kube-system/kube-proxy-w2": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !s.cordoned("w2") || s.cordoned("w3") {
		t.Error("it is not cordoned, or another is")
	}
	if err := s.DeleteNode(t.Context(), "w3", s.nodeOf("w3").UID); err == nil || !strings.Contains(err.Error(), "drain it first") {
		t.Errorf("a node with pods: %v", err)
	}
	uid := s.nodeOf("w2").UID
	if err := s.DeleteNode(t.Context(), "w2", "of-an-earlier-node"); err != nil || s.nodeOf("w2").UID != uid {
		t.Errorf("a node that has joined under the name of another one: %v", err)
	}
	for range 2 {
		if err := s.DeleteNode(t.Context(), "w2", uid); err != nil {
			t.Error(err)
		}
	}
	if err := s.Drain(t.Context(), "w2", cluster.DrainOptions{Timeout: time.Minute}); err != nil {
		t.Errorf("a node that is gone: %v", err)
	}
}

// TestDrainOfUnmanagedPods: without Force nothing is evicted when something would be lost.
func TestDrainOfUnmanagedPods(t *testing.T) {
	t.Parallel()
	s := newSite(t, "w2")
	s.apply(shop + pod("shop", "alone", "", ""))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	err := s.Drain(ctx, "w2", cluster.DrainOptions{Timeout: time.Minute, Policy: cluster.DrainContinue})
	left, ok := errors.AsType[*cluster.DrainError](err)
	if !ok || ctx.Err() != nil {
		t.Fatalf("%v", err)
	}
	want := &cluster.DrainError{Node: "w2", Pods: []cluster.BlockedPod{{Namespace: "shop", Name: "alone", Reason: "no controller recreates it elsewhere"}}}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Error(diff)
	}
	if !s.hasPod("default", "workload-w2") {
		t.Error("another pod was evicted all the same")
	}
	if err := s.Drain(ctx, "w2", cluster.DrainOptions{Timeout: time.Minute, Force: true}); err != nil || s.hasPod("shop", "alone") {
		t.Errorf("by force: %v", err)
	}
}

// TestDrainPolicies: a disruption budget blocks an eviction.
func TestDrainPolicies(t *testing.T) {
	t.Parallel()
	const reason = "Cannot evict pod as it would violate the pod's disruption budget. The disruption budget keep needs 1 healthy pods and has 1 currently"
	left := &cluster.DrainError{Node: "w2", Pods: []cluster.BlockedPod{{Namespace: "shop", Name: "a", Reason: reason}}}
	for policy, c := range map[cluster.DrainPolicy]struct {
		err, warned *cluster.DrainError
		stays       bool
	}{
		"": {err: left, stays: true}, cluster.DrainFail: {err: left, stays: true},
		cluster.DrainContinue: {warned: left, stays: true}, cluster.DrainDelete: {},
	} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "w2")
			s.apply(shop + pod("shop", "a", "ReplicaSet", "") + budgetFor("a"))
			var warned *cluster.DrainError
			err := s.Drain(t.Context(), "w2", cluster.DrainOptions{Timeout: 2 * time.Second, Policy: policy, Warn: func(err error) {
				warned, _ = errors.AsType[*cluster.DrainError](err)
			}})
			got, _ := errors.AsType[*cluster.DrainError](err)
			if diff := cmp.Diff(c.err, got); diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
			if diff := cmp.Diff(c.warned, warned); diff != "" {
				t.Errorf("warning:\n%s", diff)
			}
			if s.hasPod("shop", "a") != c.stays || s.hasPod("default", "workload-w2") {
				t.Error("the wrong pods are left")
			}
			if c.err != nil && !strings.Contains(err.Error(), "1 pods have not left node w2; shop/a: Cannot evict") {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestDrainWaitsForBudget: the pod is evicted as soon as the budget allows it.
func TestDrainWaitsForBudget(t *testing.T) {
	t.Parallel()
	s := newSite(t, "w2")
	s.apply(shop + pod("shop", "a", "ReplicaSet", "") + budgetFor("a"))
	evictions, refused := 0, make(chan struct{})
	s.when(func(_, path string) {
		if strings.HasSuffix(path, "/pods/a/eviction") {
			if evictions++; evictions == 3 {
				close(refused)
			}
		}
	})
	drained := make(chan error)
	go func() { drained <- s.Drain(t.Context(), "w2", cluster.DrainOptions{Timeout: time.Minute}) }()
	<-refused
	s.apply(strings.ReplaceAll(budgetFor("a"), "minAvailable: 1", "minAvailable: 0"))
	if err := <-drained; err != nil || s.hasPod("shop", "a") {
		t.Errorf("%d evictions: %v", evictions, err)
	}
}

// TestDrainOfTheDead: nothing reports the end of the pods of a dead machine; Drain does not wait for them.
func TestDrainOfTheDead(t *testing.T) {
	t.Parallel()
	s := newSite(t, "w2")
	s.apply(shop + pod("shop", "a", "ReplicaSet", ""))
	s.stop("w2")
	s.asked()
	if err := s.Drain(t.Context(), "w2", cluster.DrainOptions{Timeout: time.Minute, Force: true}); err != nil {
		t.Fatal(err)
	}
	rounds := 0
	for _, request := range s.asked() {
		if request == "GET /api/v1/pods" {
			rounds++
		}
	}
	if rounds != 1 {
		t.Errorf("Drain looked %d times for pods that have ended", rounds)
	}
	if !s.hasPod("shop", "a") {
		t.Error("the pod has ended where nobody was left to end it")
	}
	if err := s.DeleteNode(t.Context(), "w2", s.nodeOf("w2").UID); err != nil || s.hasPod("shop", "a") {
		t.Errorf("the pod outlives its node: %v", err)
	}
}

// TestDrainCancelled: the cause is in the error, and is no policy's business.
func TestDrainCancelled(t *testing.T) {
	t.Parallel()
	s := newSite(t, "w2")
	s.apply(shop + pod("shop", "a", "ReplicaSet", "") + budgetFor("a"))
	errGone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	s.when(func(string, string) { cancel(errGone) })
	err := s.Drain(ctx, "w2", cluster.DrainOptions{Timeout: time.Minute, Policy: cluster.DrainContinue})
	if !errors.Is(err, errGone) {
		t.Errorf("%v", err)
	}
}
