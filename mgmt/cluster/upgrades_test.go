package cluster_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUpgradedParts reads the versions of a cluster while it is upgraded.
func TestUpgradedParts(t *testing.T) {
	t.Parallel()
	s := newSite(t, "m2", "w3")
	ctx := t.Context()
	tags, err := s.StaticPodTags(ctx, "kube-apiserver")
	if diff := cmp.Diff(map[netip.Addr]string{addressOf("m1"): "v1.36.3", addressOf("m2"): "v1.36.3"}, tags, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	is := func(version string) func(string) bool { return func(tag string) bool { return tag == version } }
	if err := errors.Join(s.WaitStaticPodTag(ctx, addressOf("m2"), "etcd", is("3.6.8-0")), s.WaitDaemonSetTag(ctx, "kube-system", "kube-proxy", is("v1.36.3")),
		s.WaitDaemonSetTag(ctx, "kube-system", "no-proxy", is("")), s.WaitKubelet(ctx, addressOf("w3"), is("v1.36.3"), func(string) {})); err != nil {
		t.Error(err)
	}
	var told []string
	for want, wait := range map[string]func(context.Context) error{
		"pod kube-scheduler-m2 still runs with the image registry.k8s.io/kube-scheduler:v1.36.3": func(ctx context.Context) error {
			return s.WaitStaticPodTag(ctx, addressOf("m2"), "kube-scheduler", is("v1.37.2"))
		},
		"DaemonSet kube-proxy still has the image with the tag v1.36.3": func(ctx context.Context) error {
			return s.WaitDaemonSetTag(ctx, "kube-system", "kube-proxy", is("v1.37.2"))
		},
		"the kubelet of node w3 still reports v1.36.3": func(ctx context.Context) error {
			return s.WaitKubelet(ctx, addressOf("w3"), is("v1.37.2"), func(message string) { told = append(told, message) })
		},
	} {
		ctx, cancel := context.WithCancel(ctx)
		rounds := 0
		s.when(func(string, string) {
			if rounds++; rounds == 10 {
				cancel()
			}
		})
		if err := wait(ctx); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
		cancel()
	}
	if diff := cmp.Diff([]string{"the kubelet of node w3 still reports v1.36.3"}, told); diff != "" {
		t.Error(diff)
	}
}

// TestUnschedulable cordons and uncordons a node, and finds the budget that allows no eviction.
func TestUnschedulable(t *testing.T) {
	t.Parallel()
	s := newSite(t, "w2")
	ctx := t.Context()
	for _, cordoned := range []bool{true, true, false} {
		if err := s.SetUnschedulable(ctx, "w2", cordoned); err != nil {
			t.Fatal(err)
		}
		if n, _, err := s.NodeAt(ctx, addressOf("w2")); err != nil || n.Spec.Unschedulable != cordoned {
			t.Errorf("%v, %v", n.Spec.Unschedulable, err)
		}
	}
	if err := s.SetUnschedulable(ctx, "w9", true); err != nil {
		t.Errorf("of a node that does not exist: %v", err)
	}
	s.apply(shop + pod("shop", "a", "ReplicaSet", "") + budgetFor("a"))
	names, err := s.BlockingBudgets(ctx)
	if len(names) != 1 || !strings.HasPrefix(names[0], "shop/") || err != nil {
		t.Errorf("%q, %v", names, err)
	}
}
