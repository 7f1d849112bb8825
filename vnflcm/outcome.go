package vnflcm

import (
	"slices"
	"time"
)

// outcome is why the work on an operation ended in this process, with the types that the drivers' errors
// have. The store keeps the ProblemDetails only.
type outcome struct {
	opID  string
	state OperationState
	at    time.Time // when the operation entered its state: a later outcome is another process's
	err   error
}

// outcomes keeps the latest failures, so that Wait finds them after the work has ended.
type outcomes struct{ latest []outcome }

// remembered bounds the number of failures in memory: they are for callers that wait soon, not for history.
const remembered = 256

func (o *outcomes) keep(out outcome) {
	if out.err == nil {
		return
	}
	if len(o.latest) == remembered {
		o.latest = o.latest[1:]
	}
	o.latest = append(o.latest, out)
}

func (o *outcomes) of(occ *VnfLcmOpOcc) error {
	for _, out := range slices.Backward(o.latest) {
		if out.opID == occ.ID && out.state == occ.OperationState && out.at.Equal(occ.StateEnteredTime) {
			return out.err
		}
	}
	return nil
}
