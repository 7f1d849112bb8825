package sol003_test

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
	"github.com/vnfkit/vnfkit/vnflcm/snapshots"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/notify"
)

// saver is a MgmtDriver without hooks that takes snapshots, and loses what is newer when it reverts to one.
type saver struct{}

func (saver) Validate(_ context.Context, op *vnflcm.Operation) error {
	if op.RevertToSnapshot != nil && !strings.Contains(string(op.Params.Reveal()), `"confirm_loss":true`) {
		return &vnflcm.ParamError{Path: "additionalParams.confirm_loss", Reason: "must be true"}
	}
	return nil
}

func (saver) Losses(context.Context, *vnflcm.Operation) ([]string, error) {
	return []string{"the newer data"}, nil
}

func (saver) RevertToSnapshot(ctx context.Context, op *vnflcm.Operation) error {
	r, err := op.OpenSnapshot(ctx, op.RevertToSnapshot.VnfSnapshotInfoID)
	if err != nil {
		return err
	}
	return errors.Join(r.Finish(), r.Close())
}

func (saver) Hooks() vnflcm.Hooks {
	return vnflcm.Hooks{vnflcm.InstantiateEnd: func(context.Context, *vnflcm.Operation) error { return nil }}
}

func (saver) TakeSnapshot(_ context.Context, _ *vnflcm.Operation, to *tar.Writer) (map[string]string, error) {
	err := to.WriteHeader(&tar.Header{Name: "data", Mode: 0o600, Size: int64(len(canary))})
	if err == nil {
		_, err = to.Write([]byte(canary))
	}
	return map[string]string{"version": "1"}, err
}

func (saver) TestSnapshot(_ context.Context, _ *vnflcm.Operation, from *tar.Reader) (map[string]string, error) {
	_, err := from.Next()
	return nil, err
}

