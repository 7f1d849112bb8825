package temporal

import (
	"sync"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Progress counts the steps of the operations that a process works on. The zero value is ready.
//
//	progress := new(temporal.Progress)
//	config.Observe = progress.Observe // of the Manager
//	w := temporal.Worker(c, queue, manager, temporal.Options{Progress: progress})
type Progress struct {
	mu     sync.Mutex
	phases map[string]progress // by operation
}

// progress is what a heartbeat says of a phase.
type progress struct {
	Phase   string `json:"phase"`
	Running int    `json:"stepsRunning"`
	Done    int    `json:"stepsDone"` // also those that were done before
}

// Observe counts what an event reports. Set it as vnflcm.Config.Observe.
func (p *Progress) Observe(e vnflcm.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.phases[e.OperationID]
	switch e.Kind {
	case vnflcm.PhaseStarted:
		now = progress{Phase: e.Phase}
	case vnflcm.StepStarted:
		now.Running++
	case vnflcm.StepFailed:
		now.Running--
	case vnflcm.StepDone:
		now.Running--
		now.Done++
	case vnflcm.StepSkipped:
		now.Done++
	case vnflcm.PhaseDone, vnflcm.OperationChanged, vnflcm.OperationLost: // the phase is over, whatever came of it
		delete(p.phases, e.OperationID)
		return
	case vnflcm.OperationTaken, vnflcm.StepProgress, vnflcm.StepWaiting:
		return
	}
	if p.phases == nil {
		p.phases = map[string]progress{}
	}
	p.phases[e.OperationID] = now
}

// of returns what is known of a phase.
func (p *Progress) of(ph phase) progress {
	if p == nil {
		return progress{Phase: ph.Name}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if now, known := p.phases[ph.OperationID]; known {
		return now
	}
	return progress{Phase: ph.Name}
}
