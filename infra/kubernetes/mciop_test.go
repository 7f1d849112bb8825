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
)

// mciopNodes are an MCIOP that depends on another one, and an aspect for the VDU of each.
const mciopNodes = `    web:
      type: tosca.nodes.nfv.Mciop
      requirements: [associatedVdu: WEB, dependency: db]
      artifacts: {helm_chart: {type: tosca.artifacts.nfv.HelmChart, file: web.tgz}}
    db:
      type: tosca.nodes.nfv.Mciop
      requirements: [associatedVdu: DB]
      artifacts: {helm_chart: {type: tosca.artifacts.nfv.HelmChart, file: db.tgz}}
  policies:
    - aspects: {type: tosca.policies.nfv.ScalingAspects, properties: {aspects: {webs: {name: webs, description: webs, max_scale_level: 3, step_deltas: [one]},
        dbs: {name: dbs, description: dbs, max_scale_level: 3, step_deltas: [one]}}}}
    - web_initial: {type: tosca.policies.nfv.VduInitialDelta, targets: [WEB], properties: {initial_delta: {number_of_instances: 1}}}
    - db_initial: {type: tosca.policies.nfv.VduInitialDelta, targets: [DB], properties: {initial_delta: {number_of_instances: 1}}}
    - web_deltas: {type: tosca.policies.nfv.VduScalingAspectDeltas, targets: [WEB], properties: {aspect: webs, deltas: {one: {number_of_instances: 1}}}}
    - db_deltas: {type: tosca.policies.nfv.VduScalingAspectDeltas, targets: [DB], properties: {aspect: dbs, deltas: {one: {number_of_instances: 1}}}}
`

// fullname is the template of helm create, and labels as it makes them.
const fullname = `{{ if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}`

// newMCIOPLab makes a lab with a package in the style of the standard.
func newMCIOPLab(t *testing.T, kind string) *lab {
	t.Helper()
	return newLabOf(t, kind, mciopPackage(t))
}

func mciopPackage(t testing.TB) fstest.MapFS {
	t.Helper()
	labels := "app.kubernetes.io/name: '{{ .Chart.Name }}'"
	exporter := templateOf("Deployment", fullname+"-exporter", labels)
	settings := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '" + fullname + "'}\ndata: {text: \"{{ .Values.greeting }} {{ (.Values.build).number }}\"}\n"
	return cnfd(
		podVDU("WEB", "name: Web server, mcio_identification_data: {name: web, type: Deployment}")+
			podVDU("DB", "name: Database, mcio_identification_data: {name: db, type: StatefulSet}")+mciopNodes,
		map[string][]byte{"web.tgz": chart("web", templateOf("Deployment", fullname, labels), settings, exporter).pack(t),
			"db.tgz": chart("db", templateOf("StatefulSet", fullname, labels), exporter).pack(t)})
}

// releases are the names of the instance's releases without the common part, in the order of their installation.
func (l *lab) releases() (out []string) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.said {
		if name, ok := strings.CutPrefix(e.Message, "release vnf"+strings.ReplaceAll(l.id, "-", "")+"-"); ok && e.Kind == vnflcm.StepProgress { // a slow step repeats the text as what it waits for
			name, _, _ = strings.Cut(name, ",")
			out = append(out, name)
		}
	}
	return out
}

// withoutID replaces the common part of the names of releases, which has the id of the instance.
func (l *lab) withoutID(name string) string {
	return strings.ReplaceAll(name, "vnf"+strings.ReplaceAll(l.id, "-", ""), "R")
}

// shortFound is found without the id of the instance.
func (l *lab) shortFound() []string {
	l.t.Helper()
	out := l.found()
	for i := range out {
		out[i] = l.withoutID(out[i])
	}
	return out
}

// TestLifeOfMCIOPs runs a package without any attribute of Tacker, with each vimType.
func TestLifeOfMCIOPs(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{kubernetes.VimTypeV1, kubernetes.VimTypeV2, kubernetes.VimTypeHelm} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			l := newMCIOPLab(t, kind)
			values := `"web": {"greeting": "a,b={c}", "build": {"number": 20261128}}`
			if kind != kubernetes.VimTypeV2 {
				values = `"mciop_values": {` + values + `}`
			}
			l.instantiate("simple", `{"namespace": "shop", `+values+`}`,
				vnflcm.ScaleInfo{AspectID: "webs", ScaleLevel: 1}, vnflcm.ScaleInfo{AspectID: "dbs"})
			if diff := cmp.Diff([]string{"db", "web"}, l.releases()); diff != "" {
				t.Errorf("order of the releases:\n%s", diff)
			}
			life := func(want ...string) {
				t.Helper()
				if diff := cmp.Diff(want, l.shortFound()); diff != "" {
					t.Errorf("VNFCs:\n%s", diff)
				}
				name := "vnf" + strings.ReplaceAll(l.id, "-", "") + "-web"
				if text := l.get("shop", "configmaps", name).Object["data"].(map[string]any)["text"]; text != "a,b={c} 20261128" {
					t.Errorf("values: %q", text)
				}
			}
			life("DB: R-db", "WEB: R-web", "WEB: R-web")
			l.scale(vnflcm.ScaleOut, "dbs", 2)
			life("DB: R-db", "DB: R-db", "DB: R-db", "WEB: R-web", "WEB: R-web")
			l.scale(vnflcm.ScaleIn, "webs", 1)
			op, err := l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{VnfcInstanceID: slices.Collect(maps.Keys(l.vnfcs("WEB")))})
			l.must(op, err)
			op, err = l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{})
			l.must(op, err)
			life("DB: R-db", "DB: R-db", "DB: R-db", "WEB: R-web")
			l.terminate(vnflcm.TerminateForceful, `{}`)
			if left := l.empty("shop"); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// TestRequestsForMCIOPs: the request can name the order, the workload of a VDU, and the value that counts its pods.
