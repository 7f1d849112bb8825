package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm/internal/ledger"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// start begins the work of this process, which lasts until Close.
func (m *Manager) start(ctx context.Context) {
	if m.cfg.AcceptOnly && m.cfg.Runner == nil {
		return
	}
	m.cfg.Logger.InfoContext(ctx, "the Manager works on operations", "process", m.process.ID(), "limit", m.limit())
	m.startWatching(ctx)
	ctx, m.keep = context.WithCancel(context.WithoutCancel(ctx))
	m.keeping.Go(func() { m.keepAlive(ctx) })
	if m.cfg.Runner != nil {
		m.keeping.Go(func() { m.watchProcesses(ctx) })
		m.keeping.Go(func() { m.watchRunner(ctx) })
	} else {
		m.keeping.Go(func() { m.watchOrphans(ctx) })
	}
	if !m.cfg.AcceptOnly {
		m.keeping.Go(func() { m.renewVIMs(ctx) })
		m.keeping.Go(func() { m.expireEvidence(ctx) })
		m.startCertificates(ctx)
		m.startSnapshots(ctx)
	}
}

// keepAlive renews the lease while there are runs or the process takes up operations, until ctx ends. Between renewals it looks for
// cancels when the store has changed.
func (m *Manager) keepAlive(ctx context.Context) {
	every := time.NewTicker(m.cfg.LeaseTTL / 4)
	defer every.Stop()
	if m.works() {
		_, _ = m.process.Alive(ctx) // other processes see it from now on, or from the next renewal
	}
	for {
		changed := m.changed.wait()
		select {
		case <-ctx.Done():
			return
		case <-changed:
			m.findCancels(ctx, m.working())
			_ = retry.Pause(ctx, ledger.LeastPause)
			continue
		case <-every.C:
		}
		if runs := m.working(); len(runs) > 0 || m.works() {
			m.renewFor(ctx, runs)
		}
		m.disown(ctx)
	}
}

// working returns the runs that have their claims.
func (m *Manager) working() []*run {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*run
	for _, r := range m.runs {
		r.mu.Lock()
		if r.begun {
			out = append(out, r)
		}
		r.mu.Unlock()
	}
	return out
}

// renewFor renews the lease and notifies each run that has lost its claim, or that another process asks to cancel.
func (m *Manager) renewFor(ctx context.Context, runs []*run) {
	ctx, done := context.WithTimeout(ctx, m.cfg.LeaseTTL/2)
	defer done()
	err := m.process.Renew(ctx)
	switch {
	case err != nil && m.process.Valid():
		m.cfg.Logger.WarnContext(ctx, "the lease cannot be renewed yet", "error", err)
		return
	case err != nil:
		for _, r := range runs {
			_ = r.claim.Lose(err)
		}
		return
	}
	for _, r := range runs {
		_ = r.claim.Hold(ctx) // notifies the run if the claim is lost
	}
	m.findCancels(ctx, runs)
}

// findCancels notifies each run that another process asks to cancel.
func (m *Manager) findCancels(ctx context.Context, runs []*run) {
	if len(runs) == 0 {
		return
	}
	ctx, done := context.WithTimeout(ctx, m.cfg.LeaseTTL/4) // the lease is to be renewed meanwhile
	defer done()
	asked, _ := m.cfg.Store.List(ctx, store.Query{Kind: kindCancel}) // asked again at the next renewal
	for _, r := range runs {
		if slices.ContainsFunc(asked, func(c store.Record) bool { return c.ID == r.claim.ID() }) {
			r.checkCancel(ctx)
		}
	}
}

// watchOrphans takes up operations on which no process works, until ctx ends.
func (m *Manager) watchOrphans(ctx context.Context) {
	every := time.NewTicker(ledger.LookEvery(m.cfg.LeaseTTL))
	defer every.Stop()
	for known := ""; ; {
		changed := m.changed.wait()
		err := m.takeOrphans(ctx)
		if text := fmt.Sprint(err); err != nil && text != known && ctx.Err() == nil {
			m.cfg.Logger.WarnContext(ctx, "operations that no process works on cannot be taken up", "error", err)
			known = text
		}
		_ = retry.Pause(ctx, ledger.LeastPause)
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-every.C:
		}
	}
}

// seenClaim is a claim that was read.
type seenClaim struct {
	stored store.Record
	held   ledger.ClaimRecord
	err    error // why it cannot be read
}

// claims reads the claims in these states, the oldest accepted first.
func (m *Manager) claims(ctx context.Context, states ...ledger.ClaimState) ([]seenClaim, error) {
	list, err := m.cfg.Store.List(ctx, store.Query{Kind: ledger.KindClaim, States: texts(states)})
	if err != nil {
		return nil, err
	}
	out := make([]seenClaim, len(list))
	for i, stored := range list {
		out[i].stored = stored
		out[i].err = m.records.Open(stored, &out[i].held)
	}
	return out, nil
}

