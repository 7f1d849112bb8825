package vnflcm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/vnfkit/vnfkit/internal/bounded"
	"github.com/vnfkit/vnfkit/vnflcm/internal/schedule"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// CertificateStatus is what the Manager knows of the certificates of a VNF instance without asking its machines.
type CertificateStatus struct {
	Certificates []KnownCertificate // the one that ends first is first
	// Fault names what could not be read at the last attempt, and why; "" if everything was read. Secrets are masked.
	Fault string
	// Next is when the certificates are to be read next; zero: the Manager has no record of the instance yet.
	Next time.Time
}

// KnownCertificate is a Certificate as it was last read.
type KnownCertificate struct {
	Certificate

	Read time.Time `json:"read"` // by the clock of the process that has read it
}

// CertificateStatus returns the certificates of a VNF instance as they were last read: once a day by those drivers that can read
// certificates without a login (ServedCertificateReader), after each operation, and by Certificates. It has no certificates if none were
// read yet. At most 100 certificates of a machine are kept, and 2,000 of an instance: those that end first. ErrNotFound: the instance does
// not exist.
func (m *Manager) CertificateStatus(ctx context.Context, instanceID string) (*CertificateStatus, error) {
	if _, _, err := m.instance(ctx, instanceID); err != nil {
		return nil, err
	}
	rec, _, err := m.expiry(ctx, instanceID)
	if err != nil {
		return nil, err
	}
	status := &CertificateStatus{Fault: rec.Fault, Next: rec.Due}
	for _, c := range rec.Certificates {
		status.Certificates = append(status.Certificates, c.KnownCertificate)
	}
	return status, nil
}

// Bounds of what is kept of certificates, which come from machines.
const (
	maxOfMachine   = 100
	maxOfInstance  = 2000
	maxCertificate = 256 // bytes of a name
	maxFault       = 2 << 10
	maxAnnounced   = 100
)

const (
	lookEvery = 24 * time.Hour
	// shortestLook is the shortest pause between two looks at an instance, if the next limit of a certificate passes soon.
	shortestLook = time.Minute
	// afterOperation is when the certificates are read after an operation. Operations often follow each other.
	afterOperation = time.Minute
	// firstLookPause is the pause after a look that has read nothing. It doubles with each.
	firstLookPause = 5 * time.Minute
)

// expiryRecord is the stored form of the certificates of an instance, under the id of the instance.
type expiryRecord struct {
	Due          time.Time           `json:"due"`
	LoginAfter   time.Time           `json:"loginAfter,omitzero"` // end of an operation after which no login has succeeded
	Failures     int                 `json:"failures,omitempty"`  // looks that have read nothing, since the last one that has
	Fault        string              `json:"fault,omitempty"`
	Certificates []storedCertificate `json:"certificates,omitempty"` // the one that ends first is first
	Renews       bool                `json:"renews,omitempty"`       // a driver renews certificates
	Failed       time.Time           `json:"failed,omitzero"`        // end of the last renewal, if it was not COMPLETED
	// Limit and Task are the index. Limit is the least limit that has passed: days before the end, "0" after it.
	Limit string          `json:"limit,omitempty"`
	Task  MaintenanceTask `json:"task,omitempty"` // that is due
}

func (r expiryRecord) Index() store.Index {
	return store.Index{State: r.Limit, Operation: string(r.Task), Start: r.Due.UnixNano()}
}

type storedCertificate struct {
	KnownCertificate

	// Since is when a new certificate was found in place of an earlier one. NotBefore may be much earlier: kubeadm copies that of the authority.
	Since     time.Time    `json:"since,omitzero"`
	Announced announcement `json:"announced,omitzero"`
	// Renewed is the NotAfter that the certificate still had after a renewal: another renewal would not change the certificate either.
	Renewed time.Time `json:"renewed,omitzero"`
}

// announcement says which limit was announced last, and of which certificate under the name: another server may answer at a shared address.
type announcement struct {
	NotAfter time.Time `json:"notAfter"`
	Days     int       `json:"days"`
}

func (c storedCertificate) life() schedule.Life {
	life := schedule.Life{NotBefore: c.NotBefore, NotAfter: c.NotAfter, IsCA: c.IsCA}
	if c.Since.After(life.NotBefore) {
		life.NotBefore = c.Since
	}
	return life
}

// renewable reports whether the certificate is to be renewed without an order.
func (c storedCertificate) renewable(now time.Time) bool {
	return c.life().Renewable(now) && !c.Renewed.Equal(c.NotAfter)
}

