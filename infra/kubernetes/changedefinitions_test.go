package kubernetes_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestChangeOfDefinitions: Helm creates the definitions in the folder crds of a chart that it installs, and never deletes them.
func TestChangeOfDefinitions(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV1)
	definition, _, _ := strings.Cut(newData, "---\n")
	l.addTemplate("Files/web-0.1.0.tgz", "web/crds/widgets.yaml", definition)
	l.addTemplate("Files/web-0.1.0.tgz", "web/charts/sub/Chart.yaml", "apiVersion: v2\nname: sub\nversion: 0.1.0\n")
	l.addTemplate("Files/web-0.1.0.tgz", "web/charts/sub/crds/gadgets.yaml", strings.NewReplacer("widget", "gadget", "Widget", "Gadget").Replace(definition))
	l.instantiate("simple", twoReleases)
	for params, want := range map[string][]string{
		`{}`: nil,
		`{"using_helm_install_param": [{"exthelmchart": "false", "helmchartfile_path": "Files/web-0.1.0.tgz", "helmreleasename": "w1"},
			{"exthelmchart": "false", "helmchartfile_path": "Files/db.v1.tar.gz", "helmreleasename": "d1"},
			{"exthelmchart": "false", "helmchartfile_path": "Files/web-0.1.0.tgz", "helmreleasename": "w2"}]}`: {
			"release w2: CustomResourceDefinition gadgets.example.org of the folder crds, which Helm never deletes", "release w2: CustomResourceDefinition widgets.example.org of the folder crds, which Helm never deletes"},
	} {
		p, err := l.Preview(t.Context(), l.id, vnflcm.ChangeCurrentVnfPkgRequest{VnfdID: newVNFD, AdditionalParams: parse(t, params)})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(p.Package.Irreversible)
		if diff := cmp.Diff(want, p.Package.Irreversible); diff != "" {
			t.Error(diff)
		}
	}
	if made := l.objects("", "customresourcedefinitions"); len(made) > 0 {
		t.Errorf("the preview has made %v", made)
	}
}

// TestPreviewOfReusedValues: values that a request does not name stay, so that the preview does not name them.
func TestPreviewOfReusedValues(t *testing.T) {
	t.Parallel()
	l := newMCIOPLab(t, kubernetes.VimTypeHelm)
	l.instantiate("simple", mciopParams)
	release := "vnf" + strings.ReplaceAll(l.id, "-", "") + "-web"
	for params, want := range map[string][]string{
		`{"reuse_values": true}`: nil,
		`{"reuse_values": true, "mciop_values": {"web": {"greeting": "hello"}}}`: {"MODIFIED values.greeting"},
	} {
		var got []string
		for _, d := range l.units(params)["MODIFIED "+release] {
			if strings.Contains(d, "values.") {
				got = append(got, d)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", params, diff)
		}
	}
}
