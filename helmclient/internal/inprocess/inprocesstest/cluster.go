package inprocesstest

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
)

// clusterEnv is the environment variable with the kubeconfig of a cluster.
const clusterEnv = "VNFKIT_KUBECONFIG"

// Cluster is a real one, with controllers and nodes on which pods run, when there is one.
func Cluster(t *testing.T) *rest.Config {
	t.Helper()
	path := os.Getenv(clusterEnv)
	if path == "" {
		t.Skip("needs a cluster: " + clusterEnv + " names the kubeconfig of one")
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// RunOnCluster checks what is promised beyond the contract of helmclient (package helmtest), on a real cluster.
func RunOnCluster(t *testing.T, open Open) {
	t.Helper()
	config := Cluster(t)
	for name, test := range map[string]func(*testing.T, *rest.Config, Open){
		"cancel atomic": testCancelAtomic, "outage": testOutage, "deadline": testDeadline, "failing rollback": testFailingRollback,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, config, open)
		})
	}
}

func (o Open) on(t *testing.T, config *rest.Config) helmclient.Client {
	t.Helper()
	c, err := o(config, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Life runs through the operations on one release in the namespace default, with concurrent readers.
func Life(t *testing.T, c helmclient.Client, release string) {
	t.Helper()
	n := helmclient.Name{Release: release}
	members := small("1.0.0")
	members["small/templates/config.yaml"] = strings.ReplaceAll(members["small/templates/config.yaml"], "name: a", "name: "+release)
	r := helmclient.Install{Name: n, Chart: archive(Packed(members)), Labels: map[string]string{"vnf": release}}
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

// testCancelAtomic ends an atomic install in the middle of its wait: what was made is removed all the same.
func testCancelAtomic(t *testing.T, config *rest.Config, open Open) {
	c := open.on(t, config)
	n := helmclient.Name{Release: "cancel-atomic"}
	ctx, cancel := context.WithCancelCause(t.Context())
	mine := errors.New("enough of it")
	members := small("1.0.0")
	members["small/templates/pod.yaml"] = "apiVersion: v1\nkind: Pod\nmetadata: {name: cancel-atomic}\nspec:\n" +
		"  nodeSelector: {never: ready}\n  terminationGracePeriodSeconds: 0\n  containers: [{name: a, image: a}]\n"
	_, err := c.Install(ctx, helmclient.Install{
		Name: n, Chart: archive(Packed(members)), Atomic: true,
		Wait: helmclient.Wait{Timeout: time.Minute, Progress: func(helmclient.Progress) { cancel(mine) }},
	})
	if !errors.Is(err, mine) {
		t.Errorf("install: %v", err)
	}
	if _, err := c.Status(t.Context(), n); !errors.Is(err, helmclient.ErrNotFound) {
		t.Errorf("status: %v", err)
	}
}

// testOutage has the API server away for a moment in the middle of an install that waits.
func testOutage(t *testing.T, config *rest.Config, open Open) {
	config = rest.CopyConfig(config)
	var dialer net.Dialer
	var mu sync.Mutex
	var until time.Time
	var connections []net.Conn
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		mu.Lock()
		defer mu.Unlock()
		if time.Now().Before(until) {
			return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
		}
		conn, err := dialer.DialContext(ctx, network, address)
		connections = append(connections, conn)
		return conn, err
	}
	c := open.on(t, config)
	n := helmclient.Name{Release: "outage"}
	t.Cleanup(func() { _ = c.Uninstall(context.WithoutCancel(t.Context()), helmclient.Uninstall{Name: n}) })
	members := small("1.0.0")
	members["small/templates/config.yaml"] = "apiVersion: v1\nkind: Pod\nmetadata: {name: outage}\nspec:\n" +
		"  schedulingGates: [{name: example.com/wait}]\n  terminationGracePeriodSeconds: 0\n  containers: [{name: a, image: a}]\n"
	var once sync.Once
	_, err := c.Install(t.Context(), helmclient.Install{
		Name: n, Chart: archive(Packed(members)),
		Wait: helmclient.Wait{Ready: true, Timeout: 12 * time.Second, Progress: func(helmclient.Progress) {
			once.Do(func() {
				mu.Lock()
				defer mu.Unlock()
				until = time.Now().Add(5 * time.Second)
				for _, conn := range connections {
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

// testDeadline has the deadline of the caller come before that of the wait.
func testDeadline(t *testing.T, config *rest.Config, open Open) {
	c := open.on(t, config)
	n := helmclient.Name{Release: "deadline"}
	t.Cleanup(func() { _ = c.Uninstall(context.WithoutCancel(t.Context()), helmclient.Uninstall{Name: n}) })
	members := small("1.0.0")
	members["small/templates/config.yaml"] = "apiVersion: v1\nkind: Pod\nmetadata: {name: deadline}\nspec:\n" +
		"  schedulingGates: [{name: example.com/wait}]\n  terminationGracePeriodSeconds: 0\n  containers: [{name: a, image: a}]\n"
	mine := errors.New("too late")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 4*time.Second, mine)
	defer cancel()
	_, err := c.Install(ctx, helmclient.Install{Name: n, Chart: archive(Packed(members)), Wait: helmclient.Wait{Ready: true}})
	var detail *helmclient.NotReadyError
	if !errors.Is(err, mine) || !errors.As(err, &detail) || len(detail.Objects) != 1 || !strings.Contains(detail.Objects[0].Reason, "SchedulingGated") {
		t.Errorf("install: %v, want the cause and what was waited for", err)
	}
	if got, err := c.Status(t.Context(), n); err != nil || got.State != helmclient.Failed {
		t.Errorf("status: %v %v", got, err)
	}
}

// testFailingRollback has a hook of a rollback fail: Helm's own command leaves such a release pending.
func testFailingRollback(t *testing.T, config *rest.Config, open Open) {
	c := open.on(t, config)
	n := helmclient.Name{Release: "rollback"}
	t.Cleanup(func() { _ = c.Uninstall(context.WithoutCancel(t.Context()), helmclient.Uninstall{Name: n}) })
	members := small("1.0.0")
	members["small/templates/config.yaml"] = strings.ReplaceAll(members["small/templates/config.yaml"], "name: a", "name: rollback")
	members["small/templates/hook.yaml"] = "apiVersion: v1\nkind: Pod\nmetadata: {name: rollback-hook, annotations: {\"helm.sh/hook\": pre-rollback}}\nspec:\n" +
		"  schedulingGates: [{name: example.com/wait}]\n  terminationGracePeriodSeconds: 0\n  containers: [{name: a, image: a}]\n"
	r := helmclient.Install{Name: n, Chart: archive(Packed(members))}
	for range 2 {
		if _, err := c.Upgrade(t.Context(), helmclient.Upgrade{Install: r, OrInstall: true}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := c.Rollback(t.Context(), helmclient.Rollback{Name: n, Wait: helmclient.Wait{Timeout: 2 * time.Second}})
	if !errors.Is(err, helmclient.ErrNotReady) {
		t.Errorf("rollback: %v", err)
	}
	if got, err := c.Status(t.Context(), n); err != nil || got.State != helmclient.Failed || got.Revision != 3 {
		t.Errorf("status: %v %v", got, err)
	}
}
