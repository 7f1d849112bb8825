package kubernetes_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// shownValues is a template that prints values with their types, among them values that are null.
const shownValues = `apiVersion: v1
kind: ConfigMap
metadata: {name: "shown-{{ .Release.Name }}"}
data:
{{- range $name, $value := .Values.shown }}
  {{ $name }}: {{ printf "%T %v" $value $value | quote }}
{{- end }}
  all: {{ toJson .Values.shown | quote }}
  reference: "web:{{ .Values.shown.tag }}"
`

// chance is a template with fields that differ each time it is rendered.
const chance = `apiVersion: v1
kind: Secret
metadata:
  name: "chance-{{ .Release.Name }}"
  annotations: {made: {{ now | date "2006-01-02T15:04:05.000000000" | quote }}, revision: {{ .Release.Revision | quote }}}
stringData: {password: {{ randAlphaNum 20 | quote }}, ca: {{ (genCAWithKey "ca" 1 (genPrivateKey "ecdsa")).Cert | quote }}, fixed: "yes"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "job-{{ .Release.Name }}-{{ randAlphaNum 8 | lower }}"}
data: {once: "yes"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "count-{{ .Release.Name }}"}
data: {webs: {{ .Values.web.replicas | quote }}}
`

// chancyDeployment is webDeployment with a pod that a random annotation replaces.
var chancyDeployment = strings.Replace(webDeployment, `metadata: {labels: {app: "web-{{ .Release.Name }}"}}`,
	`metadata: {labels: {app: "web-{{ .Release.Name }}"}, annotations: {checksum: "{{ randAlphaNum 20 }}", tag: "{{ .Values.shown.tag }}"}}`, 1)

// valuesChart shows its values. Values that are null in a request remove a default.
func valuesChart() members {
	m := chart("values", chancyDeployment, shownValues, chance)
	m["values/values.yaml"] += "shown: {tag: none, gone: default, deep: {a: 1, gone: default}}\n"
	return m
}

// valuesV1 is a request of version 1 with the given attributes of a release.
func valuesV1(attributes string) string {
	return `{"use_helm": true, "using_helm_install_param": [{"exthelmchart": false, "helmchartfile_path": "Files/values.tgz", "helmreleasename": "r", ` + attributes + `}],
		"helm_replica_values": {"webs": "web.replicas"}, "vdu_mapping": {"WEB": {"kind": "Deployment", "name": "web-r"}}}`
}

// valueKinds are the ways in which a request gives values.
var valueKinds = map[string]struct{ vimType, params, release string }{
	"version 1": {kubernetes.VimTypeV1, valuesV1(`"helmparameter": ["shown.tag=20261128", "shown.big=9007199254740993", "shown.gone=null,shown.deep.gone=null,shown.new=null",
		"shown.half=0.5,shown.million=1e6,shown.yes=true,shown.list={1,x,null}", "shown.tag=20261129"], "helmstringparameter": ["shown.code=20261128,shown.on=true", "shown.nothing=null"]`), "r"},
	"version 2": {kubernetes.VimTypeHelm, `{"helm_chart_path": "Files/values.tgz", "helm_value_names": {"WEB": {"replica": "web.replicas"}}, "helm_parameters":
		{"shown.tag": 20261128, "shown.big": 9007199254740993, "shown.gone": null, "shown.deep": {"a": 1000000, "gone": null}, "shown.text": "20261128", "shown.list": [1, {"a": 2000000}]}}`, ""},
	"files": {kubernetes.VimTypeV1, valuesV1(`"helmvaluesfile_path": ["Files/one.yaml", "Files/two.yaml"], "helmparameter": ["shown.set=3"]`), "r"},
}

const (
	valuesOne = "shown: {tag: 20261128, half: 0.5, gone: null, deep: {gone: null, a: 3000000}, list: [1, null, 20261128]}\n"
	valuesTwo = "shown: {tag: 20261129, text: \"20261128\"}\n"
)

