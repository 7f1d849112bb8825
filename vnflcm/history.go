package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// Performed is one run of a step or of a phase in the history of an operation.
type Performed struct {
	Phase string `json:"phase"`
	// Step is empty for the phase as a whole.
	Step  string    `json:"step,omitempty"`
	On    string    `json:"on,omitempty"`   // VNFC
	Host  string    `json:"host,omitempty"` // name of the VNFC
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
	// Attempt counts the times that a process has worked on the operation: 1, and one more after each retry, rollback and
	// takeover.
	Attempt int    `json:"attempt"`
	Process string `json:"process"` // a random id, which the log of the process has at its beginning
	// Failed says that the run failed. Code is the first code of its error, if that has one.
	Failed bool `json:"failed,omitempty"`
	Code   Code `json:"code,omitempty"`
}

// historyRecord is the stored record of the steps of an operation that are no longer in the journal, and of those that
// failed. Attempt is the epoch of the claim there.
type historyRecord struct {
	Performed []Performed `json:"performed"`
	of        store.Index // of the operation
}

func (h historyRecord) Index() store.Index { return h.of }

// History returns the work of the operation so far, in the order of its beginning: finished steps and phases, and
// failed steps. It is kept until the operation is purged. ErrNotFound: the operation does not exist.
func (m *Manager) History(ctx context.Context, opID string) ([]Performed, error) {
	rec, _, err := m.operation(ctx, opID)
	if err != nil {
		return nil, err
	}
	var h historyRecord
	if _, err := m.records.Get(ctx, kindHistory, opID, &h); err != nil && !errors.Is(err, ErrNotFound) {
		return nil, fmt.Errorf("history of operation %s: %w", opID, err)
	}
	out := slices.Concat(h.Performed, rec.Phases)
	if !rec.Occ.OperationState.Final() {
		journal, err := m.cfg.Store.List(ctx, store.Query{Kind: kindStep, Prefix: opID + "/"})
		if err != nil {
			return nil, err
		}
		out = slices.Concat(out, m.records.performed(journal))
	}
	slices.SortStableFunc(out, func(a, b Performed) int { return a.Start.Compare(b.Start) })
	rankAttempts(out)
	return out, nil
}

// rankAttempts replaces the epochs in Attempt by 1, 2, 3.
func rankAttempts(list []Performed) {
	var epochs []int
	for _, p := range list {
		epochs = append(epochs, p.Attempt)
	}
	slices.Sort(epochs)
	epochs = slices.Compact(epochs)
	for i := range list {
		list[i].Attempt = 1 + slices.Index(epochs, list[i].Attempt)
	}
}

// performed reads the entries of a journal. An entry that cannot be read is left out, as it counts as not done.
func (r *records) performed(journal []store.Record) []Performed {
	var out []Performed
	for _, stored := range journal {
		var e journalEntry
		if r.Open(stored, &e) == nil {
			out = append(out, e.Performed)
		}
	}
	return out
}

// performance collects what a run has done since the history was written.
type performance struct {
	mu   sync.Mutex
	list []Performed
	// journal has the steps that the run has written to the journal. After an error the journal may have others too.
	journal   []Performed
	uncertain bool
}

// journaled notes that the run has tried to write an entry of the journal.
func (p *performance) journaled(done Performed, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.uncertain = true
		return
	}
	p.journal = append(p.journal, done)
}

// entries returns the steps in the journal, if no other run has written to it.
func (p *performance) entries() (list []Performed, certain bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.journal), !p.uncertain
}

func (p *performance) add(done Performed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, done)
}

func (p *performance) all() []Performed {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.list)
}

// keepHistory adds to b that the history contains the work of this run, and the entries in also.
func (r *run) keepHistory(ctx context.Context, b *store.Batch, also ...Performed) error {
	h := historyRecord{of: r.rec.Index()}
	version := int64(0)
	if r.rec.Kept {
		var err error
		if version, err = r.m.records.Get(ctx, kindHistory, r.rec.Occ.ID, &h); err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrUnreadable) {
			return err
		}
	}
	h.Performed = slices.Concat(h.Performed, r.performed.all(), also)
	record, err := r.m.records.Seal(kindHistory, r.rec.Occ.ID, version, h)
	b.Put = append(b.Put, record)
	r.rec.Kept = true
	return err
}

// archiveJournal adds to b that the entries of the journal move to the history. Under the first claim the run knows
// them, unless a write has failed; then they are read.
func (r *run) archiveJournal(ctx context.Context, b *store.Batch) error {
	if entries, certain := r.performed.entries(); certain && r.claim.Epoch() == 1 && !r.stored.Unknown {
		for _, e := range entries {
			info := StepInfo{OperationID: r.rec.Occ.ID, Phase: e.Phase, Name: e.Step, On: e.On}
			b.Delete = append(b.Delete, store.Record{Kind: kindStep, ID: info.Key(), Version: 1})
		}
		return r.keepHistory(ctx, b, entries...)
	}
	journal, err := r.m.cfg.Store.List(ctx, store.Query{Kind: kindStep, Prefix: r.rec.Occ.ID + "/"})
	if err != nil {
		return err
	}
	b.Delete = append(b.Delete, journal...)
	return r.keepHistory(ctx, b, r.m.records.performed(journal)...)
}

// codeOf returns the first code of an error.
func codeOf(err error) Code {
	var p ProblemDetails
	collectProblem(err, &p)
	if len(p.Codes) == 0 {
		return ""
	}
	return p.Codes[0]
}
