package vnflcm_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vnfkit/vnfkit/vnflcm"
)

func paramsOf(t testing.TB, text string) vnflcm.Params {
	t.Helper()
	p, err := vnflcm.ParseParams([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// toNew is the request for the new version with these additionalParams.
func toNew(t testing.TB, additional string) vnflcm.ChangeCurrentVnfPkgRequest {
	t.Helper()
	return vnflcm.ChangeCurrentVnfPkgRequest{VnfdID: newVNFD, AdditionalParams: paramsOf(t, additional)}
}

// versions are the VNFDs that the VNFCs of an instance show, by VNFC.
func (x *toys) versions(id string) map[string]string {
	x.t.Helper()
	out := map[string]string{}
	for _, v := range x.get(id).InstantiatedVnfInfo.VnfcResourceInfo {
		out[v.ID] = v.VnfdID
	}
	return out
}

func TestChangeVnfPkg(t *testing.T) {
	t.Parallel()
	x := newToys(t, bothVersions)
	id := x.instantiated("plain")
	opID, err := x.ChangeVnfPkg(t.Context(), id, toNew(t, `{"replicas": 3}`))
	occ, _ := x.wait(opID, err, vnflcm.Completed)
	inst := x.get(id)
	if inst.VnfdID != newVNFD || inst.VnfSoftwareVersion != "2.0" {
		t.Errorf("instance %+v", inst)
	}
	want := map[string]string{"master-0": "", "worker-0": "", "worker-1": "", "proxy-0": ""}
	if diff := cmp.Diff(want, x.versions(id)); diff != "" {
		t.Error(diff)
	}
	for _, v := range x.world.state(id).Machines {
		if ranBy(v) != newVNFD {
			t.Errorf("%s runs by %s", v.ID, ranBy(v))
		}
	}
	info := occ.ModificationsTriggeredByVnfPkgChange
	if diff := cmp.Diff(&vnflcm.ModificationsTriggeredByVnfPkgChange{VnfdID: newVNFD, VnfSoftwareVersion: "2.0"}, info); diff != "" {
		t.Error(diff)
	}
}

// stopsAt instantiates a VNF and begins a change of the package that fails when worker-1 joins again: worker-0 and worker-1 are changed then.
func (x *toys) stopsAt(id string) string {
	x.t.Helper()
	failedPackage(x, id)
	return lastOperation(x, id)
}

// soon are additionalParams whose health checks end soon.
const soon = `{"health_timeout": 1}`

// TestUnhealthyBatch stops at the first batch that is not healthy: the operation names the reason, and Rollback changes only the batches
// that had begun.
func TestUnhealthyBatch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		params string
		first  vnflcm.OperationState // after the failure
	}{"by request": {soon, vnflcm.FailedTemp}, "by itself": {`{"health_timeout": 1, "rollback_on_failure": true}`, vnflcm.RolledBack}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, bothVersions)
			id := x.instantiated("plain")
			before, inst := x.world.state(id), x.get(id)
			x.world.sick["worker-1"] = "answers 503"
			opID, err := x.ChangeVnfPkg(t.Context(), id, toNew(t, c.params))
			occ, err := x.wait(opID, err, c.first)
			if !strings.Contains(err.Error(), "change_package_health.2: batch 2 of 4 is not healthy after 1s: worker-1: answers 503") {
				t.Errorf("error %v", err)
			}
			if c.first == vnflcm.FailedTemp {
				if diff := cmp.Diff(map[string]string{"master-0": "", "worker-0": newVNFD, "worker-1": newVNFD}, x.versions(id)); diff != "" {
					t.Error(diff)
				}
				x.wait(opID, x.Rollback(t.Context(), opID), vnflcm.RolledBack)
			}
			now := x.world.state(id)
			if now.Defined != toyVNFD {
				t.Errorf("the machines are defined by the VNFD %q", now.Defined)
			}
			now.Defined = ""
			if diff := cmp.Diff(before, now); diff != "" {
				t.Errorf("the world differs from before:\n%s", diff)
			}
			if diff := cmp.Diff(inst, x.get(id), cmpopts.IgnoreFields(vnflcm.VnfInstance{}, "Version")); diff != "" {
				t.Errorf("the instance differs from before:\n%s", diff)
			}
			if x.world.done["change_package_rollback.3/change/master-0"] > 0 || x.world.done["change_package_rollback.1/change/worker-0"] != 1 {
				t.Errorf("steps %v", x.world.done)
			}
			if occ.ModificationsTriggeredByVnfPkgChange != nil {
				t.Errorf("occurrence %+v", occ)
			}
		})
	}
}

