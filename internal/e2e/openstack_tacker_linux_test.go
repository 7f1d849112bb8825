package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestTackerClientOnOpenStack has OpenStack Tacker's client connect the workers of a VNF to another network, in both versions of
// the API. The VNFM is the program examples/vnfm.
func TestTackerClientOnOpenStack(t *testing.T) {
	t.Parallel()
	needPart(t, "openstack")
	if _, err := exec.LookPath("openstack"); err != nil {
		t.Skip("packages are missing: python3-tackerclient python3-openstackclient")
	}
	o := needCloud(t).project(t)
	t.Cleanup(func() { o.clearUp(t) })
	endpoint := o.startVNFM(t, withoutHooks(t), nil)
	t.Run("versions", func(t *testing.T) {
		for _, version := range []string{"1", "2"} {
			t.Run(version, func(t *testing.T) {
				t.Parallel()
				c := &tackerClient{t: t, endpoint: endpoint, version: version, dir: t.TempDir()}
				c.moveWorkers(o)
			})
		}
	})
	if left, err := o.cloud.Left(t.Context()); err != nil || len(left) != 0 {
		t.Errorf("left: %q, %v", left, err)
	}
}

// withoutHooks is the sample package without a management driver: Nova's fake driver makes no machines to log in to.
func withoutHooks(t *testing.T) string {
	t.Helper()
	const file = "Definitions/k8s_cluster_df_simple.yaml"
	text, err := os.ReadFile(filepath.Join(packageDir, file))
	must(t, err)
	hooks := regexp.MustCompile(`(?s) +instantiate_end:.*?\n( +artifacts:)`).FindStringSubmatch(string(text))
	return variant(t, file, hooks[0], "          instantiate: []\n"+hooks[1])
}

// startVNFM starts the program on a package, with the cloud as its VIM and further settings, and returns its endpoint.
func (o *openStack) startVNFM(t *testing.T, pkg string, settings map[string]any) string {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "vnfm")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s", "-o", program, "../../examples/vnfm").CombinedOutput(); err != nil { //nolint:gosec // our own
		t.Fatalf("build the VNFM: %v: %s", err, out)
	}
	vim, err := o.cloud.VIM("cloud", openstack.VimTypeV2)
	must(t, err)
	all := map[string]any{"listen": "127.0.0.1:0", "packages": pkg, "data": filepath.Join(dir, "data"),
		"vims": []map[string]any{{"id": vim.VimID, "type": vim.VimType, "interface_info": vim.InterfaceInfo, "access_info": vim.AccessInfo}}}
	maps.Copy(all, settings)
	config, err := vnflcm.RevealJSON(all)
	must(t, err)
	file, log := filepath.Join(dir, "vnfm.yaml"), filepath.Join(dir, "log")
	must(t, os.WriteFile(file, config, 0o600))
	process := exec.CommandContext(t.Context(), program, "-config="+file) //nolint:gosec // our own
	output, err := os.Create(log)                                         //nolint:gosec // our own
	must(t, err)
	defer func() { _ = output.Close() }()
	process.Stderr = output
	must(t, process.Start())
	t.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait()
		if text, err := os.ReadFile(log); t.Failed() {
			t.Log(string(text), err)
		}
	})
	var address []string
	await(t, "the VNFM serves", func() bool {
		text, err := os.ReadFile(log) //nolint:gosec // our own
		must(t, err)
		address = regexp.MustCompile(`msg=serving address=(\S+)`).FindStringSubmatch(string(text))
		return address != nil
	})
	return "http://" + address[1]
}

// tackerClient is python3-tackerclient with one version of the API.
type tackerClient struct {
	t                      *testing.T
	endpoint, version, dir string
	login                  []string // options; default: no authentication
}

// run runs a command of the client and decodes what it prints.
func (c *tackerClient) run(into any, args ...string) {
	c.t.Helper()
	out, faults, err := c.try(args...)
	if err == nil && into != nil {
		err = json.Unmarshal(out, into)
	}
	if err != nil {
		c.t.Fatalf("vnflcm %s: %v\n%s%s", strings.Join(args, " "), err, out, faults)
	}
}

// try runs a command of the client, which may fail.
func (c *tackerClient) try(args ...string) (out []byte, faults string, err error) {
	c.t.Helper()
	login := c.login
	if login == nil {
		login = []string{"--os-auth-type", "none", "--os-endpoint", c.endpoint}
	}
	command := exec.CommandContext(c.t.Context(), "openstack", slices.Concat(login, []string{"--os-tacker-api-version", c.version, "vnflcm"}, args)...) //nolint:gosec // this test
	command.Env = append(os.Environ(), "no_proxy=127.0.0.1")
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err = command.Output()
	return out, stderr.String(), err
}

