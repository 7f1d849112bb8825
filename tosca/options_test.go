package tosca_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/internal/etsi"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// strict returns a VNFD with these imports and without any deviation.
func strict(imports string) string {
	return `tosca_definitions_version: tosca_simple_yaml_1_2
imports: [ '` + imports + `' ]
topology_template:
  node_templates:
    VNF:
      type: tosca.nodes.nfv.VNF
      properties:
        descriptor_id: b1bb0ce7-ebca-4fa7-95ed-4840d70a1177
        descriptor_version: '1.0'
        provider: Maker
        product_name: Product
        software_version: '1.0'
        flavour_id: simple
        flavour_description: one size
        vnfm_info: [ '0:vnfkit' ]
`
}

// TestReleases checks VNFDs for every release of SOL001, in packages without ETSI's type files.
func TestReleases(t *testing.T) {
	for _, version := range etsi.Versions() {
		imports := "https://forge.etsi.org/rep/nfv/SOL001/raw/v" + version + "/etsi_nfv_sol001_vnfd_types.yaml"
		p, err := tosca.OpenFS(context.Background(), withManifest(strict(imports), "Maker", "Product"), tosca.Strict())
		if err != nil {
			t.Errorf("SOL001 %s: %v", version, err)
			continue
		}
		if f := p.VNFD().Flavours; len(f) != 1 || f[0].ID != "simple" || len(p.Warnings()) > 0 {
			t.Errorf("SOL001 %s: flavours %v, warnings %v", version, f, p.Warnings())
		}
	}
}

