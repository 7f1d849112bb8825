package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/tackertest"
)

// changeGuide is a guide of Tacker for the change of the package.
type changeGuide struct {
	text          string   // path of the guide in the checkout of Tacker
	vnfdID        string   // of the first package
	before, after string   // paths of the packages in the checkout
	loss          []string // VDUs whose data the change ends, so that the request of the guide is refused
	coordinated   []string // VDUs whose script runs
}

// changeGuides are the guides with machines. The packages are those with which the guides were confirmed to work; of the second guide's own
// samples one lacks a scaling aspect.
var changeGuides = map[string]changeGuide{
	"DefaultUserData": {vnfdID: "c499a115-3f48-4a1e-8211-04f0d0b3b3bf", text: "doc/source/user/v2/vnf/chg_vnfpkg", before: "doc/source/user/v2/vnf/chg_vnfpkg/conf/change_vnfpkg_before",
		after: "doc/source/user/v2/vnf/chg_vnfpkg/conf/change_vnfpkg_after", coordinated: []string{"VDU1", "VDU2"}},
	"StandardUserData": {vnfdID: "c499a115-3f48-4a1e-8211-04f0d0b3b3c0", text: "doc/source/user/v2/vnf/chg_vnfpkg_with_standard", before: "samples/tests/functional/sol_v2_common/userdata_standard/contents",
		after: "samples/tests/functional/sol_v2_common/userdata_standard_change_vnfpkg_nw/contents", loss: []string{"VDU2"}, coordinated: []string{"VDU1", "VDU2"}},
}

// tackerCheckout returns the checkout of Tacker, or skips the test.
func tackerCheckout(t *testing.T) string {
	t.Helper()
	root := os.Getenv(tackertest.TackerEnv)
	if root == "" {
		t.Skip(tackertest.TackerEnv + " names no checkout of Tacker, whose guides and packages the test reads")
	}
	return root
}

// printedBody reads the request for the change that a guide prints.
func printedBody(t *testing.T, guide string) (out map[string]any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(guide, "index.rst"))
	must(t, err)
	for block := range strings.SplitSeq(string(text), ".. code-block:: json\n") {
		var lines []string
		for line := range strings.Lines(block) {
			if line != "\n" && line[0] != ' ' {
				break
			}
			lines = append(lines, line)
		}
		if json.Unmarshal([]byte(strings.Join(lines, "")), &out) == nil && out["vnfdId"] != nil {
			return out
		}
	}
	t.Fatalf("%s prints no request for the change", guide)
	return nil
}

// guideFolder copies a package of a guide under another VNFD id, with other files.
func guideFolder(t *testing.T, from, vnfdID string, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(from)))
	top, err := fs.Glob(os.DirFS(dir), "Definitions/*top.vnfd.yaml")
	must(t, err)
	text, err := os.ReadFile(filepath.Join(dir, top[0])) //nolint:gosec // of the copy
	must(t, err)
	_, rest, _ := strings.Cut(string(text), "descriptor_id: ")
	own, _, _ := strings.Cut(rest, "\n")
	definitions, err := filepath.Glob(filepath.Join(dir, "Definitions/*"))
	must(t, err)
	for _, name := range definitions {
		text, err := os.ReadFile(name) //nolint:gosec // of the copy
		must(t, err)
		must(t, os.WriteFile(name, []byte(strings.ReplaceAll(string(text), own, vnfdID)), 0o600))
	}
	for name, text := range files {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// instantiateFor reads the instantiate request of a guide, on the VIM that the request for the change names: the ids are placeholders.
func instantiateFor(t *testing.T, guide string, change map[string]any) (out map[string]any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(guide, "conf/change_vnfpkg_before/instantiate_request.json"))
	must(t, err)
	must(t, json.Unmarshal(text, &out))
	if vims, named := change["vimConnectionInfo"].(map[string]any); named {
		out["vimConnectionInfo"].(map[string]any)["vim1"].(map[string]any)["vimId"] = vims["vim1"].(map[string]any)["vimId"]
	}
	return out
}

// coordination is a script that appends a line for each VNFC to a file. Those of the guides import modules of Tacker.
func coordination(record string) string {
	return "import pickle, sys\ngiven = pickle.load(sys.stdin.buffer)\n" +
		fmt.Sprintf("with open(%q, 'a') as f:\n    f.write(' '.join([given['vnfc_info_id'].split('-')[0], given['username'], given['ssh_ip']]) + '\\n')\n", record)
}

