package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm/internal/ledger"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// suspectRecord says which processes have ended while they had the claim on an operation. A takeover writes it in the
// batch that writes the claim. It is a record beside the claim, because a process that was only stopped withdraws its
// own entry, and the version of the claim is the epoch of the process that works on the operation now.
type suspectRecord struct {
	// Deaths are the processes that have ended since the latest progress, the last one at the end.
	Deaths []death `json:"deaths"`
	// Progress of the operation when the last one was noted.
	Progress string `json:"progress"`
	// Alone: the process that has the claim works on no other operation until there is progress.
	Alone bool `json:"alone,omitempty"`
	// Steps are those that this process has begun.
	Steps []begunStep `json:"steps,omitempty"`
	// Convicted: the operation ended its process when it was alone there, and is not taken up again.
	Convicted bool `json:"convicted,omitempty"`
}

// Index has the number of deaths as the state, for a metric. Earlier versions of vnfkit write none.
func (s suspectRecord) Index() store.Index { return store.Index{State: strconv.Itoa(len(s.Deaths))} }

type death struct {
	Process string `json:"process"`
	Run     string `json:"run"` // of the process, as in its processRecord
}

type begunStep struct {
	Phase string `json:"phase"`
	Step  string `json:"step"`
	On    string `json:"on,omitempty"`
	Host  string `json:"host,omitempty"` // name of the VNFC
}

// machine returns the name and the id of the VNFC.
func (s begunStep) machine() string { return VNFC{ID: s.On, Name: s.Host}.String() }

// suspicion decides beside which other operations a process works on an operation.
type suspicion int

const (
	unsuspected suspicion = iota // beside any
	suspected                    // beside those that are not suspected
	isolated                     // beside none
)

// suspicion returns the level of the next attempt. max is Config.MaxTakeovers.
func (s *suspectRecord) suspicion(max int) suspicion {
	switch n := len(s.Deaths); {
	case n == 0 || s.Convicted:
		return unsuspected
	case n >= max:
		return isolated
	case n == max-1:
		return suspected
	}
	return unsuspected
}

// takeover is what a process that takes a claim writes beside it.
type takeover struct {
	next    suspectRecord
	version int64       // of the record that next replaces; 0 if next is the first record
	begun   []begunStep // by the last process, if that has ended
}

func (t *takeover) suspicion(max int) suspicion { return t.next.suspicion(max) }

// hasDied reports whether the process that has the claim is gone without saying so. The caller has found that no living
// process works on the operation. A claim without a run is from an earlier version of vnfkit, whose processes cannot say
// that they were only stopped.
func (m *Manager) hasDied(c ledger.ClaimRecord) bool {
	return c.State == ledger.Held && c.Run != "" && c.Run != m.process.Run()
}

// examine finds out how often processes have ended with an operation, whose claim is free to be taken.
func (m *Manager) examine(ctx context.Context, c seenClaim) (t takeover, err error) {
	died := m.hasDied(c.held)
	// An earlier version of vnfkit drops both attributes.
	if !died && !c.held.Suspected && (c.held.Run != "" || c.stored.Version == 1) {
		return t, nil
	}
	t.version, err = m.records.Get(ctx, kindSuspect, c.stored.ID, &t.next)
	if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrUnreadable) {
		return t, err
	}
	if !died && t.version == 0 {
		return t, nil
	}
	progress, err := m.progressOf(ctx, c.stored.ID)
	if err != nil {
		return takeover{version: t.version}, ignoreNotFound(err) // an operation that is missing is parked
	}
	if t.next.Progress != progress {
		t.next = suspectRecord{Progress: progress}
	}
	t.begun = t.next.Steps
	if died {
		t.next.Deaths = append(t.next.Deaths, death{Process: c.held.Process, Run: c.held.Run})
		t.next.Convicted = t.next.Alone && len(t.next.Deaths) > m.cfg.MaxTakeovers
	}
	if !t.next.Convicted {
		t.next.Steps, t.next.Alone = nil, t.suspicion(m.cfg.MaxTakeovers) == isolated
	}
	return t, nil
}

// progressOf returns a text that changes with every entry of the journal and with every write of the operation.
func (m *Manager) progressOf(ctx context.Context, opID string) (string, error) {
	stored, err := m.cfg.Store.Get(ctx, kindOperation, opID)
	if err != nil {
		return "", err
	}
	journal, err := m.cfg.Store.List(ctx, store.Query{Kind: kindStep, Prefix: opID + "/"})
	var writes int64
	for _, entry := range journal {
		writes += entry.Version
	}
	return fmt.Sprintf("%d/%d", stored.Version, writes), err
}

// write adds the record to b, and to the claim whether there is one.
func (t *takeover) write(b *store.Batch, c *operationClaim) error {
	is := len(t.next.Deaths) > 0
	c.Suspect(is)
	if is {
		record, err := c.records.Seal(kindSuspect, c.ID(), t.version, t.next)
		b.Put = append(b.Put, record)
		return err
	}
	if t.version > 0 {
		b.Delete = append(b.Delete, store.Record{Kind: kindSuspect, ID: c.ID(), Version: t.version})
	}
	return nil
}

