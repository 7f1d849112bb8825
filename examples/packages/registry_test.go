package packages_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/openstack/hot"
	"github.com/vnfkit/vnfkit/infra/sandbox"
	driver "github.com/vnfkit/vnfkit/mgmt/registry"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

const registry = "private-registry"

func openRegistry(t *testing.T) *tosca.Package {
	t.Helper()
	p, err := tosca.Open(t.Context(), registry)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func TestRegistryPackage(t *testing.T) {
	p := openRegistry(t)
	if err := p.Verify(t.Context()); err != nil {
		t.Errorf("TOSCA.meta states other digests than the files have:\n%v", err)
	}
	if w := p.Warnings(); len(w) > 0 {
		t.Errorf("warnings:\n%v", w)
	}
	for name, volumes := range map[string]int{"simple": 0, "volume": 1} {
		f, err := p.VNFD().Flavour(name)
		if err != nil {
			t.Fatal(err)
		}
		if !hasCP(f, "CP1", "PrivateRegistryVDU") || len(f.VDUs) != 1 || len(f.CPs) != 1 || len(f.VDUs[0].Storages) != volumes {
			t.Errorf("flavour %s: VDUs %v, connection points %v", name, f.VDUs, f.CPs)
		}
		const key = "mgmt-drivers-private-registry"
		drivers := map[string]string{}
		for hook, h := range f.Hooks {
			drivers[hook] = h.Driver
		}
		if diff := cmp.Diff(map[string]string{"instantiate_end": key, "heal_end": key}, drivers); diff != "" {
			t.Errorf("hooks of flavour %s:\n%s", name, diff)
		}
		if _, err := hot.Load(p, name); err != nil {
			t.Error(err)
		}
	}
}

// TestRegistryRequests checks that no request has an unknown attribute, and that the requests that can be used unchanged are valid for the
// package.
func TestRegistryRequests(t *testing.T) {
	p := openRegistry(t)
	names, err := filepath.Glob(registry + "/requests/*.json")
	if err != nil || len(names) != 10 {
		t.Fatalf("requests %q, %v", names, err)
	}
	readme, err := os.ReadFile(registry + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		kind, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(name), ".json"), "_")
		var instantiate vnflcm.InstantiateVnfRequest
		request := map[string]any{"instantiate": &instantiate, "heal": &vnflcm.HealVnfRequest{}, "change": &vnflcm.ChangeCurrentVnfPkgRequest{},
			"terminate": &vnflcm.TerminateVnfRequest{}}[kind]
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if unknown, err := vnflcm.DecodeRequest(content, request); err != nil || len(unknown) > 0 {
			t.Errorf("%s: %q, %v", name, unknown, err)
		}
		if !bytes.Contains(readme, []byte("`"+filepath.Base(name)+"`")) {
			t.Errorf("README.md does not tell of %s", name)
		}
		if kind != "instantiate" {
			continue
		}
		f, err := p.VNFD().Flavour(instantiate.FlavourID)
		if err != nil {
			t.Fatal(err)
		}
		var params struct {
			Registry struct {
				CP     string `json:"ssh_cp_name"`
				File   string `json:"image_path"`
				Volume struct {
					ID string `json:"volume_resource_id"`
				}
			} `json:"private_registry_installation_param"`
		}
		if err := json.Unmarshal(instantiate.AdditionalParams.Reveal(), &params); err != nil {
			t.Fatal(err)
		}
		if !hasCP(f, params.Registry.CP, "PrivateRegistryVDU") {
			t.Errorf("%s: no connection point %q", name, params.Registry.CP)
		}
		if volume := params.Registry.Volume.ID; volume != "" && !slices.Contains(f.VDUs[0].Storages, volume) {
			t.Errorf("%s: no volume %q", name, volume)
		}
		// The README must describe how to get the file.
		if file := params.Registry.File; file != "" && !bytes.Contains(readme, []byte("/"+file)) {
			t.Errorf("%s: README.md does not mention %s", name, file)
		}
		for _, l := range instantiate.ExtVirtualLinks {
			for _, cp := range l.ExtCps {
				if !slices.ContainsFunc(f.ExternalCPs, func(e tosca.ExternalCP) bool { return e.ID == cp.CpdID }) {
					t.Errorf("%s: no external connection point %q", name, cp.CpdID)
				}
			}
		}
	}
}

