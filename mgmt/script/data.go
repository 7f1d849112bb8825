package script

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/internal/sol003v2"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// input is the dict for a script.
type input struct {
	Operation    vnflcm.Hook     `json:"operation"`
	Request      json.RawMessage `json:"request"`
	Instance     json.RawMessage `json:"vnf_instance"`
	GrantRequest json.RawMessage `json:"grant_request"`
	Grant        json.RawMessage `json:"grant_response"`
	Dir          string          `json:"tmp_csar_dir"`
	ErrorData    errorData       `json:"user_script_err_handling_data"`
}

// output is the part of a script's result that the driver uses.
type output struct {
	Instance  json.RawMessage `json:"vnf_instance"`
	ErrorData errorData       `json:"user_script_err_handling_data"`
}

func newInput(ctx context.Context, op *vnflcm.Operation, hook vnflcm.Hook, dir string) (*input, error) {
	in := &input{Operation: hook, Dir: dir}
	var errs [5]error
	in.Request, errs[0] = converted(request(op), sol003v2.Request)
	in.Instance, errs[1] = instanceDocument(op)
	in.ErrorData, errs[2] = readErrorData(ctx, op)
	if op.Grant != nil {
		in.Grant, errs[3] = converted(op.Grant, sol003v2.Request) // its links and VIMs have the names of a request's
		in.GrantRequest, errs[4] = json.Marshal(newGrantRequest(op))
	}
	return in, errors.Join(errs[:]...)
}

// instanceDocument returns the VNF instance with its secrets.
func instanceDocument(op *vnflcm.Operation) (json.RawMessage, error) {
	return converted(op.Instance(), sol003v2.Instance)
}

// converted returns a document with its secrets in the form of SOL003 version 3.
func converted(document any, convert func([]byte) ([]byte, error)) (json.RawMessage, error) {
	text, err := vnflcm.RevealJSON(document)
	if err != nil {
		return nil, err
	}
	return convert(text)
}

// request is the request of the operation.
func request(op *vnflcm.Operation) any {
	for _, r := range []any{op.Instantiate, op.Scale, op.ScaleToLevel, op.Heal, op.Terminate, op.ChangeExtConn, op.ChangeVnfPkg, op.Operate, op.Modify} {
		if !reflect.ValueOf(r).IsNil() {
			return r
		}
	}
	return struct{}{}
}

// FollowsGrants implements vnflcm.GrantFollower: scripts get the whole grant.
func (*Driver) FollowsGrants() []vnflcm.GrantDecision {
	return []vnflcm.GrantDecision{vnflcm.GrantedParams, vnflcm.GrantedFlavour, vnflcm.GrantedImage}
}

// grantRequest is the part of a grant request that scripts read (SOL003 v3.3.1 9.5.2.2), with the names that Tacker
// fills in.
type grantRequest struct {
	InstanceID      string              `json:"vnfInstanceId"`
	OperationID     string              `json:"vnfLcmOpOccId"`
	VnfdID          string              `json:"vnfdId"`
	DstVnfdID       string              `json:"dstVnfdId,omitempty"` // of a change of the package
	FlavourID       string              `json:"flavourId"`
	Operation       vnflcm.LcmOperation `json:"operation"`
	AddResources    []resource          `json:"addResources,omitempty"`
	UpdateResources []resource          `json:"updateResources,omitempty"`
	RemoveResources []resource          `json:"removeResources,omitempty"`
}

type resource struct {
	ID       string                 `json:"id"`
	Type     string                 `json:"type"`
	VDU      string                 `json:"vduId"`
	Template string                 `json:"resourceTemplateId"` // the VDU, in Tacker
	Handle   *vnflcm.ResourceHandle `json:"resource,omitempty"`
}

func newGrantRequest(op *vnflcm.Operation) grantRequest {
	out := grantRequest{InstanceID: op.InstanceID, OperationID: op.ID, VnfdID: op.Package.VNFD().ID, FlavourID: op.Initial.FlavourID, Operation: op.Kind,
		AddResources: resources(op.Change.Added), UpdateResources: resources(op.Change.Replaced), RemoveResources: resources(op.Change.Removed)}
	if op.Former != nil {
		out.VnfdID, out.DstVnfdID = op.Former.Package.VNFD().ID, op.Package.VNFD().ID
	}
	if op.Former != nil && op.RollingBack {
		out.VnfdID, out.DstVnfdID = out.DstVnfdID, out.VnfdID // the request was for the way there
	}
	return out
}

func resources(vnfcs []vnflcm.VNFC) []resource {
	var out []resource
	for _, v := range vnfcs {
		r := resource{ID: v.ID, Type: "COMPUTE", VDU: v.VDU, Template: v.VDU}
		if v.ResourceID != "" {
			r.Handle = &vnflcm.ResourceHandle{ResourceID: v.ResourceID}
		}
		out = append(out, r)
	}
	return out
}

