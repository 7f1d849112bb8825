package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

const (
	// lookLimit is how long one look at the certificates of an instance may take. A machine that is dead takes 30 s.
	lookLimit = 2 * time.Minute
	// mostLooks is at how many instances the Manager looks at once, on all processes together.
	mostLooks = 16
	// lookPage is how many records are read at once. They can be large.
	lookPage = 100
)

var errLook = fmt.Errorf("no answer within %v", lookLimit)

// startCertificates starts to look at certificates, if a driver reads them, and to renew them in the window.
func (m *Manager) startCertificates(ctx context.Context) {
	if !m.readsCertificates() {
		return
	}
	m.keeping.Go(func() { m.watchCertificates(ctx) })
	if !m.cfg.Maintenance.isZero() {
		m.keeping.Go(func() { m.watchWindow(ctx) })
	}
}

func (m *Manager) readsCertificates() bool {
	for _, driver := range m.cfg.Mgmt {
		if readsCertificates(driver) {
			return true
		}
	}
	return false
}

// watchCertificates reads certificates when that is due, until ctx ends. When it starts, and then once a day, it adds instances that have no
// record, such as those of earlier versions of vnfkit.
func (m *Manager) watchCertificates(ctx context.Context) {
	for added := (time.Time{}); ctx.Err() == nil; _ = retry.Pause(ctx, m.renewEvery()) {
		if time.Since(added) >= lookEvery {
			if err := m.addExpiries(ctx); err == nil {
				added = time.Now()
			} else if ctx.Err() == nil {
				m.cfg.Logger.WarnContext(ctx, "instances whose certificates are to be read cannot be found now", "error", err)
			}
		}
		if due, _ := m.dueLooks(ctx, 1); len(due) > 0 {
			_ = m.Exclusively(ctx, "certificates", m.lookAtAll)
		}
	}
}

// addExpiries adds a record for each instantiated instance that has none. It opens no record.
func (m *Manager) addExpiries(ctx context.Context) error {
	known := map[string]bool{}
	err := m.records.EachPage(ctx, store.Query{Kind: kindExpiry, Limit: lookPage}, func(list []store.Record) error {
		for _, r := range list {
			known[r.ID] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	instantiated := store.Query{Kind: kindInstance, States: []string{string(Instantiated)}, Limit: lookPage}
	return m.records.EachPage(ctx, instantiated, func(list []store.Record) error {
		for _, inst := range list {
			if known[inst.ID] {
				continue
			}
			record, err := m.records.Seal(kindExpiry, inst.ID, 0, expiryRecord{Due: time.Now().Round(0)})
			if err == nil {
				err = ignoreConflict(m.cfg.Store.Apply(ctx, store.Batch{Assert: []store.Record{inst}, Put: []store.Record{record}}))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// noteAdopted adds to b that the certificates of a new instance are to be read.
func (m *Manager) noteAdopted(ctx context.Context, b *store.Batch, instanceID string) error {
	if !m.readsCertificates() {
		return nil
	}
	return m.records.Put(ctx, b, kindExpiry, instanceID, expiryRecord{Due: time.Now().Round(0).Add(afterOperation)})
}

// dueLooks returns at most that many instances whose certificates are to be read, the longest overdue first.
func (m *Manager) dueLooks(ctx context.Context, most int) (ids []string, err error) {
	q := store.Query{Kind: kindExpiry, Before: time.Now().UnixNano(), Limit: lookPage}
	err = m.records.EachPage(ctx, q, func(list []store.Record) error {
		for _, r := range list {
			if m.looks.mayTry(r.ID) {
				ids = append(ids, r.ID)
			}
			if len(ids) == most {
				return errEnough
			}
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return ids, err
}

var errEnough = errors.New("enough")

// lookAtAll reads the certificates of all instances for which that is due.
func (m *Manager) lookAtAll(ctx context.Context) error {
	for ctx.Err() == nil {
		due, err := m.dueLooks(ctx, lookPage)
		if err != nil || len(due) == 0 {
			return err
		}
		_ = Each(ctx, mostLooks, due, func(ctx context.Context, id string) error {
			m.lookAt(ctx, id)
			return nil
		})
	}
	return context.Cause(ctx)
}

// lookAt reads the certificates of an instance. What cannot be read is logged, and part of the record.
func (m *Manager) lookAt(ctx context.Context, id string) {
	log := m.cfg.Logger.With("instance", id)
	found, err := m.look(ctx, id)
	if ctx.Err() != nil { // the result says nothing of the machines
		return
	}
	if err == nil {
		err = m.storeReading(ctx, id, found)
	}
	switch {
	case err != nil:
		again := m.looks.failed(id, m.renewEvery(), err)
		log.WarnContext(ctx, "the certificates of the VNF are not known now", "again", again, "error", err)
	case found.fault != nil && !errors.Is(found.fault, ErrNotSupported) && !errors.Is(found.fault, ErrState):
		log.WarnContext(ctx, "certificates of the VNF cannot be read", "error", found.fault)
	}
	if err == nil {
		m.looks.rest(id, 0)
	}
}

// look reads the certificates of an instance: with a login if an operation has ended since the last one, and without. An error is a failure
// of the store.
func (m *Manager) look(ctx context.Context, id string) (found reading, err error) {
	rec, _, err := m.expiry(ctx, id)
	if err != nil {
		return found, err
	}
	inst, _, err := m.instance(ctx, id)
	if errors.Is(err, ErrNotFound) || err == nil && inst.instantiated() != nil {
		return found, nil // storeReading removes the record
	}
	if err != nil {
		return found, err
	}
	found.of = rec.LoginAfter
	if found.fault = inst.started(); found.fault != nil {
		return found, nil
	}
	ctx, done := context.WithTimeoutCause(ctx, lookLimit, errLook)
	defer done()
	found, err = m.readCertificates(ctx, inst, !rec.LoginAfter.IsZero(), true)
	if found.fault == nil && err != nil {
		found.fault = causeOf(ctx, err)
	}
	found.of = rec.LoginAfter
	return found, nil
}
