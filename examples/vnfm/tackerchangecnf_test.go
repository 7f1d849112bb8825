package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cnfChange is a change of the package of a CNF with packages of Tacker's functional tests.
type cnfChange struct {
	vnfdID        string // of the first package
	before, after string // names of the packages
	vimType       string
	instantiate   map[string]any // additionalParams
	change        func(t *testing.T, root string) map[string]any
}

// cnfChanges are the guide for CNFs, and the functional test with a chart, for which Tacker has no guide.
var cnfChanges = map[string]cnfChange{
	"manifests": {vnfdID: "c499a115-3f48-4a1e-8211-04f0d0b3b3c1", before: "test_instantiate_cnf_resources", after: "test_change_vnf_pkg_with_deployment", vimType: "ETSINFV.KUBERNETES.V_1",
		instantiate: map[string]any{"lcm-kubernetes-def-files": []string{"Files/kubernetes/namespace.yaml", "Files/kubernetes/deployment.yaml"}, "namespace": "curry"},
		change: func(t *testing.T, root string) map[string]any {
			t.Helper()
			body := printedBody(t, filepath.Join(root, "doc/source/user/v2/cnf/chg_vnfpkg"))
			delete(body, "vimConnectionInfo") // the address of the reader's cluster
			return body
		}},
	"chart": {vnfdID: "c499a115-3f48-4a1e-8211-04f0d0b3b3c2", before: "test_helm_instantiate", after: "test_helm_change_vnf_pkg", vimType: "ETSINFV.HELM.V_3",
		instantiate: map[string]any{"helm_chart_path": "Files/kubernetes/test-chart-0.1.0.tgz", "helm_parameters": map[string]any{"service.port": 8081, "service.type": "NodePort"},
			"helm_value_names": map[string]any{"VDU1": map[string]any{"replica": "replicaCountVdu1"}, "VDU2": map[string]any{"replica": "replicaCountVdu2"}}, "namespace": "default"},
		change: func(*testing.T, string) map[string]any {
			return map[string]any{"vnfdId": "c6595341-a5bb-8246-53c4-7aeb843d60c6", "additionalParams": map[string]any{"upgrade_type": "RollingUpdate",
				"helm_chart_path": "Files/kubernetes/test-chart-0.1.1.tgz", "vdu_params": []any{map[string]any{"vdu_id": "VDU2"}}}}
		}},
}

// follow changes the package of a CNF: the pods of VDU2 are others, and those of other VDUs stay.
func (g cnfChange) follow(c *tackerClient, root, vim string) {
	c.t.Helper()
	packages := filepath.Join(root, "samples/tests/functional/sol_kubernetes_v2")
	body := g.change(c.t, root)
	becomes := fmt.Sprint(body["vnfdId"])
	old := c.onboard(guideFolder(c.t, filepath.Join(packages, g.before, "contents"), g.vnfdID, nil), g.vnfdID)
	changed := c.onboard(guideFolder(c.t, filepath.Join(packages, g.after, "contents"), becomes, nil), becomes)
	instance := fmt.Sprint(c.object("create", g.vnfdID)["ID"])
	c.run("instantiate", instance, c.file("instantiate.json", map[string]any{"flavourId": "simple", "additionalParams": g.instantiate,
		"vimConnectionInfo": map[string]any{"vim1": map[string]any{"vimId": vim, "vimType": g.vimType}}}))
	c.ends(instance, "COMPLETED")
	before := c.vdus(instance, podOf)
	c.run("change-vnfpkg", instance, c.file("change.json", body))
	c.ends(instance, "COMPLETED")
	after := c.vdus(instance, podOf)
	if diff := cmp.Diff(slices.Sorted(vduNames(before)), slices.Sorted(vduNames(after))); diff != "" {
		c.t.Errorf("VDUs of the pods:\n%s", diff)
	}
	for id, vdu := range before {
		if _, stays := after[id]; stays != (vdu != "VDU2") {
			c.t.Errorf("the pod %s of %s is the same: %t", id, vdu, stays)
		}
	}
	c.wantUsage(old, "NOT_IN_USE")
	c.wantUsage(changed, "IN_USE")
	c.run("terminate", instance, "--termination-type", "FORCEFUL")
	c.ends(instance, "COMPLETED")
	c.run("delete", instance)
	c.remove(old)
	c.remove(changed)
}

// vduNames returns the VDUs of VNFCs.
func vduNames(vnfcs map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for vdu := range maps.Values(vnfcs) {
			if !yield(fmt.Sprint(vdu)) {
				return
			}
		}
	}
}

// podOf returns the name of the pod of a VNFC.
func podOf(vnfc map[string]any) any { return vnfc["computeResource"].(map[string]any)["resourceId"] }

// TestTackerChangeCNF changes the packages of CNFs with Tacker's client.
func TestTackerChangeCNF(t *testing.T) {
	needTackerClient(t)
	root := tackerCheckout(t)
	p, vim := guideCluster(t, nil)
	for name, g := range cnfChanges {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := *p
			own.t = t
			g.follow(&tackerClient{program: &own, t: t, version: "2", dir: t.TempDir()}, root, vim)
		})
	}
}
