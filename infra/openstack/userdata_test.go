package openstack_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/infra/openstack/hot"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// hotOf returns a base HOT with one resource VDU1 with these properties.
func hotOf(t *testing.T, properties string) *hot.Template {
	t.Helper()
	template, err := hot.Load(fstest.MapFS{
		"BaseHOT/df/top.yaml": {Data: []byte("heat_template_version: 2018-08-31\nparameters: {nfv: {type: json}}\nresources:\n" +
			"  VDU1:\n    type: VDU1.yaml\n    properties:\n" + properties +
			"  link: {type: OS::Neutron::Net}\n")},
		"BaseHOT/df/nested/VDU1.yaml": {Data: []byte("heat_template_version: 2018-08-31\nresources: {VDU1: {type: OS::Nova::Server}}\n")},
	}, "df")
	if err != nil {
		t.Fatal(err)
	}
	return template
}

func connection(network string, addresses ...vnflcm.IPAddressData) []vnflcm.ExtVirtualLinkData {
	l := vnflcm.ExtVirtualLinkData{ID: "l", ResourceID: network, ExtLinkPorts: []vnflcm.ExtLinkPortData{{ID: "p", ResourceHandle: vnflcm.ResourceHandle{ResourceID: "port-1"}}}}
	l.ExtCps = []vnflcm.VnfExtCpData{{CpdID: "CP1", CpConfig: vnflcm.ExtCpConfigs{{LinkPortID: "p", CpProtocolData: []vnflcm.CpProtocolData{{
		IPOverEthernet: &vnflcm.IPOverEthernetAddressData{MacAddress: "fa:16:3e:00:00:07", IPAddresses: addresses}}}}}}}
	return []vnflcm.ExtVirtualLinkData{l}
}

// df returns a flavour with one VDU that has n VNFCs.
func df(n int) *tosca.Flavour {
	return &tosca.Flavour{ID: "df", VDUs: []tosca.VDU{{ID: "VDU1", Initial: n, Image: &tosca.SoftwareImage{Name: "cirros"},
		Compute: tosca.Compute{FlavourName: "m1.tiny", VirtualCPUs: 2, Memory: 512 << 20, LocalStorage: []int64{3 << 30}}}},
		CPs:      []tosca.ConnectionPoint{{ID: "CP1", VDU: "VDU1"}},
		Storages: []tosca.Storage{{ID: "VDU1-VirtualStorage", Image: &tosca.SoftwareImage{Name: "disk"}}}}
}

const everything = `
      a: {get_param: [nfv, VDU, VDU1, computeFlavourId]}
      b: {get_param: [nfv, VDU, VDU1, flavor, ram]}
      c: {get_param: [nfv, VDU, VDU1-VirtualStorage, vcImageId]}
      d: {get_param: [nfv, VDU, VDU1, locationConstraints]}
      e: {get_param: [nfv, CP, CP1, network]}
      f: {get_param: [nfv, CP, CP1, fixed_ips, 0, ip_address]}
      g: {get_param: [nfv, CP, CP1, fixed_ips, 1, subnet]}
      h: {get_param: [nfv, CP, CP1, mac_address]}
      i: {get_param: [nfv, CP, CP1, port]}
      j: {get_param: [nfv, VL, link, network]}
      k: {get_param: [nfv, more, own]}
`

func TestDefaultUserData(t *testing.T) {
	t.Parallel()
	given := connection("net-1", vnflcm.IPAddressData{Type: "IPV4", FixedAddresses: []string{"10.0.0.5"}, SubnetID: "s1"},
		vnflcm.IPAddressData{Type: "IPV6", SubnetID: "s2"})
	params, err := vnflcm.ParseParams([]byte(`{"nfv": {"more": {"own": 7}}}`))
	if err != nil {
		t.Fatal(err)
	}
	op := &vnflcm.Operation{OperationData: vnflcm.OperationData{Kind: vnflcm.OpInstantiate, Flavour: df(1), Connectivity: given, Params: params,
		ManagedLinks: []vnflcm.ExtManagedVirtualLinkData{{VnfVirtualLinkDescID: "link", ResourceID: "net-2"}}}}
	def, err := openstack.DefaultUserData(t.Context(), openstack.UserDataRequest{Op: op, Template: hotOf(t, everything)})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"VDU": map[string]any{
			"VDU1":                map[string]any{"computeFlavourId": "m1.tiny", "flavor": map[string]any{"ram": int64(512)}, "locationConstraints": nil},
			"VDU1-VirtualStorage": map[string]any{"vcImageId": "disk"}},
		"CP": map[string]any{"CP1": map[string]any{"network": "net-1", "mac_address": "fa:16:3e:00:00:07", "port": "port-1",
			"fixed_ips": []any{map[string]any{"ip_address": "10.0.0.5"}, map[string]any{"subnet": "s2"}}}},
		"VL": map[string]any{"link": map[string]any{"network": "net-2"}},
	}
	nfv := def.Parameters["nfv"].(map[string]any)
	delete(nfv, "more")
	if diff := cmp.Diff(want, nfv); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(def.Template.Text(), "OS::Neutron::Net") {
		t.Error("the stack creates the externally managed link")
	}
}

