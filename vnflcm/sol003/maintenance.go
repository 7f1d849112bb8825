package sol003

import (
	"net/http"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// maintenancePrefix is where the maintenance tasks are. ETSI has no resource for them, so they are outside of /vnflcm.
const maintenancePrefix = "/maintenance/v1"

var maintenanceResources = map[string]methods{
	"/vnf_instances/{id}/renew_certificates": {http.MethodPost: maintain(vnflcm.RenewCertificates)},
	"/vnf_instances/{id}/upgrade":            {http.MethodPost: maintain(vnflcm.Upgrade)},
	"/vnf_instances/{id}/certificates":       {http.MethodGet: (*call).readCertificates},
	"/vnf_instances/{id}/create_snapshot":    {http.MethodPost: (*call).createSnapshot},
	"/vnf_instances/{id}/revert_to_snapshot": {http.MethodPost: begin(Manager.RevertToSnapshot)},
}

// maintenanceBody is the body of a maintenance task.
type maintenanceBody struct {
	AdditionalParams vnflcm.Params `json:"additionalParams,omitzero"`
	Until            time.Time     `json:"until,omitzero"`
}

// readMaintenance reads the request of a maintenance task from its path and its body.
func (c *call) readMaintenance(task vnflcm.MaintenanceTask) (id string, req vnflcm.MaintainVnfRequest, err error) {
	id = c.r.PathValue("id")
	if err := c.permit(id); err != nil {
		return id, req, err
	}
	var body maintenanceBody
	_, err = c.readBody(&body, mediaJSON)
	return id, vnflcm.MaintainVnfRequest{Task: task, AdditionalParams: body.AdditionalParams, Until: body.Until}, err
}

// maintain returns the handler of a maintenance task. Version 1 has the occurrence under the same id as version 2.
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

// certificatesDocument has the certificates of a VNF instance as they were last read.
type certificatesDocument struct {
	Certificates []certificate `json:"certificates"` // the one that ends first is first
	Fault        string        `json:"fault,omitempty"`
	Next         time.Time     `json:"nextReadTime,omitzero"`
}

type certificate struct {
	VNFC      string    `json:"vnfcInstanceId,omitempty"`
	Machine   string    `json:"machine,omitempty"`
	Name      string    `json:"name"`
	NotBefore time.Time `json:"notBefore,omitzero"`
	NotAfter  time.Time `json:"notAfter"`
	IsCA      bool      `json:"isCa"`
	Read      time.Time `json:"readTime"`
}

// readCertificates answers with what is known of the certificates of an instance. It asks no machine.
func (c *call) readCertificates() error {
	id := c.r.PathValue("id")
	if err := c.permit(id); err != nil {
		return err
	}
	status, err := c.manager.CertificateStatus(c.r.Context(), id)
	if err != nil {
		return err
	}
	document := certificatesDocument{Certificates: []certificate{}, Fault: status.Fault, Next: status.Next}
	for _, k := range status.Certificates {
		document.Certificates = append(document.Certificates, certificate{VNFC: k.On, Machine: k.Machine, Name: k.Name,
			NotBefore: k.NotBefore, NotAfter: k.NotAfter, IsCA: k.IsCA, Read: k.Read})
	}
	return c.document(http.StatusOK, document)
}
