package e2e_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/examples/packages"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// vnfcsByVDU returns the numbers of VNFCs.
func (c *cnf) vnfcsByVDU() map[string]int {
	c.t.Helper()
	inst, err := c.Get(c.t.Context(), c.id)
	must(c.t, err)
	out := map[string]int{}
	for _, v := range inst.InstantiatedVnfInfo.VnfcResourceInfo {
		out[v.VduID]++
	}
	return out
}

// TestCNFOfMCIOPs takes the sample package whose charts are MCIOPs through its life, with the helm program and in the process.
func TestCNFOfMCIOPs(t *testing.T) {
	cluster := needCluster(t)
	sample := packages.CNFOfMCIOPs
	for _, mode := range slices.Concat(cnfModes[:2], helm4Modes) {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			var masters []*master
			if mode.masters {
				masters = newMasters(t, cluster.Client(), 1, mode.program(t))
			}
			site := cnfSite{Dir: t.TempDir(), Helm4: mode.helm4, Packages: map[string]string{sample.VNFDID: "../../examples/packages/" + sample.Name}}
			c := newCNF(t, store.NewMemory(), site, cnfVIM(t, kubernetes.VimTypeHelm, cluster.Client(), masters), sample.VNFDID, "simple",
				`{"namespace": %q, "mciop_values": {"web": {"greeting": "a,b={c}", "service": {"port": 8080}}}}`)
			want := func(web, cache int) {
				t.Helper()
				if diff := cmp.Diff(map[string]int{"web_vdu": web, "cache_vdu": cache}, c.vnfcsByVDU()); diff != "" {
					t.Error(diff)
				}
				c.vnfcs(web + cache)
			}
			c.must(c.Instantiate(ctx, c.id, c.request))
			want(1, 1)
			c.must(c.Scale(ctx, c.id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "web_aspect", NumberOfSteps: 2}))
			c.must(c.Scale(ctx, c.id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "cache_aspect"}))
			want(3, 2)
			c.must(c.Heal(ctx, c.id, vnflcm.HealVnfRequest{}))
			want(3, 2)
			c.must(c.Scale(ctx, c.id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "web_aspect"}))
			want(2, 2)
			c.must(c.Terminate(ctx, c.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
			c.wantNothing()
		})
	}
}