// TestMovedConnectionPoint checks that subnets and addresses of the former network are removed.
func TestMovedConnectionPoint(t *testing.T) {
	t.Parallel()
	properties := "      e: {get_param: [nfv, CP, CP1, network]}\n      g: {get_param: [nfv, CP, CP1, fixed_ips, 0, subnet]}\n"
	current := map[string]any{"nfv": map[string]any{"CP": map[string]any{"CP1": map[string]any{"network": "old", "fixed_ips": []any{map[string]any{"subnet": "old-subnet"}}}}}}
	for name, c := range map[string]struct {
		addresses []vnflcm.IPAddressData
		want      string
	}{
		"subnet given": {[]vnflcm.IPAddressData{{Type: "IPV4", SubnetID: "new-subnet"}}, ""},
		"none":         {nil, "nfv.CP.CP1.fixed_ips.0.subnet"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			links := connection("new", c.addresses...)
			op := &vnflcm.Operation{OperationData: vnflcm.OperationData{Kind: vnflcm.OpChangeExtConn, Flavour: df(1), Connectivity: links,
				ChangeExtConn: &vnflcm.ChangeExtVnfConnectivityRequest{ExtVirtualLinks: links}}}
			def, err := openstack.DefaultUserData(t.Context(), openstack.UserDataRequest{Op: op, Template: hotOf(t, properties), Current: copied(current)})
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("error %v", err)
				}
				return
			}
			want := map[string]any{"CP": map[string]any{"CP1": map[string]any{"network": "new", "fixed_ips": []any{map[string]any{"subnet": "new-subnet"}}}}}
			if diff := cmp.Diff(any(want), def.Parameters["nfv"]); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

func copied(m map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range m {
		if sub, ok := v.(map[string]any); ok {
			v = copied(sub)
		}
		out[k] = v
	}
	return out
}

// TestStandardUserData checks VNFCs with a separate resource, parameters, address and zone each.
func TestStandardUserData(t *testing.T) {
	t.Parallel()
	properties := "      a: {get_param: [nfv, VDU, VDU1, vcImageId]}\n      f: {get_param: [nfv, CP, CP1, fixed_ips, 0, ip_address]}\n"
	links := connection("net", vnflcm.IPAddressData{Type: "IPV4", FixedAddresses: []string{"10.0.0.5", "10.0.0.6", "10.0.0.7"}})
	vnfc := func(id, index string) vnflcm.VNFC {
		return vnflcm.VNFC{ID: id, VDU: "VDU1", Metadata: map[string]string{"vdu_idx": index}}
	}
	current := map[string]any{"nfv": map[string]any{
		"VDU": map[string]any{"VDU1-0": map[string]any{"vcImageId": "kept"}, "VDU1-1": map[string]any{"vcImageId": "gone"}},
		"CP":  map[string]any{"CP1-0": map[string]any{}, "CP1-1": map[string]any{}}}}
	op := &vnflcm.Operation{OperationData: vnflcm.OperationData{Kind: vnflcm.OpScale, Flavour: df(2), Connectivity: links,
		Resources: vnflcm.Resources{VNFCs: []vnflcm.VNFC{vnfc("a", "0"), vnfc("b", "1")}},
		Change:    vnflcm.Change{Removed: []vnflcm.VNFC{vnfc("b", "1")}, Added: []vnflcm.VNFC{{VDU: "VDU1", Name: "VDU1-2"}}}}}
	def, err := openstack.StandardUserData(t.Context(), openstack.UserDataRequest{Op: op, Template: hotOf(t, properties), Current: current})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"VDU": map[string]any{"VDU1-0": map[string]any{"vcImageId": "kept"}, "VDU1-2": map[string]any{"vcImageId": "cirros"}},
		"CP": map[string]any{"CP1-0": map[string]any{"fixed_ips": []any{map[string]any{"ip_address": "10.0.0.5"}}},
			"CP1-2": map[string]any{"fixed_ips": []any{map[string]any{"ip_address": "10.0.0.7"}}}}}
	if diff := cmp.Diff(any(want), def.Parameters["nfv"]); diff != "" {
		t.Error(diff)
	}
	if text := def.Template.Text(); !strings.Contains(text, "VDU1-0:") || !strings.Contains(text, "VDU1-2:") || strings.Contains(text, "VDU1-1:") {
		t.Error(text)
	}
}

func TestTooManyForTheTemplate(t *testing.T) {
	t.Parallel()
	op := &vnflcm.Operation{OperationData: vnflcm.OperationData{Kind: vnflcm.OpInstantiate, Flavour: df(3)}}
	_, err := openstack.DefaultUserData(t.Context(), openstack.UserDataRequest{Op: op, Template: hotOf(t, "      a: b\n")})
	if err == nil || !strings.Contains(err.Error(), "3 VNFCs of it are wanted") || !strings.Contains(err.Error(), "StandardUserData") {
		t.Errorf("error %v", err)
	}
}
