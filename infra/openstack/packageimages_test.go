package openstack_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// nextImageDir is a second version of imageDir: its image has the same name and other content.
func nextImageDir(t *testing.T) string {
	t.Helper()
	other := append(slices.Clone(content), "2"...)
	before, after := sha256.Sum256(content), sha256.Sum256(other)
	dir := imageDir(t, hex.EncodeToString(before[:]), hex.EncodeToString(after[:]))
	for _, name := range []string{"Definitions/k8s_cluster_top.vnfd.yaml", "Definitions/k8s_cluster_types.yaml", "k8s_cluster_top.vnfd.mf", vnfdFile} {
		file := filepath.Join(dir, name)
		text, err := os.ReadFile(file) //nolint:gosec // a file of this test
		if err == nil {
			err = os.WriteFile(file, []byte(strings.ReplaceAll(string(text), vnfdID, nextVNFD)), 0o600) //nolint:gosec // likewise
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "Files/images/node.img"), other, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestImagesOfPackages changes between two packages with images of the same name. Images that no VNF uses are deleted at the end.
func TestImagesOfPackages(t *testing.T) {
	t.Parallel()
	first, second := imageDir(t), nextImageDir(t)
	l := newLabOf(t, openstack.VimTypeV2, vnflcm.PackagesFunc(func(_ context.Context, _, id string) (tosca.Source, error) {
		if id == nextVNFD {
			return tosca.File(second), nil
		}
		return tosca.File(first), nil
	}))
	l.must(l.instantiate())
	l.wantImages(1)
	image := l.own()[0].shown["id"]
	opID, err := l.changePackage(nextVNFD, `{"pause_after": 2}`)
	l.ends(opID, err, vnflcm.FailedTemp)
	l.wantImages(2)
	if err := l.Rollback(t.Context(), opID); err != nil {
		t.Fatal(err)
	}
	if occ, err := l.Wait(t.Context(), opID); occ.OperationState != vnflcm.RolledBack {
		t.Fatalf("operation %+v: %v", occ, err)
	}
	l.wantImages(1)
	for _, c := range []struct{ vnfd, content string }{{nextVNFD, string(content) + "2"}, {vnfdID, string(content)}, {nextVNFD, string(content) + "2"}} {
		l.must(l.changePackage(c.vnfd, "{}"))
		l.wantImages(1)
		now := l.own()[0]
		if id := now.shown["id"]; id == image || string(now.content) != c.content {
			t.Errorf("VNFD %s: the image is %v with %d bytes", c.vnfd, id, len(now.content))
		}
		image = now.shown["id"]
		for name, got := range l.shown() {
			if !strings.HasPrefix(got, image.(string)+" ") {
				t.Errorf("VNFD %s: %s has the image %s, not %s", c.vnfd, name, got, image)
			}
		}
	}
	l.must(l.terminate())
	l.wantImages(0)
}
