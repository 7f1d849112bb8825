package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// VIMRenewer is a MgmtDriver that registers VIMs whose credentials expire (Operation.RegisterVIMUntil).
type VIMRenewer interface {
	// RenewVIM makes new credentials for a VIM that it has registered. It returns the entry with them, and their
	// validity. vim is the entry in the registry, and was is the validity of its credentials: they may have expired, so
	// RenewVIM must not need them.
	//
	// RenewVIM is not a hook. op has no request; its Params are those of the operation that registered the VIM. There
	// are no steps, and the State of op can only be read. An operation may work on the instance at the same time:
	// RenewVIM changes nothing that the operation relies on. RenewVIM may be called again if its result could not be
	// stored.
	RenewVIM(ctx context.Context, op *Operation, vim VimConnectionInfo, was Validity) (VimConnectionInfo, Validity, error)
}

// Validity says how long credentials are valid. The zero Validity means that they do not expire.
type Validity struct {
	Until time.Time     `json:"until"` // by the clock of the VIM
	For   time.Duration `json:"for"`   // from when they were made until Until
}

// renewal says how the entry of a VIM is renewed. Every change of the entry by an operation or by a renewal writes it
// in the same batch, so a changed version means a changed entry.
type renewal struct {
	Instance string   `json:"instance"`
	Driver   string   `json:"driver"` // in Config.Mgmt
	Params   Params   `json:"params,omitzero"`
	Validity Validity `json:"validity"`
}

// index has the time from which on the entry is to be renewed: half of the life of the credentials. The clock of a
// process may then be late by the other half.
func (r renewal) Index() store.Index {
	return store.Index{Instance: r.Instance, Start: r.Validity.Until.Add(-r.Validity.For / 2).UnixNano()}
}

const (
	// renewLimit is how long one attempt may take. A control-plane node that is dead takes 20 s.
	renewLimit = time.Minute
	// mostRenewals is how many entries a Manager renews at once.
	mostRenewals = 64
	// longestPause is the longest pause after an attempt that failed.
	longestPause = 5 * time.Minute
)

// renewEvery is how often a Manager looks for entries that are to be renewed.
func (m *Manager) renewEvery() time.Duration { return min(m.cfg.LeaseTTL, 5*time.Second) }

// renewVIMs renews entries of VIMs until ctx ends.
func (m *Manager) renewVIMs(ctx context.Context) {
	for ctx.Err() == nil {
		var due []string
		for vimID, at := range m.listRenewals(ctx) {
			if !at.After(time.Now()) {
				due = append(due, vimID)
			}
		}
		_ = Each(ctx, mostRenewals, due, func(ctx context.Context, vimID string) error {
			_ = m.renewVIM(ctx, vimID)
			return nil
		})
		_ = retry.Pause(ctx, m.renewEvery())
	}
}

// listRenewals returns the time of renewal by entry; none if the store does not answer.
func (m *Manager) listRenewals(ctx context.Context) map[string]time.Time {
	list, err := m.cfg.Store.List(ctx, store.Query{Kind: kindRenewal})
	if err != nil {
		return nil
	}
	due := map[string]time.Time{}
	for _, r := range list {
		due[r.ID] = time.Unix(0, r.Index.Start)
	}
	m.renewals.note(due)
	return due
}

// isOverdue reports whether the renewal of the entry of a VIM is late.
func (m *Manager) isOverdue(ctx context.Context, vimID string) bool {
	due := m.renewals.known()
	if due == nil {
		due = m.listRenewals(ctx)
	}
	at, ends := due[vimID]
	return ends && time.Since(at) >= renewLimit
}

// registeredVIM returns the id of the entry that the connection comes from, "" if the connection comes from the request alone: the id in a
// complete connection may be that of an entry of another tenant.
func (s *session) registeredVIM() string {
	if s.form == vimComplete {
		return ""
	}
	return s.op.VIM.VimID
}

// afterOverdue adds to an error of a driver that has checked a request that the credentials of the VIM may be the reason.
func (s *session) afterOverdue(ctx context.Context, err error) error {
	vimID := s.registeredVIM()
	if err == nil || errors.Is(err, ErrInvalidRequest) || !s.m.isOverdue(ctx, vimID) {
		return err
	}
	return fmt.Errorf("%w. The credentials of VIM %s have not been renewed in time, the VNFM tries that again: send the request later", err, vimID)
}

// overdueStep is the step in which an operation waits for new credentials of its VIM.
const overdueStep = "renew-vim"

