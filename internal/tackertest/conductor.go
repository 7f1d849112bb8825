// Package tackertest plays the conductor of OpenStack Tacker's version 2 API: a Manager makes the machines, and each hook of the VNF
// gets what Tacker passes to a management driver script. It also makes packages of CNFs as Tacker's guides have them.
package tackertest

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Conductor is a management driver that has its hooks run as Tacker does.
type Conductor struct {
	Dir string // of the unpacked VNF package
	VIM vnflcm.VimConnectionInfo
	Run func(ctx context.Context, op *vnflcm.Operation, said []byte) error
}

// Validate implements vnflcm.MgmtDriver. Tacker does not validate.
func (*Conductor) Validate(context.Context, *vnflcm.Operation) error { return nil }

// hooks are those at which docs/tacker.md has the driver named in the VNFD, whether or not the driver has them.
var hooks = []vnflcm.Hook{vnflcm.InstantiateEnd, vnflcm.ScaleStart, vnflcm.ScaleEnd, vnflcm.HealStart, vnflcm.HealEnd, vnflcm.TerminateStart, vnflcm.TerminateEnd,
	vnflcm.InstantiateRollbackStart, vnflcm.InstantiateRollbackEnd, vnflcm.ScaleRollbackStart, vnflcm.ScaleRollbackEnd}

// Hooks implements vnflcm.MgmtDriver.
func (c *Conductor) Hooks() vnflcm.Hooks {
	out := vnflcm.Hooks{}
	for _, name := range hooks {
		out[name] = func(ctx context.Context, op *vnflcm.Operation) error {
			said, err := c.said(op)
			if err != nil {
				return err
			}
			return c.Run(ctx, op, said)
		}
	}
	return out
}

// said is the dictionary of Tacker.
func (c *Conductor) said(op *vnflcm.Operation) ([]byte, error) {
	grant := map[string]any{"vnfInstanceId": op.InstanceID, "vnfLcmOpOccId": op.ID}
	var removed []map[string]any
	for _, v := range append(op.Change.Removed, op.Change.Replaced...) {
		removed = append(removed, map[string]any{"id": v.ID, "type": "COMPUTE", "resourceTemplateId": v.VDU, "resource": map[string]any{"resourceId": v.ResourceID}})
	}
	grant["removeResources"] = removed
	request, err1 := reveal(request(op))
	vim, err2 := reveal(c.VIM)
	text, err3 := json.Marshal(map[string]any{"operation": op.Phase(), "request": request, "tmp_csar_dir": c.Dir, "grant_request": grant,
		"grant_response": nil, "user_script_err_handling_data": map[string]any{},
		"vnf_instance": map[string]any{"id": op.InstanceID, "vnfdId": op.Package.VNFD().ID, "instantiationState": "INSTANTIATED", "vnfProvider": "vnfkit",
			"vnfProductName": "test", "vnfSoftwareVersion": "1", "vnfdVersion": "1", "vimConnectionInfo": map[string]any{"vim1": vim}, "instantiatedVnfInfo": c.info(op)}})
	return text, errors.Join(err1, err2, err3)
}

// info has no addresses, like Tacker's.
func (*Conductor) info(op *vnflcm.Operation) map[string]any {
	vnfcs, infos := []map[string]any{}, []map[string]any{}
	for _, v := range op.VNFCs {
		vnfcs = append(vnfcs, map[string]any{"id": v.ResourceID, "vduId": v.VDU, "computeResource": map[string]any{"resourceId": v.ResourceID, "vimConnectionId": "vim1"}})
		infos = append(infos, map[string]any{"id": v.VDU + "-" + v.ResourceID, "vduId": v.VDU, "vnfcResourceInfoId": v.ResourceID, "vnfcState": "STARTED"})
	}
	return map[string]any{"flavourId": op.Flavour.ID, "vnfState": "STARTED", "vnfcResourceInfo": vnfcs, "vnfcInfo": infos,
		"metadata": map[string]any{"stack_id": op.Metadata["stack_id"]}}
}

// request returns the request of the operation, also while it is rolled back. Tacker names the VNFCs to heal by their servers.
func request(op *vnflcm.Operation) any {
	switch {
	case op.RollingBack && op.Terminate != nil:
		return op.Initial
	case op.RollingBack && op.Scale != nil:
		scale := *op.Scale
		scale.Type = vnflcm.ScaleOut // no other scaling is rolled back
		return scale
	case op.Instantiate != nil:
		return *op.Instantiate
	case op.Scale != nil:
		return *op.Scale
	case op.Heal != nil:
		heal := *op.Heal
		heal.VnfcInstanceID = nil
		if !op.WholeVNF() {
			for _, v := range op.Change.Replaced {
				heal.VnfcInstanceID = append(heal.VnfcInstanceID, v.VDU+"-"+v.ResourceID)
			}
		}
		return heal
	default:
		return *op.Terminate
	}
}

// reveal returns v as JSON with its secrets.
func reveal(v any) (json.RawMessage, error) { return vnflcm.RevealJSON(v) }