// follow runs the commands of a guide, with the request as it is printed.
func (g changeGuide) follow(c *tackerClient, root string) {
	c.t.Helper()
	guide := filepath.Join(root, g.text)
	record := filepath.Join(c.t.TempDir(), "coordinated")
	body := printedBody(c.t, guide)
	becomes := fmt.Sprint(body["vnfdId"])
	old := c.onboard(guideFolder(c.t, filepath.Join(root, g.before), g.vnfdID, nil), g.vnfdID)
	changed := c.onboard(guideFolder(c.t, filepath.Join(root, g.after), becomes, map[string]string{"Scripts/coordinate_new_vnf.py": coordination(record)}), becomes)
	instance := fmt.Sprint(c.object("create", g.vnfdID)["ID"])
	c.run("instantiate", instance, c.file("instantiate.json", instantiateFor(c.t, guide, body)))
	c.ends(instance, "COMPLETED")
	before := c.vdus(instance, idOf)
	if len(g.loss) > 0 {
		_, faults, err := c.try("vnflcm", "change-vnfpkg", instance, c.file("change.json", body))
		if want := "allow_data_loss: must name " + g.loss[0]; err == nil || !strings.Contains(faults, want) {
			c.t.Errorf("the request of the guide: %v, want %q\n%s", err, want, faults)
		}
		body["additionalParams"].(map[string]any)["allow_data_loss"] = g.loss
	}
	c.run("change-vnfpkg", instance, c.file("change.json", body))
	c.ends(instance, "COMPLETED")
	if shown := c.object("show", instance); shown["VNFD ID"] != becomes {
		c.t.Errorf("the instance: %v", shown)
	}
	after := c.vdus(instance, idOf)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after))); diff != "" {
		c.t.Errorf("VNFCs:\n%s", diff)
	}
	g.checkScripts(c, record)
	c.wantUsage(old, "NOT_IN_USE")
	c.wantUsage(changed, "IN_USE")
	c.run("terminate", instance, "--termination-type", "FORCEFUL")
	c.ends(instance, "COMPLETED")
	c.run("delete", instance)
	c.remove(old)
	c.remove(changed)
}

// wantUsage compares the usage state of a package.
func (c *tackerClient) wantUsage(id, want string) {
	c.t.Helper()
	if shown := c.shown("vnf", "package", "show", id); shown["Usage State"] != want {
		c.t.Errorf("package %s: %v, want %s", id, shown["Usage State"], want)
	}
}

// checkScripts compares the VDUs whose scripts have run.
func (g changeGuide) checkScripts(c *tackerClient, record string) {
	c.t.Helper()
	text, err := os.ReadFile(record) //nolint:gosec // of the test
	must(c.t, err)
	var vdus []string
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[1] != "ubuntu" {
			c.t.Errorf("a script got %q", line)
		}
		vdus = append(vdus, fields[0])
	}
	if diff := cmp.Diff(g.coordinated, vdus); diff != "" {
		c.t.Errorf("scripts:\n%s", diff)
	}
}

// vdus returns the VDUs of the VNFCs of an instance by a key of the VNFC.
func (c *tackerClient) vdus(instance string, key func(vnfc map[string]any) any) map[string]any {
	c.t.Helper()
	_, document := c.send("GET", c.api+"/vnf_instances/"+instance, nil, 200)
	out := map[string]any{}
	for _, v := range document["instantiatedVnfInfo"].(map[string]any)["vnfcResourceInfo"].([]any) {
		vnfc := v.(map[string]any)
		out[fmt.Sprint(key(vnfc))] = vnfc["vduId"]
	}
	return out
}

func idOf(vnfc map[string]any) any { return vnfc["id"] }

// TestTackerChangeGuides follows Tacker's guides for the change of the package with its client.
func TestTackerChangeGuides(t *testing.T) {
	needTackerClient(t)
	root := tackerCheckout(t)
	p := start(t, t.TempDir(), "-config=tacker-guides.yaml")
	for name, g := range changeGuides {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := *p
			own.t = t
			g.follow(&tackerClient{program: &own, t: t, version: "2", dir: t.TempDir()}, root)
		})
	}
}
