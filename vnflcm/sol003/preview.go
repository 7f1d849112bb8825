package sol003

import (
	"net/http"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// previewPrefix is where the previews are. ETSI has no resource for them, so they are outside of /vnflcm.
const previewPrefix = "/preview/v1"

// previewResources answer the bodies of SOL003 tasks of the same names, in both versions, with what the operation would do.
var previewResources = map[string]methods{
	"/vnf_instances/{id}/instantiate":        {http.MethodPost: preview[vnflcm.InstantiateVnfRequest]},
	"/vnf_instances/{id}/scale":              {http.MethodPost: preview[vnflcm.ScaleVnfRequest]},
	"/vnf_instances/{id}/scale_to_level":     {http.MethodPost: preview[vnflcm.ScaleVnfToLevelRequest]},
	"/vnf_instances/{id}/heal":               {http.MethodPost: preview[vnflcm.HealVnfRequest]},
	"/vnf_instances/{id}/terminate":          {http.MethodPost: preview[vnflcm.TerminateVnfRequest]},
	"/vnf_instances/{id}/operate":            {http.MethodPost: preview[vnflcm.OperateVnfRequest]},
	"/vnf_instances/{id}/change_vnfpkg":      {http.MethodPost: preview[vnflcm.ChangeCurrentVnfPkgRequest]},
	"/vnf_instances/{id}/create_snapshot":    {http.MethodPost: preview[vnflcm.CreateVnfSnapshotRequest]},
	"/vnf_instances/{id}/revert_to_snapshot": {http.MethodPost: preview[vnflcm.RevertToVnfSnapshotRequest]},

	"/vnf_instances/{id}": {http.MethodPatch: (*call).previewModification},

	"/vnf_instances/{id}/renew_certificates": {http.MethodPost: previewMaintenance(vnflcm.RenewCertificates)},
	"/vnf_instances/{id}/upgrade":            {http.MethodPost: previewMaintenance(vnflcm.Upgrade)},
}

// preview answers what an operation would do.
func preview[R any](c *call) error {
	id := c.r.PathValue("id")
	if err := c.permit(id); err != nil {
		return err
	}
	var req R
	if _, err := c.readBody(&req, mediaJSON); err != nil {
		return err
	}
	return c.sendPreview(id, req)
}

// previewModification answers what the maintenance would do that a modification starts.
func (c *call) previewModification() error {
	id := c.r.PathValue("id")
	if err := c.permit(id); err != nil {
		return err
	}
	var req vnflcm.VnfInfoModificationRequest
	body, err := c.readBody(&req, mediaPatch, mediaJSON)
	if err != nil {
		return err
	}
	if err := removals(body, &req); err != nil {
		return err
	}
	return c.sendPreview(id, req)
}

func (c *call) sendPreview(id string, request any) error {
	p, err := c.manager.Preview(c.r.Context(), id, request)
	if err != nil {
		return err
	}
	return c.document(http.StatusOK, p)
}
