package kubernetes_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestObjectsInSeveralManifests takes equal objects of several manifests as one object, and names those that differ.
func TestObjectsInSeveralManifests(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV1)
	const settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: shop, annotations: , labels: }\ndata: {a: x, a: %}\n"
	l.files["Files/equal.yaml"] = &fstest.MapFile{Data: []byte(strings.Replace(settings, "%", "b", 1))}
	l.files["Files/unequal.yaml"] = &fstest.MapFile{Data: []byte(strings.Replace(settings, "%", "c", 1))}

	err := l.fails(l.Instantiate(t.Context(), l.id, l.request("simple", `{"namespace": "shop", "lcm-kubernetes-def-files": ["Files/plain.yaml", "Files/unequal.yaml"]}`)))
	for _, part := range []string{"additionalParams.lcm-kubernetes-def-files", "ConfigMap shop/settings of Files/plain.yaml and of Files/unequal.yaml"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %v", part, err)
		}
	}
	if l.instance().InstantiationState != vnflcm.NotInstantiated {
		t.Error("an operation has begun")
	}
	l.instantiate("simple", `{"namespace": "shop", "lcm-kubernetes-def-files": ["Files/plain.yaml", "Files/equal.yaml", "Files/plain.yaml"]}`)
	if diff := cmp.Diff([]string{"configmaps/settings"}, l.objects("shop", "configmaps")); diff != "" {
		t.Error(diff)
	}
	l.scale(vnflcm.ScaleOut, "webs", 1)
	l.terminate(vnflcm.TerminateForceful, `{}`)
	if left := l.empty("shop"); len(left) > 0 {
		t.Error(left)
	}
}
