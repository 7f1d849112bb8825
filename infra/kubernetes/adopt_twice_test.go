package kubernetes_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
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
			eventually(t, "the deleted pods are replaced", func() bool {
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

// twoOfWeb has a second workload of the VDU WEB.
const twoOfWeb = plainManifests + "---\n" + `apiVersion: apps/v1
kind: Deployment
metadata: {name: canary, labels: {app.kubernetes.io/component: WEB}}
spec:
  replicas: 1
  selector: {matchLabels: {pods: canary}}
  template:
    metadata: {labels: {pods: canary, app.kubernetes.io/component: WEB}}
    spec: {containers: [{name: c, image: c}]}
`

// TestAdoptOtherReplicas: a VDU whose workload has another number of replicas than the VDU has pods is not adopted, because a later
// operation would set the replicas to the number of pods.
func TestAdoptOtherReplicas(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV2)
	l.files["Files/plain.yaml"].Data = []byte(twoOfWeb)
	l.byKubectl(twoOfWeb, plainKinds)
	l.running(3)
	const want = "additionalParams.vdu_mapping.WEB: Deployment shop/web has 1 replicas, and the VDU has 2 pods: an operation would set the replicas to this number " +
		"(but as Deployment shop/web, Deployment shop/canary)"
	if err := l.adopt(adoptedPlain, ""); !errors.Is(err, vnflcm.ErrInvalidRequest) || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
}

// TestAdoptedReleaseIsReplacedAndUpgraded: a release that another client has installed again is not the adopted one when it has more
// revisions.
func TestAdoptedReleaseIsReplacedAndUpgraded(t *testing.T) {
	t.Parallel()
	a := adoptions["releases of helm, counted by a value"]
	l := a.open(t)
	if err := l.adopt(a.params, ""); err != nil {
		t.Fatal(err)
	}
	l.relabel("d1", "Files/db.v1.tar.gz", nil) // an upgrade of the adopted release
	l.uninstall("w1")
	l.stranger(l.helm, "w1", "Files/web-0.1.0.tgz", nil)
	l.relabel("w1", "Files/web-0.1.0.tgz", nil)
	l.terminate(vnflcm.TerminateForceful, `{}`)
	if left := l.objects("shop", "deployments", "statefulsets"); len(left) != 1 || left[0] != "deployments/web-w1" {
		t.Errorf("left: %v", left)
	}
}
