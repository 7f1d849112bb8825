package crashtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Succeed makes a Manager that of the next process.
func (p *Process) Succeed(c *vnflcm.Config) {
	c.Owner = cmp.Or(c.Owner, owner)
	c.Intercept = around(func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
		p.mu.Lock()
		if p.done[s.Key()] {
			p.again = append(p.again, s)
		}
		p.mu.Unlock()
		return next(ctx)
	}, c.Intercept)
}

// Resume has the next process finish the operation. The error says that nobody died, that the operation did not end well,
// or which steps ran again although they were in the journal.
func (p *Process) Resume(ctx context.Context, next *vnflcm.Manager, opID string) (*vnflcm.VnfLcmOpOcc, error) {
	if !p.Dead() {
		return nil, fmt.Errorf("crashtest: the process did not die %s", p.death.Point)
	}
	if p.death.Point == JournalLost {
		if err := p.loseJournal(ctx); err != nil {
			return nil, err
		}
	}
	resumed, _, err := next.Resume(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(resumed, opID) {
		return nil, fmt.Errorf("crashtest: operation %s is not among those resumed, %q", opID, resumed)
	}
	occ, err := next.Wait(ctx, opID)
	return occ, errors.Join(err, p.repeated())
}

// repeated reports what ran again.
func (p *Process) repeated() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, s := range p.again {
		errs = append(errs, fmt.Errorf("crashtest: step %s/%s on %q was in the journal and ran again", s.Phase, s.Name, s.On))
	}
	return errors.Join(errs...)
}

// loseJournal removes all entries.
func (p *Process) loseJournal(ctx context.Context) error {
	journal, err := p.fence.Store.List(ctx, vnflcm.Query{Kind: stepKind})
	if err != nil {
		return err
	}
	if err := p.fence.Store.Apply(ctx, vnflcm.Batch{Delete: journal}); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.done)
	return nil
}
