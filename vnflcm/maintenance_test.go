package vnflcm_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/internal/keyring"
)

// renewal returns a request for the only task of the toy cluster.
func renewal(t *testing.T, additional string) vnflcm.MaintainVnfRequest {
	t.Helper()
	return vnflcm.MaintainVnfRequest{Task: vnflcm.RenewCertificates, AdditionalParams: params(t, additional)}
}

// TestMaintain checks that a task of a driver is an operation MODIFY_INFO with journaled steps, without changed attributes, hooks and
// grant.
func TestMaintain(t *testing.T) {
	t.Parallel()
	x := newToys(t, func(cfg *vnflcm.Config) { cfg.Granter = noGranter })
	id := x.instantiated("plain")
	before := x.get(id)
	x.world.failAt("maintain:cluster/renew/worker-1", errCut)
	opID, err := x.Maintain(t.Context(), id, renewal(t, `{"replicas":3,"password":"canary"}`))
	occ, _ := x.wait(opID, err, vnflcm.FailedTemp)
	if occ.CanRollBack {
		t.Error("the operation can be rolled back")
	}
	_, err = x.Maintain(t.Context(), id, renewal(t, "{}"))
	wantIs(t, err, vnflcm.ErrConflict)
	wantIs(t, x.Rollback(t.Context(), opID), vnflcm.ErrNotSupported)
	x.world.failAt("maintain:cluster/renew/worker-1", nil)
	x.start()
	occ, _ = x.wait(opID, x.Retry(t.Context(), opID), vnflcm.Completed)
	if occ.Operation != vnflcm.OpModifyInfo || occ.GrantID != "" || occ.IsAutomaticInvocation || occ.ChangedInfo != nil {
		t.Errorf("the operation is %+v", occ)
	}
	document, err := json.Marshal(occ.OperationParams)
	must(t, err)
	if got, want := string(document), `{"additionalParams":{"password":"***","replicas":3},"task":"renew_certificates"}`; got != want {
		t.Errorf("operationParams are %s, want %s", got, want)
	}
	for step, times := range map[string]int{"renew/master-0": 1, "renew/worker-0": 1, "renew/worker-1": 1} {
		if got := x.world.done["maintain:cluster/"+step]; got != times {
			t.Errorf("%s was done %d times", step, got)
		}
	}
	if n := x.world.done["modify_information_end/configure/"]; n != 0 {
		t.Error("a hook of the modification has run")
	}
	after := x.get(id)
	if before.Version, after.Version = "", ""; !cmp.Equal(before, after) {
		t.Errorf("the instance has changed:\n%s", cmp.Diff(before, after))
	}
	opID, err = x.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{"worker-0"}})
	x.wait(opID, err, vnflcm.Completed)
}

// noGranter grants only instantiations.
var noGranter granter = func(_ context.Context, request vnflcm.GrantRequest) (*vnflcm.Grant, error) {
	if request.Operation == vnflcm.OpModifyInfo {
		return nil, vnflcm.ErrGrantRejected
	}
	return &vnflcm.Grant{ID: "grant"}, nil
}

// TestMaintainRefusals checks that a refused request stores nothing.
func TestMaintainRefusals(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	created, id := x.create(), x.instantiated("plain")
	before := x.records()
	_, err := x.Maintain(t.Context(), "none", renewal(t, "{}"))
	wantIs(t, err, vnflcm.ErrNotFound)
	_, err = x.Maintain(t.Context(), created, renewal(t, "{}"))
	wantIs(t, err, vnflcm.ErrState)
	_, err = x.Maintain(t.Context(), id, vnflcm.MaintainVnfRequest{})
	wantFaults(t, err, "task")
	_, err = x.Maintain(t.Context(), id, vnflcm.MaintainVnfRequest{Task: "paint"})
	wantIs(t, err, vnflcm.ErrNotSupported)
	_, err = x.Maintain(t.Context(), id, renewal(t, `{"password":"***"}`))
	wantFaults(t, err, "additionalParams.password")
	x.cfg.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": &cluster{world: x.world, validFault: &vnflcm.ParamError{Path: "additionalParams.replicas", Reason: "is wrong"}}}
	x.start()
	_, err = x.Maintain(t.Context(), id, renewal(t, "{}"))
	wantFaults(t, err, "additionalParams.replicas")
	if diff := cmp.Diff(before, x.records()); diff != "" {
		t.Errorf("a refused request wrote:\n%s", diff)
	}
}

