package sandbox_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// upgraded is a VNFD of servers with a volume and an image.
const upgraded = `tosca_definitions_version: tosca_simple_yaml_1_2
imports: [etsi_nfv_sol001_vnfd_types.yaml]
metadata: {template_name: servers, template_author: vnfkit, template_version: '1.0'}
node_types:
  test.VNF: {derived_from: tosca.nodes.nfv.VNF}
topology_template:
  substitution_mappings: {node_type: test.VNF, properties: {flavour_id: simple}}
  node_templates:
    VNF:
      type: test.VNF
      properties:
        {descriptor_id: servers-1, descriptor_version: '1.0', provider: vnfkit, product_name: servers, software_version: '1.0',
         vnfm_info: ['0:vnfkit'], flavour_id: simple, flavour_description: machines}
    server:
      type: tosca.nodes.nfv.Vdu.Compute
      properties:
        name: server
        description: a machine
        vdu_profile: {min_number_of_instances: 3, max_number_of_instances: 3}
        sw_image_data: {name: debian, version: '12', checksum: {algorithm: sha-256, hash: 'aa'}, container_format: bare, disk_format: qcow2, min_disk: 1 GiB, size: 1 GiB}
      capabilities:
        virtual_compute:
          properties: {virtual_memory: {virtual_mem_size: 1 GiB}, virtual_cpu: {num_virtual_cpu: 1}}
      requirements: [virtual_storage: data]
    data:
      type: tosca.nodes.nfv.Vdu.VirtualBlockStorage
      properties: {virtual_block_storage_data: {size_of_storage: 1 GiB}}
    server_CP:
      type: tosca.nodes.nfv.VduCp
      properties: {layer_protocols: [ipv4], order: 0}
      requirements: [virtual_binding: server]
  policies:
    - servers:
        type: tosca.policies.nfv.VduInitialDelta
        targets: [server]
        properties: {initial_delta: {number_of_instances: 3}}
`

// servers returns the package of upgraded after replacements.
func servers(oldnew ...string) fstest.MapFS {
	return fstest.MapFS{"servers.yaml": {Data: []byte(strings.NewReplacer(oldnew...).Replace(upgraded))}}
}

// newServers has another image.
func newServers(oldnew ...string) fstest.MapFS {
	return servers(append([]string{"servers-1", "servers-2", "version: '12'", "version: '13'", "software_version: '1.0'", "software_version: '2.0'"}, oldnew...)...)
}

// twoVersions opens a site with two versions of the servers and an instance of the first.
func twoVersions(t *testing.T, changed fstest.MapFS) (s *site, id string) {
	t.Helper()
	return twoVersionsOn(t, sandbox.Config{}, changed)
}

func twoVersionsOn(t *testing.T, config sandbox.Config, changed fstest.MapFS) (s *site, id string) {
	t.Helper()
	world, err := sandbox.Open(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = world.Close() })
	first := servers()
	m, err := vnflcm.New(t.Context(), vnflcm.Config{
		Store: store.NewMemory(), Key: bytes.Repeat([]byte{1}, 32),
		Packages: vnflcm.PackagesFunc(func(_ context.Context, _, vnfdID string) (tosca.Source, error) {
			if vnfdID == "servers-1" {
				return tosca.FS(first), nil
			}
			return tosca.FS(changed), nil
		}),
		Infra:     map[string]vnflcm.InfraDriver{"sandbox": world},
		KnownVIMs: vnflcm.VimConnections{{VimID: "sandbox", VimType: "sandbox"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close(context.WithoutCancel(t.Context())) })
	s = &site{Manager: m, t: t, world: world}
	inst, err := s.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: "servers-1"})
	if err != nil {
		t.Fatal(err)
	}
	s.must(s.Instantiate(t.Context(), inst.ID, vnflcm.InstantiateVnfRequest{FlavourID: "simple"}))
	return s, inst.ID
}

// request is a change to the second version.
func request(t *testing.T, additional string) vnflcm.ChangeCurrentVnfPkgRequest {
	t.Helper()
	p, err := vnflcm.ParseParams([]byte(additional))
	if err != nil {
		t.Fatal(err)
	}
	return vnflcm.ChangeCurrentVnfPkgRequest{VnfdID: "servers-2", AdditionalParams: p}
}

