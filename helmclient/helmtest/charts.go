package helmtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vnfkit/vnfkit/helmclient"
)

func job(name, event, more string) string {
	return fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-%s
  annotations: {"helm.sh/hook": %q, "helm.sh/hook-delete-policy": before-hook-creation}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers: [{name: job, image: "example.com/job:1"}]
%s`, name, event, more)
}

func testHooks(t *testing.T, s *suite) {
	n := s.name("hooks")
	members := small()
	for _, event := range []string{"pre-install", "post-install", "pre-upgrade", "post-upgrade", "pre-rollback", "pre-delete", "post-delete"} {
		members["templates/"+event+".yaml"] = job(event, event, "")
	}
	r := helmclient.Install{Name: n, Chart: given(pack(t, "hooked", "1.0.0", members)), Wait: helmclient.Wait{Timeout: time.Minute}}
	s.install(t, r)
	s.haveRun(t, "pre-install", "post-install")
	if _, err := s.Client.Upgrade(s.ctx, helmclient.Upgrade{Install: r}); err != nil {
		t.Fatal(err)
	}
	s.haveRun(t, "pre-upgrade", "post-upgrade")
	if _, err := s.Client.Rollback(s.ctx, helmclient.Rollback{Name: n, Wait: r.Wait}); err != nil {
		t.Fatal(err)
	}
	s.haveRun(t, "pre-rollback")
	if err := s.Client.Uninstall(s.ctx, helmclient.Uninstall{Name: n, Wait: r.Wait}); err != nil {
		t.Fatal(err)
	}
	s.haveRun(t, "pre-delete", "post-delete")
}

// haveRun checks that the Jobs of hooks are complete: Helm has waited for them.
func (s *suite) haveRun(t *testing.T, events ...string) {
	t.Helper()
	for _, event := range events {
		if done, _, _ := nested(s.get(t, jobs, "hooks-"+event), "status", "succeeded"); done != 1 {
			t.Errorf("hook %s has not run to its end", event)
		}
	}
}

// testFailingHook has a Job that runs out of its time: that fails it without a container that fails.
func testFailingHook(t *testing.T, s *suite) {
	n := s.name("hooked")
	members := small()
	r := helmclient.Install{Name: n, Chart: given(pack(t, "hooked", "1.0.0", members)), Wait: helmclient.Wait{Timeout: time.Minute}}
	s.install(t, r)
	for key, value := range s.NeverReady {
		for _, event := range []string{"pre-upgrade", "post-install"} {
			members["templates/"+event+".yaml"] = job(event, event, fmt.Sprintf("      nodeSelector: {%q: %q}\n  activeDeadlineSeconds: 1\n", key, value))
		}
	}
	r.Chart = given(pack(t, "hooked", "1.0.1", members))
	_, err := s.Client.Upgrade(s.ctx, helmclient.Upgrade{Install: r})
	notReady(t, "upgrade", err, "hooked-pre-upgrade")
	s.hasHistory(t, n, helmclient.Deployed, helmclient.Failed)

	r.Name = s.name("fresh")
	_, err = s.Client.Install(s.ctx, r)
	notReady(t, "install", err, "fresh-post-install")
	s.stands(t, r.Name, 1, helmclient.Failed)
}

func testJob(t *testing.T, s *suite) {
	n := s.name("jobs")
	members := files{"templates/job.yaml": strings.ReplaceAll(job("done", "", ""), `"helm.sh/hook": "", "helm.sh/hook-delete-policy": before-hook-creation`, "")}
	s.install(t, helmclient.Install{
		Name: n, Chart: given(pack(t, "job", "1.0.0", members)), Wait: helmclient.Wait{Ready: true, Jobs: true, Timeout: time.Minute},
	})
	if done, _, _ := nested(s.get(t, jobs, "jobs-done"), "status", "succeeded"); done != 1 {
		t.Error("the job was not waited for")
	}
}

func testSubchart(t *testing.T, s *suite) {
	members := files{
		"Chart.yaml":              "apiVersion: v2\nname: parent\nversion: 1.0.0\ndependencies:\n- {name: child, version: 1.0.0, repository: \"\", condition: child.enabled}\n",
		"values.yaml":             "child: {enabled: false, text: by the parent}\n",
		"charts/child/Chart.yaml": "apiVersion: v2\nname: child\nversion: 1.0.0\n",
	}
	for name, text := range small() {
		members["charts/child/"+name] = text
	}
	r := helmclient.Install{Name: s.name("off"), Chart: given(pack(t, "parent", "1.0.0", members))}
	s.install(t, r)
	if s.get(t, configMaps, "off-config") != nil {
		t.Error("a chart is there that is not enabled")
	}
	r.Name, r.Values = s.name("on"), helmclient.Values{Set: []string{"child.enabled=true"}}
	s.install(t, r)
	if got := s.data(t, "on-config", "text"); got != "by the parent" {
		t.Errorf("text of the child is %q", got)
	}
	missing := files{}
	maps.Copy(missing, members)
	for name := range members {
		if strings.HasPrefix(name, "charts/") {
			delete(missing, name)
		}
	}
	r.Name, r.Chart = s.name("missing"), given(pack(t, "parent", "1.0.0", missing))
	_, err := s.Client.Install(s.ctx, r)
	is(t, "chart without the chart it depends on", err, helmclient.ErrInvalidChart)
}

// definition returns a CRD whose objects have the given fields.
func definition(group, fields string) string {
	return fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {%[2]s}}}}}
`, group, fields)
}

