package kubernetes_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// cnfd is a package of a VNF of containers with these node templates and policies, and files.
func cnfd(nodes string, files map[string][]byte) fstest.MapFS {
	out := fstest.MapFS{"vnfd.yaml": {Data: []byte(`tosca_definitions_version: tosca_simple_yaml_1_3
imports: [etsi_nfv_sol001_vnfd_types.yaml]
topology_template:
  substitution_mappings: {node_type: tosca.nodes.nfv.VNF, properties: {flavour_id: simple}}
  node_templates:
    VNF:
      type: tosca.nodes.nfv.VNF
      properties: {descriptor_id: ` + vnfdID + `, descriptor_version: '1.0', provider: P, product_name: Core, software_version: '1.0', vnfm_info: ['0:vnfkit'],
        flavour_id: simple, flavour_description: one}
` + nodes)}}
	for name, data := range files {
		out[name] = &fstest.MapFile{Data: data}
	}
	return out
}

// podVDU is a node template of a VDU.
func podVDU(id, properties string) string {
	return "    " + id + ": {type: tosca.nodes.nfv.Vdu.OsContainerDeployableUnit, properties: {description: x, vdu_profile: " +
		"{min_number_of_instances: 1, max_number_of_instances: 4}, " + properties + "}}\n"
}

// templateOf is the template of a workload with labels.
func templateOf(kind, name, labels string) string {
	service := ""
	if kind == "StatefulSet" {
		service = "\n  serviceName: x"
	}
	return `apiVersion: apps/v1
kind: ` + kind + `
metadata: {name: "` + name + `"}
spec:
  replicas: 1` + service + `
  selector: {matchLabels: {pods: "` + name + `"}}
  template:
    metadata: {labels: {pods: "` + name + `", ` + labels + `}}
    spec: {containers: [{name: c, image: c}]}
`
}

const coreRelease = `{"use_helm": true, "namespace": "shop", "using_helm_install_param": [{"exthelmchart": false, "helmreleasename": "core",
	"helmchartfile_path": "core.tgz"}]%s}`

// found are the workloads whose pods are VNFCs, as VDU and name.
func (l *lab) found() (out []string) {
	l.t.Helper()
	if info := l.instance().InstantiatedVnfInfo; info != nil {
		for _, v := range info.VnfcResourceInfo {
			out = append(out, v.VduID+": "+v.Metadata["name"])
		}
	}
	slices.Sort(out)
	return out
}

// instantiated instantiates the flavour simple.
func (l *lab) instantiated(params string) *vnflcm.VnfLcmOpOcc {
	l.t.Helper()
	id, err := l.Instantiate(l.t.Context(), l.id, l.request("simple", params))
	if err != nil {
		l.t.Fatal(err)
	}
	op, err := l.Wait(l.t.Context(), id)
	if err != nil {
		l.t.Fatal(err)
	}
	return op
}