// manifest returns the objects of a revision of a release, by kind and name; revision 0 is the newest.
func (l *lab) manifest(release string, revision int) map[string]any {
	l.t.Helper()
	text, err := l.helm.Manifest(l.t.Context(), helmclient.Name{Namespace: "default", Release: release}, revision)
	if err != nil {
		l.t.Fatal(err)
	}
	out := map[string]any{}
	for d := yamlutil.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096); ; {
		var o object
		if err := d.Decode(&o.Object); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			l.t.Fatal(err)
		}
		out[o.GetKind()+" "+o.GetName()] = o.Object
	}
}

// live returns the specifications and data of the objects of the namespace default, by kind and name.
func (l *lab) live() map[string]any {
	l.t.Helper()
	out := map[string]any{}
	for _, kind := range []string{"deployments", "configmaps", "secrets", "services"} {
		for _, o := range l.list("default", kind) {
			if o.GetLabels()["owner"] != "helm" {
				annotations := o.GetAnnotations()
				delete(annotations, "deployment.kubernetes.io/revision")
				out[kind+" "+o.GetName()] = []any{annotations, o.Object["spec"], o.Object["data"]}
			}
		}
	}
	return out
}

// counted are the fields that the number of webs is in.
func counted(path cmp.Path) bool {
	last, ok := path.Last().(cmp.MapIndex)
	return ok && (last.Key().String() == "replicas" || last.Key().String() == "webs")
}

// TestUpgradeChangesOnlyCounts scales VNFs whose values and templates have all that an upgrade could change as well.
func TestUpgradeChangesOnlyCounts(t *testing.T) {
	t.Parallel()
	for kind, values := range valueKinds {
		for version, helm := range helmVersions {
			t.Run(kind+", "+version, func(t *testing.T) {
				t.Parallel()
				l := newLab(t, values.vimType)
				l.files["Files/values.tgz"] = &fstest.MapFile{Data: valuesChart().pack(t)}
				l.files["Files/one.yaml"], l.files["Files/two.yaml"] = &fstest.MapFile{Data: []byte(valuesOne)}, &fstest.MapFile{Data: []byte(valuesTwo)}
				l.Manager = l.start(helm)
				l.instantiate("simple", values.params)
				release := values.release
				if release == "" {
					release = "vnf" + strings.ReplaceAll(l.id, "-", "")
				}
				manifest, live, pods := l.manifest(release, 0), l.live(), l.vnfcs("WEB")
				l.scale(vnflcm.ScaleOut, "webs", 2)
				ignore := cmp.FilterPath(counted, cmp.Ignore())
				if diff := cmp.Diff(manifest, l.manifest(release, 0), ignore); diff != "" {
					t.Errorf("the manifest after scaling out:\n%s", diff)
				}
				if diff := cmp.Diff(live, l.live(), ignore); diff != "" {
					t.Errorf("the objects after scaling out:\n%s", diff)
				}
				if n, text := l.replicas("default", "deployments", "web-"+release), l.get("default", "configmaps", "count-"+release).Object["data"]; n != 3 ||
					!cmp.Equal(text, map[string]any{"webs": "3"}) {
					t.Errorf("%d webs, %v", n, text)
				}
				l.scale(vnflcm.ScaleIn, "webs", 2)
				if diff := cmp.Diff(manifest, l.manifest(release, 0)); diff != "" {
					t.Errorf("the manifest after scaling in:\n%s", diff)
				}
				if diff := cmp.Diff(live, l.live()); diff != "" {
					t.Errorf("the objects after scaling in:\n%s", diff)
				}
				if now := l.vnfcs("WEB"); !cmp.Equal(pods, now) {
					t.Errorf("pods were replaced: %v are now %v", pods, now)
				}
			})
		}
	}
}

