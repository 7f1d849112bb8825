package telemetry

import (
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// kinds are the kinds of operations.
var kinds = []vnflcm.LcmOperation{vnflcm.OpInstantiate, vnflcm.OpScale, vnflcm.OpScaleToLevel, vnflcm.OpHeal, vnflcm.OpTerminate,
	vnflcm.OpModifyInfo, vnflcm.OpChangeExtConn, vnflcm.OpOperate, vnflcm.OpCreateSnapshot, vnflcm.OpRevertToSnapshot}

// classes are the classes of waits and failures.
var classes = []vnflcm.WaitClass{vnflcm.WaitHostUnreachable, vnflcm.WaitHostCredentials, vnflcm.WaitVIMUnreachable, vnflcm.WaitVIMCredentials,
	vnflcm.WaitUnreachable, vnflcm.WaitQuota, vnflcm.WaitGrant, vnflcm.WaitLock, vnflcm.WaitNotReady, vnflcm.WaitOther}

// classOf returns the class of an event. A class that a driver has invented counts as other: labels are few, and no wait is left out.
func classOf(e vnflcm.Event) vnflcm.WaitClass {
	if slices.Contains(classes, e.Class) {
		return e.Class
	}
	return vnflcm.WaitOther
}

// forget is the time after the last report of a wait from which on the wait has ended. The reports come at intervals of up to 5 minutes.
const forget = 6 * time.Minute

// waits are the waits of operations of this process.
type waits struct {
	mu   sync.Mutex
	open map[waitKey]wait
}

type waitKey struct{ operation, phase, step, on string }

type wait struct {
	class        vnflcm.WaitClass
	since, noted time.Time
}

// event notes that a step waits, or that its wait has ended.
func (w *waits) event(e vnflcm.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch key := (waitKey{e.OperationID, e.Phase, e.Name, e.On}); e.Kind {
	case vnflcm.StepWaiting:
		if w.open == nil {
			w.open = map[waitKey]wait{}
		}
		w.open[key] = wait{classOf(e), e.Since, e.Time}
	case vnflcm.StepDone, vnflcm.StepFailed:
		delete(w.open, key)
	case vnflcm.OperationChanged, vnflcm.OperationLost, vnflcm.PhaseDone:
		for key := range w.open {
			if key.operation == e.OperationID {
				delete(w.open, key)
			}
		}
	}
}

// observe reports the longest wait of each class, 0 if nothing waits.
func (w *waits) observe(o metric.Observer, to metric.Float64Observable) {
	longest, now := map[vnflcm.WaitClass]time.Duration{}, time.Now()
	w.mu.Lock()
	for key, waits := range w.open {
		if now.Sub(waits.noted) > forget {
			delete(w.open, key)
			continue
		}
		longest[waits.class] = max(longest[waits.class], now.Sub(waits.since))
	}
	w.mu.Unlock()
	for _, class := range classes {
		o.ObserveFloat64(to, longest[class].Seconds(), metric.WithAttributes(keyClass.String(string(class))))
	}
}
