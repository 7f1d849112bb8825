package helmcli_test

import (
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/vnfkit/vnfkit/helmclient/helmtest"
)

// TestContract runs the contract suite on a real cluster with a real helm.
func TestContract(t *testing.T) {
	c := real(t)
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	helmtest.Run(t, func(*testing.T) helmtest.Subject {
		return helmtest.Subject{Client: c, Cluster: config}
	})
}