// renewOverdue renews the entry of the VIM that a phase is about to use, if the renewal is late, and resolves the VIM again. A renewal
// that fails is in the history: the operation may succeed without it.
func (r *run) renewOverdue(ctx context.Context, s *session, inst *instanceRecord) error {
	vimID := s.registeredVIM()
	if s.op.VIMGone || !r.m.isOverdue(ctx, vimID) || !r.m.renewals.mayTry(vimID) {
		return nil
	}
	var failed error
	err := Do(ctx, s.op, overdueStep, "", func(ctx context.Context) error {
		s.op.Report(ctx, "waiting for new credentials of VIM "+vimID)
		ctx, done := context.WithTimeoutCause(ctx, renewLimit, errOverdue)
		defer done()
		failed = r.m.renewVIM(ctx, vimID)
		return failed
	})
	if failed != nil {
		err = r.mayBegin(ctx)
	}
	if err == nil {
		err = s.findDriver(ctx, inst)
	}
	if err == nil {
		s.hide(s.secrets())
		r.mask = s.op.mask
	}
	return err
}

// renewVIM renews the entry of a VIM if that is due, in one process at a time. A failure is logged, and the next attempt is put off. The
// error comes from the latest attempt, or says that ctx has ended.
func (m *Manager) renewVIM(ctx context.Context, vimID string) error {
	if !m.renewals.mayTry(vimID) {
		return nil
	}
	return m.Exclusively(ctx, "renew-vim/"+vimID, func(ctx context.Context) error {
		if !m.renewals.mayTry(vimID) {
			return m.renewals.failure(vimID)
		}
		ctx, done := context.WithTimeoutCause(ctx, renewLimit, errOverdue)
		defer done()
		return m.tryRenewal(ctx, vimID)
	})
}

var errOverdue = fmt.Errorf("no success within %v", renewLimit)

// tryRenewal makes one attempt. It succeeds if the entry need not be renewed, or was changed by another writer.
func (m *Manager) tryRenewal(ctx context.Context, vimID string) error {
	log := m.cfg.Logger.With("vim", vimID)
	e, err := m.dueEntry(ctx, vimID)
	if e == nil && err == nil {
		m.renewals.rest(vimID, 0)
		return nil
	}
	if e != nil {
		log = log.With("instance", e.renewal.Instance, "until", e.renewal.Validity.Until)
	}
	var next Validity
	if err == nil {
		next, err = m.renew(ctx, e)
	}
	switch {
	case err == nil:
		m.renewals.rest(vimID, next.For/4)
		log.InfoContext(ctx, "the credentials of the VIM have been renewed", "next", next.Until)
	case errors.Is(err, errEntryChanged):
		m.renewals.rest(vimID, 0)
		log.InfoContext(ctx, "the credentials of the VIM were not renewed: its entry has changed meanwhile")
		return nil
	case ctx.Err() == nil || errors.Is(context.Cause(ctx), errOverdue):
		again := m.renewals.failed(vimID, m.renewEvery(), err)
		log.WarnContext(ctx, "the credentials of the VIM cannot be renewed now", "again", again, "error", err)
	}
	return err
}

// endingEntry is the entry of a VIM whose credentials expire, as read by an attempt to renew them.
type endingEntry struct {
	vimID    string
	renewal  renewal
	version  int64 // of renewal
	instance *instanceRecord
	vim      VimConnectionInfo
}

// dueEntry reads an entry, nil if it need not be renewed. It removes the renewal of an entry that no longer exists.
func (m *Manager) dueEntry(ctx context.Context, vimID string) (*endingEntry, error) {
	e := &endingEntry{vimID: vimID}
	stored, err := m.cfg.Store.Get(ctx, kindRenewal, vimID)
	if err == nil {
		err = m.records.Open(stored, &e.renewal)
	}
	if err != nil || stored.Index.Start > time.Now().UnixNano() {
		return nil, ignoreNotFound(err)
	}
	e.version = stored.Version
	e.instance, _, err = m.instance(ctx, e.renewal.Instance)
	if err == nil && e.instance.Stopped {
		return nil, nil //nolint:nilnil // its machines are off: the entry is renewed after the start
	}
	if err == nil && !slices.Contains(e.instance.RegisteredVIMs, vimID) {
		err = ErrNotFound
	}
	if err == nil {
		e.vim, err = m.vims.Get(ctx, e.instance.Tenant, vimID)
	}
	if _, stored := m.vims.(*storeVIMs); err == nil && stored && e.vim.Tenant != e.instance.Tenant { // put since the registered one was removed
		err = ErrNotFound
	}
	if errors.Is(err, ErrNotFound) {
		return nil, ignoreConflict(m.cfg.Store.Apply(ctx, store.Batch{Delete: []store.Record{stored}}))
	}
	return e, err
}

