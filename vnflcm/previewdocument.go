package vnflcm

import (
	"encoding/json"
	"slices"
)

// previewDocument is a Preview in JSON. Its attributes have the names that SOL003 gives to the same values, where there are any.
type previewDocument struct {
	InstanceID string            `json:"vnfInstanceId"`
	Operation  LcmOperation      `json:"operation"`
	Levels     map[string]int    `json:"scaleLevels,omitempty"` // by aspect, after the operation
	VNFCs      []plannedVNFC     `json:"affectedVnfcs"`
	Tasks      []plannedDocument `json:"tasks"`
	Losses     []string          `json:"losses,omitempty"`                     // data that the operation gives up
	CNFs       []string          `json:"cnfInstanceIds,omitempty"`             // VNF instances that end with a cluster
	OtherCNFs  int               `json:"cnfInstancesOfOtherTenants,omitempty"` // how many more
	Package    *packageDocument  `json:"packageChange,omitempty"`
	Mixed      string            `json:"mixedVnfdId,omitempty"` // the second VNFD of a mixed VNF
}

// packageDocument is a PackagePreview in JSON.
type packageDocument struct {
	From         string         `json:"vnfdId"`
	To           string         `json:"dstVnfdId"`
	FlavourID    string         `json:"flavourId"`
	Batches      []PackageBatch `json:"batches"`
	PauseAfter   int            `json:"pauseAfterBatch,omitempty"`
	Losses       []DataLoss     `json:"losses,omitempty"`
	Irreversible []string       `json:"irreversible,omitempty"`
}

type plannedVNFC struct {
	ID         string     `json:"id,omitempty"` // a VNFC that will be added may have none yet
	Machine    string     `json:"machine"`
	VDU        string     `json:"vduId"`
	ChangeType ChangeType `json:"changeType"`
}

// plannedDocument is a PlannedTask in JSON.
type plannedDocument struct {
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

// MarshalJSON writes the document that docs/api.md describes.
func (p *Preview) MarshalJSON() ([]byte, error) {
	document := previewDocument{Losses: p.Losses, InstanceID: p.InstanceID, Operation: p.Operation, Levels: p.Levels, CNFs: p.CNFs, OtherCNFs: p.OtherCNFs,
		VNFCs: slices.Concat(affected(p.Change.Added, VnfcAdded), affected(p.Change.Removed, VnfcRemoved), affected(p.Change.Replaced, VnfcModified))}
	document.Mixed = p.Mixed
	if p.Package != nil {
		shown := packageDocument(*p.Package)
		document.Package = &shown
	}
	for i, t := range p.Tasks {
		after := slices.Clone(t.After)
		for k := range after {
			after[k]++
		}
		document.Tasks = append(document.Tasks, plannedDocument{Number: i + 1, Phase: t.Phase, Name: t.Name, VNFC: t.On, Machine: t.Machine,
			Purpose: t.Why, If: t.If, Alone: t.Alone, Repeats: t.Repeats, After: after})
	}
	return json.Marshal(document)
}

func affected(vnfcs []VNFC, changeType ChangeType) (out []plannedVNFC) {
	for _, v := range vnfcs {
		out = append(out, plannedVNFC{v.ID, v.Label(), v.VDU, changeType})
	}
	return out
}
