package grammar_test

import (
	"testing"

	"github.com/vnfkit/vnfkit/tosca/internal/etsi"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// TestTypesOfETSI checks the files of ETSI against the grammar. Packages contain copies of these files, so Validate would report
// their faults as faults of the package.
func TestTypesOfETSI(t *testing.T) {
	for _, version := range etsi.Versions() {
		for _, part := range []string{"vnfd", "common", "nsd", "pnfd"} {
			f, ok := etsi.Lookup("etsi_nfv_sol001_"+part+"_types.yaml", version)
			if !ok {
				continue
			}
			t.Run(version+"/"+part, func(t *testing.T) {
				for _, p := range validate(t, files{"v.yaml": string(f.Content())}, problem.UnimportedTypes) {
					if p.Severity == problem.Error { // two NSD files do not import the VNFD types
						t.Error(p)
					}
				}
			})
		}
	}
}

func TestProfiles(t *testing.T) {
	for _, version := range []string{"1_0", "1_1", "1_2", "1_3"} {
		version = "tosca_simple_yaml_" + version
		content, _ := etsi.Profile(version)
		for _, p := range validate(t, files{"v.yaml": "tosca_definitions_version: " + version + "\n" + string(content)}) {
			t.Errorf("%s: %v", version, p)
		}
	}
}
