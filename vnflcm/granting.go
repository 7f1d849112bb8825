package vnflcm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/vnfkit/vnfkit/internal/retry"
)

// askedGrant is how far the request for the grant of an operation is.
type askedGrant struct {
	Request  GrantRequest `json:"request,omitzero"`   // as it is sent
	Location string       `json:"location,omitempty"` // of the undecided grant
	Without  string       `json:"without,omitempty"`  // why the operation begins without a grant
}

// obtainGrant waits for the grant, and checks that the operation can follow it.
func (r *run) obtainGrant(ctx context.Context, opened openPackages, inst *instanceRecord) error {
	s, err := r.m.session(ctx, opened, inst, r.rec, "grant")
	if err != nil {
		return err
	}
	r.mask = s.op.mask // errors of the Granter may quote secrets too
	if !r.isGranted() {
		if err := s.call(ctx, func() error { return r.awaitGrant(ctx, s, inst) }); err != nil {
			return err
		}
	} else if r.rec.Asked != nil {
		s.reportPassedOver(r.rec.Asked.Without) // the process that has passed it over may have ended before the report
	}
	return r.followGrant(ctx, opened, inst)
}

// isGranted reports whether there is a grant, or whether the operation begins without one.
func (r *run) isGranted() bool {
	return r.rec.Grant != nil || r.rec.Asked != nil && r.rec.Asked.Without != ""
}

// awaitGrant asks for the grant, and reports while the answer is awaited.
func (r *run) awaitGrant(ctx context.Context, s *session, inst *instanceRecord) error {
	s.op.running = &r.running
	ctx, end := s.op.watch(ctx, StepInfo{OperationID: s.op.ID, Phase: PhaseBegin})
	defer end()
	policy := r.m.cfg.Grants
	within := cmp.Or(policy.Within, time.Hour)
	a := &asking{run: r, s: s, wait: retry.BeginAs(ctx, retry.Grant, "the grant"), policy: cmp.Or(policy.WhenUnreachable, UnreachableWait),
		within: within, began: time.Now(), pauses: backoff.NewExponentialBackOff()}
	a.pauses.InitialInterval, a.pauses.MaxInterval = 2*time.Second, 30*time.Second
	defer a.wait.End()
	if err := a.journal(ctx, inst); err != nil {
		return err
	}
	for {
		after, err := a.attempt(ctx)
		if err != nil || r.isGranted() {
			return err
		}
		if err := a.pause(ctx, after); err != nil || r.isGranted() {
			return err
		}
	}
}

// asking is the work of a process that waits for a grant.
type asking struct {
	*run
	s      *session
	wait   *retry.Wait
	policy WhenUnreachable
	within time.Duration
	began  time.Time
	pauses *backoff.ExponentialBackOff

	away    time.Time // since when the NFVO has not answered; zero: it has
	unknown int       // requests that the NFVO may have got, without an answer
	reason  error     // why there is no grant yet
}

// mostUnknown is how many requests the NFVO may get without an answer: each may have made a grant that nothing removes (SOL003 v2.6.1 9.4
// has no such method).
const mostUnknown = 2

// journal stores the request before it is sent for the first time.
func (a *asking) journal(ctx context.Context, inst *instanceRecord) error {
	if asked := a.rec.Asked; asked != nil {
		if asked.Location == "" {
			a.s.op.Log.InfoContext(ctx, "the request for the grant is sent again: whether the NFVO has got it is not known")
		}
		return nil
	}
	request, err := a.s.grantRequest(inst, a.rec)
	if err != nil {
		return err
	}
	a.rec.Asked = &askedGrant{Request: request}
	return a.save(context.WithoutCancel(ctx))
}

// attempt asks for the grant, or polls it. It returns how long the NFVO asks to wait, 0 without a wish.
func (a *asking) attempt(ctx context.Context) (time.Duration, error) {
	answer, err := a.send(ctx)
	away, isAway := errors.AsType[*UnreachableError](err)
	switch {
	case err == nil && answer.Grant != nil:
		a.rec.Grant, a.rec.Occ.GrantID, a.rec.Asked = answer.Grant, answer.Grant.ID, nil
		return 0, a.save(context.WithoutCancel(ctx), a.dropGrantOrder)
	case err == nil:
		return answer.After, a.noteUndecided(ctx, answer.Location)
	case ctx.Err() != nil || !isAway:
		return 0, fmt.Errorf("grant: %w", causeOf(ctx, err))
	}
	return away.After, a.noteAway(ctx, away)
}

