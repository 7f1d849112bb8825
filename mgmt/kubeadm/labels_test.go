package kubeadm_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestMarks checks that nodes get, through the API, the labels that kubelets may not set and, with a script, their taints.
// This holds for nodes that are added later, too.
func TestMarks(t *testing.T) {
	t.Parallel()
	type marks struct {
		Labels map[string]string
		Taints []string
	}
	const kept = "kubernetes.io/role"
	for _, c := range []struct{ name, request, taints string }{
		{"built in", "instantiate_sandbox.json", ""},
		{"script", "instantiate_script.json", "example.org/media=yes:NoSchedule"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			worker := map[string]any{"labels": map[string]string{kept: "media"}}
			want := marks{Labels: map[string]string{kept: "media"}}
			if c.taints != "" {
				worker["taints"], want.Taints = []string{c.taints}, []string{c.taints}
			}
			patch, err := json.Marshal(map[string]any{"worker_node": worker})
			if err != nil {
				t.Fatal(err)
			}
			id := l.Instantiated(c.request, with(t, string(patch)))
			l.Must(l.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}))
			access, _ := l.Entry(kubeadm.VIMID(id))
			code, body, err := l.Ask(access, http.MethodGet, "/api/v1/nodes", "")
			if code != http.StatusOK || err != nil {
				t.Fatal(code, err)
			}
			var list struct {
				Items []struct {
					Metadata struct {
						Name   string
						Labels map[string]string
					}
					Spec struct {
						Taints []struct{ Key, Value, Effect string }
					}
				}
			}
			if err := json.Unmarshal(body, &list); err != nil {
				t.Fatal(err)
			}
			workers := 0
			for _, n := range list.Items {
				if _, controlPlaneNode := n.Metadata.Labels["node-role.kubernetes.io/control-plane"]; controlPlaneNode {
					continue
				}
				workers++
				got := marks{Labels: map[string]string{kept: n.Metadata.Labels[kept]}}
				for _, taint := range n.Spec.Taints {
					got.Taints = append(got.Taints, taint.Key+"="+taint.Value+":"+taint.Effect)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s:\n%s", n.Metadata.Name, diff)
				}
			}
			if workers != 2 {
				t.Errorf("%d workers", workers)
			}
		})
	}
}
