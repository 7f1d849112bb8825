package sol003_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
)

// TestVnfcInfoModifications changes the properties of a VNFC in both versions of the API. The documents comply with their schemas.
func TestVnfcInfoModifications(t *testing.T) {
	t.Parallel()
	for _, api := range versions {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			x := newVNFM(t, nil, sol003.Options{})
			uri := x.running(api)
			vnfcs := func() (out []any) {
				for _, v := range x.send("GET", uri, "", 200).object()["instantiatedVnfInfo"].(object)["vnfcInfo"].(array) {
					out = append(out, v.(object)["vnfcConfigurableProperties"])
				}
				return out
			}
			none := vnfcs()
			id := x.send("GET", uri, "", 200).object()["instantiatedVnfInfo"].(object)["vnfcInfo"].(array)[0].(object)["id"].(string)
			patch := `{"vnfcInfoModifications":[{"id":"` + id + `","vnfcConfigurableProperties":{"log":"debug","token":"` + canary + `"}}]}`
			done := x.await(x.send("PATCH", uri, patch, 202).Header.Get("Location"), vnflcm.Completed)
			want := array{object{"id": id, "vnfcConfigurableProperties": object{"log": "***", "token": "***"}}}
			if diff := cmp.Diff(want, done.object()["changedInfo"].(object)["vnfcInfoModifications"]); diff != "" {
				t.Errorf("changedInfo:\n%s", diff)
			}
			with := slices.Clone(none)
			with[0] = object{"log": "***", "token": "***"}
			if diff := cmp.Diff(with, vnfcs()); diff != "" {
				t.Errorf("vnfcInfo:\n%s", diff)
			}
			remove := `{"vnfcInfoModifications":[{"id":"` + id + `","vnfcConfigurableProperties":{"log":null,"token":null}}]}`
			x.await(x.send("PATCH", uri, remove, 202).Header.Get("Location"), vnflcm.Completed)
			if diff := cmp.Diff(none, vnfcs()); diff != "" {
				t.Errorf("after the removal:\n%s", diff)
			}
			refused := x.send("PATCH", uri, strings.ReplaceAll(patch, id, "other"), 422)
			if !strings.Contains(refused.object()["detail"].(string), id) {
				t.Errorf("the refusal does not name %s: %v", id, refused.object()["detail"])
			}
			x.send("PATCH", uri, `{"vnfcInfoModificationsDeleteIds":["`+id+`"]}`, 422)
		})
	}
}
