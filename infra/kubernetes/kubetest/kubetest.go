package kubetest

import (
	"testing"

	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/internal/cnftest"
)

// Cluster starts a cluster without workloads and returns the configuration of its administrator: the address, the certificate of the CA and a
// bearer token, and no rate limit. The caller may change the configuration. The cluster ends with the test, after the clean-up
// functions that are registered later. A cluster that cannot be started ends the test.
func Cluster(t testing.TB) *rest.Config {
	t.Helper()
	return cnftest.Start(t).Config()
}

// Open is Cluster for programs and examples. The cluster ends when stop is called: stop cuts connections, and returns when no request is
// being answered.
func Open() (cluster *rest.Config, stop func(), err error) {
	c, err := cnftest.Open()
	if err != nil {
		return nil, nil, err
	}
	return c.Config(), c.Stop, nil
}
