package script_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/mgmt/script"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// server is a VNFD of one machine. %[1]d is its version, and the number of its CPUs.
const server = `tosca_definitions_version: tosca_simple_yaml_1_2
imports: [etsi_nfv_sol001_vnfd_types.yaml]
metadata: {template_name: server, template_author: vnfkit, template_version: '1.0'}
node_types:
  test.VNF: {derived_from: tosca.nodes.nfv.VNF}
topology_template:
  substitution_mappings: {node_type: test.VNF, properties: {flavour_id: simple}}
  node_templates:
    VNF:
      type: test.VNF
      properties:
        {descriptor_id: server-%[1]d, descriptor_version: '1.0', provider: vnfkit, product_name: server, software_version: '%[1]d.0',
         vnfm_info: ['0:vnfkit'], flavour_id: simple, flavour_description: a machine}
    server:
      type: tosca.nodes.nfv.Vdu.Compute
      properties: {name: server, description: a machine, vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 1}}
      capabilities:
        virtual_compute:
          properties: {virtual_memory: {virtual_mem_size: 1 GiB}, virtual_cpu: {num_virtual_cpu: %[1]d}}
    server_CP:
      type: tosca.nodes.nfv.VduCp
      properties: {layer_protocols: [ipv4], order: 0}
      requirements: [virtual_binding: server]
`

// coordination writes down what it reads, and fails if its parameters say so.
const coordination = `import json, pickle, sys
given = pickle.load(sys.stdin.buffer)
with open(given["report"], "a") as f:
    json.dump([given["vnfc_info_id"], given["ssh_ip"], given["is_rollback"], given["inst"]["vnfdId"], given["password"]], f)
sys.exit("the peer is " + given["peer"] if "peer" in given else 0)
`

// TestCoordination runs a script of Tacker's contract after a machine has changed: it gets the parameters and the address of the machine, and
// its failure stops the change.
func TestCoordination(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("this machine has no python3, which runs the script")
	}
	for name, c := range map[string]struct {
		peer, script string
		want         vnflcm.OperationState
		fault        string
	}{
		"healthy":   {"", "Scripts/coordinate.py", vnflcm.Completed, ""},
		"sick":      {`,"peer":"sick"`, "Scripts/coordinate.py", vnflcm.FailedTemp, "the peer is sick"},
		"no file":   {"", "Scripts/other.py", "", "additionalParams.lcm-operation-coordinate-new-vnf"},
		"no Python": {"", "server.yaml", "", "is no Python"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, id := changeable(t)
			report := filepath.Join(t.TempDir(), "report")
			params, err := vnflcm.ParseParams([]byte(`{"upgrade_type":"RollingUpdate","lcm-operation-coordinate-new-vnf":"` + c.script + `","vdu_params":[{"vdu_id":"server",
				"new_vnfc_param":{"cp_name":"server_CP","username":"u","password":"` + secret + `","report":"` + report + `"` + c.peer + `}}]}`))
			if err != nil {
				t.Fatal(err)
			}
			opID, err := m.ChangeVnfPkg(t.Context(), id, vnflcm.ChangeCurrentVnfPkgRequest{VnfdID: "server-2", AdditionalParams: params})
			if c.want == "" {
				if err == nil || !strings.Contains(err.Error(), c.fault) {
					t.Errorf("error %v, want %q", err, c.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			occ, err := m.Wait(t.Context(), opID)
			if occ.OperationState != c.want || !strings.Contains(fmt.Sprint(err), c.fault) || strings.Contains(fmt.Sprint(err), secret) {
				t.Errorf("operation %s: %v", occ.OperationState, err)
			}
			text, err := os.ReadFile(report)
			if err != nil {
				t.Fatal(err)
			}
			var got []any
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
			inst, err := m.Get(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			v := inst.InstantiatedVnfInfo.VnfcResourceInfo[0]
			want := []any{"server-" + v.ID, v.VnfcCpInfo[0].CpProtocolInfo[0].IPOverEthernet.IPAddresses[0].Addresses[0], false, "server-1", secret}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the script read:\n%s", diff)
			}
		})
	}
}

// changeable returns a Manager with two versions of the server, and an instance of the first.
func changeable(t *testing.T) (*vnflcm.Manager, string) {
	t.Helper()
	world, err := sandbox.Open(sandbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	pool := sshexec.NewPool(sshexec.Options{Dial: world.Dial})
	m, err := vnflcm.New(t.Context(), vnflcm.Config{
		Store: store.NewMemory(), Key: bytes.Repeat([]byte{1}, 32),
		Packages: vnflcm.PackagesFunc(func(_ context.Context, _, vnfdID string) (tosca.Source, error) {
			version := 1
			if vnfdID == "server-2" {
				version = 2
			}
			return tosca.FS(fstest.MapFS{"server.yaml": {Data: fmt.Appendf(nil, server, version)}, "Scripts/coordinate.py": {Data: []byte(coordination)}}), nil
		}),
		Infra:       map[string]vnflcm.InfraDriver{"sandbox": world},
		KnownVIMs:   vnflcm.VimConnections{{VimID: "sandbox", VimType: "sandbox"}},
		Coordinator: script.NewCoordinator(script.Config{Pool: pool}),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = m.Close(context.WithoutCancel(t.Context()))
		pool.Close()
		_ = world.Close()
	})
	inst, err := m.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: "server-1"})
	if err != nil {
		t.Fatal(err)
	}
	opID, err := m.Instantiate(t.Context(), inst.ID, vnflcm.InstantiateVnfRequest{FlavourID: "simple"})
	if err == nil {
		_, err = m.Wait(t.Context(), opID)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m, inst.ID
}