// TestUpgradeKeepsFieldsOfOthers: another client changes fields of objects of the release between operations.
func TestUpgradeKeepsFieldsOfOthers(t *testing.T) {
	t.Parallel()
	for version, helm := range helmVersions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, kubernetes.VimTypeV1)
			l.Manager = l.start(helm)
			l.instantiate("simple", `{"use_helm": true, "using_helm_install_param": [{"exthelmchart": false, "helmchartfile_path": "Files/both.tgz",
				"helmreleasename": "r"}], "helm_replica_values": {"webs": "web.replicas"}}`)
			l.patch("deployments", "web-r", `{"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "web:patched"}]}}}}`)
			l.patch("statefulsets", "db-r", `{"spec": {"replicas": 3}}`)
			l.create("default", "horizontalpodautoscalers", `{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "db"},
				"spec": {"maxReplicas": 4, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db-r"}}}`)
			for i, steps := range []vnflcm.ScaleType{vnflcm.ScaleOut, vnflcm.ScaleOut, vnflcm.ScaleIn} {
				l.scale(steps, "webs", 1)
				if n := l.replicas("default", "statefulsets", "db-r"); n != 3 {
					t.Errorf("scaling %d: %d databases, which an autoscaler has set to 3", i, n)
				}
				if text := fmt.Sprint(l.get("default", "deployments", "web-r").Object["spec"]); !strings.Contains(text, "web:patched") {
					t.Errorf("scaling %d: %s", i, text)
				}
			}
			if n := l.replicas("default", "deployments", "web-r"); n != 2 {
				t.Errorf("%d webs", n)
			}
		})
	}
}

func (l *lab) patch(kind, name, text string) {
	l.t.Helper()
	_, err := l.dynamic.Resource(resources[kind]).Namespace("default").Patch(l.t.Context(), name, types.StrategicMergePatchType, []byte(text), metav1.PatchOptions{FieldManager: "another"})
	if err != nil {
		l.t.Fatal(err)
	}
}

// TestValuesChangedByHand: an operator upgrades the release with other values than those of the request. Scaling keeps
// these, and names them.
func TestValuesChangedByHand(t *testing.T) {
	t.Parallel()
	for version, helm := range helmVersions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, kubernetes.VimTypeV1)
			l.files["Files/values.tgz"] = &fstest.MapFile{Data: valuesChart().pack(t)}
			var log logText
			l.Manager = l.logged(&log, helm)
			l.instantiate("simple", valuesV1(`"helmparameter": ["shown.tag=20261128,shown.secret=canary,shown.list={1,2}"]`))
			_, err := l.helm.Upgrade(t.Context(), helmclient.Upgrade{Reuse: helmclient.ReuseReset, Install: helmclient.Install{
				Name: helmclient.Name{Namespace: "default", Release: "r"}, Chart: helmclient.Chart{Archive: archive(valuesChart().pack(t))},
				Values: helmclient.Values{Set: []string{"shown.tag=20270101,shown.list={1,3},shown.secret=canary2,shown.more.number=30000000,web.replicas=1"}}}})
			if err != nil {
				t.Fatal(err)
			}
			manifest := l.manifest("r", 0)
			l.scale(vnflcm.ScaleOut, "webs", 1)
			if diff := cmp.Diff(manifest, l.manifest("r", 0), cmp.FilterPath(counted, cmp.Ignore())); diff != "" {
				t.Errorf("the manifest after scaling:\n%s", diff)
			}
			values, err := l.helm.Values(t.Context(), helmclient.Name{Namespace: "default", Release: "r"}, 0, false)
			if diff := cmp.Diff(map[string]any{"web": map[string]any{"replicas": 2.0}, "shown": map[string]any{"tag": 20270101.0, "list": []any{1.0, 3.0}, "secret": "canary2",
				"more": map[string]any{"number": 30000000.0}}}, values); diff != "" || err != nil {
				t.Errorf("%v, the values:\n%s", err, diff)
			}
			if text := log.String(); strings.Contains(text, "canary") || !strings.Contains(text, "[shown.list shown.more shown.secret shown.tag]") {
				t.Errorf("the log names other values, or their content:\n%s", text)
			}
		})
	}
}

