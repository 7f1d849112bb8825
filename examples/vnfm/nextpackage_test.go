package main

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/examples/packages"
)

// bothVersions returns a folder with both versions of sample packages.
func bothVersions(t *testing.T, list ...packages.Sample) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, first := range list {
		for _, s := range []packages.Sample{first, first.Next()} {
			files, err := s.FS()
			must(t, err)
			must(t, os.CopyFS(filepath.Join(dir, s.Name), files))
		}
	}
	return dir
}

// TestChangeOfSamplePackage previews and changes the package of a running cluster to its second version, over HTTP. The cluster has three
// control-plane nodes: with one of them it would end.
func TestChangeOfSamplePackage(t *testing.T) {
	t.Parallel()
	first := packages.KubernetesCluster
	p := start(t, t.TempDir(), "-packages="+bothVersions(t, first))
	instance := p.create(first.VNFDID)
	three := request(t, "instantiate_complex.json")
	three["vimConnectionInfo"] = request(t, "instantiate_sandbox.json")["vimConnectionInfo"]
	p.do(instance+"/instantiate", three)
	change := request(t, "change_vnfpkg.json")

	_, preview := p.send("POST", strings.TrimSuffix(p.api, "/vnflcm/v2")+"/preview/v1/vnf_instances/"+path.Base(instance)+"/change_vnfpkg", change, 200)
	batches := preview["packageChange"].(map[string]any)["batches"].([]any)
	images := map[any]bool{}
	for _, b := range batches {
		for _, u := range b.(map[string]any)["units"].([]any) {
			for _, d := range u.(map[string]any)["details"].([]any) {
				images[d.(map[string]any)["to"]] = true
			}
		}
	}
	if diff := cmp.Diff(map[any]bool{"ubuntu-26.04-server-cloudimg-amd64 26.04": true}, images); diff != "" || len(batches) < 2 {
		t.Errorf("%d batches, images:\n%s", len(batches), diff)
	}
	p.do(instance+"/change_vnfpkg", change)
	_, now := p.send("GET", instance, nil, 200)
	if now["vnfdId"] != first.Next().VNFDID || now["vnfSoftwareVersion"] != "2.0" {
		t.Errorf("instance %v", now)
	}
	p.do(instance+"/terminate", map[string]any{"terminationType": "FORCEFUL"})
}
