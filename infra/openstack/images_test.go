package openstack_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// content is the content of the image file in the package.
var content = []byte(strings.Repeat("content of an image\n", 1000))

// imageName is the name of the image in the VNFD of the sample package.
const imageName = "ubuntu-24.04-server-cloudimg-amd64"

// imagePackage returns the sample package with the image of its servers as a file. replaced are pairs of a text in the VNFD and its
// replacement.
func imagePackage(t *testing.T, replaced ...string) vnflcm.Packages {
	t.Helper()
	return vnflcm.DirPackages(imageDir(t, replaced...))
}

const vnfdFile = "Definitions/k8s_cluster_df_simple.yaml"

func imageDir(t *testing.T, replaced ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(samples)); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	replaced = append([]string{"          size: 1 GB\n      capabilities:", `          size: 1 GB
          checksum: {algorithm: sha-256, hash: ` + hex.EncodeToString(sum[:]) + `}
      artifacts:
        sw_image: {type: tosca.artifacts.nfv.SwImage, file: ../Files/images/node.img}
      capabilities:`}, replaced...)
	vnfd := filepath.Join(dir, vnfdFile)
	text, err := os.ReadFile(vnfd) //nolint:gosec // a file of this project
	for i := 0; i < len(replaced) && err == nil; i += 2 {
		if !strings.Contains(string(text), replaced[i]) {
			t.Fatalf("the VNFD lacks %q", replaced[i])
		}
		text = []byte(strings.ReplaceAll(string(text), replaced[i], replaced[i+1]))
	}
	images := filepath.Join(dir, "Files/images")
	if err := errors.Join(err, os.WriteFile(vnfd, text, 0o600), os.Mkdir(images, 0o700), os.WriteFile(filepath.Join(images, "node.img"), content, 0o600)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func newImageLab(t *testing.T, kind string) *lab {
	t.Helper()
	return newLabOf(t, kind, imagePackage(t))
}

// another creates another VNF instance on the same cloud.
func (l *lab) another() *lab {
	l.t.Helper()
	inst, err := l.Create(l.t.Context(), vnflcm.CreateVnfRequest{VnfdID: vnfdID})
	if err != nil {
		l.t.Fatal(err)
	}
	other := *l
	other.id = inst.ID
	return &other
}

// own returns the images that the driver has created.
func (l *lab) own() (out []*fakeImage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, i := range l.images {
		if slices.Contains(i.tags(), "vnfkit") && i.shown["owner"] == "p" {
			out = append(out, i)
		}
	}
	return out
}

// wantImages checks the number of images that the driver has created.
func (l *lab) wantImages(n int) {
	l.t.Helper()
	if own := l.own(); len(own) != n {
		l.t.Fatalf("%d images, not %d", len(own), n)
	}
}

// wantImage checks that the driver has created exactly one image, that it is complete, and that the instance uses it for
// all servers.
func (l *lab) wantImage() {
	l.t.Helper()
	l.wantImages(1)
	image := l.own()[0]
	for vdu, values := range l.stacks[openstack.StackName(l.id)].params["nfv"].(map[string]any)["VDU"].(map[string]any) {
		if id := values.(map[string]any)["vcImageId"]; id != image.shown["id"] {
			l.t.Errorf("%s has the image %v, not %v", vdu, id, image.shown["id"])
		}
	}
	if !slices.Contains(image.tags(), "vnf-"+l.id) || string(image.content) != string(content) {
		l.t.Errorf("image %v, %d bytes", image.shown, len(image.content))
	}
}

// uploads returns the number of requests that sent content.
func (l *lab) uploads() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.requests["PUT /glance/v2/images/*/file"]
}

// TestPackageImages checks that the servers of both VDUs have the image of the package, which is uploaded once. The driver must neither
// use nor delete images of other programs with the same name, content or tags.
func TestPackageImages(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{openstack.VimTypeV1, openstack.VimTypeV2} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			l := newImageLab(t, kind)
			l.add(imageName, nil)
			l.must(l.instantiate())
			l.wantImage()
			digest := ""
			for _, i := range l.images {
				if d, own := i.shown["vnfkit_sha512"].(string); own {
					digest = d
					want := map[string]any{"name": imageName, "visibility": "private", "disk_format": "qcow2", "container_format": "bare",
						"min_disk": 19.0, "min_ram": 1908.0} // of 20 GB and 2 GB
					got := maps.Clone(i.shown)
					maps.DeleteFunc(got, func(key string, _ any) bool { _, wanted := want[key]; return !wanted })
					if diff := cmp.Diff(want, got); diff != "" {
						t.Error(diff)
					}
				}
			}
			l.add("hostile", map[string]any{"owner": "another project", "tags": []any{"vnfkit", "vnf-" + l.id}, "vnfkit_sha512": digest})
			l.must(l.scale(vnflcm.ScaleOut, 1))
			l.must(l.heal(""))
			delete(l.stacks, openstack.StackName(l.id))
			l.must(l.heal("true")) // the new stack gets other parameters
			l.wantImage()
			l.must(l.terminate())
			if len(l.images) != 2 || l.uploads() != 1 {
				t.Errorf("%d images, %d uploads", len(l.images), l.uploads())
			}
		})
	}
}

