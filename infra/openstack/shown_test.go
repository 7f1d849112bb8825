package openstack_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// lookingAt is a management driver that calls the function with each VNFC after the instantiation.
type lookingAt func(vnflcm.VNFC)

func (lookingAt) Validate(context.Context, *vnflcm.Operation) error { return nil }
func (look lookingAt) Hooks() vnflcm.Hooks {
	hooks := new(idle).Hooks()
	hooks[vnflcm.InstantiateEnd] = func(_ context.Context, op *vnflcm.Operation) error {
		for _, v := range op.VNFCs {
			look(v)
		}
		return nil
	}
	return hooks
}

// TestWhatAnInstanceShows checks all attributes of the stack that management drivers and clients get.
func TestWhatAnInstanceShows(t *testing.T) {
	t.Parallel()
	l := newLab(t, openstack.VimTypeV2)
	hosts := map[string]bool{}
	l.Manager = l.start(func(cfg *vnflcm.Config) {
		cfg.Mgmt = map[string]vnflcm.MgmtDriver{"mgmt-drivers-kubernetes": lookingAt(func(v vnflcm.VNFC) { hosts[v.Host] = true })}
	})
	l.must(l.instantiate())
	if diff := cmp.Diff(map[string]bool{"hash-of-the-host": true}, hosts); diff != "" {
		t.Errorf("compute hosts, which Nova shows only to its administrators:\n%s", diff)
	}
	inst, err := l.Get(t.Context(), l.id)
	if err != nil {
		t.Fatal(err)
	}
	info := inst.InstantiatedVnfInfo
	stack := l.stacks[openstack.StackName(l.id)]
	if info.Metadata["stack_id"] != stack.ID || len(info.VnfcResourceInfo) != 3 || len(info.ExtCpInfo) != 3 {
		t.Fatalf("%+v", info)
	}
	m := stack.groups["worker_instance"][0]
	i := slices.IndexFunc(info.VnfcResourceInfo, func(v vnflcm.VnfcResourceInfo) bool { return v.ComputeResource.ResourceID == m.server })
	got := info.VnfcResourceInfo[i]
	volume := slices.IndexFunc(info.VirtualStorageResourceInfo, func(s vnflcm.VirtualStorageResourceInfo) bool { return s.StorageResource.ResourceID == m.volume })
	want := vnflcm.VnfcResourceInfo{ID: got.ID, VduID: "workerNode", ZoneID: "nova", StorageResourceIDs: []string{info.VirtualStorageResourceInfo[volume].ID},
		ComputeResource: vnflcm.ResourceHandle{VimConnectionID: "vim", ResourceID: m.server},
		VnfcCpInfo: []vnflcm.VnfcCpInfo{{ID: m.port, CpdID: "workerNode_CP2", VnfExtCpID: "ext-" + m.port, CpProtocolInfo: []vnflcm.CpProtocolInfo{{
			LayerProtocol: "IP_OVER_ETHERNET", IPOverEthernet: &vnflcm.IPOverEthernetAddressInfo{MacAddress: "fa:16:3e:00:00:01",
				IPAddresses: []vnflcm.IPAddressInfo{{Type: "IPV4", Addresses: []string{"203.0.113.9", m.address}}}}}}}},
		Metadata: map[string]string{"creation_time": m.created.UTC().Format("2006-01-02T15:04:05Z"), "parent_resource_name": m.name,
			"parent_stack_id": "worker_instance-" + stack.Name + "/worker_instance" + stack.ID, "stack_id": "nested-" + m.name + "/" + m.stack},
		Name: "host-" + m.name, Host: "hash-of-the-host",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("workerNode-"+got.ID, info.VnfcInfo[i].ID); diff != "" {
		t.Error(diff)
	}
}

// TestSecretsStay checks that no log, event, error or record contains the password of the VIM, also after failures.
func TestSecretsStay(t *testing.T) {
	t.Parallel()
	l := newLab(t, openstack.VimTypeV2)
	var log bytes.Buffer
	driver := openstack.New(l.cfg)
	t.Cleanup(driver.Close)
	m, err := vnflcm.New(t.Context(), vnflcm.Config{Store: l.store, Key: bytes.Repeat([]byte{1}, 32), Packages: packages,
		Infra: map[string]vnflcm.InfraDriver{l.kind: driver}, Mgmt: map[string]vnflcm.MgmtDriver{"mgmt-drivers-kubernetes": &idle{}},
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	l.Manager = m
	l.failures = []failure{{"CREATE", "the password " + secret + " was not taken"}}
	opID, err := l.instantiate()
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Wait(t.Context(), opID)
	texts := []string{err.Error()}
	l.must(opID, l.Retry(t.Context(), opID))
	occ, err := l.Operation(t.Context(), opID)
	text, _ := json.Marshal(occ)
	texts = append(texts, string(text), strings.Join(l.said, "\n"))
	if err := errors.Join(err, m.Close(context.Background())); err != nil {
		t.Fatal(err)
	}
	for _, text := range append(texts, log.String()) {
		if strings.Contains(text, secret) {
			t.Errorf("the password is in %s", text)
		}
	}
}

// TestGrantFillsIn checks that a missing value is not a fault before the grant if the grant can contain it.
func TestGrantFillsIn(t *testing.T) {
	t.Parallel()
	l := newLab(t, openstack.VimTypeV2)
	driver := openstack.New(l.cfg)
	t.Cleanup(driver.Close)
	m, err := vnflcm.New(t.Context(), vnflcm.Config{Store: l.store, Key: bytes.Repeat([]byte{1}, 32), Packages: packages, Granter: vnflcm.GranterFunc(nfvo{}.grant),
		Infra: map[string]vnflcm.InfraDriver{l.kind: driver}, Mgmt: map[string]vnflcm.MgmtDriver{"mgmt-drivers-kubernetes": &idle{}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close(context.Background()) })
	l.Manager = m
	r := l.request("")
	r.ExtVirtualLinks = nil
	l.must(l.Instantiate(t.Context(), l.id, r))
	want := map[string]any{
		"VDU": map[string]any{
			"masterNode": map[string]any{"computeFlavourId": "m1.medium", "vcImageId": "ubuntu-24.04-server-cloudimg-amd64", "desired_capacity": 1.0},
			"workerNode": map[string]any{"computeFlavourId": "granted", "vcImageId": "granted-image", "desired_capacity": 2.0}},
		"CP": map[string]any{"masterNode_CP1": map[string]any{"network": "granted-net"}, "workerNode_CP2": map[string]any{"network": "granted-net"}},
	}
	if diff := cmp.Diff(any(want), l.stacks[openstack.StackName(l.id)].params["nfv"]); diff != "" {
		t.Error(diff)
	}
}

type nfvo struct{}

func (nfvo) grant(context.Context, vnflcm.GrantRequest) (*vnflcm.Grant, error) {
	return &vnflcm.Grant{ID: "g", VimAssets: &vnflcm.VimAssets{
		ComputeResourceFlavours: []vnflcm.VimComputeResourceFlavour{{VnfdVirtualComputeDescID: "workerNode", VimFlavourID: "granted"}},
		SoftwareImages:          []vnflcm.VimSoftwareImage{{VnfdSoftwareImageID: "workerNode", VimSoftwareImageID: "granted-image"}}},
		ExtVirtualLinks: []vnflcm.ExtVirtualLinkData{{ID: "l", ResourceID: "granted-net",
			ExtCps: []vnflcm.VnfExtCpData{{CpdID: "masterNode_CP1"}, {CpdID: "workerNode_CP2"}}}}}, nil
}

// volumes returns the volumes by the id of their VNFC. It checks that the document of the instance has the same volumes.
func (l *lab) volumes() map[string]string {
	l.t.Helper()
	inst, err := l.Get(l.t.Context(), l.id)
	if err != nil {
		l.t.Fatal(err)
	}
	resources := map[string]string{}
	for _, s := range inst.InstantiatedVnfInfo.VirtualStorageResourceInfo {
		resources[s.ID] = s.StorageResource.ResourceID
	}
	out := map[string]string{}
	for _, v := range inst.InstantiatedVnfInfo.VnfcResourceInfo {
		for _, id := range v.StorageResourceIDs {
			if out[v.ID] = resources[id]; out[v.ID] == "" {
				l.t.Errorf("VNFC %s has the storage %s, which the instance does not show", v.ID, id)
			}
			delete(resources, id)
		}
	}
	if len(resources) != 0 {
		l.t.Errorf("no VNFC has the storages %v", resources)
	}
	return out
}

// TestVolumes checks that healing keeps the volumes of the healed VNFCs unless the request asks for new volumes, and always keeps the
// volumes of other VNFCs.
func TestVolumes(t *testing.T) {
	t.Parallel()
	const storage = `"tacker_extension_heal_include_block_storage": `
	for params, replaced := range map[string]bool{"": false, `{"all": false}`: false, `{"all": true}`: true, `{"all": "True"}`: true,
		"{" + storage + "true}": true, "{" + storage + "false}": false, `{"all": false, ` + storage + `"true"}`: true, `{"all": true, ` + storage + "false}": false} {
		for _, kind := range []string{openstack.VimTypeV1, openstack.VimTypeV2} {
			t.Run(kind+" "+params, func(t *testing.T) {
				t.Parallel()
				l := newLab(t, kind)
				servers := l.must(l.instantiate())
				before := l.volumes()
				one := slices.Min(slices.Collect(maps.Keys(before)))
				now := l.must(l.healWith(params, one))
				var want []string
				if replaced {
					want = []string{one}
				}
				if diff := cmp.Diff(want, changed(before, l.volumes())); diff != "" || len(changed(servers, now)) != 1 {
					t.Errorf("volumes that were replaced:\n%s", diff)
				}
			})
		}
	}
}

// TestVolumeIsMissing checks that the document of an instance does not contain a volume that Heat has not created yet.
func TestVolumeIsMissing(t *testing.T) {
	t.Parallel()
	l := newLab(t, openstack.VimTypeV2)
	l.must(l.instantiate())
	stack := l.stacks[openstack.StackName(l.id)]
	stack.groups["worker_instance"][0].volume = ""
	l.must(l.reconnect())
	if got := l.volumes(); len(got) != 2 {
		t.Errorf("volumes %v", got)
	}
}