// takeOrphans takes up the operations that can be taken up now, the oldest accepted first. Claims of living processes are read too, to
// see which process has room. If an operation cannot be taken up, takeOrphans continues with the next one.
func (m *Manager) takeOrphans(ctx context.Context) error {
	m.watching.Lock()
	defer m.watching.Unlock()
	claims, err := m.claims(ctx, ledger.Free, ledger.Held)
	if err != nil {
		return err
	}
	processes, err := m.cfg.Store.List(ctx, store.Query{Kind: ledger.KindProcess})
	if err != nil {
		return err
	}
	servers := m.serversOf(claims, processes)
	var errs []error
	var named []string
	for _, c := range claims {
		if c.err != nil && !m.records.HasKey(c.stored) {
			errs = append(errs, c.err) // of a process with another key, which may live
			continue
		}
		named = append(named, c.held.Process)
		if m.isRunning(c.stored.ID) {
			continue
		}
		if holder, free := m.isFree(c, processes); free {
			errs = append(errs, m.takeOrphan(ctx, c, holder, servers))
		}
	}
	m.forgetSightings(claims, processes)
	return errors.Join(append(errs, m.removeGone(ctx, processes, named))...)
}

// takeOrphan takes up an operation on which no process works, if that falls to this process.
func (m *Manager) takeOrphan(ctx context.Context, c seenClaim, holder store.Record, servers servers) error {
	may, falls := m.mayTake(servers, c.stored)
	if !may {
		return nil
	}
	r, t, err := m.take(ctx, c, holder, falls)
	switch {
	case errors.Is(err, ErrLeased), errors.Is(err, ErrShutdown):
		return nil
	case err != nil:
		return err
	case r == nil:
		servers.leave(m.process.ID())
	case t.next.Convicted:
		r.end(r.enterOutcome(r.ctx, r.rec.conviction(t))) //nolint:contextcheck // the work of the run
	default:
		if c.stored.Index.State == string(ledger.Held) || c.stored.Version > 1 { // a process had it before
			m.cfg.Logger.InfoContext(ctx, "the operation is taken over", "operation", c.stored.ID, "from", holder.ID, "deaths", len(t.next.Deaths))
			m.report(OperationTaken, &r.rec.Occ)
		}
		go r.work()
	}
	return nil
}

// forgetSightings forgets records that are not there any more.
func (m *Manager) forgetSightings(claims []seenClaim, processes []store.Record) {
	there := map[[2]string]bool{}
	for _, c := range claims {
		there[c.stored.Key()] = true
	}
	for _, p := range processes {
		there[p.Key()] = true
	}
	m.seen.Retain(func(key [2]string) bool { return there[key] })
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.waiting, func(opID string, _ int64) bool { return !there[[2]string{ledger.KindClaim, opID}] })
}

// isFree reports whether no living process works on an operation. holder is the record of the process that has the
// claim, unless that is this process.
func (m *Manager) isFree(c seenClaim, processes []store.Record) (holder store.Record, free bool) {
	switch {
	case c.err != nil: // damaged: treated as a claim of a process that no longer exists
		return store.Record{}, m.seen.StoodStill(c.stored, m.cfg.LeaseTTL)
	case c.held.State == ledger.Free || c.held.Process == m.process.ID():
		return store.Record{}, true
	}
	holder = find(processes, c.held.Process)
	return holder, m.isGone(holder)
}

// removeGone removes the records of processes that are gone and have no claims.
func (m *Manager) removeGone(ctx context.Context, processes []store.Record, named []string) error {
	for _, p := range processes {
		if p.ID == m.process.ID() || slices.Contains(named, p.ID) || !m.isGone(p) {
			continue
		}
		// A process that was only stopped writes its record again.
		if err := m.cfg.Store.Apply(ctx, store.Batch{Delete: []store.Record{p}}); err != nil && !errors.Is(err, ErrConflict) {
			return err
		}
		m.seen.Forget(p)
	}
	return nil
}

// find returns the record of a process. The version is 0 if the store has no such record.
func find(processes []store.Record, id string) store.Record {
	if i := slices.IndexFunc(processes, func(p store.Record) bool { return p.ID == id }); i >= 0 {
		return processes[i]
	}
	return store.Record{Kind: ledger.KindProcess, ID: id}
}

// isGone reports whether another process has shown no sign of life for its TTL. A process without a record has ended, or has been stopped
// for longer than its TTL and looks at its claims before it works on.
func (m *Manager) isGone(holder store.Record) bool {
	return holder.Version == 0 || m.seen.StoodStill(holder, m.records.TTLOf(holder, m.cfg.LeaseTTL))
}