// TestSameContent checks that two files with the same content become one image, unless their minimum sizes in the VNFD differ.
func TestSameContent(t *testing.T) {
	t.Parallel()
	for minimum, images := range map[string]int{"2 GB": 1, "1 GB": 2} {
		t.Run(minimum, func(t *testing.T) {
			t.Parallel()
			dir := imageDir(t)
			text, err := os.ReadFile(filepath.Join(dir, vnfdFile)) //nolint:gosec // a file of this project
			master, worker, _ := strings.Cut(string(text), "    workerNode:\n")
			worker = strings.ReplaceAll(strings.ReplaceAll(worker, "node.img", "other.img"), "min_ram: 2 GB", "min_ram: "+minimum)
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, vnfdFile), []byte(master+"    workerNode:\n"+worker), 0o600),
				os.WriteFile(filepath.Join(dir, "Files/images/other.img"), content, 0o600))
			if err != nil {
				t.Fatal(err)
			}
			l := newLabOf(t, openstack.VimTypeV2, vnflcm.DirPackages(dir))
			l.must(l.instantiate())
			l.wantImages(images)
			if l.uploads() != images {
				t.Errorf("%d uploads", l.uploads())
			}
			l.must(l.terminate())
			l.wantImages(0)
		})
	}
}

// TestSharedImage checks that instances share an image until the last of them is terminated. If an image has as many tags as Glance
// allows, the next instance uploads another image.
func TestSharedImage(t *testing.T) {
	t.Parallel()
	l := newImageLab(t, openstack.VimTypeV2)
	labs := []*lab{l, l.another(), l.another(), l.another()}
	for i, one := range labs {
		one.must(one.instantiate())
		if i < most-1 {
			one.wantImage()
		}
	}
	l.wantImages(2) // the second image is for the last instance
	for i, one := range labs {
		one.must(one.terminate())
		l.wantImages([]int{2, 2, 1, 0}[i])
	}
}

// TestImageIsRetired checks that an instance does not use an image that another instance is about to delete.
func TestImageIsRetired(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprint("while it is claimed ", late), func(t *testing.T) {
			t.Parallel()
			l := newImageLab(t, openstack.VimTypeV2)
			l.must(l.instantiate())
			retire := func(*http.Request) int {
				for _, i := range l.images {
					i.shown["vnfkit_retired"] = "true"
				}
				return 0
			}
			if late {
				l.failing(func(r *http.Request) int {
					if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/tags/") {
						return retire(r)
					}
					return 0
				})
			} else {
				retire(nil)
			}
			other := l.another()
			other.must(other.instantiate())
			l.failing(nil)
			l.wantImages(2)
			other.must(other.terminate())
			l.wantImage()
			l.must(l.terminate())
			l.wantImages(0)
		})
	}
}

// TestNamedImages checks that the driver uses an image that the request or the grant names, and uploads no image.
func TestNamedImages(t *testing.T) {
	t.Parallel()
	const named = `{"nfv": {"VDU": {"masterNode": {"vcImageId": "theirs"}, "workerNode": {"vcImageId": "theirs"}}}}`
	for name, c := range map[string]struct {
		params string
		grant  *vnflcm.Grant
	}{
		"request": {named, nil},
		"grant":   {"", granting("theirs")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLabOf(t, openstack.VimTypeV2, imagePackage(t, "node.img", "missing.img", "qcow2", "vmdk"))
			if c.grant != nil {
				l.Manager = l.start(func(config *vnflcm.Config) { config.Granter = granter{vnflcm.OpInstantiate: c.grant}.granter() })
			}
			l.must(l.Instantiate(t.Context(), l.id, l.request(c.params)))
			text := fmt.Sprint(l.stacks[openstack.StackName(l.id)].params["nfv"])
			l.must(l.terminate())
			if strings.Count(text, "vcImageId:theirs") != 2 || strings.Contains(fmt.Sprint(l.requests), "glance") {
				t.Errorf("nfv %s, requests %v", text, l.requests)
			}
		})
	}
}