func (a *asking) send(ctx context.Context) (GrantAnswer, error) {
	if at := a.rec.Asked.Location; at != "" {
		return a.m.cfg.Granter.Poll(ctx, at)
	}
	return a.m.cfg.Granter.Ask(ctx, a.rec.Asked.Request)
}

var errUndecided = errors.New("the NFVO has not decided")

// noteUndecided journals where the grant will be.
func (a *asking) noteUndecided(ctx context.Context, location string) error {
	a.away, a.reason = time.Time{}, errUndecided
	a.wait.Failed(errUndecided)
	asked := a.rec.Asked
	switch {
	case location == "" && asked.Location == "":
		return errors.New("grant: the Granter returned neither a grant nor its location")
	case location == "" || location == asked.Location:
		return nil
	}
	a.rec.Asked = &askedGrant{Request: asked.Request, Location: location}
	return a.save(context.WithoutCancel(ctx))
}

// noteAway decides what becomes of the operation while the NFVO does not answer. It returns nil if the operation waits.
func (a *asking) noteAway(ctx context.Context, err *UnreachableError) error {
	if a.away.IsZero() {
		a.away = time.Now()
		a.s.op.Log.WarnContext(ctx, "the NFVO does not answer", "error", err)
	}
	a.reason = err
	a.wait.Failed(err)
	if err.Sent && a.rec.Asked.Location == "" {
		a.unknown++
		a.s.op.Log.WarnContext(ctx, "the NFVO may have made a grant whose id is not known", "requests", a.unknown)
	}
	tooOften := a.unknown >= mostUnknown
	switch isLate := !time.Now().Before(a.deadline()); {
	case a.policy == UnreachableProceed && (isLate || tooOften):
		return a.passOver(ctx, "it was not awaited any longer: "+err.Error())
	case tooOften:
		return fmt.Errorf("grant: the NFVO has got the request %d times, and may have made grants whose ids are not known: %w", a.unknown, err)
	case isLate:
		return a.errLate()
	}
	return nil
}

// deadline is when the wait ends.
func (a *asking) deadline() time.Time {
	end := a.began.Add(a.within)
	if soon := a.away.Add(time.Minute); a.policy != UnreachableWait && !a.away.IsZero() && soon.Before(end) {
		return soon
	}
	return end
}

func (a *asking) errLate() error {
	return fmt.Errorf("grant: no grant within %v; last: %w", a.deadline().Sub(a.began).Round(time.Second), a.reason)
}

// pause waits until the next attempt, or until a person grants the operation.
func (a *asking) pause(ctx context.Context, after time.Duration) error {
	left := time.Until(a.deadline())
	if left <= 0 && a.away.IsZero() {
		return a.errLate()
	}
	if after <= 0 {
		after = a.pauses.NextBackOff()
	}
	timer := time.NewTimer(min(after, max(left, 0)))
	defer timer.Stop()
	a.m.startWatching(ctx)
	for {
		changed := a.m.changed.wait()
		if err := a.findOrder(ctx); err != nil || a.isGranted() {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("grant: %w", causeOf(ctx, a.reason))
		case <-timer.C:
			return nil
		case <-changed:
		}
		_ = retry.Pause(ctx, min(time.Second, after)) // other operations change the store too
	}
}

// passOver begins the operation without a grant.
func (a *asking) passOver(ctx context.Context, why string) error {
	a.s.op.warnings = &warnings{}
	a.s.op.Warn(ctx, "the operation begins without a grant of the NFVO: "+why)
	a.rec.recordWarnings(a.s.op.warnings)
	a.rec.Asked = &askedGrant{Without: a.s.op.Mask(why)}
	if err := a.save(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	a.s.reportPassedOver(a.rec.Asked.Without)
	return nil
}

func (s *session) reportPassedOver(why string) {
	s.op.emit(Event{Kind: GrantPassedOver, StepInfo: StepInfo{OperationID: s.op.ID, Phase: PhaseBegin}, Message: why})
}