func TestStrict(t *testing.T) {
	files := withManifest(minimal, "p", "n") // has no imports and no flavour_id
	open := func(opts ...tosca.Option) (list problem.List) {
		p, err := tosca.OpenFS(context.Background(), files, opts...)
		if err == nil {
			return p.Warnings()
		}
		if !errors.As(err, &list) {
			t.Fatal(err)
		}
		return list
	}
	found := func(list problem.List) map[problem.Quirk]problem.Severity {
		m := map[problem.Quirk]problem.Severity{}
		for _, p := range list {
			m[p.Quirk] = p.Severity
		}
		return m
	}
	tests := []struct {
		name string
		opts []tosca.Option
		want map[problem.Quirk]problem.Severity
	}{
		{"all quirks", nil,
			map[problem.Quirk]problem.Severity{problem.UnimportedTypes: problem.Warning, problem.IncompleteProperties: problem.Warning}},
		{"no quirk", []tosca.Option{tosca.Strict()},
			map[problem.Quirk]problem.Severity{problem.UnimportedTypes: problem.Error, problem.IncompleteProperties: problem.Error}},
		{"one quirk", []tosca.Option{tosca.Strict(), tosca.Allow(problem.UnimportedTypes)},
			map[problem.Quirk]problem.Severity{problem.IncompleteProperties: problem.Error}},
		{"both", []tosca.Option{tosca.Allow(problem.UnimportedTypes, problem.IncompleteProperties), tosca.Strict()},
			map[problem.Quirk]problem.Severity{problem.UnimportedTypes: problem.Warning, problem.IncompleteProperties: problem.Warning}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, found(open(tt.opts...))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestAnyDescriptor(t *testing.T) {
	const service = `tosca_definitions_version: tosca_simple_yaml_1_2
imports: [ etsi_nfv_sol001_nsd_types.yaml ]
topology_template:
  node_templates:
    NS:
      type: tosca.nodes.nfv.NS
      properties:
        descriptor_id: i
        designer: d
        version: '1'
        name: n
        invariant_id: v
        flavour_id: f
`
	files := fstest.MapFS{"v.yaml": file(service), "ChangeLog.txt": file("x"), "v.mf": file(
		"metadata:\n nsd_name: n\n nsd_designer: d\n nsd_file_structure_version: 1\n nsd_release_date_time: 2026-11-30T10:00:00Z\n")}
	if _, err := tosca.OpenFS(context.Background(), files); !errors.Is(err, problem.Problem{Code: problem.NotVNFD}) {
		t.Errorf("an NSD is opened as a VNFD: %v", err)
	}
	p, err := tosca.OpenFS(context.Background(), files, tosca.AnyDescriptor(), tosca.Strict())
	if err != nil {
		t.Fatal(err)
	}
	if p.VNFD() != nil || len(p.Warnings()) > 0 {
		t.Errorf("an NSD has the VNFD %v and the warnings %v", p.VNFD(), p.Warnings())
	}
	files["v.yaml"] = file(service + "        naem: n\n")
	if _, err := tosca.OpenFS(context.Background(), files, tosca.AnyDescriptor()); !errors.Is(err, problem.Problem{Code: problem.UnknownProperty}) {
		t.Errorf("a faulty NSD: %v", err)
	}
}

// TestDescribing checks that a package with another kind of descriptor is refused.
func TestDescribing(t *testing.T) {
	const (
		head    = "tosca_definitions_version: tosca_simple_yaml_1_2\nimports: [etsi_nfv_sol001_%s_types.yaml]\ntopology_template:\n  node_templates:\n"
		service = "    NS: {type: tosca.nodes.nfv.NS, properties: {descriptor_id: i, designer: d, version: '1', name: n, invariant_id: v, flavour_id: f}}\n"
		pnf     = "    PNF: {type: tosca.nodes.nfv.PNF, properties: {descriptor_id: 11111111-1111-4111-8111-111111111111, function_description: f, provider: p, version: '1',\n" +
			"      descriptor_invariant_id: 11111111-1111-4111-8111-111111111112, name: n}}\n"
	)
	for name, c := range map[string]struct {
		text string
		d    tosca.Descriptor
		want problem.Code // "": accepted
	}{
		"NSD":              {fmt.Sprintf(head, "nsd") + service, tosca.NSD, ""},
		"NSD, not a PNFD":  {fmt.Sprintf(head, "nsd") + service, tosca.PNFD, problem.OtherDescriptor},
		"PNFD":             {fmt.Sprintf(head, "pnfd") + pnf, tosca.PNFD, ""},
		"PNFD, not an NSD": {fmt.Sprintf(head, "pnfd") + pnf, tosca.NSD, problem.OtherDescriptor},
		"faulty NSD":       {fmt.Sprintf(head, "nsd") + strings.Replace(service, "name: n", "naem: n", 1), tosca.NSD, problem.UnknownProperty},
	} {
		p, err := tosca.OpenFS(t.Context(), fstest.MapFS{"v.yaml": file(c.text)}, tosca.Describing(c.d))
		if (err == nil) != (c.want == "") || err != nil && !errors.Is(err, problem.Problem{Code: c.want}) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err == nil && p.VNFD() != nil {
			t.Errorf("%s: the package has the VNFD %+v", name, p.VNFD())
		}
	}
}

// TestOtherIdentifiers opens VNFDs whose type allows other identifiers and other values than they have.
func TestOtherIdentifiers(t *testing.T) {
	const types = "node_types: {my.VNF: {derived_from: tosca.nodes.nfv.VNF, properties: {provider: {constraints: [{valid_values: [Maker]}]}, " +
		"flavour_id: {type: string, constraints: [{valid_values: [simple]}]}}}}\n"
	imports := "etsi_nfv_sol001_vnfd_types.yaml"
	descriptor := strings.Replace(strict(imports), "type: tosca.nodes.nfv.VNF", "type: my.VNF", 1) + types
	literal := strings.Replace(descriptor, "provider: Maker", "provider: Other", 1)
	input := strings.Replace(strings.Replace(descriptor, "provider: Maker", "provider: {get_input: maker}", 1),
		"topology_template:\n", "topology_template:\n  inputs: {maker: {type: string, default: Other}}\n", 1)
	for name, c := range map[string]struct {
		text             string
		accepted, strict bool
		quirk            problem.Quirk
	}{
		"allowed":     {descriptor, true, true, ""},
		"other":       {literal, true, false, problem.OtherIdentifiers},
		"other input": {input, true, false, problem.OtherIdentifiers},
		"other default": {strings.Replace(strings.Replace(descriptor, "        provider: Maker\n", "", 1), "[{valid_values: [Maker]}]", "[{valid_values: [Maker]}], default: Other", 1),
			true, false, problem.OtherIdentifiers},
		"other flavour": {strings.Replace(descriptor, "flavour_id: simple", "flavour_id: wide", 1), false, false, ""},
	} {
		files := fstest.MapFS{"v.yaml": file(c.text)}
		p, err := tosca.OpenFS(t.Context(), files)
		if (err == nil) != c.accepted {
			t.Errorf("%s: %v", name, err)
		}
		if c.quirk != "" && (err != nil || len(p.Warnings()) != 1 || p.Warnings()[0].Quirk != c.quirk) {
			t.Errorf("%s: no warning of the quirk %s: %v", name, c.quirk, err)
		}
		if _, err := tosca.OpenFS(t.Context(), files, tosca.Strict()); (err == nil) != c.strict {
			t.Errorf("%s: strict: %v", name, err)
		}
	}
}