// TestPausedChange pauses after two VNFCs. Retry continues, and does not pause again.
func TestPausedChange(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		leave func(*vnflcm.Manager, context.Context, string) error
		want  vnflcm.OperationState
		vnfd  string
	}{"retry": {(*vnflcm.Manager).Retry, vnflcm.Completed, newVNFD}, "rollback": {(*vnflcm.Manager).Rollback, vnflcm.RolledBack, toyVNFD}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, bothVersions)
			id := x.instantiated("plain")
			opID, err := x.ChangeVnfPkg(t.Context(), id, toNew(t, `{"pause_after": 2, "max_unavailable": 4, "rollback_on_failure": true}`))
			_, err = x.wait(opID, err, vnflcm.FailedTemp)
			if wantIs(t, err, vnflcm.ErrPaused); !strings.Contains(err.Error(), "the operation is paused: after batch 1") {
				t.Errorf("error %v", err)
			}
			if diff := cmp.Diff(map[string]string{"master-0": "", "worker-0": newVNFD, "worker-1": newVNFD}, x.versions(id)); diff != "" {
				t.Error(diff)
			}
			x.wait(opID, c.leave(x.Manager, t.Context(), opID), c.want)
			if got := x.get(id).VnfdID; got != c.vnfd {
				t.Errorf("VNFD %s, want %s", got, c.vnfd)
			}
		})
	}
}

// TestMixedVNF gives a change up. The VNF is mixed then: it is healed by the packages that its VNFCs run by, and a change to either package
// ends the mixture.
func TestMixedVNF(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ to, other string }{"back": {toyVNFD, newVNFD}, "on": {newVNFD, toyVNFD}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, bothVersions)
			id := x.create()
			opID := x.stopsAt(id)
			must(t, x.Fail(t.Context(), opID))
			mixed := map[string]string{"master-0": "", "worker-0": newVNFD, "worker-1": newVNFD}
			if diff := cmp.Diff(mixed, x.versions(id)); diff != "" || x.get(id).VnfdID != toyVNFD {
				t.Errorf("VNFD %s\n%s", x.get(id).VnfdID, diff)
			}
			for _, vnfd := range []string{toyVNFD, newVNFD} {
				if used, err := x.PackageInUse(t.Context(), vnflcm.PackageIdentity{ID: "", VnfdID: vnfd, Digest: x.digest(vnfd)}); err != nil || !used {
					t.Errorf("%s is used: %t, %v", vnfd, used, err)
				}
			}
			x.world.failAt("change_package_after.2:cluster/join/worker-1", nil)
			healed := map[string]string{}
			x.watch(func(op *vnflcm.Operation) {
				for _, v := range op.Change.Replaced {
					healed[v.ID] = op.VersionOf(v).Package.VNFD().ID
				}
			})
			opID, err := x.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{"worker-1", "master-0"}})
			x.wait(opID, err, vnflcm.Completed)
			if diff := cmp.Diff(map[string]string{"worker-1": newVNFD, "master-0": toyVNFD}, healed); diff != "" {
				t.Errorf("healed by:\n%s", diff)
			}
			if diff := cmp.Diff(mixed, x.versions(id)); diff != "" {
				t.Errorf("after the heal:\n%s", diff)
			}
			opID, err = x.ChangeVnfPkg(t.Context(), id, vnflcm.ChangeCurrentVnfPkgRequest{VnfdID: c.to})
			x.wait(opID, err, vnflcm.Completed)
			for vnfc, vnfd := range x.versions(id) {
				if vnfd != "" {
					t.Errorf("%s runs by %s", vnfc, vnfd)
				}
			}
			for _, v := range x.world.state(id).Machines {
				if ranBy(v) != c.to {
					t.Errorf("the machine %s runs by %s", v.ID, ranBy(v))
				}
			}
			if used, err := x.PackageInUse(t.Context(), vnflcm.PackageIdentity{VnfdID: c.other, Digest: x.digest(c.other)}); err != nil || used {
				t.Errorf("%s is used: %t, %v", c.other, used, err)
			}
		})
	}
}

