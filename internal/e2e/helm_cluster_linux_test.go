package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/internal/e2e/controlplane"
)

// controlPlane is the cluster that all scenarios of Helm share. Each scenario uses separate namespaces. The first scenario
// starts the cluster.
var controlPlane struct {
	once    sync.Once
	err     error
	cluster *controlplane.Cluster
}

// clusterEnded ends the shared cluster after the tests, and with it the connections that clients keep to it.
type clusterEnded struct{ *testing.M }

// Run implements goleak.TestingM.
func (m clusterEnded) Run() int {
	code := m.M.Run()
	if c := controlPlane.cluster; c != nil {
		if err := c.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}

// needCluster returns the shared cluster, or skips the test.
func needCluster(t testing.TB) *controlplane.Cluster {
	t.Helper()
	parts := needParts(t, "helm")
	controlPlane.once.Do(func() {
		begin := time.Now()
		controlPlane.cluster, controlPlane.err = controlplane.Start(context.Background(), controlplane.Config{Programs: parts.Programs(), Stages: parts.Stages(),
			Dir: filepath.Join(site.network.Dir(), "controlplane"), Address: site.network.Gateway(), Nodes: 3})
		fmt.Fprintf(os.Stderr, "the control plane took %s to start\n", time.Since(begin).Round(100*time.Millisecond))
	})
	if controlPlane.err != nil {
		t.Fatal(controlPlane.err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(controlPlane.cluster.Logs())
		}
	})
	return controlPlane.cluster
}

// typed is client-go's client for a cluster.
func typed(t testing.TB, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	must(t, err)
	return client
}

// newNamespace makes a namespace that ends with the test.
func newNamespace(t testing.TB, config *rest.Config) string {
	t.Helper()
	client := typed(t, config)
	namespace, err := client.CoreV1().Namespaces().Create(t.Context(), &core.Namespace{ObjectMeta: meta.ObjectMeta{GenerateName: "e2e-"}}, meta.CreateOptions{})
	must(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			showPods(t, client, namespace.Name)
		}
		if err := client.CoreV1().Namespaces().Delete(context.Background(), namespace.Name, meta.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
	return namespace.Name
}

// showPods logs where the pods of a namespace are, and what has happened to its objects.
func showPods(t testing.TB, client *kubernetes.Clientset, namespace string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	pods, err := client.CoreV1().Pods(namespace).List(ctx, meta.ListOptions{})
	events, err1 := client.CoreV1().Events(namespace).List(ctx, meta.ListOptions{})
	if err = errors.Join(err, err1); err != nil {
		t.Log(err)
		return
	}
	for _, p := range pods.Items {
		t.Logf("pod %s on node %q is %s since %s: %+v", p.Name, p.Spec.NodeName, p.Status.Phase, p.CreationTimestamp, p.Status.Conditions)
	}
	for _, e := range events.Items {
		t.Logf("%s %s %s: %s: %s", e.LastTimestamp, e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Message)
	}
}

// TestHelmCluster: what the other scenarios stand on does what they rely on.
func TestHelmCluster(t *testing.T) {
	cluster := needCluster(t)
	client := typed(t, cluster.Client())
	namespace := newNamespace(t, cluster.Client())
	await(t, "the service account of a namespace", func() bool {
		_, err := client.CoreV1().ServiceAccounts(namespace).Get(t.Context(), "default", meta.GetOptions{})
		return err == nil
	})
	run := func(when, name string) {
		pod := &core.Pod{ObjectMeta: meta.ObjectMeta{Name: name}, Spec: core.PodSpec{Containers: []core.Container{{Name: "web", Image: "web:1"}}}}
		_, err := client.CoreV1().Pods(namespace).Create(t.Context(), pod, meta.CreateOptions{})
		must(t, err)
		await(t, "a pod to run "+when, func() bool {
			p, err := client.CoreV1().Pods(namespace).Get(t.Context(), name, meta.GetOptions{})
			return err == nil && p.Status.Phase == core.PodRunning && strings.HasPrefix(p.Spec.NodeName, "node-")
		})
	}
	run("on a new cluster", "web")

	for past, want := range map[bool]func(error) bool{true: apierrors.IsUnauthorized, false: func(err error) bool { return err == nil }} {
		end := time.Now().Add(time.Hour)
		if past {
			end = time.Now().Add(-time.Minute)
		}
		token, err := cluster.TokenUntil(t.Context(), "short", end)
		must(t, err)
		config := cluster.Client()
		config.BearerToken = token
		if _, err := typed(t, config).CoreV1().Nodes().List(t.Context(), meta.ListOptions{}); !want(err) {
			t.Errorf("a token that has ended (%t): %v", past, err)
		}
	}

	cluster.StopAPI()
	if _, err := client.CoreV1().Nodes().List(within(t, 5*time.Second), meta.ListOptions{}); err == nil {
		t.Error("a killed API answers")
	}
	must(t, cluster.StartAPI(within(t, time.Minute)))
	if _, err := client.CoreV1().Pods(namespace).Get(t.Context(), "web", meta.GetOptions{}); err != nil {
		t.Error(errors.New("the API has forgotten what was there"), err)
	}
	run("after a restart of the API", "later")
}
