package sol003_test

import (
	"context"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/notify"
)

// newVNFD is the VNFD of the second version of the toy package.
const newVNFD = "c2cc1df8-fcdb-4fb8-86fe-5951e81b2288"

// withNewVersion configures both versions of the toy package.
func withNewVersion(cfg *vnflcm.Config) {
	changed := maps.Clone(toyPackage)
	changed["Definitions/top.yaml"] = &fstest.MapFile{Data: []byte(strings.NewReplacer(toyVNFD, newVNFD, "'1.2'", "'2.0'").Replace(string(toyPackage["Definitions/top.yaml"].Data)))}
	cfg.Packages = vnflcm.PackagesFunc(func(_ context.Context, _, vnfdID string) (tosca.Source, error) {
		switch vnfdID {
		case toyVNFD:
			return tosca.FS(toyPackage), nil
		case newVNFD:
			return tosca.FS(changed), nil
		}
		return tosca.Source{}, vnflcm.ErrNotFound
	})
}

// PlanPackage implements vnflcm.PackageChanger.
func (c *cloud) PlanPackage(_ context.Context, op *vnflcm.Operation) (plan vnflcm.PackagePlan, err error) {
	for _, v := range op.VNFCs {
		plan.Units = append(plan.Units, vnflcm.PackageUnit{ID: v.ID, Kind: vnflcm.UnitVNFC, VDUs: []string{v.VDU}, Change: vnflcm.VnfcModified, Method: vnflcm.MethodInPlace,
			Details: []vnflcm.UnitDetail{{Name: "software", Change: vnflcm.VnfcModified, From: "1.2", To: op.Package.VNFD().SoftwareVersion}}})
	}
	return plan, nil
}

// ChangePackage implements vnflcm.PackageChanger.
func (c *cloud) ChangePackage(ctx context.Context, op *vnflcm.Operation) error {
	return c.do(ctx, op, func(now []vnflcm.VNFC) []vnflcm.VNFC { return now })
}

// UnitChanged implements vnflcm.PackageChanger.
func (c *cloud) UnitChanged(context.Context, *vnflcm.Operation, vnflcm.PackageUnit) (bool, error) {
	return true, nil
}

// TestChangePackage previews and changes a package by version 2, and reads the result in both versions.
func TestChangePackage(t *testing.T) {
	t.Parallel()
	x := newVNFM(t, withNewVersion, sol003.Options{})
	uri := x.running("v2")
	id := lastOf(uri)
	x.begin(uri+"/scale", `{"type":"SCALE_OUT","aspectId":"workers"}`, vnflcm.Completed)
	body := `{"vnfdId":"` + newVNFD + `","additionalParams":{"password":"` + canary + `","pause_after":1},"extensions":{"secret":"` + canary + `"},
		"extVirtualLinks":[{"id":"l","resourceId":"net","extCps":[{"cpdId":"worker_cp","cpConfig":{"a":{"cpProtocolData":[{"layerProtocol":"IP_OVER_ETHERNET"}]}}}]}],
		"vimConnectionInfo":{"own":{"vimType":"toy","accessInfo":{"password":"` + canary + `"}}}}`

	preview := x.send("POST", "/preview/v1/vnf_instances/"+id+"/change_vnfpkg", body, 200).object()["packageChange"].(object)
	if batches := preview["batches"].(array); len(batches) != 2 || preview["dstVnfdId"] != newVNFD {
		t.Errorf("preview %v", preview)
	}
	x.send("POST", "/vnflcm/v1/vnf_instances/"+id+"/change_vnfpkg", body, 404)
	if got := x.send("PATCH", uri, `{"vnfdId":"`+newVNFD+`"}`, 422).detail(); !strings.Contains(got, "change_vnfpkg") {
		t.Errorf("PATCH of vnfdId: %s", got)
	}

	paused := x.begin(uri+"/change_vnfpkg", body, vnflcm.FailedTemp)
	wantLinks(t, paused, "fail", "retry", "rollback", "self", "vnfInstance")
	if vnfd := vnfdsOf(x.send("GET", uri, "", 200)); !cmp.Equal(vnfd, []any{newVNFD, nil}) {
		t.Errorf("VNFDs of the VNFCs: %v", vnfd)
	}
	occurrence := "/vnf_lcm_op_occs/" + paused.object()["id"].(string)
	x.send("POST", "/vnflcm/v2"+occurrence+"/retry", "", 202)
	done := x.await(x.http.URL+"/vnflcm/v2"+occurrence, vnflcm.Completed).object()
	if diff := cmp.Diff(object{"password": "***", "pause_after": 1.0}, done["operationParams"].(object)["additionalParams"]); diff != "" {
		t.Errorf("parameters:\n%s", diff)
	}
	want := object{"vnfdId": newVNFD, "vnfSoftwareVersion": "2.0", "extensions": object{"secret": "***"}}
	if diff := cmp.Diff([]any{"CHANGE_VNFPKG", want, nil}, []any{done["operation"], done["modificationsTriggeredByVnfPkgChange"], done["changedInfo"]}); diff != "" {
		t.Error(diff)
	}
	inV1 := x.send("GET", "/vnflcm/v1"+occurrence, "", 200).object()
	if diff := cmp.Diff([]any{"MODIFY_INFO", want, nil}, []any{inV1["operation"], inV1["changedInfo"], inV1["modificationsTriggeredByVnfPkgChange"]}); diff != "" {
		t.Error(diff)
	}
	for query, n := range map[string]int{"v1": 1, "v2": 0} {
		if got := x.send("GET", "/vnflcm/"+query+"/vnf_lcm_op_occs?filter=(eq,operation,MODIFY_INFO)", "", 200).ids(); len(got) != n {
			t.Errorf("%s: operations %v, want %d", query, got, n)
		}
		if got := x.send("GET", "/vnflcm/"+query+"/vnf_lcm_op_occs?filter=(eq,operation,CHANGE_VNFPKG)", "", 200).ids(); len(got) != 1-n {
			t.Errorf("%s: operations %v, want %d", query, got, 1-n)
		}
	}
	if now := x.send("GET", uri, "", 200); now.object()["vnfdId"] != newVNFD || !cmp.Equal(vnfdsOf(now), []any{nil, nil}) {
		t.Errorf("instance %s", now.body)
	}
}