// digest returns the digest of a package.
func (x *toys) digest(vnfdID string) string {
	x.t.Helper()
	pkg, err := x.cfg.Packages.Open(x.t.Context(), "", vnfdID, "")
	must(x.t, err)
	defer func() { must(x.t, pkg.Close()) }()
	digest, err := pkg.Digest(x.t.Context())
	must(x.t, err)
	return digest
}

// TestRetryAfterFailedPackageRollback retries a change whose rollback has failed: the batches that were changed back change again.
func TestRetryAfterFailedPackageRollback(t *testing.T) {
	t.Parallel()
	x := newToys(t, bothVersions)
	id := x.create()
	opID := x.stopsAt(id)
	x.world.failAt("change_package_rollback.1/change/worker-0", errCut)
	x.wait(opID, x.Rollback(t.Context(), opID), vnflcm.FailedTemp)
	if diff := cmp.Diff(map[string]string{"master-0": "", "worker-0": newVNFD, "worker-1": ""}, x.versions(id)); diff != "" {
		t.Error(diff)
	}
	x.world.failAt("change_package_after.2:cluster/join/worker-1", nil)
	x.wait(opID, x.Retry(t.Context(), opID), vnflcm.Completed)
	for _, v := range x.world.state(id).Machines {
		if ranBy(v) != newVNFD {
			t.Errorf("%s runs by %s", v.ID, ranBy(v))
		}
	}
}

// TestRefusedPackageChanges refuses requests before anything is touched.
func TestRefusedPackageChanges(t *testing.T) {
	t.Parallel()
	policy := levelPolicy
	withPolicy := "    - other: {type: tosca.policies.nfv.VnfPackageChange, properties: {selector: {source_descriptor_id: x, destination_descriptor_id: " + newVNFD +
		", source_flavour_id: plain}, modification_qualifier: up, destination_flavour_id: plain}}\n" + levelPolicy
	for name, c := range map[string]struct {
		changed []string // replacements in the new package
		request string
		want    []string
		reason  string
	}{
		"no VNFD":             {nil, `{}`, []string{"vnfdId"}, "is required"},
		"the same VNFD":       {nil, `{"vnfdId": "` + toyVNFD + `"}`, []string{"vnfdId"}, "is the VNFD of the instance"},
		"another product":     {[]string{"product_name: Toy cluster", "product_name: Other"}, `{"vnfdId": "` + newVNFD + `"}`, []string{"vnfdId"}, "allow_other_product"},
		"no policy":           {[]string{policy, withPolicy}, `{"vnfdId": "` + newVNFD + `"}`, []string{"vnfdId"}, "allow_other_source"},
		"unknown upgrade":     {nil, `{"vnfdId": "` + newVNFD + `", "additionalParams": {"upgrade_type": "BlueGreen", "max_unavailable": 0}}`, []string{"additionalParams.upgrade_type", "additionalParams.max_unavailable"}, ""},
		"a VDU that vanishes": {[]string{"    worker:\n", "    other:\n", "[virtual_binding: worker]", "[virtual_binding: other]", "targets: [worker]", "targets: [other]"}, `{"vnfdId": "` + newVNFD + `"}`, []string{"additionalParams.allow_data_loss", "additionalParams.allow_data_loss"}, "must name worker"},
		"no coordinator":      {nil, `{"vnfdId": "` + newVNFD + `", "additionalParams": {"lcm-operation-coordinate-new-vnf": "a.py"}}`, []string{"additionalParams.lcm-operation-coordinate-new-vnf"}, ""},
		"an unknown VDU":      {nil, `{"vnfdId": "` + newVNFD + `", "additionalParams": {"vdu_params": [{"vdu_id": "x"}]}}`, []string{"additionalParams.vdu_params[0].vdu_id"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, func(cfg *vnflcm.Config) {
				cfg.Packages = twoPackages(toyFS("cluster", "plain"), newToyFS(c.changed...))
			})
			id := x.instantiated("plain")
			var request vnflcm.ChangeCurrentVnfPkgRequest
			if _, err := vnflcm.DecodeRequest([]byte(c.request), &request); err != nil {
				t.Fatal(err)
			}
			_, err := x.ChangeVnfPkg(t.Context(), id, request)
			if diff := cmp.Diff(c.want, faults(err)); diff != "" || !strings.Contains(fmt.Sprint(err), c.reason) {
				t.Errorf("error %v\n%s", err, diff)
			}
			if got := len(x.world.state(id).Machines); got != 3 {
				t.Errorf("%d machines", got)
			}
		})
	}
}

