package tosca_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// TestManifestOfAnotherProduct compares the metadata of a manifest with the VNFD.
func TestManifestOfAnotherProduct(t *testing.T) {
	const provider = "metadata:\n vnf_provider_id: p\n vnf_package_version: 1\n vnf_release_date_time: 2026-11-30T10:00:00Z\n"
	for _, tt := range []struct {
		name, manifest string
		want           []string
	}{
		{"same", provider + " vnf_product_name: n\n vnfd_id: i\n vnf_software_version: 1\n", nil},
		{"older keys", provider + " vnf_product_name: n\n", nil},
		{"others", provider + " vnf_product_name: web\n vnfd_id: j\n vnf_software_version: 2\n", []string{
			`vnfd.mf: the descriptor id is "j", and "i" in the VNFD [csar.other-product]`,
			`vnfd.mf: the product name is "web", and "n" in the VNFD [csar.other-product]`,
			`vnfd.mf: the software version is "2", and "1" in the VNFD [csar.other-product]`,
		}},
	} {
		p, err := tosca.OpenFS(t.Context(), fstest.MapFS{"vnfd.yaml": file(minimal), "vnfd.mf": file(tt.manifest), "ChangeLog.txt": file("x")})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range p.Warnings() {
			if w.Code == problem.OtherProduct {
				got = append(got, w.Error())
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: warnings (-want +got):\n%s", tt.name, diff)
		}
		_ = p.Close()
	}
}

// TestPackageWithoutManifest checks that only Strict warns of packages without the files that SOL004 requires.
func TestPackageWithoutManifest(t *testing.T) {
	const vnfd = "imports: [etsi_nfv_sol001_vnfd_types.yaml]\n" + minimal
	strict := []tosca.Option{tosca.Strict(), tosca.Allow(problem.Quirks...)}
	meta := func(entries string) *fstest.MapFile { return file(metaHead + "Entry-Definitions: v.yaml\n" + entries) }
	complete := withManifest(vnfd, "p", "n")
	for _, tt := range []struct {
		name  string
		files fstest.MapFS
		opts  []tosca.Option
		want  []string
	}{
		{"nothing, lenient", fstest.MapFS{"v.yaml": file(vnfd)}, nil, nil},
		{"nothing", fstest.MapFS{"v.yaml": file(vnfd)}, strict, []string{"package: there is no manifest v.mf in the root [csar.missing-file]"}},
		{"complete", complete, strict, nil},
		{"TOSCA.meta, lenient", fstest.MapFS{"v.yaml": file(vnfd), "TOSCA-Metadata/TOSCA.meta": meta("")}, nil, nil},
		{"TOSCA.meta", fstest.MapFS{"v.yaml": file(vnfd), "TOSCA-Metadata/TOSCA.meta": meta("")}, strict, []string{
			"TOSCA-Metadata/TOSCA.meta: there is no ETSI-Entry-change-log [csar.missing-meta-key]",
			"TOSCA-Metadata/TOSCA.meta: there is no ETSI-Entry-manifest [csar.missing-meta-key]"}},
		{"TOSCA.meta, complete", fstest.MapFS{"v.yaml": file(vnfd), "v.mf": complete["v.mf"], "ChangeLog.txt": file("x"),
			"TOSCA-Metadata/TOSCA.meta": meta("ETSI-Entry-Manifest: v.mf\nETSI-Entry-Change-Log: ChangeLog.txt\n")}, strict, nil},
	} {
		p, err := tosca.OpenFS(t.Context(), tt.files, tt.opts...)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range p.Warnings() {
			if w.Quirk == "" {
				got = append(got, w.Error())
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: warnings (-want +got):\n%s", tt.name, diff)
		}
		_ = p.Close()
	}
}
