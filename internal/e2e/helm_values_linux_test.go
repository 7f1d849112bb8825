package e2e_test

import (
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// chancy is the chart web with values of all types, and with fields that differ each time it is rendered.
func chancy() map[string]string {
	files := maps.Clone(web)
	files["values.yaml"] += "tag: none\ngone: default\ndeep: {gone: default}\n"
	files["templates/web.yaml"] = strings.Replace(files["templates/web.yaml"], `metadata: {labels: {app: "{{ .Release.Name }}"}}`,
		`metadata: {labels: {app: "{{ .Release.Name }}"}, annotations: {checksum: "{{ randAlphaNum 20 }}", tag: "{{ .Values.tag }}"}}`, 1)
	files["templates/chance.yaml"] = `apiVersion: v1
kind: Secret
metadata: {name: "{{ .Release.Name }}-chance"}
stringData: {password: {{ randAlphaNum 20 | quote }}, key: {{ (genCA "ca" 1).Key | quote }}, made: {{ now | quote }}, revision: {{ .Release.Revision | quote }}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-values"}
data: {values: {{ omit .Values "replicas" | toJson | quote }}, tag: "{{ .Values.tag }}", count: {{ .Values.replicas | quote }}}
`
	return files
}

// valuesOfCNF are the requests that give values, by vimType.
var valuesOfCNF = map[string]string{
	kubernetes.VimTypeV1: `{"namespace": %q, "use_helm": "true", "helm_replica_values": {"web": "replicas"},
		"using_helm_install_param": [{"exthelmchart": "false", "helmchartfile_path": "Files/web.tgz", "helmreleasename": "web", "helmvaluesfile_path": ["Files/values.yaml"],
			"helmparameter": ["tag=20261128", "gone=null,new=null,deep.gone=null", "half=0.5,text=a\\,b {c},list={1,x,null}", "big=9007199254740993"]}],
		"vdu_mapping": {"WEB": {"kind": "Deployment", "name": "web", "helmreleasename": "web"}}}`,
	kubernetes.VimTypeHelm: `{"namespace": %q, "helm_chart_path": "Files/web.tgz", "helm_value_names": {"WEB": {"replica": "replicas"}},
		"helm_parameters": {"tag": 20261128, "gone": null, "deep": {"gone": null, "million": 1000000}, "list": [1, {"a": 2000000}], "code": "20261128"}}`,
}

// made returns the objects of the newest revision of a release as Helm has recorded them, and as they are.
func (c *cnf) made(release string) (recorded, live map[string]any) {
	c.t.Helper()
	client, err := helmInProcess(c.cluster.Client(), c.t.TempDir())
	must(c.t, err)
	text, err := client.Manifest(c.t.Context(), helmclient.Name{Namespace: c.namespace, Release: release}, 0)
	must(c.t, err)
	recorded, live = map[string]any{}, map[string]any{}
	for d := yamlutil.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096); ; {
		var o map[string]any
		if err := d.Decode(&o); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			c.t.Fatal(err)
		}
		recorded[o["kind"].(string)+" "+o["metadata"].(map[string]any)["name"].(string)] = o
	}
	api, ctx := typed(c.t, c.cluster.Client()), c.t.Context()
	configs, err := api.CoreV1().ConfigMaps(c.namespace).List(ctx, meta.ListOptions{})
	must(c.t, err)
	for _, o := range configs.Items {
		live["ConfigMap "+o.Name] = o.Data
	}
	secrets, err := api.CoreV1().Secrets(c.namespace).List(ctx, meta.ListOptions{LabelSelector: "owner!=helm"})
	must(c.t, err)
	for _, o := range secrets.Items {
		live["Secret "+o.Name] = o.Data
	}
	deployments, err := api.AppsV1().Deployments(c.namespace).List(ctx, meta.ListOptions{})
	must(c.t, err)
	for _, o := range deployments.Items {
		live["Deployment "+o.Name] = o.Spec.Template
	}
	return recorded, live
}

// counts are the fields that the number of pods is in.
func counts(path cmp.Path) bool {
	last, ok := path.Last().(cmp.MapIndex)
	return ok && (last.Key().String() == "replicas" || last.Key().String() == "count")
}

// TestCNFValues scales CNFs whose charts have values of all types and fields that chance decides, while another client
// changes an object: nothing changes but the number of pods.
func TestCNFValues(t *testing.T) {
	cluster := needCluster(t)
	files := maps.Clone(cnfPackage)
	files["Files/web.tgz"] = string(chartOf(t, "web", "1.0.0", chancy()))
	files["Files/values.yaml"] = "million: 1000000\ndeep: {number: 20261128}\n"
	dir := writePackage(t, files)
	for _, mode := range slices.Concat(cnfModes[:2], helm4Modes) {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			var masters []*master
			if mode.masters {
				masters = newMasters(t, cluster.Client(), 1, mode.program(t))
			}
			for vimType, params := range valuesOfCNF {
				ctx := t.Context()
				c := newCNF(t, store.NewMemory(), cnfSite{Dir: t.TempDir(), Helm4: mode.helm4, Packages: map[string]string{cnfVNFD: dir}},
					cnfVIM(t, vimType, cluster.Client(), masters), cnfVNFD, "simple", params)
				release := "web"
				if vimType == kubernetes.VimTypeHelm {
					release = "vnf" + strings.ReplaceAll(c.id, "-", "")
				}
				c.must(c.Instantiate(ctx, c.id, c.request))
				pods := c.vnfcs(1)
				recorded, _ := c.made(release)
				_, err := typed(t, cluster.Client()).CoreV1().ConfigMaps(c.namespace).Patch(ctx, release, types.MergePatchType, []byte(`{"data": {"text": "of another"}}`),
					meta.PatchOptions{FieldManager: "another"})
				must(t, err)
				_, live := c.made(release)
				c.must(c.Scale(ctx, c.id, webScale(vnflcm.ScaleOut, 2)))
				c.vnfcs(3)
				ignored := cmp.Options{cmp.FilterPath(counts, cmp.Ignore())}
				after, liveAfter := c.made(release)
				if diff := cmp.Diff(live, liveAfter, ignored); diff != "" {
					t.Errorf("%s, the objects after scaling out:\n%s", vimType, diff)
				}
				delete(recorded, "ConfigMap "+release)
				delete(after, "ConfigMap "+release)
				if diff := cmp.Diff(recorded, after, ignored); diff != "" {
					t.Errorf("%s, the manifest after scaling out:\n%s", vimType, diff)
				}
				c.must(c.Scale(ctx, c.id, webScale(vnflcm.ScaleIn, 2)))
				if diff := cmp.Diff(pods, c.vnfcs(1)); diff != "" {
					t.Errorf("%s, the pods after scaling in:\n%s", vimType, diff)
				}
				if _, liveAfter = c.made(release); !cmp.Equal(live, liveAfter) {
					t.Errorf("%s, the objects after scaling in:\n%s", vimType, cmp.Diff(live, liveAfter))
				}
				c.must(c.Terminate(ctx, c.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
			}
		})
	}
}