// disturbed is a Helm whose first change of a release is done under a name that the driver does not know, and fails.
type disturbed struct {
	helmclient.Client
	done *atomic.Bool
	err  error
}

func (d disturbed) Install(ctx context.Context, r helmclient.Install) (*helmclient.Release, error) {
	if d.done.Swap(true) {
		return d.Client.Install(ctx, r)
	}
	r.Description = "disturbed"
	_, err := d.Client.Install(ctx, r)
	return nil, errors.Join(d.err, err)
}

func (d disturbed) Upgrade(ctx context.Context, r helmclient.Upgrade) (*helmclient.Release, error) {
	if r.DryRun || d.done.Swap(true) {
		return d.Client.Upgrade(ctx, r)
	}
	r.Description = "disturbed"
	_, err := d.Client.Upgrade(ctx, r)
	return nil, errors.Join(d.err, err)
}

// disturb makes a Config's Helm one that is disturbed.
func disturb(err error) func(*kubernetes.Config) {
	done := &atomic.Bool{}
	return func(c *kubernetes.Config) {
		inner := c.Helm
		c.Helm = func(cluster *rest.Config, dir string) (helmclient.Client, error) {
			client, openErr := inner(cluster, dir)
			return disturbed{client, done, err}, openErr
		}
	}
}

// TestRepeatedChange: an installation or an upgrade that is made again, by a take-over or by a retry, keeps what chance has
// made the first time, and a rollback leads back to it.
func TestRepeatedChange(t *testing.T) {
	t.Parallel()
	for version, helm := range helmVersions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, kubernetes.VimTypeV1)
			l.files["Files/values.tgz"] = &fstest.MapFile{Data: valuesChart().pack(t)}
			l.Manager = l.start(helm, disturb(helmclient.ErrBusy))
			l.instantiate("simple", valuesV1(`"helmparameter": ["shown.tag=20261128,shown.gone=null"]`))
			manifest, live, pods := l.manifest("r", 1), l.live(), l.vnfcs("WEB")
			if diff := cmp.Diff(manifest, l.manifest("r", 2)); diff != "" {
				t.Errorf("the manifest of the installation that was taken over:\n%s", diff)
			}

			mine := errors.New("mine")
			l.Manager = l.start(helm, disturb(mine))
			op, err := l.Scale(t.Context(), l.id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "webs", NumberOfSteps: 1})
			if err := l.fails(op, err); !errors.Is(err, mine) {
				t.Fatal(err)
			}
			l.must(op, l.Retry(t.Context(), op))
			ignore := cmp.FilterPath(counted, cmp.Ignore())
			if diff := cmp.Diff(manifest, l.manifest("r", 4), ignore); diff != "" {
				t.Errorf("the manifest of the retry:\n%s", diff)
			}
			if n := l.replicas("default", "deployments", "web-r"); n != 2 {
				t.Errorf("%d webs", n)
			}
			l.scale(vnflcm.ScaleIn, "webs", 1)

			l.patch("deployments", "web-r", `{"metadata": {"labels": {"of": "another"}}, "spec": {"template": {"metadata": {"annotations": {"tag": "patched"}}}}}`)
			patched := l.live()
			l.Manager = l.start(helm, disturb(mine))
			op, err = l.Scale(t.Context(), l.id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "webs", NumberOfSteps: 1})
			_ = l.fails(op, err)
			if err := l.Rollback(t.Context(), op); err != nil {
				t.Fatal(err)
			}
			if occ, err := l.Wait(t.Context(), op); occ.OperationState != vnflcm.RolledBack {
				t.Fatalf("%+v %v", occ, err)
			}
			if diff := cmp.Diff(patched, l.live()); diff != "" || cmp.Equal(live, patched) {
				t.Errorf("the objects after the rollback:\n%s", diff)
			}
			if now := l.vnfcs("WEB"); len(now) != len(pods) {
				t.Errorf("webs were %v and are %v", pods, now)
			}
		})
	}
}
