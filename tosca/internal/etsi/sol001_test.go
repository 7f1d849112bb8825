package etsi_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/tosca/internal/etsi"
)

// loadAll parses a file of SOL001, all files that it imports, and the TOSCA profile of the file. It returns the file and all
// types that these documents define.
func loadAll(t *testing.T, target, version string) (*yaml.Node, names) {
	t.Helper()
	defined := names{}
	var first *yaml.Node
	seen := map[string]bool{}
	for queue := []string{target}; len(queue) > 0; queue = queue[1:] {
		if seen[queue[0]] {
			continue
		}
		seen[queue[0]] = true
		f, ok := etsi.Lookup(queue[0], version)
		if !ok {
			t.Errorf("%s of %s is not bundled", queue[0], version)
			continue
		}
		doc := parse(t, f.String(), f.Content())
		defined.add(doc)
		if first == nil {
			first = doc
			profile, ok := etsi.Profile(get(doc, "tosca_definitions_version").Value)
			if !ok {
				t.Errorf("%s: there is no profile for it", f)
			}
			defined.add(parse(t, etsi.ProfileName, profile))
		}
		if imports := get(doc, "imports"); imports != nil {
			for _, i := range imports.Content {
				queue = append(queue, i.Value)
			}
		}
	}
	return first, defined
}

func parse(t *testing.T, name string, content []byte) *yaml.Node {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal(content, &doc); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return &doc
}

// undefined are the types that files of ETSI refer to, and that neither these files nor their imports define. Before 2.8.1 an
// NSD has to import the VNFD types itself.
var undefined = map[string][]string{
	"2.6.1/nsd": {"node_types tosca.nodes.nfv.VNF", "node_types or group_types tosca.nodes.nfv.VNF"},
	"2.7.1/nsd": {"node_types tosca.nodes.nfv.VNF", "node_types or group_types tosca.nodes.nfv.VNF", "node_types tosca.nodes.nfv.PNF"},
}

// TestReferences checks that each bundled file and its imports define all types to which the file refers.
func TestReferences(t *testing.T) {
	for _, version := range etsi.Versions() {
		for _, part := range []string{"vnfd", "common", "nsd", "pnfd"} {
			if version == "2.5.1" && part == "common" {
				continue // the VNFD types contain the common types
			}
			file := "etsi_nfv_sol001_" + part + "_types.yaml"
			t.Run(version+"/"+part, func(t *testing.T) {
				doc, defined := loadAll(t, file, version)
				want := map[string]bool{}
				for _, name := range undefined[version+"/"+part] {
					want[name] = true
				}
				if diff := cmp.Diff(want, defined.missing(references(doc))); diff != "" {
					t.Errorf("undefined types (-known, +found):\n%s", diff)
				}
			})
		}
	}
}

// TestTypesOfETSI checks the release in which a type first appears.
func TestTypesOfETSI(t *testing.T) {
	since := map[string]string{
		"tosca.nodes.nfv.VNF":                           "2.5.1",
		"tosca.nodes.nfv.Vdu.Compute":                   "2.5.1",
		"tosca.nodes.nfv.VduCp":                         "2.5.1",
		"tosca.nodes.nfv.VnfVirtualLink":                "2.5.1",
		"tosca.nodes.nfv.VnfExtCp":                      "2.5.1",
		"tosca.nodes.nfv.VipCp":                         "2.7.1",
		"tosca.nodes.nfv.Vdu.OsContainer":               "4.2.1",
		"tosca.nodes.nfv.Vdu.OsContainerDeployableUnit": "4.2.1",
		"tosca.nodes.nfv.Mciop":                         "4.2.1",
	}
	for _, version := range etsi.Versions() {
		_, defined := loadAll(t, "etsi_nfv_sol001_vnfd_types.yaml", version)
		for name, first := range since {
			if got, want := defined["node_types"][name], version >= first; got != want {
				t.Errorf("SOL001 %s has %s: %v, want %v", version, name, got, want)
			}
		}
	}
}
