package etsi

import (
	"bytes"
	_ "embed"
	"slices"
	"strings"
)

//go:embed simple_profile.yaml
var simpleProfile []byte

// ProfileName is the name by which problems refer to the document that Profile returns.
const ProfileName = "tosca:simple_profile.yaml"

// profiles maps the values of tosca_definitions_version to the versions that mark lines of simple_profile.yaml.
var profiles = map[string]string{
	"tosca_simple_yaml_1_0":   "1.0",
	"tosca_simple_yaml_1_0_0": "1.0",
	"tosca_simple_yaml_1_1":   "1.1",
	"tosca_simple_yaml_1_2":   "1.2",
	"tosca_simple_yaml_1_3":   "1.3",
}

// Profile returns a service template with the normative types of the TOSCA Simple Profile in the version that
// tosca_definitions_version names, false for an unknown version. Documents use these types without an import, because the types
// are part of the language.
func Profile(toscaVersion string) ([]byte, bool) {
	version, known := profiles[toscaVersion]
	if !known {
		return nil, false
	}
	return profileOf(version), true
}

// profileOf replaces the lines of simple_profile.yaml that belong to other versions by empty lines, so that positions
// stay valid.
func profileOf(version string) []byte {
	var out bytes.Buffer
	out.Grow(len(simpleProfile))
	wanted := true
	for line := range bytes.Lines(simpleProfile) {
		if of, marker := strings.CutPrefix(strings.TrimSpace(string(line)), "#: "); marker {
			wanted = of == "all" || slices.Contains(strings.Fields(of), version)
		}
		if wanted {
			out.Write(line)
		} else {
			out.WriteByte('\n')
		}
	}
	return out.Bytes()
}
