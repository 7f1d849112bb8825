package sol003_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
)

// TestProgress checks the document of an operation whose step waits, and that of the operation after its end.
func TestProgress(t *testing.T) {
	t.Parallel()
	x := newVNFM(t, nil, sol003.Options{})
	gate := make(chan struct{})
	x.cloud.gate = gate
	created := x.send("POST", "/vnflcm/v2/vnf_instances", `{"vnfdId":"`+toyVNFD+`"}`, 201).Header.Get("Location")
	started := x.send("POST", created+"/instantiate", `{"flavourId":"simple","additionalParams":{"password":"`+canary+`"}}`, 202).Header.Get("Location")
	id := started[strings.LastIndex(started, "/")+1:]
	uri := "/progress/v1/vnf_lcm_op_occs/" + id
	read := func() object {
		document := x.send("GET", uri, "", 200).object()
		for _, s := range document["steps"].(array) {
			step := s.(object)
			if _, err := time.Parse(time.RFC3339, step["since"].(string)); err != nil {
				t.Error(err)
			}
			delete(step, "since")
		}
		delete(document, "process")
		return document
	}
	want := object{"vnfLcmOpOccId": id, "operationState": "PROCESSING", "here": true, "steps": array{
		object{"phase": "instantiate", "name": "change", "reason": "waiting for the gate: it is closed for ***", "attempt": 1.0}}}
	different := retry.Policy{First: time.Millisecond, Most: 100 * time.Millisecond, Within: patience}.Do(t.Context(), func() error {
		if diff := cmp.Diff(want, read()); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
	must(t, different)
	close(gate)
	_, err := x.Wait(t.Context(), id)
	must(t, err)
	if diff := cmp.Diff(object{"vnfLcmOpOccId": id, "operationState": "COMPLETED", "here": false, "steps": array{}}, read()); diff != "" {
		t.Error(diff)
	}
	x.send("GET", uri+"0", "", 404)
	x.send("POST", uri, "{}", 405)
}