// TestMappedComponents renames a VDU and removes another one, with the consent of the request, and rolls that back.
func TestMappedComponents(t *testing.T) {
	t.Parallel()
	renamed := "    - up: {type: tosca.policies.nfv.VnfPackageChange, properties: {selector: {source_descriptor_id: " + toyVNFD + ", destination_descriptor_id: " + newVNFD +
		", source_flavour_id: plain}, modification_qualifier: up, destination_flavour_id: plain, component_mappings: [{component_type: vdu, source_id: master, destination_id: head}]}}\n" + levelPolicy
	change := []string{"    master:\n", "    head:\n", "[virtual_binding: master]", "[virtual_binding: head]", "targets: [master]", "targets: [head]", levelPolicy, renamed}
	for name, fail := range map[string]string{"completed": "", "rolled back": "change_current_package_end/configure/"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, func(cfg *vnflcm.Config) { cfg.Packages = twoPackages(toyFS("cluster", "plain"), newToyFS(change...)) })
			id := x.instantiated("plain")
			want, before := vnflcm.Completed, x.world.state(id)
			if fail != "" {
				x.world.failAt(fail, errCut)
				want = vnflcm.FailedTemp
			}
			opID, err := x.ChangeVnfPkg(t.Context(), id, toNew(t, "{}"))
			x.wait(opID, err, want)
			vdus := map[string]string{}
			for _, v := range x.get(id).InstantiatedVnfInfo.VnfcResourceInfo {
				vdus[v.ID] = v.VduID
			}
			if diff := cmp.Diff(map[string]string{"master-0": "head", "worker-0": "worker", "worker-1": "worker", "proxy-0": "proxy"}, vdus); diff != "" {
				t.Error(diff)
			}
			if fail == "" {
				return
			}
			x.wait(opID, x.Rollback(t.Context(), opID), vnflcm.RolledBack)
			now := x.world.state(id)
			now.Defined = ""
			if diff := cmp.Diff(before, now); diff != "" {
				t.Errorf("the world differs from before:\n%s", diff)
			}
		})
	}
}

