package e2e_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/internal/chartcases"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// oddParams are the request for a VNF of chartcases; its namespace is filled in.
const oddParams = `{"namespace": %q, "use_helm": true, "using_helm_install_param": [{"exthelmchart": false, "helmreleasename": "odd",
	"helmchartfile_path": "` + chartcases.Path + `"}], "vdu_mapping": {"` + chartcases.VDU + `": {"kind": "Deployment", "name": "odd-web", "helmreleasename": "odd"}}}`

// TestOddChartsOnCluster takes charts with odd features through their life, by turns with Helm 3 and Helm 4, in the process and on a
// machine.
func TestOddChartsOnCluster(t *testing.T) {
	cluster := needCluster(t)
	modes := slices.Concat(cnfModes[:2], helm4Modes)
	charts := slices.DeleteFunc(chartcases.All(), func(c chartcases.Chart) bool { return !c.Real })
	for i, c := range charts {
		mode := modes[i%len(modes)]
		t.Run(c.Name+"/"+mode.name, func(t *testing.T) {
			t.Parallel()
			var masters []*master
			if mode.masters {
				masters = newMasters(t, cluster.Client(), 1, mode.program(t))
			}
			dir := t.TempDir()
			must(t, os.CopyFS(dir, chartcases.Package(c.Files)))
			v := newCNF(t, store.NewMemory(), cnfSite{Dir: t.TempDir(), Helm4: mode.helm4, Packages: map[string]string{chartcases.VNFD: dir}},
				cnfVIM(t, kubernetes.VimTypeV1, cluster.Client(), masters), chartcases.VNFD, chartcases.Flavour, oddParams)
			scale := func(kind vnflcm.ScaleType) {
				t.Helper()
				v.must(v.Scale(t.Context(), v.id, vnflcm.ScaleVnfRequest{Type: kind, AspectID: chartcases.Aspect, NumberOfSteps: 1}))
			}
			v.must(v.Instantiate(t.Context(), v.id, v.request))
			v.wantWeb(1)
			scale(vnflcm.ScaleOut)
			v.wantWeb(2)
			v.must(v.Heal(t.Context(), v.id, vnflcm.HealVnfRequest{}))
			v.wantWeb(2)
			scale(vnflcm.ScaleIn)
			v.wantWeb(1)
			v.must(v.Terminate(t.Context(), v.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
			v.wantNothing()
		})
	}
}

// wantWeb checks the number of pods of the Deployment odd-web, and that each is a VNFC.
func (c *cnf) wantWeb(n int) {
	c.t.Helper()
	inst, err := c.Get(c.t.Context(), c.id)
	must(c.t, err)
	var pods []string
	for _, v := range inst.InstantiatedVnfInfo.VnfcResourceInfo {
		if strings.HasPrefix(v.ComputeResource.ResourceID, "odd-web-") {
			pods = append(pods, v.ComputeResource.ResourceID)
		}
	}
	web, err := typed(c.t, c.cluster.Client()).AppsV1().Deployments(c.namespace).Get(c.t.Context(), "odd-web", meta.GetOptions{})
	must(c.t, err)
	if *web.Spec.Replicas != int32(n) || len(pods) != n { //nolint:gosec // few
		c.t.Errorf("%d replicas, VNFCs %v, want %d", *web.Spec.Replicas, pods, n)
	}
}
