package vnflcm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm/internal/schedule"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// MaintenanceWindow is when the Manager renews certificates without an order: of VNF instances that have a certificate whose end is at most
// 30 days away, or in the last third of a shorter life, if a driver that the VNFD names has the task RenewCertificates. Authorities are not
// renewed. An operation that has begun in the window may end after the window.
//
// Processes on the same Store start one such operation at a time. Its occurrence has isAutomaticInvocation true. An instance that another
// operation has locked is left out. Each certificate is renewed once: if it still has the same end afterwards, it is left to a person. While
// an operation that was started in this way is FAILED_TEMP, no further one is started, for any tenant: retry or fail it. After a renewal
// that was failed, the instance is renewed after all instances whose last renewal has not failed.
//
// The zero MaintenanceWindow is never open: then the ends of certificates are only announced (InstanceCertificatesEnd).
type MaintenanceWindow struct {
	// Days of the week on which the window opens. Default: every day.
	Days []time.Weekday
	// From and To are times of day, as durations since midnight by the clocks of Location: 22*time.Hour and 4*time.Hour are a window from
	// 22:00 to 4:00 of the next day.
	From, To time.Duration
	// Location has the time zone. Default: UTC.
	Location *time.Location
	// Instances is how many VNF instances are renewed at most each time that the window opens. Default: 1.
	Instances int
}

func (w MaintenanceWindow) schedule() schedule.Window {
	return schedule.Window{Days: w.Days, From: w.From, To: w.To, Location: w.Location}
}

func (w MaintenanceWindow) isZero() bool { return w.schedule().IsZero() }

func (w MaintenanceWindow) check() error {
	if err := w.schedule().Check(); err != nil {
		return fmt.Errorf("vnflcm: Config.Maintenance: %w", err)
	}
	if w.Instances < 0 {
		return errors.New("vnflcm: Config.Maintenance: Instances is negative")
	}
	return nil
}

// automaticID is the id of the only record of its kind.
const automaticID = string(RenewCertificates)

// automaticRecord says which operation was started in a window last. The batch that accepts an operation replaces the version that the
// process has read, so that two processes never start one each.
type automaticRecord struct {
	Operation string `json:"operation"`
	Date      string `json:"date"`      // on which the window has opened
	Instances int    `json:"instances"` // that were started on that date
}

// windowMemory is what a process remembers of a window.
type windowMemory struct {
	date    string
	refused map[string]bool // instances whose renewal was refused on the date
	stopped string          // the operation that was reported to stop further ones
	fault   string          // that was reported last
}

// watchWindow starts renewals in the window, until ctx ends.
func (m *Manager) watchWindow(ctx context.Context) {
	for ; ctx.Err() == nil; _ = retry.Pause(ctx, m.renewEvery()) {
		date, open := m.cfg.Maintenance.schedule().Open(time.Now())
		if !open {
			continue
		}
		if m.window.date != date {
			m.window.date, m.window.refused = date, map[string]bool{}
		}
		err := m.renewInWindow(ctx, date)
		if text := fmt.Sprint(err); err != nil && text != m.window.fault && ctx.Err() == nil {
			m.window.fault = text
			m.cfg.Logger.WarnContext(ctx, "certificates cannot be renewed in the maintenance window now", "error", err)
		}
	}
}

// renewInWindow starts the renewal of the first due instance that no other operation has locked, if one may be started.
func (m *Manager) renewInWindow(ctx context.Context, date string) error {
	var last automaticRecord
	version, err := m.records.Get(ctx, kindAutomatic, automaticID, &last)
	if ignoreNotFound(err) != nil {
		return err
	}
	if last.Date != date {
		last.Date, last.Instances = date, 0
	}
	if last.Instances >= cmp.Or(m.cfg.Maintenance.Instances, 1) {
		return nil
	}
	may, err := m.mayRenew(ctx, last.Operation)
	if err != nil || !may {
		return err
	}
	due, err := m.dueRenewals(ctx)
	if err != nil {
		return err
	}
	for _, d := range due {
		next, err := m.startRenewal(ctx, d, last, version)
		if !next || err != nil {
			return err
		}
	}
	return nil
}