// widget is a chart with a CRD and an object of the new kind.
func widget(group string) files {
	return files{
		"crds/widget.yaml":      definition(group, "size: {type: integer}"),
		"templates/widget.yaml": fmt.Sprintf("apiVersion: %s/v1\nkind: Widget\nmetadata: {name: {{ .Release.Name }}}\nspec: {{ toJson .Values.spec }}\n", group),
		"values.yaml":           "spec: {size: 1}\n",
	}
}

// testPostRenderedCRDs checks that a chart with a new kind is installed through PostRender, for which some implementations render the chart
// before Helm creates the CRD.
func testPostRenderedCRDs(t *testing.T, s *suite) {
	group := "post." + s.namespace + ".example.com"
	t.Cleanup(func() { s.deleteDefinition(t, "widgets."+group) })
	r := helmclient.Install{Name: s.name("post-crd"), Chart: given(pack(t, "widget", "1.0.0", widget(group))), CRDs: helmclient.CRDCreate}
	r.PostRender = func(_ context.Context, manifest []byte) ([]byte, error) { return manifest, nil }
	s.install(t, r)
	if s.get(t, schema.GroupVersionResource{Group: group, Version: "v1", Resource: "widgets"}, "post-crd") == nil {
		t.Error("the release has no Widget")
	}
	if err := s.Client.Uninstall(s.ctx, helmclient.Uninstall{Name: r.Name}); err != nil {
		t.Fatal(err)
	}
}

func testCRDs(t *testing.T, s *suite) {
	group := s.namespace + ".example.com" // CRDs are in no namespace
	kind := schema.GroupVersionResource{Group: group, Version: "v1", Resource: "widgets"}
	members := widget(group)
	n := s.name("crd")
	first := given(pack(t, "widget", "1.0.0", members))
	r := helmclient.Install{Name: n, Chart: first, CRDs: helmclient.CRDSkip}
	_, err := s.Client.Install(s.ctx, r)
	is(t, "install without its CRD", err, helmclient.ErrInvalidChart)

	crd := s.dynamic.Resource(definitions)
	t.Cleanup(func() { s.deleteDefinition(t, "widgets."+group) })
	r.CRDs = helmclient.CRDCreate
	s.install(t, r)
	if s.get(t, kind, "crd") == nil {
		t.Error("there is no Widget")
	}

	members["crds/widget.yaml"] = definition(group, "size: {type: integer}, color: {type: string}")
	up := helmclient.Upgrade{Install: r}
	up.Chart, up.Values = given(pack(t, "widget", "2.0.0", members)), helmclient.Values{Set: []string{"spec.color=red"}}
	up.CRDs = helmclient.CRDCreateReplace
	if _, err := s.Client.Upgrade(s.ctx, up); err != nil {
		t.Fatal(err)
	}
	o := s.get(t, kind, "crd")
	if color, _, _ := unstructured.NestedString(o.Object, "spec", "color"); color != "red" {
		t.Errorf("the Widget is %v: the CRD was not replaced", o.Object["spec"])
	}
	s.install(t, helmclient.Install{Name: s.name("older"), Chart: first, Values: helmclient.Values{Set: []string{"spec.color=blue"}}})
	o = s.get(t, kind, "older")
	if color, _, _ := unstructured.NestedString(o.Object, "spec", "color"); color != "blue" {
		t.Errorf("the Widget is %v: a chart has changed a CRD that was there already", o.Object["spec"])
	}
	if err := s.Client.Uninstall(s.ctx, helmclient.Uninstall{Name: s.name("older")}); err != nil {
		t.Fatal(err)
	}
	if err := s.Client.Uninstall(s.ctx, helmclient.Uninstall{Name: n}); err != nil {
		t.Fatal(err)
	}
	if _, err := crd.Get(s.ctx, "widgets."+group, metav1.GetOptions{}); err != nil {
		t.Errorf("a CRD must stay when its chart is uninstalled: %v", err)
	}
}

