package kubernetes_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helmsdk"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
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
		Store: store.NewMemory(), Key: []byte(rand.Text()), Packages: vnflcm.DirPackages("packages"),
		Infra: map[string]vnflcm.InfraDriver{kubernetes.VimTypeV1: driver, kubernetes.VimTypeV2: driver, kubernetes.VimTypeHelm: driver},
	})
	if err == nil {
		defer manager.Close(context.Background())
	}
	fmt.Println(manager != nil, err)
	// Output: true <nil>
}

// A program reaches the cluster that it runs in with its own service account, and any other cluster by a plugin. Of these clusters
// the registry of VIMs has no credentials.
func ExampleConfig_cluster() {
	driver := kubernetes.New(kubernetes.Config{
		Cluster: func(_ context.Context, vim vnflcm.VimConnectionInfo) (*rest.Config, error) {
			switch vim.VimID {
			case "here":
				return rest.InClusterConfig()
			case "cloud":
				return &rest.Config{
					Host: "https://cluster.example.org", TLSClientConfig: rest.TLSClientConfig{CAFile: "/etc/vnfm/cluster-ca.pem"},
					ExecProvider: &api.ExecConfig{
						APIVersion: "client.authentication.k8s.io/v1", Command: "cloud-login", Args: []string{"get-token"},
						InteractiveMode: api.NeverExecInteractiveMode,
					},
				}, nil
			}
			return nil, nil // as the entry of the VIM says
		},
	})
	manager, err := vnflcm.New(context.Background(), vnflcm.Config{
		Store: store.NewMemory(), Key: []byte(rand.Text()), Packages: vnflcm.DirPackages("packages"),
		Infra:     map[string]vnflcm.InfraDriver{kubernetes.VimTypeV2: driver},
		KnownVIMs: vnflcm.VimConnections{{VimID: "here", VimType: kubernetes.VimTypeV2}},
	})
	if err == nil {
		defer manager.Close(context.Background())
	}
	fmt.Println(err)
	// Output: <nil>
}
