package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// TestAdoptedStack adopts a stack that was created without the SDK, as version 1 of Tacker's API creates one: with a different
// name, without tags, and scaled by a signal, which does not change the parameters. Then the test scales, heals and deletes
// the stack.
func TestAdoptedStack(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	l := newStackLab(t, openstack.VimTypeV2, packageDir)
	must(t, l.Delete(ctx, l.id, ""))
	l.id = uuid.NewString()
	l.adopted = "vnflcm_" + l.id
	l.makeStack("simple")
	l.signal()
	l.awaitMembers(func(n int, busy []string) bool { return n == 2 && len(busy) == 0 })

	req, err := stackRequest("instantiate.json", "simple", l.networks[1], 1)
	must(t, err)
	known := vnflcm.VnfInstance{ID: l.id, VnfdID: vnfdID, InstantiatedVnfInfo: &vnflcm.InstantiatedVnfInfo{
		ScaleStatus: []vnflcm.ScaleInfo{{AspectID: "worker_instance", ScaleLevel: 1}}}}
	l.wantNotAdopted(known, req)
	before := l.stackState()
	l.adoptWithProgram(known, req)
	_, err = l.Adopt(ctx, known, req, l.adopted)
	must(t, err)
	if after := l.stackState(); after != before {
		t.Errorf("adopting has changed the stack from %s to %s", before, after)
	}
	adopted := l.vnfcs()
	if len(adopted) != 3 || len(workers(adopted)) != 2 {
		t.Fatalf("adopted %v", adopted)
	}
	four := l.must(l.Scale(ctx, l.id, scale(vnflcm.ScaleOut, 2)))
	l.wantUnchanged(adopted, four)
	sick := workers(adopted)[0]
	healed := l.must(l.Heal(ctx, l.id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{sick}}))
	l.wantUnchanged(four, healed, sick)
	if len(healed) != 5 || server(healed[sick]) == server(four[sick]) {
		t.Errorf("healed %v to %v", four, healed)
	}
	two := l.must(l.Scale(ctx, l.id, scale(vnflcm.ScaleIn, 2)))
	if len(two) != 3 {
		t.Errorf("%d VNFCs are left", len(two))
	}
	l.terminate(vnflcm.TerminateForceful)
}

// makeStack makes the stack of a flavour with one worker, by Heat's API alone.
func (l *stackLab) makeStack(flavour string) {
	l.t.Helper()
	dir := filepath.Join(packageDir, "BaseHOT", flavour)
	top, err := os.ReadFile(filepath.Join(dir, flavour+"_hot_top.yaml"))
	must(l.t, err)
	files := map[string]string{}
	for _, vdu := range []string{"master", "worker"} {
		name := flavour + "_nested_" + vdu + ".yaml"
		text, err := os.ReadFile(filepath.Join(dir, "nested", name)) //nolint:gosec // our own
		must(l.t, err)
		files[name] = string(text)
	}
	vdu := func(flavor string) map[string]any {
		return map[string]any{"desired_capacity": 1, "computeFlavourId": flavor, "vcImageId": "ubuntu-24.04-server-cloudimg-amd64"}
	}
	network := map[string]any{"network": l.networks[1]}
	l.heat(http.MethodPost, map[string]any{"stack_name": l.adopted, "template": string(top), "files": files, "parameters": map[string]any{
		"nfv": map[string]any{"VDU": map[string]any{"masterNode": vdu("m1.medium"), "workerNode": vdu("m1.small")},
			"CP": map[string]any{"masterNode_CP1": network, "workerNode_CP2": network}}}}, nil, "stacks")
	l.awaitHeat(func() string {
		if state := l.stackState(); !strings.HasPrefix(state, "CREATE_COMPLETE") {
			return "the stack is " + state
		}
		return ""
	})
}

// stackState is the state of the stack, when it was updated and what tags it has.
func (l *stackLab) stackState() string {
	l.t.Helper()
	var found struct {
		Stack struct {
			Status  string   `json:"stack_status"`
			Updated string   `json:"updated_time"`
			Tags    []string `json:"tags"`
		} `json:"stack"`
	}
	l.heat(http.MethodGet, nil, &found, "stacks", l.adopted)
	return fmt.Sprint(found.Stack.Status, found.Stack.Updated, found.Stack.Tags)
}

