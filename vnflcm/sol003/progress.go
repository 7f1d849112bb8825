package sol003

import (
	"net/http"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// progressPrefix is where the progress of operations is. ETSI has no resource for it, so it is outside of /vnflcm.
const progressPrefix = "/progress/v1"

var progressResources = map[string]methods{
	"/vnf_lcm_op_occs/{id}": {http.MethodGet: (*call).readProgress},
}

// progressDocument is what an operation does now. Its attributes have the names that SOL003 gives to the same values, where there are any.
type progressDocument struct {
	ID      string                `json:"vnfLcmOpOccId"`
	State   vnflcm.OperationState `json:"operationState"`
	Process string                `json:"process,omitempty"`
	Here    bool                  `json:"here"` // this process works on the operation, so the steps are known
	Steps   []runningStep         `json:"steps"`
}

type runningStep struct {
	Phase   string    `json:"phase"`
	Name    string    `json:"name,omitempty"`
	VNFC    string    `json:"vnfcInstanceId,omitempty"`
	Machine string    `json:"machine,omitempty"`
	Since   time.Time `json:"since"`
	Reason  string    `json:"reason,omitempty"`
	Tries   int       `json:"attempt,omitempty"` // of the wait: the last one that has failed
}

// readProgress answers with what an operation does, and what its steps wait for.
func (c *call) readProgress() error {
	operation, err := c.ownOperation()
	if err != nil {
		return err
	}
	p, err := c.manager.Progress(c.r.Context(), operation.ID)
	if err != nil {
		return err
	}
	document := progressDocument{ID: p.OperationID, State: p.State, Process: p.Process, Here: p.Here, Steps: []runningStep{}}
	for _, s := range p.Steps {
		document.Steps = append(document.Steps, runningStep{Phase: s.Phase, Name: s.Name, VNFC: s.On, Machine: s.Host, Since: s.Since.UTC(),
			Reason: s.Reason, Tries: s.Tries})
	}
	return c.document(http.StatusOK, document)
}
