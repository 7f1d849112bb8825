package openstack_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/crashtest"
)

// TestFaultyImages checks that the Manager refuses a request with faulty images before it changes anything.
func TestFaultyImages(t *testing.T) {
	t.Parallel()
	l := newLabOf(t, openstack.VimTypeV2, imagePackage(t, "disk_format: qcow2", "disk_format: vmdk", "container_format: bare", "container_format: docker",
		"min_disk: 20 GB", "min_disk: 21 GB", "min_ram: 2 GB", "min_ram: 5 GB", "size: 1 GB", "size: 1 kB"))
	_, err := l.instantiate()
	if !errors.Is(err, vnflcm.ErrInvalidRequest) {
		t.Fatalf("error %v", err)
	}
	for _, text := range []string{"vmdk", "docker", "min_disk", "min_ram", "20000 bytes", "k8s_cluster_df_simple.yaml:"} {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q is not in: %v", text, err)
		}
	}
	if len(l.stacks) != 0 || len(l.images) != 0 {
		t.Error("a resource was created")
	}
}

// TestMissingImage checks that the error names the file and the possible remedies.
func TestMissingImage(t *testing.T) {
	t.Parallel()
	l := newLabOf(t, openstack.VimTypeV2, imagePackage(t, "node.img", "other.img"))
	_, err := l.instantiate()
	if !errors.Is(err, vnflcm.ErrInvalidRequest) || !strings.Contains(err.Error(), "other.img") ||
		!strings.Contains(err.Error(), "additionalParams.nfv.VDU.workerNode.vcImageId") {
		t.Errorf("error %v", err)
	}
}

// TestWrongChecksum checks that a wrong checksum is an error before any content is sent.
func TestWrongChecksum(t *testing.T) {
	t.Parallel()
	l := newLabOf(t, openstack.VimTypeV2, imagePackage(t, "hash: ", "hash: 00"))
	opID, err := l.instantiate()
	if err == nil {
		_, err = l.Wait(t.Context(), opID)
	}
	if err == nil || !strings.Contains(err.Error(), "checksum") || len(l.stacks) != 0 || len(l.images) != 0 {
		t.Errorf("error %v, images %v", err, l.images)
	}
}

// TestInterruptedUpload checks that the driver does not use an image of an interrupted upload and deletes it, whatever its status is.
func TestInterruptedUpload(t *testing.T) {
	t.Parallel()
	for _, status := range []cut{"queued", "saving", "active", "killed"} {
		t.Run(string(status), func(t *testing.T) {
			t.Parallel()
			l := newImageLab(t, openstack.VimTypeV2)
			l.cut = status
			l.must(l.instantiate())
			l.wantImage()
			l.must(l.terminate())
			l.wantImages(0)
		})
	}
}

// TestRolledBackUpload checks that rolling back an instantiation whose upload failed leaves no image.
func TestRolledBackUpload(t *testing.T) {
	t.Parallel()
	l := newImageLab(t, openstack.VimTypeV2)
	l.failing(func(r *http.Request) int {
		if strings.HasSuffix(r.URL.Path, "/file") {
			return http.StatusRequestEntityTooLarge
		}
		return 0
	})
	opID, err := l.instantiate()
	if err == nil {
		_, err = l.Wait(t.Context(), opID)
	}
	if err == nil || !strings.Contains(err.Error(), "413") {
		t.Fatalf("error %v", err)
	}
	l.wantImages(1)
	if err := l.Rollback(t.Context(), opID); err != nil {
		t.Fatal(err)
	}
	if occ, _ := l.Wait(t.Context(), opID); occ == nil || occ.OperationState != vnflcm.RolledBack {
		t.Errorf("after Rollback: %+v", occ)
	}
	l.wantImages(0)
}

// TestProtectedImage checks that a VNF can be terminated even if the operator has protected its image from deletion.
func TestProtectedImage(t *testing.T) {
	t.Parallel()
	l := newImageLab(t, openstack.VimTypeV2)
	l.must(l.instantiate())
	for _, i := range l.images {
		i.shown["protected"] = true
	}
	l.must(l.terminate())
	if len(l.images) != 1 {
		t.Error("the image was deleted")
	}
}

// granter maps each kind of operation to its grant.
type granter map[vnflcm.LcmOperation]*vnflcm.Grant

