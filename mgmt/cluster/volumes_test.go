package cluster_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/mgmt/cluster"
)

const volumeA = `{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"a"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],
	"persistentVolumeReclaimPolicy":"Retain","nfs":{"server":"10.0.0.9","path":"/a"}}}`

const claimOfA = `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data","namespace":"default"},
	"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"","volumeName":"a","resources":{"requests":{"storage":"1Gi"}}}}`

// bound makes sure that the volumes cannot be removed, and why.
func bound(ctx context.Context, t *testing.T, remove func(context.Context, ...string) error) {
	t.Helper()
	err := remove(ctx, "b", "a", "none")
	if !errors.Is(err, cluster.ErrVolumeBound) || !strings.Contains(err.Error(), "a to default/data") {
		t.Errorf("%v", err)
	}
}

// TestWaitEndsInTheMiddle: when the time is over while the API is asked, the error still says what was missing.
func TestWaitEndsInTheMiddle(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	asked := 0
	s.when(func(_, path string) {
		if strings.HasPrefix(path, "/api/v1/persistentvolumes") {
			if asked++; asked == 2 {
				cancel()
			}
		}
	})
	err := s.WaitVolumes(ctx, []string{"none"}, func(string) {})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "1 of the persistent volumes are not there") {
		t.Errorf("%v", err)
	}
}

func TestVolumes(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := newSite(t)
	volumeB := strings.NewReplacer(`"a"`, `"b"`, `/a"`, `/b"`).Replace(volumeA)
	s.apply(volumeA + "\n---\n" + volumeB)
	wait := func(timeout time.Duration, names ...string) error {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		return s.WaitVolumes(ctx, names, func(string) {})
	}
	if err := wait(time.Minute, "a", "b"); err != nil {
		t.Error(err)
	}
	if err := wait(time.Second, "a", "none"); err == nil || !strings.Contains(err.Error(), "1 of the persistent volumes are not there") {
		t.Errorf("%v", err)
	}
	s.apply(claimOfA)
	bound(ctx, t, s.RemoveVolumes)
	if found, err := s.Exists(ctx, "", "persistentvolume", "b"); !found || err != nil {
		t.Errorf("a volume was removed beside one that is bound: %v", err)
	}
	if err := wait(time.Minute, "a", "b"); err != nil {
		t.Errorf("Bound is as good: %v", err)
	}
	err := s.Apply(ctx, []byte(strings.Replace(volumeA, "10.0.0.9", "10.0.0.8", 1)))
	if err == nil || !strings.Contains(err.Error(), "immutable") {
		t.Errorf("an address was changed: %v", err)
	}
	// A claim that comes between looking and removing keeps its volume.
	claimed := false
	s.when(func(method, path string) {
		if method == http.MethodDelete && strings.HasSuffix(path, "/persistentvolumes/b") && !claimed {
			claimed = true
			s.apply(strings.NewReplacer(`"data"`, `"late"`, `"a"`, `"b"`).Replace(claimOfA))
		}
	})
	if err := s.RemoveVolumes(ctx, "b"); !claimed || !errors.Is(err, cluster.ErrVolumeBound) {
		t.Errorf("claimed: %v, %v", claimed, err)
	}
	s.when(nil)
	for _, claim := range []string{"data", "late"} {
		if err := s.Delete(ctx, "default", "persistentvolumeclaim", claim); err != nil {
			t.Fatal(err)
		}
	}
	if found, err := s.Exists(ctx, "", "persistentvolume", "b"); !found || err != nil {
		t.Errorf("it was only its claim that kept the volume: %v", err)
	}
	for range 2 {
		if err := s.RemoveVolumes(ctx, "a", "b"); err != nil {
			t.Error(err)
		}
	}
	if found, err := s.Exists(ctx, "", "persistentvolume", "a"); found || err != nil {
		t.Errorf("%v, %v", found, err)
	}
}

// volumes: the same with the controllers of Kubernetes itself.
func (c *control) volumes(ctx context.Context, t *testing.T, k *cluster.Cluster[cluster.ControlPlaneNode]) {
	t.Helper()
	if err := errors.Join(k.Apply(ctx, []byte(volumeA)), k.WaitVolumes(ctx, []string{"a"}, func(message string) { t.Log(message) }), k.Apply(ctx, []byte(claimOfA))); err != nil {
		t.Fatal(err)
	}
	c.phase(ctx, "Bound")
	bound(ctx, t, k.RemoveVolumes)
	if err := k.Apply(ctx, []byte(strings.Replace(volumeA, "10.0.0.9", "10.0.0.8", 1))); err == nil || !strings.Contains(err.Error(), "immutable") {
		t.Errorf("an address was changed: %v", err)
	}
	if err := k.Delete(ctx, "default", "persistentvolumeclaim", "data"); err != nil {
		t.Fatal(err)
	}
	c.phase(ctx, "Released")
	if err := k.RemoveVolumes(ctx, "a"); err != nil {
		t.Error(err)
	}
	if found, err := k.Exists(ctx, "", "persistentvolume", "a"); found || err != nil {
		t.Errorf("%v, %v", found, err)
	}
}

// phase waits until the volume a is in that phase.
func (c *control) phase(ctx context.Context, phase string) {
	c.t.Helper()
	for !strings.Contains(string(c.ask(ctx, http.MethodGet, "/api/v1/persistentvolumes/a", "")), `"phase":"`+phase+`"`) {
		time.Sleep(100 * time.Millisecond)
	}
}
