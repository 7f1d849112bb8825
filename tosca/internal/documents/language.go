package documents

import (
	"regexp"
	"strings"

	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// catalogs are the top level keys of descriptors in the YANG model of SOL006, which OSM uses, in their names since and before release 9,
// with and without the name of the module.
var catalogs = []string{
	"vnfd", "nsd", "vnfd:vnfd-catalog", "nsd:nsd-catalog", "vnfd-catalog", "nsd-catalog", "vnfd:vnfd", "nsd:nsd", "nfv",
	"etsi-nfv-descriptors:nfv", "etsi-nfv-vnfd:vnfd", "etsi-nfv-nsd:nsd",
}

// otherLanguage reports a descriptor that is not written in the TOSCA Simple Profile, with the remedy. Its content is not checked, because
// all of it would be wrong.
func (l *loader) otherLanguage(file string, root *yamltree.Node) bool {
	pos, message := root.Pos, ""
	if version := root.Get("tosca_definitions_version"); version != nil {
		pos, message = version.Pos, otherProfile(version.Str())
	} else {
		for _, key := range catalogs {
			if f, found := root.Field(key); found {
				pos = f.Pos
				message = file + " is a descriptor in the model of SOL006, which OSM uses; take the package with the SOL001 descriptor in TOSCA instead"
				break
			}
		}
	}
	if message == "" {
		return false
	}
	l.report.Add(problem.Problem{Position: pos, Code: problem.Version, Message: message})
	return true
}

// otherProfile returns the remedy for a version whose documents resemble those of SOL001, "" for other versions.
func otherProfile(version string) string {
	switch {
	case strings.HasPrefix(version, "tosca_simple_profile_for_nfv"):
		return "this is the NFV profile of OASIS, which early Tacker used; write tosca_simple_yaml_1_2 and import " +
			"etsi_nfv_sol001_vnfd_types.yaml, whose types replace those of the profile"
	case strings.HasPrefix(version, "alien_dsl"):
		return "this is the language of Alien4Cloud; write the descriptor in the TOSCA Simple Profile with the types of SOL001"
	}
	return ""
}

// ofCatalog matches imports from the catalog of Alien4Cloud, for example org.alien4cloud.automation:1.0.0.
var ofCatalog = regexp.MustCompile(`^[A-Za-z0-9_.-]+:[0-9][A-Za-z0-9_.-]*$`)
