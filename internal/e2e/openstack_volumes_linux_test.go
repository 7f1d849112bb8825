package e2e_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

// volumesDir is a package whose machines have volumes, and an image that is a file of the package.
const volumesDir = "testdata/volumes"

// TestVolumesAndImages takes two instances through their life: volumes stay when a VNFC is healed, and are replaced when the request
// asks for that; the image of the package is uploaded once and removed with the last instance. Cinder has a driver that
// only logs: that the data of a volume survives is not proved.
func TestVolumesAndImages(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	l := newStackLab(t, openstack.VimTypeV2, volumesDir)
	cut := &cutUpload{RoundTripper: http.DefaultTransport.(*http.Transport).Clone()}
	defer cut.RoundTripper.(*http.Transport).CloseIdleConnections()
	l.driver.Driver = openstack.New(openstack.Config{Allow: outbound.AllowAny, Poll: 300 * time.Millisecond, Transport: cut})
	must(t, l.cloud.AddImage(ctx, "node-image")) // of the same name, and not ours
	inst, err := l.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: volumesVNFD})
	must(t, err)
	request := vnflcm.InstantiateVnfRequest{FlavourID: "simple", VimConnectionInfo: vnflcm.VimConnections{{VimID: "cloud"}},
		ExtVirtualLinks: []vnflcm.ExtVirtualLinkData{{ID: "net", ResourceID: l.networks[1], ExtCps: []vnflcm.VnfExtCpData{{CpdID: "node_CP"}}}}}
	before := l.must(l.Instantiate(ctx, l.id, request))
	other := &stackLab{Manager: l.Manager, openStack: l.openStack, t: t, id: inst.ID}
	began, err := other.Instantiate(ctx, other.id, request) // while the other instance is healed
	must(t, err)

	ids := slices.Sorted(maps.Keys(before))
	all, err := vnflcm.ParseParams([]byte(`{"all": true}`))
	must(t, err)
	for _, replace := range []bool{false, true} {
		volumes := l.wantVolumes(before, "data")
		heal := vnflcm.HealVnfRequest{VnfcInstanceID: ids[:1]}
		if replace {
			heal.AdditionalParams = all
		}
		now := l.must(l.Heal(ctx, l.id, heal))
		l.wantUnchanged(before, now, ids[0])
		changed := l.wantVolumes(now, "data")
		if server(now[ids[0]]) == server(before[ids[0]]) || (changed[ids[0]] != volumes[ids[0]]) != replace || changed[ids[1]] != volumes[ids[1]] {
			t.Errorf("replace volume: %v, servers %s and %s, volumes\n%v\n%v", replace, server(before[ids[0]]), server(now[ids[0]]), volumes, changed)
		}
		before = now
	}
	image := l.imageOf(before[ids[0]])
	for _, v := range other.must(began, nil) {
		if got := l.imageOf(v); got != image {
			t.Errorf("the second instance has the image %s, the first %s", got, image)
		}
	}
	l.must(l.Terminate(ctx, l.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	must(t, l.Delete(ctx, l.id, ""))
	if !cut.done.Load() {
		t.Error("no upload was cut off")
	}
	if left := l.images("?tag=vnfkit"); len(left) != 1 || left[0] != image {
		t.Errorf("an instance still uses the image %s, there is %q", image, left)
	}
	other.terminate(vnflcm.TerminateForceful)
	if len(l.images("?name=node-image")) != 1 {
		t.Error("the image of the same name is not alone there")
	}
}

// cutUpload cuts the connection in the middle of the first upload.
type cutUpload struct {
	http.RoundTripper
	done atomic.Bool
}

func (c *cutUpload) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/file") && c.done.CompareAndSwap(false, true) {
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(io.MultiReader(io.LimitReader(r.Body, r.ContentLength/2), iotest.ErrReader(io.ErrUnexpectedEOF)))
	}
	return c.RoundTripper.RoundTrip(r)
}

const volumesVNFD = "9d3f0a52-6a7e-4c0b-8f7d-2f1c5f0f6b11"

// images are the ids of images.
func (l *stackLab) images(query string) []string {
	l.t.Helper()
	var body struct{ Images []struct{ ID string } }
	l.get(l.cloud.Image, &body, "images"+query)
	var out []string
	for _, i := range body.Images {
		out = append(out, i.ID)
	}
	return out
}

func (l *stackLab) get(api *gophercloud.ServiceClient, into any, path ...string) {
	l.t.Helper()
	_, err := api.Get(l.t.Context(), api.ServiceURL(path...), into, &gophercloud.RequestOpts{OkCodes: []int{http.StatusOK}}) //nolint:bodyclose // gophercloud closes it
	must(l.t, err)
}

// imageOf is the image that Nova has for a machine.
func (l *stackLab) imageOf(v vnflcm.VnfcResourceInfo) string {
	l.t.Helper()
	machine, err := servers.Get(l.t.Context(), l.cloud.Compute, server(v)).Extract()
	must(l.t, err)
	id, _ := machine.Image["id"].(string)
	return id
}

// wantVolumes checks that each VNFC has the volume that the instance shows, and that Cinder has no other volumes of the instance: a
// volume that is attached to its server and to nothing else. It returns the ids of the volumes by VNFC.
func (l *stackLab) wantVolumes(vnfcs map[string]vnflcm.VnfcResourceInfo, descriptor string) map[string]string {
	l.t.Helper()
	inst, err := l.Get(l.t.Context(), l.id)
	must(l.t, err)
	shown := inst.InstantiatedVnfInfo.VirtualStorageResourceInfo
	l.wantValid("virtualStorageResourceInfo", shown)
	var body struct {
		Volumes []struct {
			ID, Status  string
			Attachments []struct {
				Server string `json:"server_id"`
			}
		}
	}
	l.get(l.cloud.Volume, &body, "volumes", "detail")
	attached := map[string]string{} // by the id of the volume
	for _, v := range body.Volumes {
		if v.Status == "in-use" && len(v.Attachments) == 1 {
			attached[v.ID] = v.Attachments[0].Server
		}
	}
	out, want, got := map[string]string{}, map[string]string{}, map[string]string{}
	for id, v := range vnfcs {
		for _, s := range shown {
			if s.VirtualStorageDescID == descriptor && slices.Equal(v.StorageResourceIDs, []string{s.ID}) {
				out[id] = s.StorageResource.ResourceID
			}
		}
		want[id], got[id] = server(v), attached[out[id]]
	}
	if diff := cmp.Diff(want, got); diff != "" || len(shown) != len(vnfcs) {
		l.t.Errorf("volumes %+v, attached %v:\n%s", shown, attached, diff)
	}
	return out
}

// wantValid checks an attribute of instantiatedVnfInfo with the schema of SOL003.
func (l *stackLab) wantValid(attribute string, value any) {
	l.t.Helper()
	file, err := os.Open("../../vnflcm/testdata/sol003/3.3.1/VnfInstance.json")
	must(l.t, err)
	defer file.Close()
	schema, err := jsonschema.UnmarshalJSON(file)
	must(l.t, err)
	for _, name := range []string{"properties", "instantiatedVnfInfo", "properties", attribute} {
		schema = schema.(map[string]any)[name]
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft4)
	must(l.t, c.AddResource("schema.json", schema))
	compiled, err := c.Compile("schema.json")
	must(l.t, err)
	text, err := json.Marshal(value)
	must(l.t, err)
	var document any
	must(l.t, json.Unmarshal(text, &document))
	must(l.t, compiled.Validate(document))
}
