package kubernetes_test

import (
	"errors"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestAdoptTwice: what one VNF instance has adopted is not adopted by another one, also if other pods run since then.
func TestAdoptTwice(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"manifests of kubectl", "releases of helm, by the scale subresource"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := adoptions[name]
			l := a.open(t)
			if err := l.adopt(a.params, ""); err != nil {
				t.Fatal(err)
			}
			known := vnflcm.VnfInstance{ID: "another", VnfdID: vnfdID}
			old := map[string]bool{}
			for _, p := range l.list("shop", "pods") {
				old[p.GetName()] = true
				if err := l.dynamic.Resource(resources["pods"]).Namespace("shop").Delete(t.Context(), p.GetName(), metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			eventually(t, func() bool {
				ready := 0
				for _, p := range l.list("shop", "pods") {
					if p.GetDeletionTimestamp() == nil && fmt.Sprint(p.Object["status"].(map[string]any)["phase"]) == "Running" {
						ready++
					}
				}
				return ready == len(old)
			})
			if _, err := l.Adopt(t.Context(), known, l.request("simple", a.params), ""); !errors.Is(err, vnflcm.ErrConflict) {
				t.Errorf("adopted twice: %v", err)
			}
			l.terminate(vnflcm.TerminateForceful, `{}`)
			if left := l.empty("shop"); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			a.make(l) // the record of the terminated instance keeps no other VNF from being adopted
			l.running(len(old))
			if _, err := l.Adopt(t.Context(), known, l.request("simple", a.params), ""); err != nil {
				t.Error(err)
			}
		})
	}
}
