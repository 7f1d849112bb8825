package kubetest_test

import (
	"testing"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/infra/kubernetes/kubetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestClusterEndsWithTheTest checks that the cluster has its nodes, belongs to its test alone, and is gone after the test.
func TestClusterEndsWithTheTest(t *testing.T) {
	t.Parallel()
	var first *rest.Config
	t.Run("in the test", func(t *testing.T) {
		first = kubetest.Cluster(t)
		second := kubetest.Cluster(t)
		nodes, err := client(t, first).Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil || len(nodes.Items) != 3 {
			t.Fatalf("%v, %v", nodes, err)
		}
		stranger := rest.CopyConfig(second)
		stranger.BearerToken = first.BearerToken
		if _, err := client(t, stranger).Nodes().List(t.Context(), metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
			t.Errorf("the token of another cluster: %v", err)
		}
	})
	if _, err := client(t, first).Nodes().List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("the cluster answers after the test")
	}
}

func client(t *testing.T, cluster *rest.Config) *typedv1.CoreV1Client {
	t.Helper()
	transport, err := rest.HTTPClientFor(cluster)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(transport.Transport) })
	c, err := typedv1.NewForConfigAndClient(cluster, transport)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
