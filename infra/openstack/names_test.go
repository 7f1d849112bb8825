package openstack_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestOneName checks that the errors of Heat updates that leave the wrong servers give each server the name of its VNFC, and have the id of
// the VNFC once.
func TestOneName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		begin func(l *lab, worker string) (string, error)
		want  string
	}{
		"heal":     {func(l *lab, worker string) (string, error) { return l.heal("", worker) }, " still has server "},
		"scale in": {func(l *lab, _ string) (string, error) { return l.scale(vnflcm.ScaleIn, 1) }, " is still there"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, openstack.VimTypeV2)
			l.must(l.instantiate())
			l.must(l.scale(vnflcm.ScaleOut, 1))
			inst, err := l.Get(t.Context(), l.id)
			if err != nil {
				t.Fatal(err)
			}
			names := map[string]string{}
			for _, v := range inst.InstantiatedVnfInfo.VnfcResourceInfo {
				if v.VduID == "workerNode" {
					names[v.ID] = v.Name
				}
			}
			l.mu.Lock()
			l.fault = func(r *http.Request) int { // Heat does not mark resources, so that it replaces none, and removes others
				if r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/resources/") {
					return http.StatusOK
				}
				return 0
			}
			l.mu.Unlock()
			opID, err := c.begin(l, slices.Sorted(maps.Keys(names))[0])
			if err == nil {
				_, err = l.Wait(t.Context(), opID)
			}
			if err == nil {
				t.Fatal("no error")
			}
			text, named := err.Error(), 0
			for id, name := range names {
				n := strings.Count(text, id)
				if n > 1 || n == 1 && !strings.Contains(text, "VNFC "+name+" (") {
					t.Errorf("the error has %s, id of %s, %d times: %s", id, name, n, text)
				}
				named += n
			}
			if named == 0 || !strings.Contains(text, c.want) {
				t.Errorf("the error names no machine: %s", text)
			}
			t.Log(text)
		})
	}
}