// TestVDUsOfOneWorkload checks that the pods of a workload that vdu_mapping has twice are VNFCs of the first VDU.
func TestVDUsOfOneWorkload(t *testing.T) {
	t.Parallel()
	l := newLabOf(t, kubernetes.VimTypeV1, cnfd(podVDU("a", "name: A")+podVDU("b", "name: B"),
		map[string][]byte{"core.tgz": chart("core", templateOf("Deployment", "x", "")).pack(t)}))
	op := l.instantiated(fmt.Sprintf(coreRelease, `, "vdu_mapping": {"a": {"kind": "Deployment", "name": "x"}, "b": {"kind": "Deployment", "name": "x"}}`))
	if diff := cmp.Diff([]string{"a: x"}, l.found()); diff != "" {
		t.Errorf("VNFCs:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"VDU b has no workload: vdu_mapping gives Deployment x to another VDU"}, op.Warnings); diff != "" {
		t.Errorf("warnings:\n%s", diff)
	}
}

// TestVDUsOfCharts finds the VDUs of workloads of ordinary charts.
func TestVDUsOfCharts(t *testing.T) {
	t.Parallel()
	const release = "{{ .Release.Name }}"
	label := func(name, value string) string { return "app.kubernetes.io/" + name + ": " + value }
	for _, c := range []struct {
		name, vdus string
		templates  []string
		want       []string // VNFCs
		warnings   []string // parts
	}{
		{"the name", podVDU("amf", "name: Access"), []string{templateOf("Deployment", "amf", ""), templateOf("Deployment", "db", "")},
			[]string{"amf: amf"}, nil},
		{"names behind the release", podVDU("AMF", "name: amf") + podVDU("smf", "name: Session"),
			[]string{templateOf("Deployment", release+"-amf", ""), templateOf("StatefulSet", release+"-smf", ""), templateOf("Deployment", release+"-smf-metrics", "")},
			[]string{"AMF: core-amf", "smf: core-smf"}, nil},
		{"the release contains the name", podVDU("core", "name: Core") + podVDU("smf", "name: Session"),
			[]string{templateOf("Deployment", release, ""), templateOf("Deployment", release+"-smf", "")}, []string{"core: core", "smf: core-smf"}, nil},
		{"Tacker's names", podVDU("VDU1", "name: vdu1") + podVDU("VDU2", "name: vdu2"),
			[]string{templateOf("Deployment", "vdu1-"+release, ""), templateOf("Deployment", "vdu2", label("component", "vdu1"))}, []string{"VDU1: vdu1-core", "VDU2: vdu2"}, nil},
		{"label component", podVDU("db", "name: Data") + podVDU("web", "name: Web"),
			[]string{templateOf("Deployment", "a", label("component", "db")), templateOf("Deployment", "b", label("component", "db")), templateOf("Deployment", "c", label("component", "web"))},
			[]string{"db: a", "db: b", "web: c"}, nil},
		{"label name", podVDU("amf", "name: Access") + podVDU("smf", "name: Session"),
			[]string{templateOf("Deployment", "one", label("name", "amf")), templateOf("Deployment", "two", label("name", "smf"))}, []string{"amf: one", "smf: two"}, nil},
		{"one name for the whole chart", podVDU("amf", "name: Access") + podVDU("db", "name: Data"),
			[]string{templateOf("Deployment", release+"-amf", label("name", "amf")), templateOf("Deployment", release+"-db", label("name", "amf")), templateOf("Deployment", release+"-x", label("name", "amf"))},
			[]string{"amf: core-amf", "db: core-db"}, nil},
		{"old labels", podVDU("api", "name: Api") + podVDU("cache", "name: Cache"),
			[]string{templateOf("Deployment", "x-1", "component: api"), templateOf("Deployment", "x-2", "app: cache")}, []string{"api: x-1", "cache: x-2"}, nil},
		{"two workloads for a VDU", podVDU("amf", "name: Access") + podVDU("smf", "name: Session"),
			[]string{templateOf("Deployment", "one", label("name", "amf")), templateOf("Deployment", "two", label("name", "amf")), templateOf("Deployment", "smf", "")},
			[]string{"smf: smf"}, []string{"VDU amf can have Deployment shop/one or Deployment shop/two: vdu_mapping says which"}},
		{"two VDUs for a workload", podVDU("amf", "name: same") + podVDU("smf", "name: same"), []string{templateOf("Deployment", "same", "")}, nil,
			[]string{"Deployment shop/same can be of the VDUs amf and smf: vdu_mapping says which", "VDU amf has no workload", "VDU smf has no workload"}},
		{"a VDU without a workload", podVDU("amf", "name: Access") + podVDU("smf", "name: Session"), []string{templateOf("Deployment", "amf", "")},
			[]string{"amf: amf"}, []string{"VDU smf has no workload: the workloads are Deployment shop/amf"}},
		{"the only VDU", podVDU("amf", "name: Access"), []string{templateOf("Deployment", "one", ""), templateOf("StatefulSet", "two", "")},
			[]string{"amf: one", "amf: two"}, nil},
		{"tests of the chart are no workloads", podVDU("amf", "name: Access") + podVDU("smf", "name: Session"),
			[]string{templateOf("Deployment", release+"-amf", label("name", "amf")), templateOf("Deployment", "smf", ""), "apiVersion: v1\nkind: Pod\nmetadata: {name: \"" + release +
				"-test\", labels: {" + label("name", "amf") + "}, annotations: {helm.sh/hook: test}}\nspec: {containers: [{name: c, image: c}]}\n"},
			[]string{"amf: core-amf", "smf: smf"}, nil},
		{"identification data", podVDU("V1", "mcio_identification_data: {name: web, type: deployment}") + podVDU("V2", "mcio_identification_data: {name: db, type: StatefulSet}"),
			[]string{templateOf("Deployment", release+"-web", ""), templateOf("StatefulSet", "x", label("component", "db")), templateOf("Deployment", "db", "")},
			[]string{"V1: core-web", "V2: x"}, nil},
		{"identification data of another release", podVDU("V1", "mcio_identification_data: {name: rel-web, type: Deployment}") +
			podVDU("V2", "mcio_identification_data: {name: my-rel-db, type: Deployment}") + podVDU("V3", "mcio_identification_data: {name: rel-old-web, type: Deployment}"),
			[]string{templateOf("Deployment", release+"-web", ""), templateOf("Deployment", release+"-db", ""), templateOf("Deployment", release+"-old-web", "")},
			[]string{"V1: core-web", "V2: core-db", "V3: core-old-web"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLabOf(t, kubernetes.VimTypeV1, cnfd(c.vdus, map[string][]byte{"core.tgz": chart("core", c.templates...).pack(t)}))
			op := l.instantiated(fmt.Sprintf(coreRelease, ""))
			if diff := cmp.Diff(c.want, l.found()); diff != "" {
				t.Errorf("VNFCs:\n%s", diff)
			}
			if !slices.EqualFunc(op.Warnings, c.warnings, strings.Contains) {
				t.Errorf("warnings %q, want %q", op.Warnings, c.warnings)
			}
		})
	}
}

// TestFaultsOfVDUs: a VDU that request or VNFD name has a workload, or nothing is made.
func TestFaultsOfVDUs(t *testing.T) {
	t.Parallel()
	const mapped = `, "vdu_mapping": {"V1": {"kind": "Deployment", "name": "web"}, "V2": {"kind": "StatefulSet", "name": "b"}}`
	web, db := templateOf("Deployment", "{{ .Release.Name }}-web", "app: x"), templateOf("StatefulSet", "{{ .Release.Name }}-db", "app: x")
	for _, c := range []struct {
		name, vdus, params, text string
		templates                []string
		want                     []string
	}{
		{"vdu_mapping", podVDU("V1", "name: a") + podVDU("V2", "name: b"), mapped, "the workloads are Deployment shop/core-web, StatefulSet shop/core-db",
			[]string{web, db}, []string{"vdu_mapping.V1", "vdu_mapping.V2"}},
		{"identification data", podVDU("V1", "mcio_identification_data: {name: web, type: StatefulSet}") + podVDU("V2", "mcio_identification_data: {name: db, type: StatefulSet}"), "",
			"the workloads are Deployment shop/core-web, StatefulSet shop/core-db", []string{web, db}, []string{"vdu_mapping.V1"}},
		{"identification data of two workloads", podVDU("V1", "mcio_identification_data: {name: x, type: Deployment}"), "",
			"can be Deployment shop/core-web or Deployment shop/other", []string{web, templateOf("Deployment", "other", "app: x")}, []string{"vdu_mapping.V1"}},
		{"no workloads", podVDU("V1", "mcio_identification_data: {name: x, type: Deployment}"), "", "they make no workloads", []string{greeting}, []string{"vdu_mapping.V1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLabOf(t, kubernetes.VimTypeV1, cnfd(c.vdus, map[string][]byte{"core.tgz": chart("core", c.templates...).pack(t)}))
			_, err := l.Instantiate(t.Context(), l.id, l.request("simple", fmt.Sprintf(coreRelease, c.params)))
			if diff := cmp.Diff(c.want, pathsOf(err)); diff != "" || !strings.Contains(fmt.Sprint(err), c.text) {
				t.Errorf("%v\n%s", err, diff)
			}
			if slices.Contains(l.objects("", "namespaces"), "namespaces/shop") {
				t.Error("the namespace was made")
			}
		})
	}
}

// forgetVDUs makes the instance one of an earlier version of vnfkit, which did not store the workloads of VDUs.
func (l *lab) forgetVDUs() {
	l.t.Helper()
	record, err := l.store.Get(l.t.Context(), "state", l.id+"/kubernetes/vdus")
	if err == nil {
		err = l.store.Apply(l.t.Context(), store.Batch{Delete: []store.Record{record}})
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// TestVDUsOfEarlierInstances: an instance whose VDUs were never stored keeps the rules that it was made with.
func TestVDUsOfEarlierInstances(t *testing.T) {
	t.Parallel()
	t.Run("a life", func(t *testing.T) {
		t.Parallel()
		l := newLab(t, kubernetes.VimTypeV1)
		l.instantiate("simple", `{"use_helm": true, "namespace": "shop", "using_helm_install_param": [{"exthelmchart": false, "helmchartfile_path": "Files/both.tgz",
			"helmreleasename": "r"}]}`)
		l.forgetVDUs()
		l.scale(vnflcm.ScaleOut, "dbs", 2)
		op, err := l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{VnfcInstanceID: slices.Collect(maps.Keys(l.vnfcs("WEB")))})
		l.must(op, err)
		op, err = l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{})
		l.must(op, err)
		l.scale(vnflcm.ScaleIn, "dbs", 1)
		if diff := cmp.Diff([]string{"DB: db-r", "DB: db-r", "WEB: web-r"}, l.found()); diff != "" {
			t.Error(diff)
		}
		l.terminate(vnflcm.TerminateForceful, `{}`)
		if left := l.objects("shop", workloads...); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	t.Run("what is ambiguous now", func(t *testing.T) {
		t.Parallel()
		l := newLabOf(t, kubernetes.VimTypeV1, cnfd(podVDU("amf", "name: same")+podVDU("smf", "name: same"),
			map[string][]byte{"core.tgz": chart("core", templateOf("Deployment", "same", "")).pack(t)}))
		l.instantiate("simple", fmt.Sprintf(coreRelease, ""))
		l.forgetVDUs()
		op, err := l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{})
		l.must(op, err)
		if diff := cmp.Diff([]string{"amf: same"}, l.found()); diff != "" {
			t.Error(diff)
		}
	})
}

// TestAdoptedVDUs: an adoption finds and stores the VDUs of an ordinary chart, and refuses a request that names a missing workload.
func TestAdoptedVDUs(t *testing.T) {
	t.Parallel()
	l := newLabOf(t, kubernetes.VimTypeV1, cnfd(podVDU("amf", "name: Access")+podVDU("smf", "name: Session"), map[string][]byte{
		"core.tgz": chart("core", templateOf("Deployment", "{{ .Release.Name }}-amf", ""), templateOf("Deployment", "x", "app.kubernetes.io/name: smf")).pack(t)}))
	l.stranger(l.helm, "core", "core.tgz", nil)
	l.running(2)
	err := l.adopt(fmt.Sprintf(coreRelease, `, "vdu_mapping": {"amf": {"kind": "Deployment", "name": "amf"}}`), "")
	if diff := cmp.Diff([]string{"vdu_mapping.amf"}, pathsOf(err)); diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if err := l.adopt(fmt.Sprintf(coreRelease, ""), ""); err != nil {
		t.Fatal(err)
	}
	op, err := l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{VnfcInstanceID: slices.Collect(maps.Keys(l.vnfcs("amf")))})
	l.must(op, err)
	if diff := cmp.Diff([]string{"amf: core-amf", "smf: x"}, l.found()); diff != "" {
		t.Error(diff)
	}
}

// TestVDUsOfRepository: a chart that is pulled is checked by the first step of the operation, which can be rolled back.
func TestVDUsOfRepository(t *testing.T) {
	t.Parallel()
	l, charts := newLab(t, kubernetes.VimTypeV1), serve(t)
	charts.publish(t, "0.1.0", "")
	id, err := l.Instantiate(t.Context(), l.id, l.request("simple", strings.Replace(charts.params(), `"web-r"`, `"web"`, 1)))
	err = l.fails(id, err)
	if want := "check-workloads: nothing was made: additionalParams.vdu_mapping.WEB"; !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "Deployment default/web-r") {
		t.Errorf("%v, want %q", err, want)
	}
	if made := l.objects("default", workloads...); len(made) > 0 {
		t.Errorf("made: %v", made)
	}
	if err := l.Rollback(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if op, err := l.Wait(t.Context(), id); op == nil || op.OperationState != vnflcm.RolledBack {
		t.Errorf("%+v %v", op, err)
	}
}

// TestVDUsOfLookups: a chart that only a cluster can render is not refused. Its workloads are found when it is installed.
func TestVDUsOfLookups(t *testing.T) {
	t.Parallel()
	const asks = `{{ if not (lookup "v1" "Namespace" "" "default") }}{{ fail "no cluster" }}{{ end }}` + "\n"
	l := newLabOf(t, kubernetes.VimTypeV1, cnfd(podVDU("amf", "name: Access")+podVDU("smf", "name: Session"), map[string][]byte{
		"core.tgz": chart("core", asks+templateOf("Deployment", "{{ .Release.Name }}-amf", "")).pack(t)}))
	op := l.instantiated(fmt.Sprintf(coreRelease, `, "vdu_mapping": {"smf": {"kind": "Deployment", "name": "none"}}`))
	if diff := cmp.Diff([]string{"amf: core-amf"}, l.found()); diff != "" {
		t.Errorf("VNFCs:\n%s", diff)
	}
	if len(op.Warnings) != 1 || !strings.Contains(op.Warnings[0], "vdu_mapping.smf") {
		t.Errorf("warnings: %q", op.Warnings)
	}
}

// TestScalingOfAmbiguousVDUs: a VDU with several workloads of one rule cannot be scaled by a workload; one that a name shows can.
func TestScalingOfAmbiguousVDUs(t *testing.T) {
	t.Parallel()
	const of = "app.kubernetes.io/component: db"
	for name, c := range map[string]struct {
		templates []string
		want      string
	}{
		"two with the label":        {[]string{templateOf("Deployment", "a", of), templateOf("Deployment", "b", of)}, "VDU DB is neither counted by a value of a chart"},
		"one with the name besides": {[]string{templateOf("Deployment", "a", of), templateOf("Deployment", "db", of)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, kubernetes.VimTypeV1)
			l.files["core.tgz"] = &fstest.MapFile{Data: chart("core", append(c.templates, templateOf("Deployment", "web", ""))...).pack(t)}
			l.instantiated(fmt.Sprintf(coreRelease, ""))
			op, err := l.Scale(t.Context(), l.id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "dbs"})
			if c.want == "" {
				l.must(op, err)
				if n := l.replicas("shop", "deployments", "db"); n != 2 {
					t.Errorf("%d replicas", n)
				}
				return
			}
			if text := fmt.Sprint(err); !strings.Contains(text, c.want) || !strings.Contains(text, "Deployment shop/a, Deployment shop/b") {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
