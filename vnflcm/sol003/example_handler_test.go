package sol003_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing/fstest"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// The program serves a VNFM whose infrastructure driver does nothing. A client creates a VNF instance and instantiates it.
func ExampleNewHandler() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "packages")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.CopyFS(filepath.Join(dir, "web"), webPackage); err != nil {
		fmt.Println(err)
		return
	}
	manager, err := vnflcm.New(ctx, vnflcm.Config{
		Store: store.NewMemory(), Key: []byte("32 bytes that seal all records.."), Packages: vnflcm.DirPackages(dir),
		Infra: map[string]vnflcm.InfraDriver{"nothing": nothing{}}, // the drivers of the program
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = manager.Close(ctx) }()
	if err := manager.VIMs().Put(ctx, vnflcm.VimConnectionInfo{VimID: "lab", VimType: "nothing"}); err != nil {
		fmt.Println(err)
		return
	}
	handler, err := sol003.NewHandler(manager, sol003.Options{Authorize: func(r *http.Request) (sol003.Principal, error) {
		if user, password, ok := r.BasicAuth(); ok && user == "nfvo" && password == "s3cret" {
			return sol003.Principal{Name: user}, nil
		}
		return sol003.Principal{}, fmt.Errorf("unknown user")
	}, Challenge: `Basic realm="vnfm"`})
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(handler) // http.Server with TLS and timeouts
	defer server.Close()

	post := func(uri, body string) (status, location string) {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, uri, strings.NewReader(body))
		if err != nil {
			return err.Error(), ""
		}
		request.SetBasicAuth("nfvo", "s3cret")
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Version", "2.0.0")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err.Error(), ""
		}
		defer func() { _ = response.Body.Close() }()
		_, _ = io.Copy(io.Discard, response.Body)
		return response.Status, response.Header.Get("Location")
	}
	status, instance := post(server.URL+"/vnflcm/v2/vnf_instances", `{"vnfdId": "web"}`)
	fmt.Println(status)
	status, operation := post(instance+"/instantiate", `{"flavourId": "small", "vimConnectionInfo": {"vim": {"vimId": "lab", "vimType": "nothing"}}}`)
	fmt.Println(status, strings.HasPrefix(operation, server.URL+"/vnflcm/v2/vnf_lcm_op_occs/"))
	http.DefaultClient.CloseIdleConnections()
	// Output:
	// 201 Created
	// 202 Accepted true
}

var webPackage = fstest.MapFS{"web.yaml": {Data: []byte(`tosca_definitions_version: tosca_simple_yaml_1_2
metadata: {template_name: web, template_author: example, template_version: '1.0'}
node_types:
  example.VNF: {derived_from: tosca.nodes.nfv.VNF}
topology_template:
  substitution_mappings: {node_type: example.VNF, properties: {flavour_id: small}}
  node_templates:
    VNF:
      type: example.VNF
      properties: {descriptor_id: web, descriptor_version: '1.0', provider: Example, product_name: Web, software_version: '1.0',
        vnfm_info: ['0:vnfkit'], flavour_id: small, flavour_description: no machines}
`)}}

// nothing is an infrastructure driver that does nothing.
type nothing struct{}

func (nothing) Plan(context.Context, *vnflcm.Operation) (vnflcm.Change, error) {
	return vnflcm.Change{}, nil
}
func (nothing) Instantiate(context.Context, *vnflcm.Operation) error { return nil }
func (nothing) Scale(context.Context, *vnflcm.Operation) error       { return nil }
func (nothing) Heal(context.Context, *vnflcm.Operation) error        { return nil }
func (nothing) Terminate(context.Context, *vnflcm.Operation) error   { return nil }
func (nothing) Resources(context.Context, *vnflcm.Operation) (vnflcm.Resources, error) {
	return vnflcm.Resources{}, nil
}