// file writes a request for the client.
func (c *tackerClient) file(name string, request any) string {
	c.t.Helper()
	text, err := vnflcm.RevealJSON(request)
	must(c.t, err)
	name = filepath.Join(c.dir, name)
	must(c.t, os.WriteFile(name, text, 0o600))
	return name
}

// operates runs a command that starts an operation of an instance, and waits until the operation has ended.
func (c *tackerClient) operates(instance, kind string, args ...string) {
	c.t.Helper()
	c.run(nil, args...)
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		var found []struct {
			OperationState string
			Error          struct{ Detail string }
		}
		c.get("/vnf_lcm_op_occs?all_fields&filter=(eq,vnfInstanceId,"+instance+");(eq,operation,"+kind+")", &found)
		if len(found) == 1 && found[0].OperationState == "COMPLETED" {
			return
		}
		if len(found) != 1 || found[0].OperationState == "FAILED_TEMP" || time.Now().After(deadline) {
			c.t.Fatalf("%s has not completed: %+v", kind, found)
		}
	}
}

// get reads a resource. It asks without the client, which takes a second for each command.
func (c *tackerClient) get(path string, into any) {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.endpoint+"/vnflcm/v"+c.version+path, nil)
	must(c.t, err)
	request.Header.Set("Version", map[string]string{"1": "1.3.0", "2": "2.0.0"}[c.version])
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	must(c.t, err)
	defer func() { _ = response.Body.Close() }()
	must(c.t, json.NewDecoder(response.Body).Decode(into))
}

// moveWorkers instantiates a VNF, connects its workers to another network and terminates it.
func (c *tackerClient) moveWorkers(o *openStack) {
	c.t.Helper()
	var created, shown map[string]any
	c.run(&created, "create", vnfdID, "-f", "json")
	instance := fmt.Sprint(created["ID"])
	instantiate, err := stackRequest("instantiate.json", "simple", o.networks[1], 1)
	must(c.t, err)
	c.operates(instance, "INSTANTIATE", "instantiate", instance, c.file("instantiate.json", instantiate))
	before := c.addresses(instance, otherNetwork, otherNetwork)

	c.operates(instance, "CHANGE_EXT_CONN", "change-ext-conn", instance, c.file("change.json", vnflcm.ChangeExtVnfConnectivityRequest{
		ExtVirtualLinks: []vnflcm.ExtVirtualLinkData{{ID: "net0_worker", ResourceID: o.networks[0], ExtCps: []vnflcm.VnfExtCpData{{CpdID: "workerNode_CP2"}}}}}))
	after := c.addresses(instance, otherNetwork, hostNetwork())
	for id, address := range after {
		if before[id] == "" || (before[id] == address) == hostNetwork().Contains(netip.MustParseAddr(address)) {
			c.t.Errorf("VNFC %s had the address %q, has %s", id, before[id], address)
		}
	}
	c.run(&shown, "show", instance, "-f", "json")
	if text := fmt.Sprint(shown["Instantiated Vnf Info"]); !strings.Contains(text, o.networks[0]) {
		c.t.Errorf("the client shows %v, not the network %s", shown, o.networks[0])
	}
	c.operates(instance, "TERMINATE", "terminate", instance)
	c.run(nil, "delete", instance)
}

// addresses returns the address of each VNFC, which must begin with that of the network of the masters or of the workers.
func (c *tackerClient) addresses(instance string, masters, workers netip.Prefix) map[string]string {
	c.t.Helper()
	var found vnflcm.VnfInstance
	c.get("/vnf_instances/"+instance, &found)
	out := map[string]string{}
	for _, v := range found.InstantiatedVnfInfo.VnfcResourceInfo {
		want := masters
		if v.VduID == "workerNode" {
			want = workers
		}
		if out[v.ID] = v.VnfcCpInfo[0].CpProtocolInfo[0].IPOverEthernet.IPAddresses[0].Addresses[0]; !want.Contains(netip.MustParseAddr(out[v.ID])) {
			c.t.Errorf("%s has the address %s, want one in %s", v.VduID, out[v.ID], want)
		}
	}
	if len(out) != 2 {
		c.t.Fatalf("VNFCs %v", out)
	}
	return out
}