// TestLinksOfChangedPackage changes to a package with another name for one connection point, and without another one.
func TestLinksOfChangedPackage(t *testing.T) {
	t.Parallel()
	renamed := "    - up: {type: tosca.policies.nfv.VnfPackageChange, properties: {selector: {source_descriptor_id: " + toyVNFD + ", destination_descriptor_id: " + newVNFD +
		", source_flavour_id: plain}, modification_qualifier: up, destination_flavour_id: plain, component_mappings: [{component_type: cp, source_id: master_cp, destination_id: main_cp}]}}\n" + levelPolicy
	change := []string{"    master_cp:\n", "    main_cp:\n", "[master_cp,", "[main_cp,", "    worker_cp:\n", "    node_cp:\n", "[worker_cp,", "[node_cp,", levelPolicy, renamed}
	for name, fail := range map[string]string{"completed": "", "rolled back": "change_current_package_end/configure/"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, func(cfg *vnflcm.Config) { cfg.Packages = twoPackages(toyFS("cluster", "plain"), newToyFS(change...)) })
			id := x.connected()
			end, want := vnflcm.Completed, []string{"main_cp"}
			if fail != "" {
				x.world.failAt(fail, errCut)
				end, want = vnflcm.FailedTemp, []string{"master_cp", "worker_cp"}
			}
			opID, err := x.ChangeVnfPkg(t.Context(), id, toNew(t, "{}"))
			x.wait(opID, err, end)
			if fail != "" {
				x.wait(opID, x.Rollback(t.Context(), opID), vnflcm.RolledBack)
			}
			var got []string
			for _, l := range x.get(id).InstantiatedVnfInfo.ExtVirtualLinkInfo {
				for _, cp := range l.CurrentVnfExtCpData {
					got = append(got, cp.CpdID)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPackageReturnsByRunPhase rolls back by itself where an engine runs the phases: a phase that has failed is not repeated.
func TestPackageReturnsByRunPhase(t *testing.T) {
	t.Parallel()
	x := newToys(t, func(c *vnflcm.Config) { bothVersions(c); c.Runner = &engine{} })
	id := x.create()
	run := func(opID string, err error) error {
		must(t, err)
		phase := vnflcm.PhaseBegin
		for err == nil && phase != "" {
			var next string
			if next, err = x.RunPhase(t.Context(), opID, phase); err == nil && next != "" {
				if again, errAgain := x.RunPhase(t.Context(), opID, phase); again != next || errAgain != nil {
					t.Errorf("phase %s leads to %q, and to %q (%v) in a second run", phase, next, again, errAgain)
				}
			}
			phase = next
		}
		return err
	}
	must(t, run(x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})))
	x.world.failAt("change_package_after.2:cluster/join/worker-1", errCut)
	opID, err := x.ChangeVnfPkg(t.Context(), id, toNew(t, `{"rollback_on_failure": true}`))
	must(t, run(opID, err))
	x.wait(opID, nil, vnflcm.RolledBack)
}

// TestDeclaredOperation runs the operation of the VNFD that the policy calls, between the start hook and the first batch.
func TestDeclaredOperation(t *testing.T) {
	t.Parallel()
	files := newToyFS(levelPolicy, "    - up: {type: tosca.policies.nfv.VnfPackageChange, triggers: {change: {event: requested, action: [{call_operation: {operation: change.from_1_to_2}}]}}, "+
		"properties: {selector: {source_descriptor_id: "+toyVNFD+", destination_descriptor_id: "+newVNFD+", source_flavour_id: plain}, modification_qualifier: up, destination_flavour_id: plain}}\n"+levelPolicy,
		vnflcmInterface, "        change: {type: my.Change, operations: {from_1_to_2: {implementation: cluster}}}\n"+vnflcmInterface,
		"vnfd_types.yaml]\ntopology_template:\n", "vnfd_types.yaml]\ninterface_types:\n  my.Change: {derived_from: tosca.interfaces.nfv.ChangeCurrentVnfPackage, operations: {from_1_to_2: {}}}\ntopology_template:\n",
		"change_current_package_end", "change_current_package_start")
	x := newToys(t, func(cfg *vnflcm.Config) { cfg.Packages = twoPackages(toyFS("cluster", "plain"), files) })
	id := x.instantiated("plain")
	var phases []string
	note := func(_ context.Context, op *vnflcm.Operation) error {
		phases = append(phases, op.Phase()+" "+op.Former.Package.VNFD().SoftwareVersion+" "+op.Package.VNFD().SoftwareVersion)
		return nil
	}
	x.cfg.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": hooked{vnflcm.Hooks{vnflcm.ChangePackageStart: note, "from_1_to_2": note,
		vnflcm.InstantiateEnd: note, vnflcm.ScaleStart: note, vnflcm.ScaleEnd: note, vnflcm.HealStart: note, vnflcm.HealEnd: note, vnflcm.TerminateStart: note, vnflcm.ModifyEnd: note}}}
	x.start()
	opID, err := x.ChangeVnfPkg(t.Context(), id, toNew(t, "{}"))
	x.wait(opID, err, vnflcm.Completed)
	if diff := cmp.Diff([]string{"change_current_package_start 1.2 2.0", "change_package_operation 1.2 2.0"}, phases); diff != "" {
		t.Error(diff)
	}
}

// TestGrantOfPackageChange asks for a grant that names both VNFDs and the VNFCs that change.
func TestGrantOfPackageChange(t *testing.T) {
	t.Parallel()
	var asked []vnflcm.GrantRequest
	x := newToys(t, func(cfg *vnflcm.Config) {
		bothVersions(cfg)
		cfg.Granter = granter(func(_ context.Context, r vnflcm.GrantRequest) (*vnflcm.Grant, error) {
			asked = append(asked, r)
			return &vnflcm.Grant{ID: "g"}, nil
		})
	})
	id := x.instantiated("plain")
	opID, err := x.ChangeVnfPkg(t.Context(), id, toNew(t, "{}"))
	x.wait(opID, err, vnflcm.Completed)
	r := asked[len(asked)-1]
	if r.VnfdID != toyVNFD || r.DstVnfdID != newVNFD || len(r.AddResources) != 1 || r.AddResources[0].VnfdID != newVNFD || len(r.UpdateResources) != 3 || r.UpdateResources[0].VnfdID != "" {
		t.Errorf("request %+v", r)
	}
}
