package sol003_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/vnfkit/vnfkit/vnflcm/sol003"
)

// A VNFM on a toy infrastructure. A client creates a VNF instance and instantiates it.
func ExampleNewHandler() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "packages")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	manager, _, err := newManager(ctx, dir, nil) // vnflcm.New
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = manager.Close(ctx) }()
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
	status, instance := post(server.URL+"/vnflcm/v2/vnf_instances", `{"vnfdId": "`+toyVNFD+`"}`)
	fmt.Println(status)
	status, operation := post(instance+"/instantiate", `{"flavourId": "simple"}`)
	fmt.Println(status, strings.HasPrefix(operation, server.URL+"/vnflcm/v2/vnf_lcm_op_occs/"))
	http.DefaultClient.CloseIdleConnections()
	// Output:
	// 201 Created
	// 202 Accepted true
}
