package helmsdk_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"os"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helmsdk"
	"github.com/vnfkit/vnfkit/helmclient/helmtest"
)

// cluster is a real one, with controllers and nodes on which pods run, when there is one.
func cluster(t *testing.T) *rest.Config {
	t.Helper()
	path := os.Getenv("VNFKIT_KUBECONFIG")
	if path == "" {
		t.Skip("needs a cluster: VNFKIT_KUBECONFIG names the kubeconfig of one")
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func TestContract(t *testing.T) {
	config := cluster(t)
	helmtest.Run(t, func(t *testing.T) helmtest.Subject {
		t.Helper()
		c, err := helmsdk.New(helmsdk.Config{Cluster: config, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		return helmtest.Subject{Client: c, Cluster: config}
	})
}

// TestStorages keeps releases elsewhere than in Secrets.
func TestStorages(t *testing.T) {
	config := cluster(t)
	for _, storage := range []helmsdk.Storage{helmsdk.Memory, helmsdk.ConfigMaps} {
		t.Run(string(storage), func(t *testing.T) {
			t.Parallel()
			c, err := helmsdk.New(helmsdk.Config{Cluster: config, Dir: t.TempDir(), Storage: storage, Namespace: "default"})
			if err != nil {
				t.Fatal(err)
			}
			names := []string{"x", "y", "z"}
			var running sync.WaitGroup
			for _, name := range names {
				running.Go(func() { life(t, c, string(storage)+"-"+name) })
			}
			running.Wait()
		})
	}
}

// life is that of one release, with others looking at it meanwhile.
func life(t *testing.T, c *helmsdk.Client, release string) {
	t.Helper()
	n := helmclient.Name{Release: release}
	members := small("1.0.0")
	members["small/templates/config.yaml"] = strings.ReplaceAll(members["small/templates/config.yaml"], "name: a", "name: "+release)
	r := helmclient.Install{Name: n, Chart: archive(packed(members)), Labels: map[string]string{"vnf": release}}
	var looking sync.WaitGroup
	looking.Go(func() {
		for range 20 {
			_, _ = c.Status(t.Context(), n)
			_, _ = c.List(t.Context(), helmclient.Filter{Namespace: "default"})
		}
	})
	defer looking.Wait()
	if _, err := c.Install(t.Context(), r); err != nil {
		t.Error(err)
		return
	}
	if _, err := c.Upgrade(t.Context(), helmclient.Upgrade{Install: r}); err != nil {
		t.Error(err)
	}
	list, err := c.List(t.Context(), helmclient.Filter{Labels: map[string]string{"vnf": release}})
	if err != nil || len(list) != 1 || list[0].Revision != 2 || list[0].Namespace != "default" {
		t.Errorf("list: %v %v", list, err)
	}
	if err := c.Uninstall(t.Context(), helmclient.Uninstall{Name: n}); err != nil {
		t.Error(err)
	}
	if _, err := c.Status(t.Context(), n); !errors.Is(err, helmclient.ErrNotFound) {
		t.Errorf("status: %v", err)
	}
}

// TestCancelAtomic ends an atomic install in the middle of its wait: what was made is removed all the same.
func TestCancelAtomic(t *testing.T) {
	config := cluster(t)
	c, err := helmsdk.New(helmsdk.Config{Cluster: config, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	n := helmclient.Name{Release: "cancel-atomic"}
	ctx, cancel := context.WithCancelCause(t.Context())
	mine := errors.New("enough of it")
	members := small("1.0.0")
	members["small/templates/pod.yaml"] = "apiVersion: v1\nkind: Pod\nmetadata: {name: cancel-atomic}\nspec:\n" +
		"  nodeSelector: {never: ready}\n  terminationGracePeriodSeconds: 0\n  containers: [{name: a, image: a}]\n"
	_, err = c.Install(ctx, helmclient.Install{
		Name: n, Chart: archive(packed(members)), Atomic: true,
		Wait: helmclient.Wait{Timeout: time.Minute, Progress: func(helmclient.Progress) { cancel(mine) }},
	})
	if !errors.Is(err, mine) {
		t.Errorf("install: %v", err)
	}
	if _, err := c.Status(t.Context(), n); !errors.Is(err, helmclient.ErrNotFound) {
		t.Errorf("status: %v", err)
	}
}

// TestOutage has the API server away for a moment in the middle of an install that waits.
func TestOutage(t *testing.T) {
	config := rest.CopyConfig(cluster(t))
	var dialer net.Dialer
	var mu sync.Mutex
	var until time.Time
	var open []net.Conn
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		mu.Lock()
		defer mu.Unlock()
		if time.Now().Before(until) {
			return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
		}
		conn, err := dialer.DialContext(ctx, network, address)
		open = append(open, conn)
		return conn, err
	}
	c, err := helmsdk.New(helmsdk.Config{Cluster: config, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	n := helmclient.Name{Release: "outage"}
	t.Cleanup(func() { _ = c.Uninstall(context.WithoutCancel(t.Context()), helmclient.Uninstall{Name: n}) })
	members := small("1.0.0")
	members["small/templates/config.yaml"] = "apiVersion: v1\nkind: Pod\nmetadata: {name: outage}\nspec:\n" +
		"  schedulingGates: [{name: example.com/wait}]\n  terminationGracePeriodSeconds: 0\n  containers: [{name: a, image: a}]\n"
	var once sync.Once
	_, err = c.Install(t.Context(), helmclient.Install{
		Name: n, Chart: archive(packed(members)),
		Wait: helmclient.Wait{Ready: true, Timeout: 12 * time.Second, Progress: func(helmclient.Progress) {
			once.Do(func() {
				mu.Lock()
				defer mu.Unlock()
				until = time.Now().Add(5 * time.Second)
				for _, conn := range open {
					_ = conn.Close()
				}
			})
		}},
	})
	var detail *helmclient.NotReadyError
	if !errors.As(err, &detail) || len(detail.Objects) != 1 || !strings.Contains(detail.Objects[0].Reason, "SchedulingGated") {
		t.Errorf("install: %v, want it to wait over the outage and tell of the pod", err)
	}
	if got, err := c.Status(t.Context(), n); err != nil || got.State != helmclient.Failed {
		t.Errorf("status: %v %v", got, err)
	}
}

// TestDeadline has the deadline of the caller come before that of the wait.
func TestDeadline(t *testing.T) {
	c, err := helmsdk.New(helmsdk.Config{Cluster: cluster(t), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	n := helmclient.Name{Release: "deadline"}
	t.Cleanup(func() { _ = c.Uninstall(context.WithoutCancel(t.Context()), helmclient.Uninstall{Name: n}) })
	members := small("1.0.0")
	members["small/templates/config.yaml"] = "apiVersion: v1\nkind: Pod\nmetadata: {name: deadline}\nspec:\n" +
		"  schedulingGates: [{name: example.com/wait}]\n  terminationGracePeriodSeconds: 0\n  containers: [{name: a, image: a}]\n"
	mine := errors.New("too late")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 4*time.Second, mine)
	defer cancel()
	_, err = c.Install(ctx, helmclient.Install{Name: n, Chart: archive(packed(members)), Wait: helmclient.Wait{Ready: true}})
	var detail *helmclient.NotReadyError
	if !errors.Is(err, mine) || !errors.As(err, &detail) || len(detail.Objects) != 1 || !strings.Contains(detail.Objects[0].Reason, "SchedulingGated") {
		t.Errorf("install: %v, want the cause and what was waited for", err)
	}
	if got, err := c.Status(t.Context(), n); err != nil || got.State != helmclient.Failed {
		t.Errorf("status: %v %v", got, err)
	}
}

// TestFailingRollback has a hook of a rollback fail: Helm's own command leaves such a release pending.
func TestFailingRollback(t *testing.T) {
	c, err := helmsdk.New(helmsdk.Config{Cluster: cluster(t), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	n := helmclient.Name{Release: "rollback"}
	t.Cleanup(func() { _ = c.Uninstall(context.WithoutCancel(t.Context()), helmclient.Uninstall{Name: n}) })
	members := small("1.0.0")
	members["small/templates/config.yaml"] = strings.ReplaceAll(members["small/templates/config.yaml"], "name: a", "name: rollback")
	members["small/templates/hook.yaml"] = "apiVersion: v1\nkind: Pod\nmetadata: {name: rollback-hook, annotations: {\"helm.sh/hook\": pre-rollback}}\nspec:\n" +
		"  schedulingGates: [{name: example.com/wait}]\n  terminationGracePeriodSeconds: 0\n  containers: [{name: a, image: a}]\n"
	r := helmclient.Install{Name: n, Chart: archive(packed(members))}
	for range 2 {
		if _, err := c.Upgrade(t.Context(), helmclient.Upgrade{Install: r, OrInstall: true}); err != nil {
			t.Fatal(err)
		}
	}
	_, err = c.Rollback(t.Context(), helmclient.Rollback{Name: n, Wait: helmclient.Wait{Timeout: 2 * time.Second}})
	if !errors.Is(err, helmclient.ErrNotReady) {
		t.Errorf("rollback: %v", err)
	}
	if got, err := c.Status(t.Context(), n); err != nil || got.State != helmclient.Failed || got.Revision != 3 {
		t.Errorf("status: %v %v", got, err)
	}
}
