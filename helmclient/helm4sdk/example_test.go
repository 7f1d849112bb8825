package helm4sdk_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helm4sdk"
	"github.com/vnfkit/vnfkit/helmclient/internal/inprocess/inprocesstest"
)

// A chart out of a package of a VNF is rendered; Install takes the same request.
func Example() {
	dir, err := os.MkdirTemp("", "helm")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	client, err := helm4sdk.New(helm4sdk.Config{Cluster: &rest.Config{Host: "https://192.0.2.1:6443"}, Dir: dir})
	if err != nil {
		panic(err)
	}
	chart := inprocesstest.Packed(map[string]string{
		"web/Chart.yaml":         "apiVersion: v2\nname: web\nversion: 1.2.3\n",
		"web/templates/map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  text: {{ .Values.text }}\n",
	})
	manifest, err := client.Template(context.Background(), helmclient.Install{
		Name:   helmclient.Name{Namespace: "shop", Release: "web"},
		Chart:  helmclient.Chart{Archive: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(chart)), nil }},
		Values: helmclient.Values{Set: []string{"text=hello"}},
	})
	if err != nil {
		panic(err)
	}
	fmt.Print(manifest)
	// Output:
	// ---
	// # Source: web/templates/map.yaml
	// apiVersion: v1
	// kind: ConfigMap
	// metadata:
	//   name: web
	// data:
	//   text: hello
}
