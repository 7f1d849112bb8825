package documents_test

import (
	"context"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/tosca/internal/documents"
	"github.com/vnfkit/vnfkit/tosca/internal/report"
)

// TestOtherLanguages loads descriptors in other languages than the TOSCA Simple Profile.
func TestOtherLanguages(t *testing.T) {
	for text, want := range map[string]string{
		"vnfd:\n  id: x\n":                                                          "v.yaml:1:1: v.yaml is a descriptor in the model of SOL006, which OSM uses",
		"x: 1\nvnfd:vnfd-catalog: {vnfd: []}\n":                                     "v.yaml:2:1: v.yaml is a descriptor in the model of SOL006",
		"tosca_definitions_version: tosca_simple_profile_for_nfv_1_0_0\n":           "v.yaml:1:28: this is the NFV profile of OASIS",
		"etsi-nfv-vnfd:vnfd: {id: x}\n":                                             "v.yaml:1:1: v.yaml is a descriptor in the model of SOL006",
		"nfv: {vnfd: [{id: x}]}\n":                                                  "v.yaml:1:1: v.yaml is a descriptor in the model of SOL006",
		"tosca_definitions_version: alien_dsl_2_0_0\nimports: ['a:1.0']\n":          "v.yaml:1:28: this is the language of Alien4Cloud",
		head + "imports: ['tosca-normative-types:1.0.0-ALIEN20']\n":                 "v.yaml:2:11: \"tosca-normative-types:1.0.0-ALIEN20\" names an archive in the catalog of Alien4Cloud",
		"tosca_definitions_version: alien_dsl_3_0_0\ntopology_template: {}\n":       "v.yaml:1:28: this is the language of Alien4Cloud",
		"tosca_definitions_version: tosca_simple_yaml_1_9\ntopology_template: {}\n": "v.yaml:1:28: TOSCA version \"tosca_simple_yaml_1_9\" is not supported",
	} {
		r := &report.Report{}
		_, err := documents.Load(context.Background(), files{"v.yaml": text}, "v.yaml", nil, r)
		if err == nil {
			err = r.Err()
		}
		if err == nil || strings.Count(err.Error(), "\n") > 0 || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}
