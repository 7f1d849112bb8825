package vnflcm

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// Retention says how long Manager.Purge keeps operation occurrences after their end. The zero Retention keeps everything.
type Retention struct {
	// Completed is for operations in COMPLETED, and for the changes of the feed. 0: for ever.
	Completed time.Duration
	// Failed is for operations in FAILED and ROLLED_BACK. 0: for ever. It must not be less than Completed.
	Failed time.Duration
}

// Check returns ErrInvalidRequest if a time is negative, or failures would be removed before successes.
func (r Retention) Check() error {
	switch {
	case r.Completed < 0 || r.Failed < 0:
		return fmt.Errorf("%w: a retention must not be negative", ErrInvalidRequest)
	case r.Failed > 0 && (r.Completed == 0 || r.Failed < r.Completed):
		return fmt.Errorf("%w: the retention of failures must not be less than that of other operations", ErrInvalidRequest)
	}
	return nil
}

// Purged counts what Manager.Purge has removed, or PlanPurge would remove.
type Purged struct {
	Completed int // operations in COMPLETED, with their history
	Failed    int // operations in FAILED and ROLLED_BACK, with their history
	Changes   int // entries of the feed
}

// Purge removes the operation occurrences that ended longer ago than r allows, with their history, and the changes of the feed that are
// older than r.Completed. An operation in FAILED_TEMP has not ended. unread are the places of all readers of the feed, such as those of
// notify.Notifier.Unsent: a change stays until each reader is behind it. Records that cannot be read stay. Purge may run beside operations
// and other processes. ErrInvalidRequest: see Retention.Check.
func (m *Manager) Purge(ctx context.Context, r Retention, unread ...Cursor) (Purged, error) {
	return m.retain(ctx, r, unread, m.removeOperations, func(ctx context.Context, changes []store.Record) error {
		return m.cfg.Store.Apply(ctx, store.Batch{Delete: changes})
	})
}

// PlanPurge counts what Purge would remove now, and removes nothing.
func (m *Manager) PlanPurge(ctx context.Context, r Retention, unread ...Cursor) (Purged, error) {
	nothing := func(context.Context, []store.Record) error { return nil }
	return m.retain(ctx, r, unread, nothing, nothing)
}

// remover removes records, or nothing.
type remover func(context.Context, []store.Record) error

func (m *Manager) retain(ctx context.Context, r Retention, unread []Cursor, operations, changes remover) (p Purged, err error) {
	if err := r.Check(); err != nil || r.Completed == 0 {
		return p, err
	}
	before := time.Now().Add(-r.Completed)
	if p.Completed, err = m.purgeEnded(ctx, before, operations, Completed); err != nil {
		return p, err
	}
	if r.Failed > 0 {
		if p.Failed, err = m.purgeEnded(ctx, time.Now().Add(-r.Failed), operations, Failed, RolledBack); err != nil {
			return p, err
		}
	}
	p.Changes, err = m.purgeRead(ctx, before, unread, changes)
	return p, err
}

// purgeEnded removes the operations that entered one of these states before a time.
func (m *Manager) purgeEnded(ctx context.Context, before time.Time, remove remover, states ...OperationState) (int, error) {
	q := store.Query{Kind: kindOperation, States: texts(states), Before: instant(before)}
	return m.purge(ctx, q, remove, func(occ *VnfLcmOpOcc) bool { return occ.StateEnteredTime.Before(before) })
}

// changesAtOnce is how many changes are read at once.
const changesAtOnce = 200

// purgeRead removes the changes that are older than a time and that every reader has read. It follows the order of the feed, in which a
// change never appears before one that a reader has got: the clocks of processes decide only what is old.
func (m *Manager) purgeRead(ctx context.Context, before time.Time, unread []Cursor, remove remover) (n int, err error) {
	for after := ""; ; {
		list, next, err := m.cfg.Store.Feed(ctx, after, changesAtOnce)
		if err != nil || len(list) == 0 {
			return n, err
		}
		read, err := m.untilUnread(ctx, list, unread)
		if err != nil {
			return n, err
		}
		old := slices.DeleteFunc(slices.Clone(read), func(r store.Record) bool { return r.Index.Start >= instant(before) })
		if err := remove(ctx, old); ignoreConflict(err) != nil {
			return n, err
		} else if err == nil {
			n += len(old)
		}
		if len(read) < len(list) || len(old) == 0 {
			return n, nil
		}
		after = next
	}
}

// untilUnread returns the beginning of list that is before the first change that a reader has not read. list was read from the feed
// before: so every unread change in it is found.
func (m *Manager) untilUnread(ctx context.Context, list []store.Record, unread []Cursor) ([]store.Record, error) {
	for _, reader := range unread {
		first, _, err := m.cfg.Store.Feed(ctx, string(reader), 1)
		if err != nil {
			return nil, err
		}
		if len(first) == 0 {
			continue
		}
		if i := slices.IndexFunc(list, func(r store.Record) bool { return r.ID == first[0].ID }); i >= 0 {
			list = list[:i]
		}
	}
	return list, nil
}