// dropSuspect adds to b that the operation is not suspected any more.
func (r *run) dropSuspect(ctx context.Context, b *store.Batch) error {
	if !r.claim.Suspected() {
		return nil
	}
	return r.m.records.Drop(ctx, b, kindSuspect, r.claim.ID())
}

// conviction is the error of an operation that has ended its processes.
func (rec *operationRecord) conviction(t takeover) error {
	errs, at := []error{ErrProcessEnded}, ""
	for _, s := range t.begun {
		failed := &StepError{StepInfo: StepInfo{OperationID: rec.Occ.ID, Phase: s.Phase, Name: s.Step, On: s.On, Host: s.Host}, Machine: s.machine(), Err: ErrProcessEnded}
		errs = append(errs, failed)
		at += fmt.Sprintf(", in step %s of %s", strings.TrimSpace(s.Step+" "+s.machine()), s.Phase)
	}
	if at == "" {
		at = ", outside of a step, at or after the beginning of the phase " + rec.due()
	}
	remedy := "retry the operation, or fail it"
	switch {
	case rec.Occ.OperationState == Starting:
		remedy = "send the request again"
	case rec.canRollBack():
		remedy = "retry the operation, roll it back or fail it"
	}
	last := t.next.Deaths[len(t.next.Deaths)-1]
	text := fmt.Sprintf("%v %d times without progress, at the end as its only operation%s. The last process was %s. "+
		"Look in the logs of the processes for the reason, such as a panic in a goroutine that a driver has started, os.Exit or a lack of memory. Mend it, then %s",
		ErrProcessEnded, len(t.next.Deaths), at, last.Process, remedy)
	return &maskedError{text: text, err: errors.Join(errs...)}
}

// awaitedOperation is an operation that waits until this process works on no other. Meanwhile the process takes up no further
// operation, until that time.
type awaitedOperation struct {
	opID  string
	until time.Time
}

// admits reports whether this process may begin to work on an operation now. m.mu is held.
func (m *Manager) admits(opID string, level suspicion) bool {
	others, worst := 0, unsuspected
	for id, r := range m.runs {
		if id != opID && r.here {
			others, worst = others+1, max(worst, r.suspicion)
		}
	}
	switch {
	case worst == isolated, m.awaits(opID):
		return false
	case level == isolated:
		return others == 0
	case level == suspected:
		return worst == unsuspected
	}
	return true
}

// awaits reports whether another operation waits until this process works on no other. m.mu is held.
func (m *Manager) awaits(opID string) bool {
	return m.awaited.opID != opID && time.Now().Before(m.awaited.until)
}

// await lets this process take up no further operation, so that an operation can be its only one. m.mu is held.
func (m *Manager) await(opID string) {
	if !m.awaits(opID) {
		m.awaited = awaitedOperation{opID: opID, until: time.Now().Add(m.cfg.LeaseTTL)}
	}
}

// suspect sets the suspicion of a run. m.mu is held.
func (m *Manager) suspect(r *run, level suspicion) {
	if m.awaited.opID == r.claim.ID() {
		m.awaited = awaitedOperation{}
	}
	r.suspicion, r.here = level, true
	r.claim.watched.Store(level != unsuspected)
}

// clear is called once the operation of r has made progress: it may run beside others.
func (m *Manager) clear(r *run) {
	m.mu.Lock()
	r.suspicion = unsuspected
	m.mu.Unlock()
	m.changed.tell()
}

// noteLost remembers a claim that this process has left without giving it up.
func (m *Manager) noteLost(c *operationClaim) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lost[c.ID()] = c
}

// disown gives up the claims that this process has left, or says of those that other processes have taken over that this
// process has not died. It tries again later what fails.
func (m *Manager) disown(ctx context.Context) {
	ctx, done := context.WithTimeout(ctx, m.cfg.LeaseTTL/4) // the lease is to be renewed meanwhile
	defer done()
	m.mu.Lock()
	left := map[*operationClaim]bool{}
	for opID, c := range m.lost {
		left[c] = m.runs[opID] != nil
	}
	m.mu.Unlock()
	for c, running := range left {
		if m.disownClaim(ctx, c, running) != nil || running {
			continue
		}
		m.mu.Lock()
		if m.lost[c.ID()] == c {
			delete(m.lost, c.ID())
		}
		m.mu.Unlock()
	}
}

func (m *Manager) disownClaim(ctx context.Context, c *operationClaim, running bool) error {
	if !running {
		if err := c.GiveUp(ctx); !errors.Is(err, ErrConflict) {
			return err
		}
	}
	return m.records.Update(ctx, func(ctx context.Context, b *store.Batch) error {
		var s suspectRecord
		version, err := m.records.Get(ctx, kindSuspect, c.ID(), &s)
		if errors.Is(err, ErrNotFound) || errors.Is(err, ErrUnreadable) {
			return nil
		}
		noted := len(s.Deaths)
		s.Deaths = slices.DeleteFunc(s.Deaths, func(d death) bool { return d.Run == m.process.Run() })
		if err != nil || len(s.Deaths) == noted {
			return err
		}
		s.Convicted = false
		record, err := m.records.Seal(kindSuspect, c.ID(), version, s)
		b.Put = append(b.Put, record)
		return err
	})
}