// hooksOnly hides the optional interfaces of a driver.
type hooksOnly struct{ vnflcm.MgmtDriver }

// TestMaintainElsewhere checks that the operation fails, and does not complete, in a process whose drivers do not have the task.
func TestMaintainElsewhere(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.instantiated("plain")
	x.world.failAt("maintain:cluster/renew/worker-0", errCut)
	opID, err := x.Maintain(t.Context(), id, renewal(t, "{}"))
	x.wait(opID, err, vnflcm.FailedTemp)
	x.world.failAt("maintain:cluster/renew/worker-0", nil)
	own := x.cfg.Mgmt
	x.cfg.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": hooksOnly{own["cluster"]}}
	x.start()
	_, err = x.wait(opID, x.Retry(t.Context(), opID), vnflcm.FailedTemp)
	wantIs(t, err, vnflcm.ErrNotSupported)
	x.cfg.Mgmt = own
	x.start()
	x.wait(opID, x.Retry(t.Context(), opID), vnflcm.Completed)
}

// TestMaintainOlderVersion checks that versions without maintenance fail to decode the stored request. They decode it as a modification
// before they run a phase, and would otherwise complete an empty modification.
func TestMaintainOlderVersion(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.instantiated("plain")
	opID, err := x.Maintain(t.Context(), id, renewal(t, "{}"))
	x.wait(opID, err, vnflcm.Completed)
	r, err := x.cfg.Store.Get(t.Context(), "operation", opID)
	must(t, err)
	ring, err := keyring.New(testKey)
	must(t, err)
	clear, err := ring.Open(r.Body, identityOf(r))
	must(t, err)
	var stored struct {
		Occ struct {
			Operation       vnflcm.LcmOperation `json:"operation"`
			OperationParams json.RawMessage     `json:"operationParams"`
		} `json:"occ"`
		Drivers []string `json:"drivers"`
	}
	must(t, json.Unmarshal(clear, &stored))
	var modification vnflcm.VnfInfoModificationRequest
	if err := json.Unmarshal(stored.Occ.OperationParams, &modification); err == nil || !strings.Contains(err.Error(), "vimConnectionInfoDeleteList") {
		t.Errorf("%s was read as a modification: %v", stored.Occ.OperationParams, err)
	}
	if stored.Occ.Operation != vnflcm.OpModifyInfo || len(stored.Drivers) == 0 {
		t.Errorf("stored: %s", clear)
	}
}