// mayRenew reports whether the operation that was started last has ended well, or a person has ended it.
func (m *Manager) mayRenew(ctx context.Context, opID string) (bool, error) {
	if opID == "" {
		return true, nil
	}
	rec, _, err := m.operation(ctx, opID)
	if errors.Is(err, ErrNotFound) { // it was purged
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if rec.Occ.OperationState == FailedTemp && m.window.stopped != opID {
		m.window.stopped = opID
		m.cfg.Logger.ErrorContext(ctx, "no further certificates are renewed in maintenance windows: an operation has failed, retry or fail it",
			"operation", opID, "instance", rec.Occ.VnfInstanceID)
	}
	return rec.Occ.OperationState.Final(), nil
}

// dueRenewal is an instance whose certificates are to be renewed.
type dueRenewal struct {
	stored store.Record // without its body
	failed time.Time    // zero: its last renewal has not failed
	end    time.Time
}

// dueRenewals returns the instances whose certificates are to be renewed, the one whose certificates end first is first. Instances whose last
// renewal has failed come last, the one that has waited longest first: otherwise such an instance would keep all others from being renewed.
func (m *Manager) dueRenewals(ctx context.Context) (due []dueRenewal, err error) {
	q := store.Query{Kind: kindExpiry, Operations: []string{string(RenewCertificates)}, Limit: lookPage}
	err = m.records.EachPage(ctx, q, func(list []store.Record) error {
		for _, stored := range list {
			var rec expiryRecord
			if m.window.refused[stored.ID] || m.records.Open(stored, &rec) != nil || len(rec.Certificates) == 0 {
				continue
			}
			stored.Body = nil
			due = append(due, dueRenewal{stored, rec.Failed, rec.renewable(time.Now())})
		}
		return nil
	})
	slices.SortStableFunc(due, func(a, b dueRenewal) int { return cmp.Or(a.failed.Compare(b.failed), a.end.Compare(b.end)) })
	return due, err
}

// renewable returns the end of the first certificate that is to be renewed.
func (r *expiryRecord) renewable(now time.Time) time.Time {
	i := slices.IndexFunc(r.Certificates, func(c storedCertificate) bool { return c.renewable(now) })
	return r.Certificates[max(0, i)].NotAfter
}

// startRenewal starts the renewal of an instance. next: the next instance may be renewed instead, because an operation has this one locked, or
// its renewal was refused, which is not tried again on the same date. If its certificates were read again meanwhile, or another process
// has started a renewal, all instances are to be looked at again.
func (m *Manager) startRenewal(ctx context.Context, d dueRenewal, last automaticRecord, version int64) (next bool, err error) {
	id := d.stored.ID
	opID, err := m.begin(ctx, id, OpModifyInfo, MaintainVnfRequest{Task: RenewCertificates}.stored(), func(_ *instanceRecord, rec *operationRecord) {
		rec.Occ.IsAutomaticInvocation = true
		rec.accepting = func(b *store.Batch) error {
			started := automaticRecord{Operation: rec.Occ.ID, Date: last.Date, Instances: last.Instances + 1}
			record, err := m.records.Seal(kindAutomatic, automaticID, version, started)
			b.Put, b.Assert = append(b.Put, record), append(b.Assert, d.stored)
			return err
		}
	})
	switch {
	case err == nil:
		m.cfg.Logger.InfoContext(ctx, "certificates are renewed in the maintenance window", "operation", opID, "instance", id, "end", d.end)
		return false, nil
	case errors.Is(err, errInstanceChanged):
		return false, nil
	case errors.Is(err, ErrConflict), errors.Is(err, ErrNotFound):
		return true, nil
	case ctx.Err() != nil, errors.Is(err, ErrStore), errors.Is(err, ErrShutdown):
		return false, err
	}
	m.window.refused[id] = true
	m.cfg.Logger.WarnContext(ctx, "the renewal of certificates in the maintenance window is refused", "instance", id, "error", err)
	return true, nil
}
