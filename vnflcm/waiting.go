package vnflcm

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/vnfkit/vnfkit/internal/bounded"
	"github.com/vnfkit/vnfkit/internal/retry"
)

const (
	// firstWaiting is the time from the beginning of a wait until its reason is reported for the first time. Each later report
	// comes after a pause twice as long as the one before, up to lastWaiting.
	firstWaiting = 4 * time.Second
	lastWaiting  = 5 * time.Minute
	// maxReason bounds the reason of a wait, in bytes.
	maxReason = 1 << 10
)

// running has the watches of a run. It is in memory only.
type running struct {
	mu      sync.Mutex
	watches []*watch
}

// watch observes the waits in one step, or in a phase outside of its steps. It reports what the step waits for.
type watch struct {
	op      *Operation
	running *running
	info    StepInfo
	since   time.Time

	mu    sync.Mutex
	waits []*openWait // that have not ended, the one that has failed last at the end
	note  string      // the driver's last report
	noted time.Time   // when the driver has reported another one before note
	timer *time.Timer // of the next report; nil before the first wait
	pause time.Duration
	ended bool

	reporting sync.Mutex // held while an event is sent: no event follows the end of the step
}

// openWait is a wait that has not ended.
type openWait struct {
	wait   *retry.Wait
	since  time.Time
	tries  int
	class  WaitClass // of the last reason, "" if that has none
	raw    string    // the last reason, and the same masked and bounded
	reason string
}

// stepOf returns the watch of the step that ctx belongs to, nil outside of a step.
func stepOf(ctx context.Context) *watch {
	if w, watched := retry.WatchOf(ctx).(*watch); watched && w.info.Name != "" {
		return w
	}
	return nil
}

// watch observes the waits below the returned context until the caller calls end.
func (op *Operation) watch(ctx context.Context, info StepInfo) (watched context.Context, end func()) {
	w := &watch{op: op, running: op.running, info: info, since: time.Now()}
	w.running.mu.Lock()
	w.running.watches = append(w.running.watches, w)
	w.running.mu.Unlock()
	return retry.WithWatch(ctx, w), w.end
}

func (w *watch) end() {
	w.mu.Lock()
	if w.ended = true; w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	w.running.mu.Lock()
	w.running.watches = slices.DeleteFunc(w.running.watches, func(other *watch) bool { return other == w })
	w.running.mu.Unlock()
	w.reporting.Lock() // a report that has begun ends first
	defer w.reporting.Unlock()
}

// Waiting implements retry.Watch.
func (w *watch) Waiting(wait *retry.Wait, attempt int, reason error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.waits, func(o *openWait) bool { return o.wait == wait })
	if i < 0 {
		i, w.waits = len(w.waits), append(w.waits, &openWait{wait: wait, since: time.Now()})
	}
	o := w.waits[i]
	w.waits = append(slices.Delete(w.waits, i, i+1), o)
	o.tries = attempt
	switch {
	case reason == nil && attempt == 0:
		o.raw, o.reason, o.class = "", "", ""
	case reason != nil:
		o.class = retry.ClassOf(reason)
		if raw := reason.Error(); raw != o.raw {
			o.raw, o.reason = raw, bounded.Text(w.op.mask.applyTo(reason), maxReason)
		}
	}
	if wait.For != "" || reason != nil {
		w.schedule()
	}
}

// Ended implements retry.Watch.
func (w *watch) Ended(wait *retry.Wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waits = slices.DeleteFunc(w.waits, func(o *openWait) bool { return o.wait == wait })
}

// reported notes what the driver has reported of the step.
func (w *watch) reported(masked string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if note := bounded.Text(masked, maxReason); note != w.note {
		w.note, w.noted = note, time.Now()
	}
	w.schedule()
}

// schedule starts the time until the first report. The caller holds w.mu.
func (w *watch) schedule() {
	if w.timer == nil && !w.ended {
		w.pause = firstWaiting
		w.timer = time.AfterFunc(w.pause, w.report)
	}
}

// report sends what the step waits for to observers and to the log. If the step does not wait any more, its next wait begins
// with a short time again.
func (w *watch) report() {
	w.reporting.Lock()
	defer w.reporting.Unlock()
	w.mu.Lock()
	reason := w.reason()
	ended := w.ended
	if reason.text == "" || ended {
		w.timer = nil
	} else {
		w.pause = min(2*w.pause, lastWaiting)
		w.timer.Reset(w.pause)
	}
	w.mu.Unlock()
	if reason.text != "" && !ended {
		w.op.emit(Event{Kind: StepWaiting, StepInfo: w.info, Duration: time.Since(w.since), Class: reason.class, Since: reason.since,
			Tries: reason.tries, Message: reason.text})
	}
}

// waitReason is what a step waits for. Without a text the step does not wait.
type waitReason struct {
	text  string
	class WaitClass
	since time.Time
	tries int
}

// reason returns what the step waits for. The wait whose attempt has failed last counts, then what the driver has reported. The
// caller holds w.mu.
func (w *watch) reason() waitReason {
	subject, since, class := "", w.noted, retry.ClassOfText(w.note)
	for _, o := range slices.Backward(w.waits) {
		if o.reason != "" {
			return waitReason{about(o.wait.For, o.reason), cmp.Or(o.class, o.wait.Class), o.since, o.tries}
		}
		if subject == "" {
			subject = w.op.Mask(o.wait.For)
			if w.note == "" {
				since, class = o.since, o.wait.Class
			}
		}
	}
	if w.note == "" && subject != "" {
		return waitReason{about(subject, "no result yet"), class, since, 0}
	}
	return waitReason{about(subject, w.note), class, since, 0}
}

// about puts the subject of a wait, if it has one, before the reason.
func about(subject, reason string) string {
	if subject == "" || reason == "" {
		return reason
	}
	return bounded.Text("waiting for "+subject+": "+reason, maxReason)
}

// now returns the step as it is now.
func (w *watch) now() RunningStep {
	w.mu.Lock()
	defer w.mu.Unlock()
	reason := w.reason()
	return RunningStep{StepInfo: w.info, Since: w.since, Reason: reason.text, Tries: reason.tries}
}
