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
	for name, change := range map[string][2]string{
		"requirement":  {"requirements: [virtual_binding: worker]", "requirements: [virtual_binding: worker, virtual_link:net]"},
		"policy":       {"  policies:\n", "  policies:\n    - placement:tosca.policies.nfv.AffinityRule\n"},
		"groups":       {"  policies:\n", "  groups: {g: {type: tosca.groups.nfv.PlacementGroup, properties: {description: g}, members: worker}}\n  policies:\n"},
		"substitution": {"properties: {flavour_id: plain}}", "properties: {flavour_id: plain}, requirements: [virtual_link:worker_cp]}"},
		"node filter":  {"virtual_binding: master]", "virtual_binding: {node: master, node_filter: {properties: [name:master]}}]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := toyFS("cluster")
			const flavour = "Definitions/plain.yaml"
			changed := bytes.Replace(files[flavour].Data, []byte(change[0]), []byte(change[1]), 1)
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
			wantText(t, err, string(problem.Type))
			_, err = x.Instantiate(t.Context(), created, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
			wantText(t, err, string(problem.Type))
			x.operate(id)
		})
	}
}
