package crashtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// AttachNext connects the Manager of the next process by its Config, before vnflcm.New. The next process takes the operations of the
// dead process up at once, not after the LeaseTTL. At JournalLost, AttachNext removes the journal.
func (p *Process) AttachNext(c *vnflcm.Config) {
	if p.Dead() && p.at() == JournalLost {
		p.loseJournal()
	}
	c.Store = nextStore{c.Store, p, &names{ids: map[string]bool{}}}
	c.Intercept = around(func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
		p.mu.Lock()
		if p.done[s.Key()] {
			p.rerun = append(p.rerun, s)
		}
		p.mu.Unlock()
		return next(ctx)
	}, c.Intercept)
}

// Resume waits until the next process has finished the operation. The error reports that the first process did not die, that the
// operation did not succeed, or which steps ran again although they were in the journal.
func (p *Process) Resume(ctx context.Context, next *vnflcm.Manager, opID string) (*vnflcm.VnfLcmOpOcc, error) {
	if !p.Dead() {
		return nil, p.survived()
	}
	occ, err := next.Wait(ctx, opID)
	return occ, errors.Join(err, p.repeated())
}

// survived says why the process did not die: at which steps it could have.
func (p *Process) survived() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.key != "" {
		return fmt.Errorf("crashtest: the process did not die %s of step %s", p.point, p.key)
	}
	var seen []string
	for _, s := range p.seen {
		seen = append(seen, strings.TrimSuffix(s.Phase+"/"+s.Name+"/"+cmp.Or(s.Host, s.On), "/"))
	}
	return fmt.Errorf("crashtest: the process did not die %s: Death.Step selected none of the steps, which were %q", p.death.Point, seen)
}

// repeated reports what ran again.
func (p *Process) repeated() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	errs := []error{p.lost}
	for _, s := range p.rerun {
		errs = append(errs, fmt.Errorf("crashtest: step %s/%s on %q was in the journal and ran again", s.Phase, s.Name, s.On))
	}
	return errors.Join(errs...)
}

// loseJournal removes all entries.
func (p *Process) loseJournal() {
	ctx := context.Background()
	journal, err := p.fence.Store.List(ctx, store.Query{Kind: stepKind})
	if err == nil {
		err = p.fence.Store.Apply(ctx, store.Batch{Delete: journal})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost = err
	clear(p.done)
}