// expiry returns the record of an instance, an empty record if nothing was read yet. Certificates are read again, so a damaged record is no error.
func (m *Manager) expiry(ctx context.Context, instanceID string) (*expiryRecord, int64, error) {
	var rec expiryRecord
	stored, err := m.cfg.Store.Get(ctx, kindExpiry, instanceID)
	if errors.Is(err, ErrNotFound) {
		return &rec, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	if err := m.records.Open(stored, &rec); err != nil {
		m.cfg.Logger.WarnContext(ctx, "the record of certificates cannot be read, it is written again", "instance", instanceID, "error", err)
		return &expiryRecord{}, stored.Version, nil
	}
	return &rec, stored.Version, nil
}

// storeReading stores what was read of the certificates of an instance, and announces certificates whose end is near in the same batch. It
// removes the record of an instance that is not instantiated any more.
func (m *Manager) storeReading(ctx context.Context, instanceID string, found reading) error {
	var near []Certificate
	err := m.records.Update(ctx, func(ctx context.Context, b *store.Batch) error {
		near = nil
		inst, instVersion, err := m.instance(ctx, instanceID)
		if errors.Is(err, ErrNotFound) || err == nil && inst.instantiated() != nil {
			return m.records.Drop(ctx, b, kindExpiry, instanceID)
		}
		var rec *expiryRecord
		var version int64
		if err == nil {
			rec, version, err = m.expiry(ctx, instanceID)
		}
		if err != nil {
			return err
		}
		now := time.Now().Round(0)
		rec.take(found, inst.machines(), now)
		if rec.Limit, rec.Task = "", ""; !inst.Stopped { // its machines are off: they are renewed after the start
			near = rec.announce(now)
			rec.classify(now)
		}
		b.Assert = append(b.Assert, store.Record{Kind: kindInstance, ID: instanceID, Version: instVersion})
		return errors.Join(m.records.putExpiry(b, instanceID, version, rec), m.records.appendExpiry(b, inst.identity(), near, now))
	})
	if err == nil && len(near) > 0 {
		m.announceEnd(ctx, instanceID, near)
	}
	return err
}

func (r *records) putExpiry(b *store.Batch, instanceID string, version int64, rec *expiryRecord) error {
	record, err := r.Seal(kindExpiry, instanceID, version, rec)
	b.Put = append(b.Put, record)
	return err
}

func (r *records) appendExpiry(b *store.Batch, vnf VNFIdentity, near []Certificate, now time.Time) error {
	if len(near) == 0 {
		return nil
	}
	return r.appendRecord(b, changeRecord{Time: now, Kind: InstanceCertificatesEnd, VNF: vnf, Certificates: near[:min(len(near), maxAnnounced)]})
}

// announceEnd reports certificates whose end is near to the log and the observer.
func (m *Manager) announceEnd(ctx context.Context, instanceID string, near []Certificate) {
	first := near[0]
	m.cfg.Logger.WarnContext(ctx, "certificates end", "instance", instanceID, "certificates", len(near), "first", first.NotAfter, "name", first.Name, "machine", first.Machine)
	if m.cfg.Observe != nil {
		text := fmt.Sprintf("%d certificates end, the first one on %s: %s", len(near), first.NotAfter.Format(time.DateOnly), first.title())
		observe(m.cfg.Logger, m.cfg.Observe, Event{Time: time.Now(), Kind: CertificatesEnd, InstanceID: instanceID, Message: text})
	}
}

func (c Certificate) title() string {
	if c.Machine == "" {
		return c.Name
	}
	return c.Name + " of " + c.Machine
}

// machines are the names of the machines of an instance, by their ids.
func (rec *instanceRecord) machines() map[string]string {
	out := map[string]string{}
	for _, v := range rec.Resources.VNFCs {
		out[v.ID] = v.Label()
	}
	return out
}

// take adds a reading to the record, and sets when the next one is due.
func (r *expiryRecord) take(found reading, machines map[string]string, now time.Time) {
	supported := !errors.Is(found.fault, ErrNotSupported)
	switch {
	case found.fault != nil && supported:
		r.Fault = printable(bounded.Text(found.fault.Error(), maxFault), '\n')
	case found.tried || !supported:
		r.Fault = ""
	}
	r.merge(found, machines, now)
	switch {
	case !found.nothing():
		r.Failures, r.Renews = 0, found.renews
	case supported:
		r.Failures++
	}
	if r.LoginAfter.After(found.of) { // an operation has ended meanwhile
		return
	}
	if found.loggedIn && !found.nothing() {
		r.LoginAfter = time.Time{}
	}
	r.setDue(now)
}

// setDue sets when the certificates are to be read next: when another limit passes, at the latest after a day.
func (r *expiryRecord) setDue(now time.Time) {
	r.Due = now.Add(lookEvery)
	if r.Failures > 0 {
		r.Due = now.Add(min(lookEvery, firstLookPause<<min(r.Failures-1, 16)))
	}
	for _, c := range r.Certificates {
		if next := c.life().Next(now); !next.IsZero() && next.Before(r.Due) && r.Failures == 0 {
			r.Due = next
		}
	}
	if soonest := now.Add(shortestLook); r.Due.Before(soonest) {
		r.Due = soonest
	}
}

// certificateKey identifies a certificate of an instance.
type certificateKey struct{ on, name string }

// merge replaces the certificates that were read. Those of machines that no longer exist are removed, and those that are not found any more
// where everything was read.
func (r *expiryRecord) merge(found reading, machines map[string]string, now time.Time) {
	merged, was := map[certificateKey]storedCertificate{}, map[certificateKey]storedCertificate{}
	read := map[string]bool{} // machines whose certificates were read by a login
	for _, c := range found.logged {
		read[c.On] = c.On != ""
	}
	for _, c := range r.Certificates {
		key := certificateKey{c.On, c.Name}
		was[key] = c
		_, exists := machines[c.On]
		switch {
		case c.On == "" && found.servedAll, c.On != "" && (!exists || found.loggedAll || read[c.On]):
		default:
			merged[key] = c
		}
	}
	for _, c := range slices.Concat(found.logged, found.served) {
		machine, exists := machines[c.On]
		if c.On != "" && !exists {
			continue
		}
		c = c.bounded(machine)
		key := certificateKey{c.On, c.Name}
		merged[key] = was[key].replacedBy(c, now)
	}
	r.Certificates = firstEnding(merged)
}

// replacedBy returns the certificate that was read under the same name.
func (c storedCertificate) replacedBy(found Certificate, now time.Time) storedCertificate {
	next := storedCertificate{KnownCertificate: KnownCertificate{Certificate: found, Read: now}, Announced: c.Announced, Renewed: c.Renewed}
	switch {
	case found.NotAfter.Equal(c.NotAfter):
		next.Since = c.Since
		if found.NotBefore.IsZero() {
			next.NotBefore = c.NotBefore
		}
	case found.NotAfter.After(c.NotAfter) && !c.Read.IsZero() && found.On != "": // servers of a shared address answer in turn
		next.Since = now
	}
	return next
}

// firstEnding returns the certificates in the order of their ends, as many as are kept.
func firstEnding(all map[certificateKey]storedCertificate) []storedCertificate {
	var out []storedCertificate
	for _, c := range all {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b storedCertificate) int {
		return cmp.Or(a.NotAfter.Compare(b.NotAfter), cmp.Compare(a.On, b.On), cmp.Compare(a.Name, b.Name))
	})
	number := map[string]int{}
	out = slices.DeleteFunc(out, func(c storedCertificate) bool { number[c.On]++; return number[c.On] > maxOfMachine })
	return out[:min(len(out), maxOfInstance)]
}