// TestConfigure checks that a modification of a property of a driver is a task of this driver, and that the property changes when the task
// has ended well.
func TestConfigure(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.instantiated("plain")
	change := vnflcm.VnfInfoModificationRequest{VnfConfigurableProperties: params(t, `{"certificates":"new","colour":"red"}`)}
	x.world.failAt("maintain:cluster/renew/worker-1", errCut)
	opID, err := x.Modify(t.Context(), id, change, "")
	x.wait(opID, err, vnflcm.FailedTemp)
	if got := x.get(id).VnfConfigurableProperties; !got.IsZero() {
		t.Errorf("before the end: %+v", got)
	}
	x.world.failAt("maintain:cluster/renew/worker-1", nil)
	x.start()
	occ, _ := x.wait(opID, x.Retry(t.Context(), opID), vnflcm.Completed)
	if occ.Operation != vnflcm.OpModifyInfo || occ.ChangedInfo == nil || x.world.done["maintain:cluster/renew/worker-1"] != 1 {
		t.Errorf("the operation is %+v", occ)
	}
	got, err := vnflcm.RevealJSON(x.get(id).VnfConfigurableProperties)
	if must(t, err); string(got) != `{"certificates":"***","colour":"***"}` && string(got) != `{"certificates":"new","colour":"red"}` {
		t.Errorf("properties %s", got)
	}
	opID, err = x.Modify(t.Context(), id, vnflcm.VnfInfoModificationRequest{VnfConfigurableProperties: params(t, `{"colour":"blue"}`)}, "")
	x.wait(opID, err, vnflcm.Completed)
	if x.world.done["maintain:cluster/renew/worker-1"] != 1 {
		t.Error("another property has started the task")
	}
	name := "other"
	change.VnfInstanceName = &name
	_, err = x.Modify(t.Context(), id, change, "")
	wantFaults(t, err, "vnfConfigurableProperties")
	_, err = x.Modify(t.Context(), id, vnflcm.VnfInfoModificationRequest{VnfConfigurableProperties: params(t, `{"certificates":["new"]}`)}, "")
	wantFaults(t, err, "vnfConfigurableProperties.certificates")
}

// TestMaintainCancel checks that a graceful cancel ends the task after the current step and those that finish it.
func TestMaintainCancel(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.instantiated("plain")
	g := x.holdAt("maintain:cluster/renew/worker-0")
	opID, err := x.Maintain(t.Context(), id, renewal(t, "{}"))
	must(t, err)
	<-g.reached
	must(t, x.Cancel(t.Context(), opID, vnflcm.CancelGraceful))
	close(g.open)
	_, err = x.wait(opID, nil, vnflcm.FailedTemp)
	wantIs(t, err, vnflcm.ErrCancelled)
	if x.world.done["maintain:cluster/renew/worker-1"] != 0 {
		t.Error("a step has begun after the cancel")
	}
	if x.world.done["maintain:cluster/use/worker-0"] != 1 {
		t.Error("a step that finishes another one has not begun")
	}
	x.wait(opID, x.Fail(t.Context(), opID), vnflcm.Failed)
}

// TestMaintainPreview checks that a preview has the tasks of the driver, and stores nothing.
func TestMaintainPreview(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.instantiated("plain")
	before := x.records()
	plan, err := x.Preview(t.Context(), id, renewal(t, "{}"))
	must(t, err)
	want := []vnflcm.PlannedTask{{Phase: "maintain:cluster", Why: "the driver cluster does not tell what it does"}}
	if diff := cmp.Diff(want, plan.Tasks); diff != "" || plan.Operation != vnflcm.OpModifyInfo {
		t.Errorf("operation %s, tasks:\n%s", plan.Operation, diff)
	}
	configures := vnflcm.VnfInfoModificationRequest{VnfConfigurableProperties: params(t, `{"certificates":"new"}`)}
	configured, err := x.Preview(t.Context(), id, configures)
	must(t, err)
	if diff := cmp.Diff(plan.Tasks, configured.Tasks); diff != "" || configured.Operation != vnflcm.OpModifyInfo {
		t.Errorf("operation %s of a modification, tasks:\n%s", configured.Operation, diff)
	}
	_, err = x.Preview(t.Context(), id, vnflcm.VnfInfoModificationRequest{VnfConfigurableProperties: params(t, `{"certificates":"old"}`)})
	wantIs(t, err, vnflcm.ErrNotSupported)
	_, err = x.Preview(t.Context(), id, vnflcm.MaintainVnfRequest{Task: "paint"})
	if wantIs(t, err, vnflcm.ErrNotSupported); !errors.Is(err, vnflcm.ErrNotSupported) || vnflcm.Problem(err).Status == 500 {
		t.Errorf("the problem is %+v", vnflcm.Problem(err))
	}
	if diff := cmp.Diff(before, x.records()); diff != "" {
		t.Errorf("the preview wrote:\n%s", diff)
	}
}
