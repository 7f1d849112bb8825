package vnflcm_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// declaringToys are toys whose VNFD declares attributes of additionalParams for the instantiation, healing and scaling to a level.
func declaringToys(t *testing.T) *toys {
	t.Helper()
	files := toyFS("cluster")
	const top, vnf = "Definitions/top.yaml", "node_types:\n  toy.VNF: {derived_from: tosca.nodes.nfv.VNF}\n"
	declared := bytes.Replace(files[top].Data, []byte(vnf), []byte(`data_types:
  toy.Instantiate: {derived_from: tosca.datatypes.nfv.VnfOperationAdditionalParameters, properties: {site: {type: string}, size: {type: integer, default: 1}}}
  toy.Heal: {derived_from: tosca.datatypes.nfv.VnfOperationAdditionalParameters, properties: {reason: {type: string}, site: {type: string}}}
node_types:
  toy.VNF:
    derived_from: tosca.nodes.nfv.VNF
    interfaces:
      Vnflcm:
        type: tosca.interfaces.nfv.Vnflcm
        instantiate: {inputs: {additional_parameters: {type: toy.Instantiate}}}
        heal: {inputs: {additional_parameters: {type: toy.Heal}}}
        terminate: {inputs: {additional_parameters: {type: toy.Heal}}}
        operate: {inputs: {additional_parameters: {type: toy.Heal}}}
        scale_to_level: {inputs: {additional_parameters: {type: toy.Heal}}}
`), 1)
	if bytes.Equal(declared, files[top].Data) {
		t.Fatal("the VNFD declares nothing")
	}
	files[top] = &fstest.MapFile{Data: declared}
	return newToys(t, onPackages(toyPackages(files)))
}

// TestDeclaredParams sends requests that contradict the declarations of the VNFD.
func TestDeclaredParams(t *testing.T) {
	t.Parallel()
	x := declaringToys(t)
	id := x.create()
	for name, c := range map[string]struct {
		given string
		want  string
	}{
		"missing":    {`{}`, "additionalParams.site: is required by the VNFD"},
		"wrong type": {`{"site": "a", "size": "many"}`, "additionalParams.size: must be of type integer"},
	} {
		_, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain", AdditionalParams: params(t, c.given)})
		var fault *vnflcm.ParamError
		if !errors.As(err, &fault) {
			t.Errorf("%s: error %v, want a ParamError", name, err)
		}
		wantText(t, err, c.want)
	}
	given := params(t, `{"site": "a", "sizes": 2}`)
	opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain", AdditionalParams: given})
	occ, _ := x.wait(opID, err, vnflcm.Completed)
	want := []string{`attributes that the VNFD does not declare: additionalParams.sizes (did you mean "size"?)`}
	if diff := cmp.Diff(want, occ.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}

	_, err = x.Heal(t.Context(), id, vnflcm.HealVnfRequest{}) // the instantiation gave the site, not the reason
	wantText(t, err, "additionalParams.reason: is required by the VNFD")
	if err != nil && strings.Contains(err.Error(), "site") {
		t.Errorf("heal: %v", err)
	}
	_, err = x.Operate(t.Context(), id, stop)
	wantText(t, err, "additionalParams.reason: is required by the VNFD")
	_, err = x.ScaleToLevel(t.Context(), id, vnflcm.ScaleVnfToLevelRequest{InstantiationLevelID: "large"})
	wantText(t, err, "additionalParams.reason: is required by the VNFD")
	opID, err = x.Heal(t.Context(), id, vnflcm.HealVnfRequest{AdditionalParams: params(t, `{"reason": "a", "all": true}`)})
	if occ, _ = x.wait(opID, err, vnflcm.Completed); occ.Warnings != nil {
		t.Errorf("heal: warnings %q", occ.Warnings)
	}
	opID, err = x.Scale(t.Context(), id, scale(vnflcm.ScaleOut, 1)) // declares no attributes
	x.wait(opID, err, vnflcm.Completed)
}

// TestDeclaredParamsOfEarlierInstance heals and terminates an instance that an earlier version instantiated, which did not compare requests
// with the VNFD.
func TestDeclaredParamsOfEarlierInstance(t *testing.T) {
	t.Parallel()
	x := declaringToys(t)
	id := x.create()
	opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain", AdditionalParams: params(t, `{"site": "a"}`)})
	x.wait(opID, err, vnflcm.Completed)
	x.forgetAttributes("instance", "paramsDeclared")
	opID, err = x.Heal(t.Context(), id, vnflcm.HealVnfRequest{})
	occ, _ := x.wait(opID, err, vnflcm.Completed)
	if diff := cmp.Diff([]string{"additionalParams.reason: is required by the VNFD"}, occ.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	x.operate(id)
}
