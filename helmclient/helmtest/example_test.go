package helmtest_test

import (
	"testing"

	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helmtest"
)

// A test of an implementation opens it for a cluster that it has.
func Example() {
	var client helmclient.Client
	var cluster *rest.Config
	_ = func(t *testing.T) {
		t.Helper()
		helmtest.Run(t, func(*testing.T) helmtest.Subject {
			return helmtest.Subject{Client: client, Cluster: cluster}
		})
	}
	// Output:
}