// renew has the driver make new credentials and stores them.
func (m *Manager) renew(ctx context.Context, e *endingEntry) (Validity, error) {
	opened, err := m.openPackages(ctx, e.instance, nil)
	if err != nil {
		return Validity{}, err
	}
	defer opened.close()
	rec := &operationRecord{Occ: VnfLcmOpOcc{VnfInstanceID: e.renewal.Instance}, Levels: e.instance.Levels, Before: e.instance.Levels}
	s, err := m.session(ctx, opened, e.instance, rec, "renew")
	if err != nil {
		return Validity{}, err
	}
	s.op.Params = e.renewal.Params
	s.hide(append(s.secrets(), e.vim.AccessInfo.secrets(nil, nil)...))
	driver, able := m.cfg.Mgmt[e.renewal.Driver].(VIMRenewer)
	if !able {
		return Validity{}, fmt.Errorf("%w: the driver %s is not registered, or is no VIMRenewer", ErrNotSupported, e.renewal.Driver)
	}
	var info VimConnectionInfo
	var validity Validity
	err = s.call(ctx, func() (err error) {
		info, validity, err = driver.RenewVIM(ctx, s.op, e.vim, e.renewal.Validity)
		return err
	})
	if err == nil && info.VimID != e.vimID {
		err = fmt.Errorf("%w: the driver %s has returned credentials of the VIM %q, and not of %q", ErrProgramming, e.renewal.Driver, info.VimID, e.vimID)
	}
	if err == nil {
		err = m.storeRenewed(ctx, e, info, validity)
	}
	return validity, s.masked(err)
}

// errEntryChanged ends an attempt: an operation, the program or another process has replaced or removed the entry meanwhile.
var errEntryChanged = errors.New("the entry has changed")

// storeRenewed writes the entry into the registry and the instance, and the time of its next renewal. It writes nothing
// if an operation has written the entry meanwhile. If the registry is the caller's, which has no versions, the entry of
// the operation is restored.
func (m *Manager) storeRenewed(ctx context.Context, e *endingEntry, info VimConnectionInfo, v Validity) error {
	own, stored := m.vims.(*storeVIMs)
	if !stored {
		if err := m.checkUnchanged(ctx, e); err != nil {
			return err
		}
		info.Tenant = e.instance.Tenant
		if err := putRegistered(ctx, m.vims, info); err != nil {
			return err
		}
	}
	err := m.records.Update(ctx, func(ctx context.Context, b *store.Batch) error {
		if err := m.checkUnchanged(ctx, e); err != nil {
			return err
		}
		if stored {
			if err := own.replace(ctx, b, e.vim, info); err != nil {
				return err
			}
		}
		return m.putRenewed(ctx, b, e, info, v)
	})
	if errors.Is(err, errEntryChanged) && !stored {
		if failed := m.restoreEntry(ctx, e); failed != nil {
			return fmt.Errorf("the registry keeps an outdated entry: %w", failed)
		}
	}
	return err
}

// checkUnchanged returns errEntryChanged if an operation or another process has written the entry since e was read.
func (m *Manager) checkUnchanged(ctx context.Context, e *endingEntry) error {
	stored, err := m.cfg.Store.Get(ctx, kindRenewal, e.vimID)
	if errors.Is(err, ErrNotFound) || err == nil && stored.Version != e.version {
		return errEntryChanged
	}
	return err
}

// putRenewed adds to b that the instance has the renewed entry, and when that is to be renewed. An operation that has the instance
// locked reads the instance again when it finds another version.
func (m *Manager) putRenewed(ctx context.Context, b *store.Batch, e *endingEntry, info VimConnectionInfo, v Validity) error {
	inst, version, err := m.instance(ctx, e.renewal.Instance)
	if err != nil {
		return err
	}
	inst.register(info)
	next := e.renewal
	next.Validity = v
	changed, err1 := m.records.Seal(kindInstance, inst.Instance.ID, version, inst)
	renewed, err2 := m.records.Seal(kindRenewal, e.vimID, e.version, next)
	b.Put = append(b.Put, changed)
	if v == (Validity{}) {
		b.Delete = append(b.Delete, renewed)
	} else {
		b.Put = append(b.Put, renewed)
	}
	return errors.Join(err1, err2, m.records.appendChange(b, InstanceChanged, inst.identity(), nil))
}

// restoreEntry writes the entry of the instance into a registry of the caller.
func (m *Manager) restoreEntry(ctx context.Context, e *endingEntry) error {
	inst, _, err := m.instance(ctx, e.renewal.Instance)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	if err == nil && slices.Contains(inst.RegisteredVIMs, e.vimID) {
		list := inst.Instance.VimConnectionInfo
		if i := slices.IndexFunc(list, func(v VimConnectionInfo) bool { return v.VimID == e.vimID }); i >= 0 {
			list[i].Tenant = inst.Tenant
			return putRegistered(ctx, m.vims, list[i])
		}
	}
	return m.vims.Remove(ctx, e.instance.Tenant, e.vimID)
}