// TestRegistryOnTheSandbox instantiates, heals and terminates the registry of the package. Only the flavour with a volume keeps the images.
func TestRegistryOnTheSandbox(t *testing.T) {
	for flavour, params := range map[string]string{
		"simple": `{}`,
		"volume": `{"private_registry_installation_param": {"volume": {"volume_resource_id": "RegistryVolume"}}}`,
	} {
		t.Run(flavour, func(t *testing.T) {
			t.Parallel()
			v := newRegistryVNFM(t)
			var instantiate vnflcm.InstantiateVnfRequest
			var heal vnflcm.HealVnfRequest
			var terminate vnflcm.TerminateVnfRequest
			for name, request := range map[string]any{"instantiate_sandbox": &instantiate, "heal": &heal, "terminate": &terminate} {
				content, err := os.ReadFile(registry + "/requests/" + name + ".json")
				check(t, err)
				_, err = vnflcm.DecodeRequest(content, request)
				check(t, err)
			}
			over, err := vnflcm.ParseParams([]byte(params))
			check(t, err)
			instantiate.FlavourID = flavour
			instantiate.AdditionalParams, err = instantiate.AdditionalParams.Merge(over)
			check(t, err)

			before := v.done(v.Instantiate(t.Context(), v.id, instantiate))
			volumes := v.world.Volumes()
			after := v.done(v.Heal(t.Context(), v.id, heal))
			if len(before) != 1 || len(after) != 1 || before[0].ComputeResource == after[0].ComputeResource {
				t.Errorf("machines %v, after the heal %v", before, after)
			}
			for _, machine := range after {
				if _, err := driver.ConnectionOf(machine); err != nil {
					t.Error(err)
				}
			}
			for i, now := range v.world.Volumes() {
				if now.UUID != volumes[i].UUID || now.Filesystem != "ext4" {
					t.Errorf("volume %+v, after the heal %+v", volumes[i], now)
				}
			}
			if left := v.done(v.Terminate(t.Context(), v.id, terminate)); len(left) > 0 || len(v.world.Volumes()) > 0 {
				t.Errorf("remaining machines and volumes: %v, %v", left, v.world.Volumes())
			}
		})
	}
}

// registryVNFM is a VNFM with one instance of the package on a sandbox.
type registryVNFM struct {
	*vnflcm.Manager
	t     *testing.T
	world *sandbox.World
	id    string
}

func newRegistryVNFM(t *testing.T) *registryVNFM {
	t.Helper()
	world, err := sandbox.Open(sandbox.Config{PublicImages: []string{"registry:latest"}})
	check(t, err)
	t.Cleanup(func() { check(t, world.Close()) })
	pool := sshexec.NewPool(sshexec.Options{Dial: world.Dial})
	t.Cleanup(func() { check(t, pool.Close()) })
	m, err := vnflcm.New(t.Context(), vnflcm.Config{
		Store: store.NewMemory(), Key: bytes.Repeat([]byte{1}, 32),
		Packages: vnflcm.DirPackages(registry),
		Infra:    map[string]vnflcm.InfraDriver{"sandbox": world},
		Mgmt:     map[string]vnflcm.MgmtDriver{"mgmt-drivers-private-registry": driver.New(driver.Config{Pool: pool})},
	})
	check(t, err)
	t.Cleanup(func() { check(t, m.Close(context.WithoutCancel(t.Context()))) })
	check(t, m.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "sandbox", VimType: "sandbox"}))
	inst, err := m.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: openRegistry(t).VNFD().ID})
	check(t, err)
	return &registryVNFM{m, t, world, inst.ID}
}

// done waits for an operation, and returns the machines after it.
func (v *registryVNFM) done(op string, err error) []vnflcm.VnfcResourceInfo {
	v.t.Helper()
	check(v.t, err)
	_, err = v.Wait(v.t.Context(), op)
	check(v.t, err)
	inst, err := v.Get(v.t.Context(), v.id)
	check(v.t, err)
	if inst.InstantiatedVnfInfo == nil {
		return nil
	}
	return inst.InstantiatedVnfInfo.VnfcResourceInfo
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