// announce marks the certificates of which another limit has passed, and returns them.
func (r *expiryRecord) announce(now time.Time) (near []Certificate) {
	for i := range r.Certificates {
		c := &r.Certificates[i]
		days, passed := c.life().Limit(now)
		was := c.Announced
		if !passed || was.Days > 0 && was.Days <= days && was.NotAfter.Equal(c.NotAfter) {
			continue
		}
		c.Announced = announcement{c.NotAfter, days}
		near = append(near, c.Certificate)
	}
	return near
}

// classify sets the index of the record.
func (r *expiryRecord) classify(now time.Time) {
	least := -1
	r.Limit, r.Task = "", ""
	for _, c := range r.Certificates {
		days, passed := c.life().Limit(now)
		if ended := !now.Before(c.NotAfter); ended {
			days, passed = 0, true
		}
		if passed && (least < 0 || days < least) {
			least, r.Limit = days, strconv.Itoa(days)
		}
		if r.Renews && r.LoginAfter.IsZero() && c.renewable(now) {
			r.Task = RenewCertificates
		}
	}
}

// noteEnd adds to b that the certificates of the instance are to be read again, because an operation has ended.
func (r *run) noteEnd(ctx context.Context, b *store.Batch) error {
	task, maintained := r.rec.maintenance()
	if r.rec.Occ.Operation == OpModifyInfo && !maintained {
		return nil
	}
	if !slices.ContainsFunc(r.rec.Drivers, func(name string) bool { return readsCertificates(r.m.cfg.Mgmt[name]) }) {
		return nil
	}
	id := r.rec.Occ.VnfInstanceID
	rec, version, err := r.m.expiry(ctx, id)
	if err != nil {
		return err
	}
	now := time.Now().Round(0)
	if maintained && task.Task == RenewCertificates {
		rec.noteRenewal(r.rec.Occ.OperationState, now)
	}
	rec.LoginAfter, rec.Due, rec.Failures = now, now.Add(afterOperation), 0
	rec.classify(now)
	return r.m.records.putExpiry(b, id, version, rec)
}

// noteRenewal notes how a renewal has ended, and which certificates a completed one was for. Those that still have the same end afterwards
// are not renewed by another one.
func (r *expiryRecord) noteRenewal(state OperationState, now time.Time) {
	if state != Completed {
		r.Failed = now
		return
	}
	r.Failed = time.Time{}
	for i := range r.Certificates {
		if c := &r.Certificates[i]; c.life().Renewable(now) {
			c.Renewed = c.NotAfter
		}
	}
}
