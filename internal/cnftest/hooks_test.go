package cnftest_test

import (
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"

	"github.com/vnfkit/vnfkit/internal/cnftest"
)

const hook = `
apiVersion: batch/v1
kind: Job
metadata: {name: hook, annotations: {helm.sh/hook: pre-install}}
spec: {backoffLimit: 0, template: {spec: {restartPolicy: Never, containers: [{name: c, image: "{{.Values.image}}"}]}}}
`

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`

const widget = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {a: 1}\n"

func TestHelmHooksAndDefinitions(t *testing.T) {
	c := cnftest.Start(t)
	ch := chartOf(map[string]string{"hook.yaml": hook, "w.yaml": widget})
	ch.Files = []*chart.File{{Name: "crds/widgets.yaml", Data: []byte(definition)}}
	install := action.NewInstall(helm(t, c))
	install.ReleaseName, install.Namespace, install.Timeout = "r", "default", 20*time.Second
	if _, err := install.RunWithContext(t.Context(), ch, map[string]any{}); err != nil {
		t.Fatal(err)
	}
	install = action.NewInstall(helm(t, c))
	install.ReleaseName, install.Namespace, install.Timeout = "s", "default", 20*time.Second
	if _, err := install.RunWithContext(t.Context(), chartOf(map[string]string{"hook.yaml": hook}), map[string]any{"image": "failing:1"}); err == nil || !strings.Contains(err.Error(), "BackoffLimitExceeded") {
		t.Errorf("a hook that fails: %v", err)
	}
}
