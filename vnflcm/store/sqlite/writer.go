package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// writer applies batches in the order in which they came, urgent ones first. Batches that wait at the same time share one
// transaction, because a commit waits for the disk. SQLite itself would let writers wait at random, and a renewal
// of a lease might come too late.
type writer struct {
	db      *sql.DB // one connection
	changes changes

	mu      sync.Mutex
	waiting []*job
	wake    chan struct{} // has a value while jobs wait
	closed  bool
	ended   chan struct{} // closed when run has returned
}

type job struct {
	batch store.Batch
	err   error
	done  chan struct{} // closed when err is set
}

// maxGroup is how many batches share a transaction: a longer one would delay urgent batches.
const maxGroup = 64

var errClosed = errors.New("sqlite: the store is closed")

func newWriter(ctx context.Context, db *sql.DB, c changes) *writer {
	w := &writer{db: db, changes: c, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	go w.run(context.WithoutCancel(ctx))
	return w
}

// close waits for the batches that were given to apply before.
func (w *writer) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.closed = true
		w.signal()
	}
}

// signal wakes run. w.mu is held.
func (w *writer) signal() {
	if len(w.wake) == 0 {
		w.wake <- struct{}{}
	}
}

func (w *writer) apply(ctx context.Context, b store.Batch) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	j := &job{batch: b, done: make(chan struct{})}
	if err := w.enqueue(j); err != nil {
		return err
	}
	select {
	case <-j.done:
	case <-ctx.Done():
		if w.withdraw(j) {
			return context.Cause(ctx)
		}
		<-j.done // it is being written
	}
	return j.err
}

func (w *writer) enqueue(j *job) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return errClosed
	}
	place := len(w.waiting)
	if i := slices.IndexFunc(w.waiting, func(other *job) bool { return !other.batch.Urgent }); j.batch.Urgent && i >= 0 {
		place = i
	}
	w.waiting = slices.Insert(w.waiting, place, j)
	w.signal()
	return nil
}

// withdraw takes a job out of the queue. It returns false if the job is being written.
func (w *writer) withdraw(j *job) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.waiting, j)
	if i >= 0 {
		w.waiting = slices.Delete(w.waiting, i, i+1)
	}
	return i >= 0
}

// run writes what waits until the writer is closed.
func (w *writer) run(ctx context.Context) {
	defer close(w.ended)
	for range w.wake {
		for group := w.next(); len(group) > 0; group = w.next() {
			if err := w.transact(ctx, group); err != nil {
				for _, j := range group {
					j.err = errors.Join(j.err, err)
				}
			}
			for _, j := range group {
				close(j.done)
			}
		}
		if w.isClosed() {
			return
		}
	}
}

func (w *writer) isClosed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed && len(w.waiting) == 0
}

// next takes the jobs that come first.
func (w *writer) next() []*job {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(len(w.waiting), maxGroup)
	group := slices.Clone(w.waiting[:n])
	w.waiting = slices.Delete(w.waiting, 0, n)
	return group
}

// transact writes the jobs in one transaction and sets the errors of those that were refused. The error is of all.
func (w *writer) transact(ctx context.Context, group []*job) error {
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return wrap("begin", err)
	}
	if len(group) == 1 {
		err = w.changes.apply(ctx, tx, group[0].batch)
	}
	for _, j := range group {
		if err == nil && len(group) > 1 {
			err = w.applyAlone(ctx, tx, j)
		}
	}
	if err != nil {
		_ = tx.Rollback() // nothing was written
		return err
	}
	return wrap("commit", tx.Commit())
}

// applyAlone applies one job so that its failure does not affect the remaining ones.
func (w *writer) applyAlone(ctx context.Context, tx *sql.Tx, j *job) error {
	if _, err := tx.ExecContext(ctx, `SAVEPOINT one`); err != nil {
		return wrap("savepoint", err)
	}
	if j.err = w.changes.apply(ctx, tx, j.batch); j.err != nil {
		if _, err := tx.ExecContext(ctx, `ROLLBACK TO one`); err != nil {
			return wrap("roll back", err)
		}
	}
	_, err := tx.ExecContext(ctx, `RELEASE one`)
	return wrap("release", err)
}