// TestChangePackage replaces three machines one at a time: names, addresses and volumes stay.
func TestChangePackage(t *testing.T) {
	t.Parallel()
	s, id := twoVersions(t, newServers())
	before, volumes := s.machines(id), s.world.Volumes()
	for _, v := range volumes {
		if err := s.world.FormatVolume(v.ID, "ext4"); err != nil {
			t.Fatal(err)
		}
	}
	data := s.world.Volumes()
	s.must(s.ChangeVnfPkg(t.Context(), id, request(t, "{}")))
	after := s.machines(id)
	for name, was := range before {
		now := after[name]
		if now.Resource == was.Resource || now.Key == was.Key {
			t.Errorf("%s is the same machine", name)
		}
		now.Resource, now.Key = was.Resource, was.Key
		if now != was {
			t.Errorf("before %+v, after %+v", was, now)
		}
	}
	kept := s.world.Volumes()
	for i := range kept {
		kept[i].Machine, data[i].Machine = "", ""
	}
	if diff := cmp.Diff(data, kept); diff != "" {
		t.Errorf("volumes:\n%s", diff)
	}
}

// TestRebuild gives machines a new disk and a new host key under their resource ids.
func TestRebuild(t *testing.T) {
	t.Parallel()
	s, id := twoVersionsOn(t, sandbox.Config{Rebuild: true}, newServers("num_virtual_cpu: 1", "num_virtual_cpu: 2"))
	before := s.machines(id)
	s.must(s.ChangeVnfPkg(t.Context(), id, request(t, "{}")))
	for name, now := range s.machines(id) {
		was := before[name]
		if now.Key == was.Key {
			t.Errorf("%s has the same host key", name)
		}
		if now.Key = was.Key; now != was {
			t.Errorf("before %+v, after %+v", was, now)
		}
	}
}

// TestRolledBackPackage pauses after two machines and rolls back. The third machine is untouched.
func TestRolledBackPackage(t *testing.T) {
	t.Parallel()
	s, id := twoVersions(t, newServers())
	before := s.machines(id)
	s.must(s.ChangeVnfPkg(t.Context(), id, request(t, `{"pause_after": 4}`))) // no pause: there are three
	s.must(s.ChangeVnfPkg(t.Context(), id, vnflcm.ChangeCurrentVnfPkgRequest{VnfdID: "servers-1"}))
	first := s.machines(id)
	opID, err := s.ChangeVnfPkg(t.Context(), id, request(t, `{"pause_after": 2}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Wait(t.Context(), opID); err == nil {
		t.Fatal("the operation did not pause")
	}
	if err := s.Rollback(t.Context(), opID); err != nil {
		t.Fatal(err)
	}
	if occ, _ := s.Wait(t.Context(), opID); occ.OperationState != vnflcm.RolledBack {
		t.Fatalf("operation %+v", occ)
	}
	last := s.machines(id)
	same := 0
	for name := range before {
		if last[name].Address != before[name].Address {
			t.Errorf("%s has another address", name)
		}
		if last[name].Resource == first[name].Resource {
			same++
		}
	}
	if same != 1 {
		t.Errorf("%d machines are as before the change that was rolled back, want 1", same)
	}
}

// TestLossesOfPackage refuses what would end data or addresses, unless the request names the VDU.
func TestLossesOfPackage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		changed []string
		want    string
	}{
		"volume":  {[]string{"requirements: [virtual_storage: data]", "requirements: []"}, "must name server: the change ends the volume data of server-0"},
		"numbers": {[]string{"min_number_of_instances: 3", "min_number_of_instances: 1", "number_of_instances: 3}", "number_of_instances: 2}"}, "must name server: the change ends the VNFC server-2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, id := twoVersions(t, newServers(c.changed...))
			_, err := s.ChangeVnfPkg(t.Context(), id, request(t, "{}"))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %q", err, c.want)
			}
			preview, err := s.Preview(t.Context(), id, request(t, `{"allow_data_loss": ["server"]}`))
			if err != nil || len(preview.Package.Losses) == 0 {
				t.Fatalf("preview %v, %v", preview, err)
			}
			s.must(s.ChangeVnfPkg(t.Context(), id, request(t, `{"allow_data_loss": ["server"]}`)))
		})
	}
}

// TestUnhealthyMachine resizes machines of which one is off: the change stops there, names the machine, and rolls back by itself.
func TestUnhealthyMachine(t *testing.T) {
	t.Parallel()
	s, id := twoVersions(t, servers("servers-1", "servers-2", "num_virtual_cpu: 1", "num_virtual_cpu: 2"))
	before := s.machines(id)
	if err := s.world.Stop("server-1"); err != nil {
		t.Fatal(err)
	}
	opID, err := s.ChangeVnfPkg(t.Context(), id, request(t, `{"health_timeout": 1, "rollback_on_failure": true}`))
	if err != nil {
		t.Fatal(err)
	}
	occ, err := s.Wait(t.Context(), opID)
	if occ.OperationState != vnflcm.RolledBack || !strings.Contains(err.Error(), "the machine server-1 is off") {
		t.Errorf("operation %+v: %v", occ, err)
	}
	if diff := cmp.Diff(before, s.machines(id)); diff != "" {
		t.Errorf("machines:\n%s", diff)
	}
}
