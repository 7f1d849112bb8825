package vnflcm

import (
	"fmt"
	"time"
)

// errWindowEnded stops a maintenance at MaintainVnfRequest.Until.
var errWindowEnded = fmt.Errorf("%w: until of the request has passed; a retry continues without this end", ErrCancelled)

// stopAtUntil stops the operation gracefully at Until of its request. A person who retries after Until orders to continue. Call the result when
// the phase ends.
func (r *run) stopAtUntil() (end func()) {
	request, is := r.rec.maintenance()
	if !is || request.Until.IsZero() || !r.rec.Occ.StateEnteredTime.Before(request.Until) {
		return func() {}
	}
	left := time.Until(request.Until)
	if left <= 0 {
		r.stopFor(errWindowEnded)
		return func() {}
	}
	timer := time.AfterFunc(left, func() { r.stopFor(errWindowEnded) })
	return func() { timer.Stop() }
}

// stopFor stops the operation gracefully, unless it was stopped before.
func (r *run) stopFor(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopping == nil {
		r.stopping = cause
	}
}

// checkUntil returns an error if Until of a maintenance has passed before its beginning.
func (r *run) checkUntil() error {
	if request, is := r.rec.maintenance(); is && !request.Until.IsZero() && !time.Now().Before(request.Until) {
		return errWindowEnded
	}
	return nil
}
