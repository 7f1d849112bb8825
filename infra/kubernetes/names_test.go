package kubernetes_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestOneName checks that the error of a heal that waits for a pod names the pod once, by the name that the VNFC has.
func TestOneName(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV1)
	l.instantiate("simple", twoReleases)
	pod := l.instance().InstantiatedVnfInfo.VnfcResourceInfo[slices.IndexFunc(l.instance().InstantiatedVnfInfo.VnfcResourceInfo,
		func(v vnflcm.VnfcResourceInfo) bool { return v.VduID == "DB" })]
	hold := func(finalizers string) {
		t.Helper()
		_, err := l.dynamic.Resource(resources["pods"]).Namespace("shop").Patch(t.Context(), pod.Name, types.MergePatchType,
			[]byte(`{"metadata": {"finalizers": `+finalizers+`}}`), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	hold(`["example.com/hold"]`)
	l.Manager = l.start(brief)
	op, err := l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{VnfcInstanceID: slices.Collect(maps.Keys(l.vnfcs("DB")))})
	err = l.fails(op, err)
	if text := err.Error(); strings.Count(text, pod.Name) != 1 || strings.Contains(text, pod.ID) {
		t.Errorf("the error does not name the pod %s once: %s", pod.Name, text)
	}
	hold(`[]`)
	l.Manager = l.start()
	l.must(op, l.Retry(t.Context(), op))
}
