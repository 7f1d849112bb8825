package cnftest_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/vnfkit/vnfkit/internal/cnftest"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	var o map[string]any
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = json.Unmarshal(raw, &o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: o}
}

func apply(t *testing.T, r dynamic.ResourceInterface, manager, text string, force bool) (*unstructured.Unstructured, error) {
	t.Helper()
	o := parse(t, text)
	return r.Apply(t.Context(), o.GetName(), o, metav1.ApplyOptions{FieldManager: manager, Force: force})
}

func TestApplyOwnsFields(t *testing.T) {
	c := cnftest.Start(t)
	r := client(t, c).Resource(configMaps).Namespace("default")
	const head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
	if _, err := apply(t, r, "one", head+"data: {a: '1', b: '1'}", false); err != nil {
		t.Fatal(err)
	}
	if _, err := apply(t, r, "two", head+"data: {b: '1', c: '2'}", false); err != nil {
		t.Fatal(err) // the same value is owned by both
	}
	_, err := apply(t, r, "two", head+"data: {a: '2', b: '1', c: '2'}", false)
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `conflict with "one": .data.a`) {
		t.Errorf("%v", err)
	}
	o, err := apply(t, r, "one", head+"data: {a: '1'}", false)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"a": "1", "b": "1", "c": "2"} // b is two's
	if diff := cmp.Diff(want, o.Object["data"]); diff != "" {
		t.Error(diff)
	}
	if o, err = apply(t, r, "two", head+"data: {a: '2'}", true); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"a": "2"}, o.Object["data"]); diff != "" {
		t.Error(diff)
	}
	version := o.GetResourceVersion()
	if o, err = apply(t, r, "two", head+"data: {a: '2'}", false); err != nil || o.GetResourceVersion() != version {
		t.Errorf("nothing changed, and the revision is another one: %v", err)
	}
}

func TestApplyMergesContainers(t *testing.T) {
	c := cnftest.Start(t)
	r := client(t, c).Resource(deployments).Namespace("default")
	text := strings.NewReplacer("{{.Release.Name}}", "r", "{{.Values.replicas}}", "2", "{{.Values.image}}", "web:1").Replace(deployment)
	if _, err := apply(t, r, "vnfkit", text, false); err != nil {
		t.Fatal(err)
	}
	const patch = `{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"side:1"}]}}}}`
	if _, err := r.Patch(t.Context(), "r-web", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "injector"}); err != nil {
		t.Fatal(err)
	}
	o, err := apply(t, r, "vnfkit", strings.Replace(text, "env: ", "args: [x] #", 1), false)
	if err != nil {
		t.Fatal(err)
	}
	containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	var names []string
	for _, item := range containers {
		container, _ := item.(map[string]any)
		name, _ := container["name"].(string)
		names = append(names, name)
		if _, has := container["env"]; has {
			t.Errorf("%s has what is applied no longer", name)
		}
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"side", "web"}, names); diff != "" {
		t.Error(diff)
	}

	scale := []byte(`{"spec":{"replicas":4}}`)
	if _, err := r.Patch(t.Context(), "r-web", types.MergePatchType, scale, metav1.PatchOptions{FieldManager: "operator"}, "scale"); err != nil {
		t.Fatal(err)
	}
	if _, err := apply(t, r, "vnfkit", text, false); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `conflict with "operator" with subresource "scale" using apps/v1: .spec.replicas`) {
		t.Errorf("%v", err)
	}
	eventually(t, func() bool { return len(strings.Fields(images(t, c))) == 4 })
}
