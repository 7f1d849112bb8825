package kubernetes_test

import (
	"context"
	"fmt"
	"os"

	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helmsdk"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// A Manager that makes CNFs, with Helm in this process.
func Example() {
	dir, err := os.MkdirTemp("", "helm")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	driver := kubernetes.New(kubernetes.Config{
		Dir: dir,
		Helm: func(cluster *rest.Config, dir string) (helmclient.Client, error) {
			return helmsdk.New(helmsdk.Config{Cluster: cluster, Dir: dir})
		},
	})
	manager, err := vnflcm.New(context.Background(), vnflcm.Config{
		Store: vnflcm.NewMemoryStore(), Key: make([]byte, 32), Owner: "example", Packages: packages(nil),
		Infra: map[string]vnflcm.InfraDriver{kubernetes.VimTypeV1: driver, kubernetes.VimTypeV2: driver, kubernetes.VimTypeHelm: driver},
	})
	fmt.Println(manager != nil, err)
	// Output: true <nil>
}