// errorDataState is the state key of the user_script_err_handling_data that the scripts of the latest operation
// returned.
const errorDataState = "script/error-data"

type errorData map[string]json.RawMessage

type keptErrorData struct {
	Operation string
	Data      errorData
}

func readErrorData(ctx context.Context, op *vnflcm.Operation) (errorData, error) {
	var kept keptErrorData
	err := op.State().Get(ctx, errorDataState, &kept)
	if errors.Is(err, vnflcm.ErrNotFound) || err == nil && kept.Operation != op.ID {
		return errorData{}, nil
	}
	return kept.Data, err
}

func (before errorData) keep(ctx context.Context, op *vnflcm.Operation, returned errorData) error {
	if len(returned) == 0 {
		return nil
	}
	data := maps.Clone(before)
	maps.Copy(data, returned)
	return op.State().Put(ctx, errorDataState, keptErrorData{op.ID, data})
}

// instance is the part of a returned VNF instance that the driver compares.
type instance struct {
	VIMs map[string]vnflcm.VimConnectionInfo `json:"vimConnectionInfo"`
	Info struct {
		VNFCs []vnfc `json:"vnfcResourceInfo"`
	} `json:"instantiatedVnfInfo"`
}

type vnfc struct {
	ID       string         `json:"id"`
	Metadata map[string]any `json:"metadata"`
}

// takeInstance publishes the metadata of VNFCs that a script has changed, and registers the VIMs that it has added.
func takeInstance(ctx context.Context, op *vnflcm.Operation, before, after json.RawMessage) error {
	var old, now instance
	if err := errors.Join(json.Unmarshal(before, &old), json.Unmarshal(after, &now)); err != nil {
		op.Log.WarnContext(ctx, "the vnf_instance of the script has no effect", "error", err)
		return nil
	}
	for _, v := range op.VNFCs {
		was, is := old.metadata(v.ID), now.metadata(v.ID)
		if is == nil || reflect.DeepEqual(was, is) {
			continue
		}
		if err := op.Publish(ctx, v, published(v, is)); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(now.VIMs)) {
		if _, known := old.VIMs[key]; known {
			continue
		}
		vim := now.VIMs[key]
		vim.ID, vim.VimID = key, VIMID(op.InstanceID, key)
		if err := op.RegisterVIM(ctx, vim); err != nil {
			return err
		}
	}
	if other := changed(before, after); len(other) > 0 {
		op.Log.WarnContext(ctx, "changes of the VNF instance by the script have no effect", "attributes", other)
	}
	return nil
}

// VIMID returns the vimId of an entry that a script has added to the vimConnectionInfo of a VNF instance.
func VIMID(instanceID, key string) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte("vnfkit/script/"+instanceID+"/"+key)).String()
}

func (i *instance) metadata(id string) map[string]any {
	at := slices.IndexFunc(i.Info.VNFCs, func(v vnfc) bool { return v.ID == id })
	if at < 0 {
		return nil
	}
	return i.Info.VNFCs[at].Metadata
}

// published returns the metadata that do not come from the infrastructure driver. Values that are not texts are JSON.
func published(v vnflcm.VNFC, metadata map[string]any) map[string]string {
	out := map[string]string{}
	for key, value := range metadata {
		text, isText := value.(string)
		if !isText {
			encoded, _ := json.Marshal(value) // it comes from JSON
			text = string(encoded)
		}
		if given, ofDriver := v.Metadata[key]; !ofDriver || given != text {
			out[key] = text
		}
	}
	return out
}

// changed names the attributes, beside those that are taken over, in which the instances differ.
func changed(before, after json.RawMessage) []string {
	var old, now map[string]any
	_, _ = json.Unmarshal(before, &old), json.Unmarshal(after, &now) // takeInstance has read them
	var out []string
	for _, part := range []struct {
		prefix   string
		old, now map[string]any
	}{{"", old, now}, {"instantiatedVnfInfo.", inner(old), inner(now)}} {
		names := maps.Clone(part.old)
		maps.Copy(names, part.now)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if slices.Contains([]string{"vimConnectionInfo", "instantiatedVnfInfo", "vnfcResourceInfo"}, name) {
				continue
			}
			a, _ := json.Marshal(part.old[name])
			b, _ := json.Marshal(part.now[name])
			if !bytes.Equal(a, b) {
				out = append(out, part.prefix+name)
			}
		}
	}
	return out
}

func inner(document map[string]any) map[string]any {
	if info, ok := document["instantiatedVnfInfo"].(map[string]any); ok {
		return info
	}
	return map[string]any{}
}
