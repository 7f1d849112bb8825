package vnflcm_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// propertiesOf returns the properties of the VNFCs that have any, by the ids of their vnfcInfo.
func (x *toys) propertiesOf(id string) map[string]string {
	x.t.Helper()
	out := map[string]string{}
	if info := x.get(id).InstantiatedVnfInfo; info != nil {
		for _, v := range info.VnfcInfo {
			if !v.VnfcConfigurableProperties.IsZero() {
				out[v.ID] = string(v.VnfcConfigurableProperties.Reveal())
			}
		}
	}
	return out
}

// shown returns a value as documents show it.
func shown(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	must(t, err)
	return string(text)
}

// TestVnfcProperties changes the properties of VNFCs by merge patches, and checks that a VNFC keeps them when it is healed and loses them
// when it ends.
func TestVnfcProperties(t *testing.T) {
	t.Parallel()
	x := newToys(t, func(cfg *vnflcm.Config) {
		cfg.PublicParams = []string{"vnfcInfoModifications[].vnfcConfigurableProperties.log"}
	})
	id := x.instantiated("plain")
	want := func(step string, want map[string]string) {
		t.Helper()
		if diff := cmp.Diff(want, x.propertiesOf(id)); diff != "" {
			t.Errorf("%s:\n%s", step, diff)
		}
	}
	patch := func(id, text string) vnflcm.VnfcInfoModification {
		return vnflcm.VnfcInfoModification{ID: id, VnfcConfigurableProperties: params(t, text)}
	}
	modify := func(list ...vnflcm.VnfcInfoModification) *vnflcm.VnfLcmOpOcc {
		return x.modify(id, vnflcm.VnfInfoModificationRequest{VnfcInfoModifications: list})
	}
	occ := modify(patch("worker-0", `{"log":"debug","token":"canary-4711-x"}`), patch("master-master-0", `{"a":{"b":1,"c":2}}`))
	want("set", map[string]string{"worker-worker-0": `{"log":"debug","token":"canary-4711-x"}`, "master-master-0": `{"a":{"b":1,"c":2}}`})
	const masked = `"vnfcConfigurableProperties":{"log":"debug","token":"***"}`
	for where, document := range map[string]any{"changedInfo": occ.ChangedInfo, "operationParams": occ.OperationParams, "the instance": x.get(id)} {
		if text := shown(t, document); !strings.Contains(text, masked) || strings.Contains(text, "canary") {
			t.Errorf("%s: %s", where, text)
		}
	}
	modify(patch("master-master-0", `{"a":{"b":null},"d":3}`))
	opID, err := x.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{"worker-0"}})
	x.wait(opID, err, vnflcm.Completed)
	want("healed", map[string]string{"worker-worker-0": `{"log":"debug","token":"canary-4711-x"}`, "master-master-0": `{"a":{"c":2},"d":3}`})
	if strings.Contains(x.stored(), "canary-4711-x") {
		t.Error("the properties are stored in the clear")
	}
	x.start()
	opID, err = x.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "workers"})
	x.wait(opID, err, vnflcm.Completed)
	last := x.get(id).InstantiatedVnfInfo.VnfcInfo
	newest := last[len(last)-1].VnfcResourceInfoID
	modify(patch(newest, `{"e":4}`))
	opID, err = x.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "workers"})
	x.wait(opID, err, vnflcm.Completed)
	opID, err = x.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "workers"})
	x.wait(opID, err, vnflcm.Completed)
	want("scaled in and out", map[string]string{"worker-worker-0": `{"log":"debug","token":"canary-4711-x"}`, "master-master-0": `{"a":{"c":2},"d":3}`})
	opID, err = x.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
	x.wait(opID, err, vnflcm.Completed)
	_, err = x.instantiate(id, "plain", vnflcm.Completed)
	must(t, err)
	want("instantiated again", map[string]string{})
}

// TestVnfcPropertiesRefused checks which modifications of VNFCs are refused, and with which texts.
func TestVnfcPropertiesRefused(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	running, created := x.instantiated("plain"), x.create()
	some := params(t, `{"a":1}`)
	for name, c := range map[string]struct {
		id   string
		req  vnflcm.VnfInfoModificationRequest
		want string
	}{
		"unknown id": {running, vnflcm.VnfInfoModificationRequest{VnfcInfoModifications: []vnflcm.VnfcInfoModification{{ID: "x", VnfcConfigurableProperties: some}}},
			"vnfcInfoModifications[0].id: \"x\": no vnfcInfo has this id: the VNF has master-master-0 (master0), worker-worker-0 (worker0), worker-worker-1 (worker1)"},
		"no properties": {running, vnflcm.VnfInfoModificationRequest{VnfcInfoModifications: []vnflcm.VnfcInfoModification{{ID: "worker-0"}}},
			"vnfcInfoModifications[0].vnfcConfigurableProperties: is required"},
		"not instantiated": {created, vnflcm.VnfInfoModificationRequest{VnfcInfoModifications: []vnflcm.VnfcInfoModification{{ID: "worker-0", VnfcConfigurableProperties: some}}},
			"the VNF is not instantiated"},
		"removed": {running, vnflcm.VnfInfoModificationRequest{VnfcInfoModificationsDeleteIDs: []string{"worker-worker-0"}},
			"vnfcInfoModificationsDeleteIds: \"worker-worker-0\": is not supported"},
		"too large": {running, vnflcm.VnfInfoModificationRequest{VnfcInfoModifications: []vnflcm.VnfcInfoModification{
			{ID: "worker-0", VnfcConfigurableProperties: params(t, `{"a":"`+strings.Repeat("x", 300<<10)+`"}`)}}}, "at most 262144 are allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := x.Modify(t.Context(), c.id, c.req, "")
			if !errors.Is(err, vnflcm.ErrInvalidRequest) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %.500v, want %s", err, c.want)
			}
		})
	}
}
