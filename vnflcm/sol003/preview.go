package sol003

import (
	"net/http"
	"slices"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// previewPrefix is where the previews are. ETSI has no resource for them, so they are outside of /vnflcm.
const previewPrefix = "/preview/v1"

// previewResources answer the bodies of SOL003 tasks of the same names, in both versions, with what the operation would do.
var previewResources = map[string]methods{
	"/vnf_instances/{id}/instantiate":    {http.MethodPost: preview[vnflcm.InstantiateVnfRequest]},
	"/vnf_instances/{id}/scale":          {http.MethodPost: preview[vnflcm.ScaleVnfRequest]},
	"/vnf_instances/{id}/scale_to_level": {http.MethodPost: preview[vnflcm.ScaleVnfToLevelRequest]},
	"/vnf_instances/{id}/heal":           {http.MethodPost: preview[vnflcm.HealVnfRequest]},
	"/vnf_instances/{id}/terminate":      {http.MethodPost: preview[vnflcm.TerminateVnfRequest]},

	"/vnf_instances/{id}/renew_certificates": {http.MethodPost: previewMaintenance(vnflcm.RenewCertificates)},
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

func (c *call) sendPreview(id string, request any) error {
	p, err := c.manager.Preview(c.r.Context(), id, request)
	if err != nil {
		return err
	}
	return c.document(http.StatusOK, renderPreview(id, p))
}

// previewDocument is the answer. Its attributes have the names that SOL003 gives to the same values, where there are any.
type previewDocument struct {
	InstanceID string              `json:"vnfInstanceId"`
	Operation  vnflcm.LcmOperation `json:"operation"`
	Levels     map[string]int      `json:"scaleLevels,omitempty"` // by aspect, after the operation
	VNFCs      []affectedVNFC      `json:"affectedVnfcs"`
	Tasks      []plannedTask       `json:"tasks"`
	CNFs       []string            `json:"cnfInstanceIds,omitempty"`             // VNF instances that end with a cluster
	OtherCNFs  int                 `json:"cnfInstancesOfOtherTenants,omitempty"` // how many more
}

type affectedVNFC struct {
	ID         string            `json:"id,omitempty"` // a VNFC that will be added may have none yet
	VDU        string            `json:"vduId"`
	ChangeType vnflcm.ChangeType `json:"changeType"`
}

type plannedTask struct {
	Number  int    `json:"number"` // from 1
	Phase   string `json:"phase"`
	Name    string `json:"name,omitempty"`
	VNFC    string `json:"vnfcInstanceId,omitempty"`
	Machine string `json:"machine,omitempty"`
	Purpose string `json:"purpose,omitempty"`
	If      string `json:"condition,omitempty"`
	Alone   string `json:"oneAtATime,omitempty"` // tasks with the same text run one after the other
	Repeats bool   `json:"repeatedWhenResumed,omitempty"`
	After   []int  `json:"after,omitempty"` // numbers of tasks
}

func renderPreview(instanceID string, p *vnflcm.Preview) previewDocument {
	document := previewDocument{InstanceID: instanceID, Operation: p.Operation, Levels: p.Levels, CNFs: p.CNFs, OtherCNFs: p.OtherCNFs,
		VNFCs: slices.Concat(affected(p.Change.Added, vnflcm.VnfcAdded), affected(p.Change.Removed, vnflcm.VnfcRemoved), affected(p.Change.Replaced, vnflcm.VnfcModified))}
	for i, t := range p.Tasks {
		after := slices.Clone(t.After)
		for k := range after {
			after[k]++
		}
		document.Tasks = append(document.Tasks, plannedTask{Number: i + 1, Phase: t.Phase, Name: t.Name, VNFC: t.On, Machine: t.Machine,
			Purpose: t.Why, If: t.If, Alone: t.Alone, Repeats: t.Repeats, After: after})
	}
	return document
}

func affected(vnfcs []vnflcm.VNFC, changeType vnflcm.ChangeType) (out []affectedVNFC) {
	for _, v := range vnfcs {
		out = append(out, affectedVNFC{v.ID, v.VDU, changeType})
	}
	return out
}