func (s *suite) deleteDefinition(t *testing.T, name string) {
	t.Helper()
	err := s.dynamic.Resource(definitions).Delete(t.Context(), name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) && t.Context().Err() == nil {
		t.Error(err)
	}
}

func testBadCharts(t *testing.T, s *suite) {
	manifest := func(text string) []byte { return pack(t, "bad", "1.0.0", files{"templates/a.yaml": text}) }
	library := files{"Chart.yaml": "apiVersion: v2\nname: lib\nversion: 1.0.0\ntype: library\n"}
	for name, text := range map[string][]byte{
		"no archive":              []byte("no archive"),
		"empty":                   nil,
		"no Chart.yaml":           archive(t, files{"bad/values.yaml": "a: b\n"}),
		"Chart.yaml is no YAML":   pack(t, "bad", "1.0.0", files{"Chart.yaml": "{"}),
		"no version":              pack(t, "bad", "1.0.0", files{"Chart.yaml": "apiVersion: v2\nname: bad\n"}),
		"library":                 pack(t, "lib", "1.0.0", library),
		"leads out":               archive(t, files{"bad/Chart.yaml": "apiVersion: v2\nname: bad\nversion: 1.0.0\n", "bad/../../x": "y"}),
		"leads out at once":       archive(t, files{"bad/Chart.yaml": "apiVersion: v2\nname: bad\nversion: 1.0.0\n", "../bad/x": "y"}),
		"template is broken":      manifest("{{ .Values.a"),
		"template fails":          manifest(`{{ fail "no" }}`),
		"manifest is no YAML":     manifest("a: b: c\n"),
		"kind that is unknown":    manifest("apiVersion: example.com/v1\nkind: Nothing\nmetadata: {name: a}\n"),
		"field of the wrong type": manifest("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: 7\n"),
		"refused by the API":      manifest("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Not_A_Name}\n"),
	} {
		_, err := s.Client.Install(s.ctx, helmclient.Install{Name: s.name("bad"), Chart: given(text)})
		is(t, name, err, helmclient.ErrInvalidChart)
		if err := s.Client.Uninstall(s.ctx, helmclient.Uninstall{Name: s.name("bad")}); err != nil && !errors.Is(err, helmclient.ErrNotFound) {
			t.Fatal(err)
		}
	}
	strict := small()
	strict["values.schema.json"] = `{"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"password": {"pattern": "^[0-9]+$"}, "mail": {"format": "email"}}}`
	_, err := s.Client.Install(s.ctx, helmclient.Install{Name: s.name("bad"), Chart: given(pack(t, "strict", "1.0.0", strict)),
		Values: helmclient.Values{Map: map[string]any{"password": "CANARY-1", "mail": "CANARY-2"}}})
	is(t, "values that violate the schema", err, helmclient.ErrInvalidChart)
	if text := err.Error(); strings.Contains(text, "CANARY") || !strings.Contains(text, "at '/password': *** does not match pattern") || !strings.Contains(text, "at '/mail': *** is not valid email") {
		t.Errorf("values that violate the schema: %s", text)
	}
	mine := errors.New("mine")
	_, err = s.Client.Install(s.ctx, helmclient.Install{Name: s.name("bad"), Chart: helmclient.Chart{
		Archive: func() (io.ReadCloser, error) { return nil, mine },
	}})
	is(t, "archive that cannot be opened", err, mine)
	_, err = s.Client.Install(s.ctx, helmclient.Install{Name: s.name("bad"), Chart: helmclient.Chart{Path: "/does/not/exist"}})
	is(t, "path that does not exist", err, helmclient.ErrInvalidChart)
	for _, c := range []helmclient.Chart{{}, {Ref: "a/b", Path: "/c"}, {Ref: "unknown/chart"}, {Ref: "word"}, {Ref: "ftp://host/a.tgz"}} {
		_, err = s.Client.Show(s.ctx, c)
		is(t, "chart "+c.Ref, err, helmclient.ErrInvalid)
	}
	ok := helmclient.Chart{Path: s.Place(t, pack(t, "small", "1.0.0", small()))}
	s.install(t, helmclient.Install{Name: s.name("placed"), Chart: ok})
}
