package main

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/examples/internal/samples"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestUserDataClasses checks that the program supports the user data classes in the requests of Tacker's guides. The VIM does not answer,
// but all other faults of a request are reported.
func TestUserDataClasses(t *testing.T) {
	t.Parallel()
	for file, pkg := range map[string]string{"kubeadm_v1_simple": "k8s-cluster", "kubespray": "k8s-cluster-kubespray"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("../../internal/guides/testdata", file+".json"))
			must(t, err)
			var request vnflcm.InstantiateVnfRequest
			must(t, json.Unmarshal(text, &request))
			v, err := compose(t.Context(), &config{onSandbox: true, Packages: samples.Package(pkg), VIMs: []vimConfig{{ID: request.VimConnectionInfo[0].VimID, Type: "openstack",
				InterfaceInfo: map[string]any{"endpoint": "http://127.0.0.1:1/v3"}, AccessInfo: map[string]any{"username": "u", "password": "p", "project": "nfv"}}}}, slog.New(slog.DiscardHandler))
			must(t, err)
			defer v.close()
			vnfdID, err := tosca.NewCache(1).VNFDID(t.Context(), tosca.File(samples.Package(pkg)))
			must(t, err)
			inst, err := v.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: vnfdID})
			must(t, err)
			_, err = v.Instantiate(t.Context(), inst.ID, request)
			if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") || strings.Contains(err.Error(), "lcm-operation-user-data") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
