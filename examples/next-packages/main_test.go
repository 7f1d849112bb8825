package main

import (
	"testing"

	"github.com/vnfkit/vnfkit/examples/packages"
	"github.com/vnfkit/vnfkit/tosca"
)

// TestWrite writes the packages and reads one.
func TestWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	id, err := tosca.NewCache(1).VNFDID(t.Context(), tosca.File(dir+"/k8s-cluster-2"))
	if want := packages.KubernetesCluster.Next().VNFDID; err != nil || id != want {
		t.Errorf("VNFD %s, %v; want %s", id, err, want)
	}
	if err := write(dir); err == nil {
		t.Error("the folders were overwritten")
	}
}