// savingVNFM returns a VNFM whose toys have snapshots, and which sends notifications.
func savingVNFM(t *testing.T) *vnfm {
	t.Helper()
	files := fstest.MapFS{}
	files["Definitions/saver.py"] = &fstest.MapFile{Data: []byte("# a toy\n")}
	for name, file := range toyPackage {
		text := strings.Replace(string(file.Data), "interfaces: {Vnflcm: {instantiate: []}}",
			"interfaces: {Vnflcm: {instantiate: [], instantiate_end: {implementation: saver}}}\n      artifacts: {saver: {type: tosca.artifacts.Implementation.Python, file: saver.py}}", 1)
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	archives, err := snapshots.New(snapshots.Directory(t.TempDir()))
	must(t, err)
	return newVNFMWith(t, func(c *vnflcm.Config) {
		c.Snapshots, c.Mgmt, c.Packages = archives, map[string]vnflcm.MgmtDriver{"saver": saver{}}, vnflcm.PackagesFunc(func(context.Context, string, string) (tosca.Source, error) { return tosca.FS(files), nil })
	}, sol003.Options{}, func(m *vnflcm.Manager, o *sol003.Options) sol003.Manager {
		n := notify.New(m, notify.Options{Allow: outbound.AllowAny})
		o.Subscriptions = n
		send(t, n)
		return m
	})
}

// TestSnapshots takes a snapshot by version 2, and reads and removes it in both versions. Version 1 shows it below the extension only: its
// occurrence is in no list, and in no notification.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	x := savingVNFM(t)
	first, second := newSubscriber(t, nil), newSubscriber(t, nil)
	x.send("POST", "/vnflcm/v1/subscriptions", `{"callbackUri":"`+first.URL+`","filter":{"notificationTypes":["VnfLcmOperationOccurrenceNotification"]}}`, 201)
	x.send("POST", "/vnflcm/v2/subscriptions", `{"callbackUri":"`+second.URL+`","filter":{"operationTypes":["CREATE_SNAPSHOT"]}}`, 201)
	instance := x.create("v2")
	id := instance[strings.LastIndex(instance, "/")+1:]
	x.await(x.send("POST", instance+"/instantiate", `{"flavourId":"simple","vimConnectionInfo":[{"vimId":"vim1"}]}`, 202).Header.Get("Location"), vnflcm.Completed)

	created := x.send("POST", "/vnflcm/v2/vnf_snapshots", `{}`, 201)
	uri := created.Header.Get("Location")
	snapshotID := uri[strings.LastIndex(uri, "/")+1:]
	var empty map[string]any
	must(t, json.Unmarshal([]byte(created.body), &empty))
	if diff := cmp.Diff(map[string]any{"id": snapshotID, "_links": map[string]any{"self": map[string]any{"href": uri}}}, empty); diff != "" {
		t.Error(diff)
	}
	x.send("POST", "/vnflcm/v1/vnf_instances/"+id+"/create_snapshot", `{"vnfSnapshotInfoId":"`+snapshotID+`"}`, 404)
	operation := x.send("POST", instance+"/create_snapshot", `{"vnfSnapshotInfoId":"`+snapshotID+`","userDefinedData":{"why":"weekly"}}`, 202).Header.Get("Location")
	x.await(operation, vnflcm.Completed)
	opID := operation[strings.LastIndex(operation, "/")+1:]

	for _, prefix := range []string{"/vnflcm/v2", "/maintenance/v1"} {
		for _, a := range []answer{x.send("GET", prefix+"/vnf_snapshots/"+snapshotID, "", 200), x.send("GET", prefix+"/vnf_snapshots?filter=(eq,vnfSnapshot/cause,request)", "", 200)} {
			for _, want := range []string{`"vnfInstanceId":"` + id + `"`, `"vnfLcmOpOccId":"` + opID + `"`, `"userDefinedData":{"why":"weekly"}`, `"isEncrypted":true`, `"takenFrom"`, `"about":{"version":"1"}`} {
				if !strings.Contains(a.body, want) {
					t.Errorf("%s lacks %s: %s", prefix, want, a.body)
				}
			}
			if strings.Contains(a.body, canary) || strings.Contains(a.body, "AGE-SECRET") {
				t.Errorf("%s shows a secret: %s", prefix, a.body)
			}
		}
		if a := x.send("GET", prefix+"/vnf_snapshots?filter=(eq,vnfSnapshot/cause,schedule)", "", 200); a.body != "[]" {
			t.Errorf("%s: %s", prefix, a.body)
		}
		x.send("DELETE", prefix+"/vnf_snapshots/"+snapshotID, "", 409) // the last one
	}
	x.send("GET", "/vnflcm/v1/vnf_lcm_op_occs/"+opID, "", 404)
	x.send("POST", "/vnflcm/v1/vnf_lcm_op_occs/"+opID+"/cancel", `{"cancelMode":"FORCEFUL"}`, 404)
	for _, query := range []string{"", "?filter=(eq,operation,CREATE_SNAPSHOT)", "?filter=(eq,id," + opID + ")"} {
		if a := x.send("GET", "/vnflcm/v1/vnf_lcm_op_occs"+query, "", 200); strings.Contains(a.body, opID) {
			t.Errorf("version 1 lists the occurrence for %q: %s", query, a.body)
		}
		if a := x.send("GET", "/vnflcm/v2/vnf_lcm_op_occs"+query, "", 200); !strings.Contains(a.body, opID) {
			t.Errorf("version 2 does not list the occurrence for %q: %s", query, a.body)
		}
	}
	again := x.send("POST", "/maintenance/v1/vnf_snapshots", `{}`, 201).Header.Get("Location")
	if !strings.Contains(again, "/maintenance/v1/vnf_snapshots/") {
		t.Errorf("the new resource is %s", again)
	}
	x.await(x.send("POST", "/maintenance/v1/vnf_instances/"+id+"/create_snapshot", `{"vnfSnapshotInfoId":"`+again[strings.LastIndex(again, "/")+1:]+`"}`, 202).Header.Get("Location"), vnflcm.Completed)
	x.send("DELETE", uri, "", 204)
	x.send("GET", uri, "", 404)
	x.send("DELETE", uri, "", 404)
	second.told(t, 6) // STARTING, PROCESSING and COMPLETED of both
	x.await(x.send("POST", "/vnflcm/v1/vnf_instances/"+id+"/terminate", `{"terminationType":"FORCEFUL"}`, 202).Header.Get("Location"), vnflcm.Completed)
	x.send("DELETE", again, "", 204)
	first.told(t, 6) // of the instantiation and the termination
	first.mu.Lock()
	defer first.mu.Unlock()
	for _, n := range first.got {
		if n["operation"] != "INSTANTIATE" && n["operation"] != "TERMINATE" {
			t.Errorf("version 1 sends %v", n)
		}
	}
}