func TestRequestsForMCIOPs(t *testing.T) {
	t.Parallel()
	l := newMCIOPLab(t, kubernetes.VimTypeV1)
	l.files["web.tgz"].Data = chart("web", strings.Replace(templateOf("Deployment", fullname+"-server", ""), "replicas: 1", "replicas: {{ .Values.web.replicas }}", 1)).pack(t)
	name := "vnf" + strings.ReplaceAll(l.id, "-", "") + "-web-server"
	l.instantiate("simple", `{"namespace": "shop", "mciop_order": ["web", "db"], "helm_replica_values": {"webs": "web.replicas"},
		"vdu_mapping": {"WEB": {"kind": "Deployment", "name": "`+name+`"}}}`)
	if diff := cmp.Diff([]string{"web", "db"}, l.releases()); diff != "" {
		t.Errorf("order of the releases:\n%s", diff)
	}
	l.scale(vnflcm.ScaleOut, "webs", 1)
	if diff := cmp.Diff([]string{"DB: R-db", "WEB: R-web-server", "WEB: R-web-server"}, l.shortFound()); diff != "" {
		t.Errorf("VNFCs:\n%s", diff)
	}
}

// TestFaultsOfMCIOPs: faults of requests for MCIOPs are reported at once, before a client is made.
func TestFaultsOfMCIOPs(t *testing.T) {
	t.Parallel()
	good := chart("web", webDeployment).pack(t)
	nodes := podVDU("WEB", "name: web") + podVDU("DB", "name: db") + mciopNodes
	for _, c := range []struct {
		name, params string
		files        map[string][]byte
		want         []string
		text         string
	}{
		{"names", `{"mciop_order": ["web", "x", "web"], "mciop_values": {"y": {}}, "vdu_mapping": {"Z": {}}}`, map[string][]byte{"web.tgz": good, "db.tgz": good},
			[]string{"mciop_order", "mciop_order[1]", "mciop_order[2]", "mciop_values.y", "vdu_mapping.Z"}, "the flavour simple has db, web"},
		{"charts that are missing or bad", `{}`, map[string][]byte{"web.tgz": []byte("no archive")}, []string{"flavourId"}, `the MCIOP db, whose chart "db.tgz" is not in the package`},
		{"parameters of one chart", `{"helm_parameters": {"a": "b"}}`, map[string][]byte{"web.tgz": good, "db.tgz": good}, []string{"helm_chart_path"}, "mciop_values"},
		{"values that are none", `{"mciop_values": {"web": "a=b"}}`, map[string][]byte{"web.tgz": good, "db.tgz": good}, []string{"mciop_values.web"}, ""},
		{"values by name", `{"db": "a=b", "web": {}, "mciop_values": {"web": {}}}`, map[string][]byte{"web.tgz": good, "db.tgz": good}, []string{"db", "web"}, "is also in mciop_values"},
		{"with manifests", `{"lcm-kubernetes-def-files": ["vnfd.yaml"], "mciop_order": ["db"], "mciop_values": {"web": {}}}`, map[string][]byte{"web.tgz": good, "db.tgz": good},
			[]string{"lcm-kubernetes-def-files[0]", "mciop_order", "mciop_values"}, "cannot be combined"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := faultsIn(t, cnfd(nodes, c.files), nowhere(t), kubernetes.VimTypeV1, "simple", `{}`, c.params)
			if diff := cmp.Diff(c.want, got); diff != "" || !strings.Contains(fmt.Sprint(err), c.text) {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
	got, err := faultsOf(t, nowhere(t), kubernetes.VimTypeV1, "simple", `{}`, `{"lcm-kubernetes-def-files": ["Files/plain.yaml"], "mciop_values": {"web": {}}}`)
	if diff := cmp.Diff([]string{"mciop_values"}, got); diff != "" {
		t.Errorf("a VNFD without MCIOPs: %v\n%s", err, diff)
	}
}

// TestMCIOPReleaseNames: names of releases are those of MCIOPs, or shortened ones that differ.
func TestMCIOPReleaseNames(t *testing.T) {
	t.Parallel()
	const id, prefix = "9d2c9a3e-4a55-4a67-8a3e-5f1c7d0f2b11", "vnf9d2c9a3e4a554a678a3e5f1c7d0f2b11-"
	seen := map[string]string{}
	for mciop, want := range map[string]string{"web": "web", "a-b-c-d-e-f-g-1-2": "a-b-c-d-e-f-g-1-2", "Web": "web-", "web_server": "web-server-", "_": "",
		"access-and-mobility-management-function": "access-and-", "access-and-mobility-management-functions": "access-and-", "web.server": "web-server-", "9": "9"} {
		name := kubernetes.MCIOPRelease(id, mciop)
		if rest, ok := strings.CutPrefix(name, prefix); !ok || !strings.HasPrefix(rest, want) || len(name) > 53 {
			t.Errorf("%s: %s, want it to begin with %s", mciop, name, prefix+want)
		}
		if other, taken := seen[name]; taken {
			t.Errorf("%s and %s have the release %s", mciop, other, name)
		}
		seen[name] = mciop
	}
}
