package sol003

import (
	"net/http"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// maintenancePrefix is where the maintenance tasks are. ETSI has no resource for them, so they are outside of /vnflcm.
const maintenancePrefix = "/maintenance/v1"

var maintenanceResources = map[string]methods{
	"/vnf_instances/{id}/renew_certificates": {http.MethodPost: maintain(vnflcm.RenewCertificates)},
}

// maintenanceBody is the body of a maintenance task.
type maintenanceBody struct {
	AdditionalParams vnflcm.Params `json:"additionalParams,omitzero"`
}

// readMaintenance reads the request of a maintenance task from its path and its body.
func (c *call) readMaintenance(task vnflcm.MaintenanceTask) (id string, req vnflcm.MaintainVnfRequest, err error) {
	id = c.r.PathValue("id")
	if err := c.permit(id); err != nil {
		return id, req, err
	}
	var body maintenanceBody
	_, err = c.readBody(&body, mediaJSON)
	return id, vnflcm.MaintainVnfRequest{Task: task, AdditionalParams: body.AdditionalParams}, err
}

// maintain returns the handler of a maintenance task. The Location of the occurrence is in version 2; version 1 has it under the same id.
func maintain(task vnflcm.MaintenanceTask) func(*call) error {
	return func(c *call) error {
		id, req, err := c.readMaintenance(task)
		if err != nil {
			return err
		}
		opID, err := c.manager.Maintain(c.r.Context(), id, req)
		if err != nil {
			return err
		}
		c.api = version2
		return c.accepted(opID)
	}
}

// previewMaintenance returns the handler of the preview of a maintenance task.
func previewMaintenance(task vnflcm.MaintenanceTask) func(*call) error {
	return func(c *call) error {
		id, req, err := c.readMaintenance(task)
		if err != nil {
			return err
		}
		return c.sendPreview(id, req)
	}
}
