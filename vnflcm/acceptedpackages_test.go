package vnflcm_test

import (
	"bytes"
	"context"
	"testing"
	"testing/fstest"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// credulous are the Packages of an earlier version, which did not find the faults of its package.
type credulous struct {
	cache *tosca.Cache
	files fstest.MapFS
}

func (p credulous) Open(ctx context.Context, _, _, digest string) (*tosca.Package, error) {
	if digest == "" {
		a, err := csar.OpenFS(ctx, p.files, csar.Options{})
		if err != nil {
			return nil, err
		}
		defer a.Close()
		if digest, err = a.Digest(ctx); err != nil {
			return nil, err
		}
	}
	return p.cache.OpenPinned(ctx, tosca.FS(p.files), digest)
}

// TestFaultsFoundLater has packages with faults that an earlier version accepted: their instances are healed, scaled and terminated, and
// new instances are refused.
func TestFaultsFoundLater(t *testing.T) {
	t.Parallel()
	const policies = "  policies:\n"
	for name, c := range map[string]struct {
		from, to string
		code     problem.Code
	}{
		"requirement":  {"requirements: [virtual_binding: worker]", "requirements: [virtual_binding: worker, virtual_link:net]", problem.Type},
		"policy":       {policies, policies + "    - placement:tosca.policies.nfv.AffinityRule\n", problem.Type},
		"groups":       {policies, "  groups: {g: {type: tosca.groups.nfv.PlacementGroup, properties: {description: g}, members: worker}}\n" + policies, problem.Type},
		"substitution": {"properties: {flavour_id: plain}}", "properties: {flavour_id: plain}, requirements: [virtual_link:worker_cp]}", problem.Type},
		"node filter":  {"virtual_binding: master]", "virtual_binding: {node: master, node_filter: {properties: [name:master]}}]", problem.Type},
		"relationship": {"virtual_binding: master]", "virtual_binding: {node: master, relationship: bound}]", problem.UnknownRelationship},
		"workflow":     {policies, "  workflows: {repair: {steps: {one: {target: worker, on_success: [two]}}}}\n" + policies, problem.UnknownStep},
		"trigger": {policies, policies + "    - load: {type: tosca.policies.nfv.AffinityRule, targets: [worker], properties: {scope: zone}, triggers: {high: {event: e, action: [delegate: repair]}}}\n",
			problem.UnknownWorkflow},
		"checksum": {"file: driver.py}", "file: driver.py, checksum: '00', checksum_algorithm: SHA-256}\n        second: {type: tosca.artifacts.File, file: driver.py, checksum: '01', checksum_algorithm: SHA-256}",
			problem.HashMismatch},
		"change of the package": {policies, policies + "    - up: {type: tosca.policies.nfv.VnfPackageChange, properties: {modification_qualifier: up, destination_flavour_id: tall," +
			" selector: {source_descriptor_id: a, destination_descriptor_id: " + toyVNFD + ", source_flavour_id: f}}}\n", problem.PackageChange},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := toyFS("cluster")
			if c.code == problem.PackageChange { // a policy of SOL001 v3.3.1
				files["Definitions/top.yaml"] = &fstest.MapFile{Data: bytes.Replace(files["Definitions/top.yaml"].Data, []byte("imports: ["), []byte("imports: [https://forge.etsi.org/rep/nfv/SOL001/raw/v3.3.1/etsi_nfv_sol001_vnfd_types.yaml, "), 1)}
			}
			const flavour = "Definitions/plain.yaml"
			changed := bytes.Replace(files[flavour].Data, []byte(c.from), []byte(c.to), 1)
			if bytes.Equal(changed, files[flavour].Data) {
				t.Fatal("the package has no fault")
			}
			files[flavour] = &fstest.MapFile{Data: changed}
			x := newToys(t, onPackages(credulous{tosca.NewCache(1), files}))
			created, id := x.create(), x.instantiated("plain")

			dir := t.TempDir()
			place(t, dir, "toy.csar", files)
			x.cfg.Packages = vnflcm.DirPackages(dir)
			x.start()
			_, err := x.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: toyVNFD})
			wantText(t, err, string(c.code))
			_, err = x.Instantiate(t.Context(), created, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
			wantText(t, err, string(c.code))
			x.operate(id)
		})
	}
}
