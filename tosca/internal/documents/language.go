package documents

import (
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// remedies are the messages for versions whose documents resemble those of SOL001.
var remedies = map[string]string{
	"tosca_simple_profile_for_nfv_1_0_0": "this is the NFV profile of OASIS, which early Tacker used; write tosca_simple_yaml_1_2 and import " +
		"etsi_nfv_sol001_vnfd_types.yaml, whose types replace those of the profile",
}

// catalogs are the top level keys of descriptors in the YANG model of SOL006, which OSM uses, in their names since and before release 9.
var catalogs = []string{"vnfd", "nsd", "vnfd:vnfd-catalog", "nsd:nsd-catalog", "vnfd-catalog", "nsd-catalog", "etsi-nfv-descriptors:nfv"}

// otherLanguage reports a descriptor that is not written in TOSCA. Its content is not checked.
func (l *loader) otherLanguage(file string, root *yamltree.Node) bool {
	if root.Has("tosca_definitions_version") {
		return false
	}
	for _, key := range catalogs {
		if f, found := root.Field(key); found {
			l.report.Add(problem.Problem{
				Position: f.Pos, Code: problem.Version,
				Message: file + " is a descriptor in the model of SOL006, which OSM uses; take the package with the SOL001 descriptor in TOSCA instead",
			})
			return true
		}
	}
	return false
}