// vnfdsOf returns the vnfdId of each VNFC of an instance.
func vnfdsOf(a answer) (out []any) {
	for _, v := range a.object()["instantiatedVnfInfo"].(object)["vnfcResourceInfo"].(array) {
		out = append(out, v.(object)["vnfdId"])
	}
	return out
}

// TestNotificationsOfPackageChange compares the notifications of a change that pauses and is retried in both versions. The last one has the
// modifications of the occurrence, which is valid by ETSI's definition.
func TestNotificationsOfPackageChange(t *testing.T) {
	t.Parallel()
	x := newVNFMWith(t, withNewVersion, sol003.Options{}, func(m *vnflcm.Manager, options *sol003.Options) sol003.Manager {
		n := notify.New(m, notify.Options{Allow: outbound.AllowAny})
		send(t, n)
		options.Subscriptions = n
		return m
	})
	uri := x.running("v2")
	x.begin(uri+"/scale", `{"type":"SCALE_OUT","aspectId":"workers"}`, vnflcm.Completed)
	one, two, next := newSubscriber(t, nil), newSubscriber(t, nil), newSubscriber(t, nil)
	x.subscribe("v2", `{"filter":{"vnfInstanceSubscriptionFilter":{"vnfdIds":["`+newVNFD+`"]}},"callbackUri":"`+next.URL+`"}`)
	for kind, s := range map[string]*subscriber{"v1 MODIFY_INFO": one, "v2 CHANGE_VNFPKG": two} {
		api, operation, _ := strings.Cut(kind, " ")
		x.subscribe(api, `{"filter":{"vnfInstanceSubscriptionFilter":{"vnfdIds":["`+toyVNFD+`"]},"operationTypes":["`+operation+`"]},"callbackUri":"`+s.URL+`"}`)
	}
	paused := x.begin(uri+"/change_vnfpkg", `{"vnfdId":"`+newVNFD+`","additionalParams":{"password":"`+canary+`","pause_after":1}}`, vnflcm.FailedTemp)
	occurrence := x.http.URL + "/vnflcm/v2/vnf_lcm_op_occs/" + paused.object()["id"].(string)
	x.send("POST", occurrence+"/retry", "", 202)
	done := x.await(occurrence, vnflcm.Completed).object()

	states := []string{"STARTING", "PROCESSING", "FAILED_TEMP", "PROCESSING", "COMPLETED"}
	for kind, s := range map[string]*subscriber{"MODIFY_INFO": one, "CHANGE_VNFPKG": two} {
		var want []string
		for _, state := range states {
			want = append(want, kind+" "+state)
		}
		if diff := cmp.Diff(want, s.told(t, len(want))); diff != "" {
			t.Error(diff)
		}
	}
	x.begin(uri+"/scale", `{"type":"SCALE_IN","aspectId":"workers"}`, vnflcm.Completed)
	if diff := cmp.Diff([]string{"CHANGE_VNFPKG COMPLETED", "SCALE STARTING", "SCALE PROCESSING", "SCALE COMPLETED"}, next.told(t, 4)); diff != "" {
		t.Errorf("to a subscriber to the new VNFD:\n%s", diff)
	}
	info := done["modificationsTriggeredByVnfPkgChange"]
	last := len(states) - 1
	if diff := cmp.Diff([]any{info, nil, nil, info}, []any{two.got[last]["modificationsTriggeredByVnfPkgChange"], two.got[last]["changedInfo"],
		one.got[last]["modificationsTriggeredByVnfPkgChange"], one.got[last]["changedInfo"]}); info == nil || diff != "" {
		t.Errorf("modifications:\n%s", diff)
	}
	if affected, _ := two.got[last]["affectedVnfcs"].(array); len(affected) != 2 || affected[0].(object)["changeType"] != "MODIFIED" {
		t.Errorf("affected VNFCs %v", affected)
	}
}