// wantNotAdopted has the stack adopted with requests and packages that it was not made from.
func (l *stackLab) wantNotAdopted(known vnflcm.VnfInstance, req vnflcm.InstantiateVnfRequest) {
	l.t.Helper()
	other := req
	other.AdditionalParams, _ = vnflcm.ParseParams([]byte(`{"nfv": {"VDU": {"workerNode": {"computeFlavourId": "m1.medium"}}}, "login_user": "cloud"}`))
	for _, c := range []struct {
		name, file, old, with, resource, want string
		req                                   vnflcm.InstantiateVnfRequest
	}{
		{name: "another login", req: other, want: "additionalParams.login_user"},
		{name: "another flavor", req: other, want: "additionalParams.nfv.VDU.workerNode.computeFlavourId"},
		{name: "no stack", resource: "another", want: "is no stack of the project"},
		{name: "another server", file: "BaseHOT/simple/nested/simple_nested_worker.yaml", old: "image: { get_param: image }", with: "image: cirros", want: "simple_nested_worker.yaml: resources.workerNode"},
		{name: "another port", file: "BaseHOT/simple/nested/simple_nested_worker.yaml", old: "network: { get_param: network }", with: "network: net0", want: "resources.workerNode_CP2"},
		{name: "another name", file: "BaseHOT/simple/simple_hot_top.yaml", old: "control_plane_ports", with: "api_ports", want: "resources.control_plane_ports"},
	} {
		pkg := l.pkg
		if c.file != "" {
			pkg = variant(l.t, c.file, c.old, c.with)
		}
		vim, err := l.cloud.VIM("cloud", openstack.VimTypeV2)
		must(l.t, err)
		m, err := stackManager(l.t.Context(), store.NewMemory(), pkg, l.driver.Driver, idle{}, vim, l.observe)
		must(l.t, err)
		resource := c.resource
		if resource == "" {
			resource = l.adopted
		}
		if c.req.FlavourID == "" {
			c.req = req
		}
		_, err = m.Adopt(l.t.Context(), known, c.req, resource)
		if !errors.Is(err, vnflcm.ErrInvalidRequest) || !strings.Contains(fmt.Sprint(err), c.want) {
			l.t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		must(l.t, m.Close(l.t.Context()))
	}
}

// adoptWithProgram runs examples/k8s-cluster, with a new state directory, to adopt the stack and to show the instance.
func (l *stackLab) adoptWithProgram(known vnflcm.VnfInstance, req vnflcm.InstantiateVnfRequest) {
	l.t.Helper()
	dir := l.t.TempDir()
	vim, err := l.cloud.VIM("cloud", openstack.VimTypeV2)
	must(l.t, err)
	var access struct {
		Username string `json:"username"`
		Password string `json:"password"`
		Project  string `json:"project"`
	}
	_, err = vim.AccessInfo.Decode(&access)
	must(l.t, err)
	for name, content := range map[string]any{"instance.json": known, "request.json": req, "clouds.yaml": map[string]any{"clouds": map[string]any{
		"lab": map[string]any{"auth": map[string]any{"auth_url": l.cloud.AuthURL(), "username": access.Username, "password": access.Password,
			"project_name": access.Project, "user_domain_name": "Default", "project_domain_name": "Default"}}}}} {
		text, err := vnflcm.RevealJSON(content)
		must(l.t, err)
		must(l.t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	program := filepath.Join(dir, "k8s-cluster")
	for _, args := range [][]string{
		{"go", "build", "-ldflags=-s", "-o", program, "../../examples/k8s-cluster"},
		{program, "-cloud=lab", "-package=" + packageDir, "-state=" + dir, "-request=" + filepath.Join(dir, "request.json"), "adopt", l.adopted, filepath.Join(dir, "instance.json")},
		{program, "-cloud=lab", "-package=" + packageDir, "-state=" + dir, "show"},
	} {
		command := exec.CommandContext(l.t.Context(), args[0], args[1:]...) //nolint:gosec // our own
		command.Env = append(os.Environ(), "OS_CLIENT_CONFIG_FILE="+filepath.Join(dir, "clouds.yaml"))
		out, err := command.CombinedOutput()
		if err != nil || args[len(args)-1] == "show" && !strings.Contains(string(out), `"instantiationState": "INSTANTIATED"`) {
			l.t.Errorf("%q: %v: %s", args, err, out)
		}
	}
}
