package etsi_test

import (
	"bytes"
	"testing"

	"github.com/vnfkit/vnfkit/tosca/internal/etsi"
)

func TestLookup(t *testing.T) {
	const forge = "https://forge.etsi.org/rep/nfv/SOL001/"
	tests := []struct {
		target, want string // want is empty for names that are not found
	}{
		{"etsi_nfv_sol001_vnfd_types.yaml", "etsi:2.8.1/etsi_nfv_sol001_vnfd_types.yaml"},
		{"./etsi_nfv_sol001_common_types.yaml", "etsi:2.8.1/etsi_nfv_sol001_common_types.yaml"},
		{"Definitions/etsi_nfv_sol001_nsd_types.yml", "etsi:2.8.1/etsi_nfv_sol001_nsd_types.yaml"},
		{`Definitions\etsi_nfv_sol001_pnfd_types.yaml`, "etsi:2.8.1/etsi_nfv_sol001_pnfd_types.yaml"},
		{"etsi_nfv_sol001_vnfd_types", "etsi:2.8.1/etsi_nfv_sol001_vnfd_types.yaml"},
		{"ETSI_NFV_SOL001_VNFD_TYPES.YAML", "etsi:2.8.1/etsi_nfv_sol001_vnfd_types.yaml"},
		{"etsi_nfv_sol001_vnfd_2_5_1_types.yaml", "etsi:2.5.1/etsi_nfv_sol001_vnfd_types.yaml"},
		{"etsi_nfv_sol001_vnfd_types_3_3_1.yaml", "etsi:3.3.1/etsi_nfv_sol001_vnfd_types.yaml"},
		{"etsi_nfv_sol001_vnfd_v4.2.1_types.yaml", "etsi:4.2.1/etsi_nfv_sol001_vnfd_types.yaml"},
		{"types/3.5.1/etsi_nfv_sol001_vnfd_types.yaml", "etsi:3.5.1/etsi_nfv_sol001_vnfd_types.yaml"},
		{forge + "raw/v2.6.1/etsi_nfv_sol001_vnfd_types.yaml", "etsi:2.6.1/etsi_nfv_sol001_vnfd_types.yaml"},
		{forge + "-/raw/v4.4.1/etsi_nfv_sol001_vnfd_types.yaml?inline=false", "etsi:4.4.1/etsi_nfv_sol001_vnfd_types.yaml"},
		{"https://forge.etsi.org/rep/nfv/sol001/raw/3.7.1/etsi_nfv_sol001_common_types.yaml", "etsi:3.7.1/etsi_nfv_sol001_common_types.yaml"},
		{forge + "raw/master/etsi_nfv_sol001_vnfd_types.yaml", "etsi:2.8.1/etsi_nfv_sol001_vnfd_types.yaml"},

		{forge + "raw/v5.4.1/etsi_nfv_sol001_vnfd_types.yaml", ""}, // not bundled
		{"etsi_nfv_sol001_common_2_5_1_types.yaml", ""},            // never existed
		{"my_etsi_nfv_sol001_vnfd_types.yaml", ""},
		{"etsi_nfv_sol001_types.yaml", ""},
		{"etsi_nfv_sol001_vnfd_types.yaml/other.yaml", ""},
		{"", ""},
	}
	for _, tt := range tests {
		f, ok := etsi.Lookup(tt.target, "2.8.1")
		switch {
		case ok != (tt.want != ""):
			t.Errorf("Lookup(%q) = %v, %v; want %q", tt.target, f, ok, tt.want)
		case ok && f.String() != tt.want:
			t.Errorf("Lookup(%q) = %v; want %q", tt.target, f, tt.want)
		case ok && !bytes.Contains(f.Content(), []byte("tosca_definitions_version")):
			t.Errorf("Lookup(%q): content %.40q", tt.target, f.Content())
		}
	}
	if f, ok := etsi.Lookup("etsi_nfv_sol001_vnfd_types.yaml", "1.0"); ok {
		t.Errorf("found %v of a release that is not bundled", f)
	}
}

func TestIsTypeFile(t *testing.T) {
	for target, want := range map[string]bool{
		"https://forge.etsi.org/rep/nfv/SOL001/raw/v5.4.1/etsi_nfv_sol001_vnfd_types.yaml": true,
		"etsi_nfv_sol001_pnfd_types":      true,
		"etsi_nfv_sol001_types.yaml":      false,
		"etsi_nfv_sol006_vnfd_types.yaml": false,
	} {
		if got := etsi.IsTypeFile(target); got != want {
			t.Errorf("IsTypeFile(%q) = %v", target, got)
		}
	}
}

func TestVersionFor(t *testing.T) {
	tests := []struct{ tosca, name, version, want string }{
		{"tosca_simple_yaml_1_0", "", "", "2.6.1"},
		{"tosca_simple_yaml_1_2", "my_vnf", "3.3.1", "2.6.1"},
		{"tosca_simple_yaml_1_3", "my_vnf", "3.3.1", "4.4.1"},
		{"tosca_simple_yaml_1_3", "etsi_nfv_sol001_vnfd_types", "3.3.1", "3.3.1"},
		{"tosca_simple_yaml_1_2", "etsi_nfv_sol001_vnfd_types", "9.9.9", "2.6.1"},
	}
	for _, tt := range tests {
		if got := etsi.VersionFor(tt.tosca, tt.name, tt.version); got != tt.want {
			t.Errorf("VersionFor(%q, %q, %q) = %s, want %s", tt.tosca, tt.name, tt.version, got, tt.want)
		}
	}
}

func FuzzLookup(f *testing.F) {
	for _, s := range []string{
		"etsi_nfv_sol001_vnfd_types.yaml",
		"https://forge.etsi.org/rep/nfv/SOL001/raw/v2.6.1/etsi_nfv_sol001_vnfd_types.yaml",
		"../2.6.1/etsi_nfv_sol001_common_9_9_9_types.yml?x",
	} {
		f.Add(s, "2.6.1")
	}
	f.Fuzz(func(t *testing.T, target, version string) {
		if file, ok := etsi.Lookup(target, version); ok && (len(file.Content()) == 0 || !etsi.IsTypeFile(target)) {
			t.Errorf("Lookup(%q, %q) = %v with %d bytes", target, version, file, len(file.Content()))
		}
	})
}