// TestRevertToSnapshot brings a VNF back to a snapshot, by version 2 and by the extension for version 1, which has no word for it.
func TestRevertToSnapshot(t *testing.T) {
	t.Parallel()
	x := savingVNFM(t)
	first, second := newSubscriber(t, nil), newSubscriber(t, nil)
	x.send("POST", "/vnflcm/v1/subscriptions", `{"callbackUri":"`+first.URL+`","filter":{"notificationTypes":["VnfLcmOperationOccurrenceNotification"]}}`, 201)
	x.send("POST", "/vnflcm/v2/subscriptions", `{"callbackUri":"`+second.URL+`","filter":{"operationTypes":["REVERT_TO_SNAPSHOT"]}}`, 201)
	instance := x.create("v2")
	id := instance[strings.LastIndex(instance, "/")+1:]
	x.await(x.send("POST", instance+"/instantiate", `{"flavourId":"simple","vimConnectionInfo":[{"vimId":"vim1"}]}`, 202).Header.Get("Location"), vnflcm.Completed)
	uri := x.send("POST", "/vnflcm/v2/vnf_snapshots", `{}`, 201).Header.Get("Location")
	snapshotID := uri[strings.LastIndex(uri, "/")+1:]
	body := `{"vnfSnapshotInfoId":"` + snapshotID + `","additionalParams":{"confirm_loss":true}}`
	x.send("POST", instance+"/revert_to_snapshot", body, 409) // it has not been taken
	x.await(x.send("POST", instance+"/create_snapshot", `{"vnfSnapshotInfoId":"`+snapshotID+`"}`, 202).Header.Get("Location"), vnflcm.Completed)

	for text, attribute := range map[string]string{`{"vnfSnapshotInfoId":"` + snapshotID + `"}`: "additionalParams.confirm_loss", `{"vnfSnapshotInfoId":"none"}`: "vnfSnapshotInfoId",
		`{"vnfSnapshotInfoId":"` + snapshotID + `","vnfcInstanceId":"w","vnfcSnapshotInfoId":"s"}`: "VNFCs have no snapshots"} {
		for _, path := range []string{instance, "/preview/v1/vnf_instances/" + id, "/maintenance/v1/vnf_instances/" + id} {
			if a := x.send("POST", path+"/revert_to_snapshot", text, 422); !strings.Contains(a.body, attribute) {
				t.Errorf("%s %s: %s", path, text, a.body)
			}
		}
	}
	x.send("POST", "/vnflcm/v1/vnf_instances/"+id+"/revert_to_snapshot", body, 404)
	if a := x.send("POST", "/preview/v1/vnf_instances/"+id+"/revert_to_snapshot", body, 200); !strings.Contains(a.body, `"losses":["the newer data"]`) || !strings.Contains(a.body, `"phase":"revert_to_snapshot"`) {
		t.Errorf("the preview is %s", a.body)
	}
	for _, path := range []string{instance, "/maintenance/v1/vnf_instances/" + id} {
		operation := x.send("POST", path+"/revert_to_snapshot", body, 202).Header.Get("Location")
		x.await(operation, vnflcm.Completed)
		if a := x.send("GET", operation, "", 200); !strings.Contains(a.body, `"vnfSnapshotInfoId":"`+snapshotID+`"`) || !strings.Contains(a.body, `"operation":"REVERT_TO_SNAPSHOT"`) {
			t.Errorf("the occurrence is %s", a.body)
		}
		opID := operation[strings.LastIndex(operation, "/")+1:]
		x.send("GET", "/vnflcm/v1/vnf_lcm_op_occs/"+opID, "", 404)
		if a := x.send("GET", "/vnflcm/v1/vnf_lcm_op_occs", "", 200); strings.Contains(a.body, opID) {
			t.Errorf("version 1 lists the occurrence: %s", a.body)
		}
		if a := x.send("GET", "/vnflcm/v2/vnf_lcm_op_occs?filter=(eq,operation,REVERT_TO_SNAPSHOT)", "", 200); !strings.Contains(a.body, opID) {
			t.Errorf("version 2 does not list the occurrence: %s", a.body)
		}
	}
	second.told(t, 6) // STARTING, PROCESSING and COMPLETED of both
	x.await(x.send("POST", "/vnflcm/v1/vnf_instances/"+id+"/terminate", `{"terminationType":"FORCEFUL"}`, 202).Header.Get("Location"), vnflcm.Completed)
	first.told(t, 6) // of the instantiation and the termination
	first.mu.Lock()
	defer first.mu.Unlock()
	for _, n := range first.got {
		if n["operation"] != "INSTANTIATE" && n["operation"] != "TERMINATE" {
			t.Errorf("version 1 sends %v", n)
		}
	}
}