// granter returns a Granter with these grants.
func (g granter) granter() vnflcm.Granter {
	return vnflcm.GranterFunc(func(_ context.Context, request vnflcm.GrantRequest) (*vnflcm.Grant, error) {
		return cmp.Or(g[request.Operation], &vnflcm.Grant{}), nil
	})
}

// granting returns a grant that names the image for both VDUs.
func granting(image string) *vnflcm.Grant {
	return &vnflcm.Grant{VimAssets: &vnflcm.VimAssets{SoftwareImages: []vnflcm.VimSoftwareImage{
		{VnfdSoftwareImageID: "masterNode", VimSoftwareImageID: image}, {VnfdSoftwareImageID: "workerNode", VimSoftwareImageID: image}}}}
}

// TestImagesOfScaling checks that a scaling uploads the image of a VDU only if the stack has no image for the VDU yet.
func TestImagesOfScaling(t *testing.T) {
	t.Parallel()
	for name, uploads := range map[string]int{"": 1, "workerNode-0": 0} { // the individual VNFC that has an image
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newImageLab(t, openstack.VimTypeV2)
			l.Manager = l.start(func(config *vnflcm.Config) {
				config.Granter = granter{vnflcm.OpInstantiate: granting("theirs")}.granter()
			})
			l.must(l.instantiate())
			l.wantImages(0)
			vdus := l.stacks[openstack.StackName(l.id)].params["nfv"].(map[string]any)["VDU"].(map[string]any)
			delete(vdus["workerNode"].(map[string]any), "vcImageId")
			if name != "" {
				vdus[name] = map[string]any{"vcImageId": "theirs"}
			}
			l.must(l.scale(vnflcm.ScaleOut, 1))
			l.wantImages(uploads)
			vdus = l.stacks[openstack.StackName(l.id)].params["nfv"].(map[string]any)["VDU"].(map[string]any)
			if got := vdus["masterNode"].(map[string]any)["vcImageId"]; got != "theirs" {
				t.Errorf("control-plane nodes have the image %v", got)
			}
			if got := vdus["workerNode"].(map[string]any)["vcImageId"].(string); (l.images[got] != nil) != (uploads == 1) {
				t.Errorf("workers have the image %v of %v", got, l.images)
			}
			l.must(l.terminate())
			l.wantImages(0)
		})
	}
}

// TestFaultsOfGlance loses or delays the answer of Glance to each request in the lives of two instances that share an image, one per run.
func TestFaultsOfGlance(t *testing.T) {
	t.Parallel()
	for i, fault := range []struct {
		name string
		code int
	}{{"cut before", -1}, {"cut after", -2}, {"503", http.StatusServiceUnavailable}, {"401", http.StatusUnauthorized}} {
		for nth := 1; nth <= 20; nth++ {
			if !fulltest.Enabled() && nth%4 != i { // each request with one of the faults
				continue
			}
			t.Run(fmt.Sprintf("%s, request %d", fault.name, nth), func(t *testing.T) {
				t.Parallel()
				l := newImageLab(t, openstack.VimTypeV1)
				n := 0
				l.failing(func(r *http.Request) int {
					if strings.HasPrefix(r.URL.Path, "/glance") {
						if n++; n == nth {
							return fault.code
						}
					}
					return 0
				})
				l.must(l.instantiate())
				l.wantImage()
				other := l.another()
				other.must(other.instantiate())
				l.must(l.terminate())
				other.wantImage()
				other.must(other.terminate())
				l.wantImages(0)
				if n < 20 {
					t.Errorf("only %d requests", n)
				}
			})
		}
	}
}

// TestCrashOfUpload ends the process at every point of the steps about images.
func TestCrashOfUpload(t *testing.T) {
	t.Parallel()
	for _, point := range crashtest.Points {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			l := newImageLab(t, openstack.VimTypeV2)
			l.crash((*lab).instantiate, "upload-image", point)
			l.wantImage()
			other := l.another()
			other.crash((*lab).instantiate, "upload-image", point)
			other.wantImage()
			l.Manager = other.Manager
			l.crash((*lab).terminate, "remove-images", point)
			other.Manager = l.Manager
			other.wantImage()
			other.crash((*lab).terminate, "remove-images", point)
			l.wantImages(0)
			if l.uploads() != 1+map[bool]int{true: 1}[point == crashtest.InsideDo] {
				t.Logf("%d uploads", l.uploads())
			}
		})
	}
}
