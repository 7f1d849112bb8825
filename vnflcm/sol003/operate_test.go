package sol003_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/notify"
)

// Operate implements vnflcm.Operator.
func (c *cloud) Operate(ctx context.Context, op *vnflcm.Operation, _ []vnflcm.VNFC) error {
	return c.do(ctx, op, func(now []vnflcm.VNFC) []vnflcm.VNFC { return now })
}

// withoutOperate is a driver that cannot stop a VNF.
type withoutOperate struct{ vnflcm.InfraDriver }

// operateRequest is the body of ETSI's conformance tests (TST010, SOL003, VNFLifecycleManagement-API/jsons/operateVnfRequest.json).
const operateRequest = `{"changeStateTo": "STOPPED", "stopType": "FORCEFUL", "additionalParams": {}}`

// TestOperateTask has the cases of ETSI's conformance tests OperateVNFTask (TST010 for SOL003 v2.6.1). TestMethods has those of other methods.
func TestOperateTask(t *testing.T) {
	t.Parallel()
	for _, api := range versions {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			x := newVNFM(t, nil, sol003.Options{})
			x.send("POST", x.create(api)+"/operate", operateRequest, 409) // not instantiated
			uri := x.running(api)
			missing := strings.TrimSuffix(uri, lastOf(uri)) + "00000000-0000-4000-8000-000000000000"
			x.send("POST", missing+"/operate", operateRequest, 404)
			x.send("POST", uri+"/operate", `{"changeStateTo": "STOPPED", "stopType": "GRACEFUL"}`, 422)

			preview := x.send("POST", "/preview/v1/vnf_instances/"+lastOf(uri)+"/operate", operateRequest, 200).object()
			if tasks, _ := preview["tasks"].(array); preview["operation"] != "OPERATE" || len(tasks) == 0 {
				t.Errorf("preview %v", preview)
			}
			gate := make(chan struct{})
			x.cloud.setGate(gate)
			begun := x.send("POST", uri+"/operate", operateRequest, 202)
			x.send("POST", uri+"/operate", operateRequest, 409) // another operation is ongoing
			close(gate)
			x.await(begun.Header.Get("Location"), vnflcm.Completed)
			stopped := x.send("GET", uri, "", 200)
			wantLinks(t, stopped, "operate", "self", "terminate")
			x.send("POST", uri+"/heal", `{}`, 409)
			x.begin(uri+"/operate", `{"changeStateTo": "STARTED"}`, vnflcm.Completed)
			started := x.send("GET", uri, "", 200)
			if diff := cmp.Diff([]any{"STOPPED", "STARTED"}, []any{stateOf(stopped), stateOf(started)}); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("not supported", func(t *testing.T) {
		t.Parallel()
		x := newVNFM(t, func(cfg *vnflcm.Config) { cfg.Infra["toy"] = withoutOperate{cfg.Infra["toy"]} }, sol003.Options{})
		x.send("POST", x.running("v1")+"/operate", operateRequest, 404)
	})
}

// TestOperateWorkflow has the case of ETSI's conformance test OperateVNFWorkflow (TST010 for SOL003 v2.6.1): the notifications of an operation, and
// the state of the instance afterwards.
func TestOperateWorkflow(t *testing.T) {
	t.Parallel()
	x := newNotifyingVNFM(t, notify.Options{}, sol003.Options{})
	uri := x.running("v1")
	subscriber := newSubscriber(t, nil)
	x.subscribe("v1", `{"callbackUri":"`+subscriber.URL+`","filter":{"notificationTypes":["VnfLcmOperationOccurrenceNotification"],"operationTypes":["OPERATE"]}}`)
	x.begin(uri+"/operate", operateRequest, vnflcm.Completed)
	want := []string{"OPERATE STARTING", "OPERATE PROCESSING", "OPERATE COMPLETED"}
	if diff := cmp.Diff(want, subscriber.told(t, len(want))); diff != "" {
		t.Error(diff)
	}
	if now := x.send("GET", uri, "", 200); now.object()["instantiationState"] != "INSTANTIATED" || stateOf(now) != "STOPPED" {
		t.Errorf("instance %s", now.body)
	}
}

// stateOf returns the vnfState of an instance.
func stateOf(a answer) any { return a.object()["instantiatedVnfInfo"].(object)["vnfState"] }
