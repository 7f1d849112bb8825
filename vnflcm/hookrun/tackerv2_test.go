package hookrun_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/hookrun"
)

// tacker is what the conductor of Tacker says of a hook of an instantiated VNF whose cluster is registered.
func tacker(hook, request, grant string) string {
	return `{"operation": "` + hook + `", "request": ` + request + `, "tmp_csar_dir": "/tmp/csar", "user_script_err_handling_data": {},
		"grant_request": ` + grant + `, "grant_response": {"id": "g1", "vnfInstanceId": "vnf-1", "vnfLcmOpOccId": "op-1", "zones": [{"id": "z", "zoneId": "nova"}]},
		"vnf_instance": {"id": "vnf-1", "vnfdId": "d", "instantiationState": "INSTANTIATED",
			"vimConnectionInfo": {"cluster": {"vimId": "cluster", "vimType": "kubernetes"},
				"vim1": {"vimId": "v", "vimType": "ETSINFV.OPENSTACK_KEYSTONE.V_3", "accessInfo": {"password": "` + canary + `"}}},
			"instantiatedVnfInfo": {"flavourId": "simple", "metadata": {"stack_id": "s1", "nfv": {}}}}}`
}

const (
	grantRequest = `{"vnfLcmOpOccId": "op-1", "vnfInstanceId": "vnf-1"}`
	grantRemoval = `{"vnfLcmOpOccId": "op-1", "removeResources": [{"id": "1", "type": "COMPUTE", "resourceTemplateId": "workerNode", "resource": {"resourceId": "vm1"}},
		{"id": "2", "type": "LINKPORT", "resource": {"resourceId": "vm0"}}]}`
)

// TestFromTackerV2: what becomes of the dictionary, with three machines of which vm1 is named.
func TestFromTackerV2(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text, removed string
		request       any
	}{
		"instantiate": {tacker("instantiate_end", `{"flavourId": "complex", "vimConnectionInfo": {"vim1": {"vimId": "v", "vimType": "x"}}}`, grantRequest), "",
			vnflcm.InstantiateVnfRequest{FlavourID: "complex", VimConnectionInfo: vnflcm.VimConnections{{ID: "vim1", VimID: "v", VimType: "x"}}}},
		"scale in": {tacker("scale_start", `{"type": "SCALE_IN", "aspectId": "worker_instance", "numberOfSteps": 1}`, grantRemoval), "m1",
			vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance", NumberOfSteps: 1}},
		"heal":      {tacker("heal_start", `{"vnfcInstanceId": ["workerNode-vm1"]}`, grantRemoval), "", vnflcm.HealVnfRequest{VnfcInstanceID: []string{"workerNode-vm1", "m1"}}},
		"healed":    {tacker("heal_end", `{"vnfcInstanceId": ["workerNode-vm9"]}`, grantRequest), "", vnflcm.HealVnfRequest{VnfcInstanceID: []string{"workerNode-vm9"}}},
		"heal all":  {tacker("heal_start", `{}`, grantRemoval), "", vnflcm.HealVnfRequest{}},
		"terminate": {tacker("terminate_start", `{"terminationType": "FORCEFUL"}`, grantRemoval), "", vnflcm.TerminateVnfRequest{TerminationType: "FORCEFUL"}},
		"rollback":  {tacker("scale_rollback_start", `{"type": "SCALE_OUT", "aspectId": "a"}`, grantRequest), "", vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "a"}},
	} {
		call, err := hookrun.FromTackerV2(strings.NewReader(c.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		call.SetResources(machines(3))
		if diff := cmp.Diff(c.request, call.Request); diff != "" {
			t.Errorf("%s: request:\n%s", name, diff)
		}
		if got := ids(call.Change); got != [3]string{"", c.removed, ""} {
			t.Errorf("%s: change %v", name, got)
		}
		if call.OperationID != "op-1" || call.InstanceID != "vnf-1" || call.Dir != "/tmp/csar" || call.StackID != "s1" || call.VIM.ID != "vim1" || call.Grant.ID != "g1" {
			t.Errorf("%s: %+v", name, call)
		}
	}
}

// TestTackerV2Faults: all faults at once, and no secret in an error.
func TestTackerV2Faults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"empty":         {"", []string{"JSON"}},
		"nothing in it": {"{}", []string{"operation", "vnfLcmOpOccId", "vnf_instance.id", "vimConnectionInfo", "tmp_csar_dir"}},
		"other hook":    {tacker("change_current_package_end", `{}`, grantRequest), []string{"operation"}},
		"no grant":      {tacker("heal_end", `{}`, "null"), []string{"grant_request.vnfLcmOpOccId"}},
		"misspelt":      {tacker("heal_end", `{"vnfcInstanceIds": ["x"]}`, grantRequest), []string{"request", "vnfcInstanceId"}},
		"another type":  {tacker("heal_end", `["`+canary+`"]`, grantRequest), []string{"request"}},
		"too long":      {strings.Repeat(" ", 64<<20+1), []string{"67108864 bytes"}},
	} {
		_, err := hookrun.FromTackerV2(strings.NewReader(c.text))
		if !errors.Is(err, vnflcm.ErrInvalidRequest) || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: error %v", name, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v lacks %q", name, err, want)
			}
		}
	}
}

// FuzzFromTackerV2: what is read can be read again, and its resources can be set.
func FuzzFromTackerV2(f *testing.F) {
	f.Add(tacker("heal_start", `{"vnfcInstanceId": ["workerNode-vm1"]}`, grantRemoval))
	f.Add(tacker("instantiate_end", `{"flavourId": "simple"}`, grantRequest))
	f.Fuzz(func(t *testing.T, text string) {
		call, err := hookrun.FromTackerV2(strings.NewReader(text))
		if err != nil {
			if call != nil {
				t.Error("a call beside an error")
			}
			return
		}
		heal, healsSome := call.Request.(vnflcm.HealVnfRequest)
		healsSome = healsSome && len(heal.VnfcInstanceID) > 0
		call.SetResources(machines(3))
		if heal, ok := call.Request.(vnflcm.HealVnfRequest); ok && healsSome && len(heal.VnfcInstanceID) == 0 {
			t.Error("a heal of some VNFCs has become one of all")
		}
	})
}
