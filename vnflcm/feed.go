package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// ChangeKind is the kind of a ChangeEntry.
type ChangeKind string

// The kinds of changes.
const (
	InstanceCreated ChangeKind = "instance-created"
	InstanceDeleted ChangeKind = "instance-deleted"
	// InstanceChanged: attributes of the instance have changed while an operation runs: its resources, its
	// vimConnectionInfo, or metadata that a driver has published. The renewal of credentials in vimConnectionInfo is
	// reported without an operation too.
	InstanceChanged ChangeKind = "instance-changed"
	// OperationEntered: an operation has entered a state. In STARTING and in the final states attributes of the
	// instance have changed too.
	OperationEntered ChangeKind = "operation"
	// InstanceCertificatesEnd: the end of certificates of the instance is near (Manager.CertificateStatus). No attribute has changed.
	InstanceCertificatesEnd ChangeKind = "instance-certificates-end"
	// PackageOnboarded, PackageStateChanged and PackageDeleted: an onboarded VNF package can be used, is enabled or disabled, or was removed.
	PackageOnboarded    ChangeKind = "package-onboarded"
	PackageStateChanged ChangeKind = "package-state"
	PackageDeleted      ChangeKind = "package-deleted"
)

// Cursor is a place in the feed of changes. "" is before the first change.
type Cursor string

// ChangeEntry is one entry of the feed of changes.
type ChangeEntry struct {
	ID   string
	Time time.Time // by the clock of the process that made the change
	Kind ChangeKind
	VNF  VNFIdentity
	// Operation is the operation at that moment, nil if the change does not belong to one.
	Operation *VnfLcmOpOcc
	// Certificates are those whose end is near, the first one first, at most 100. Of each, another limit has passed: 60, 30, 14, 7, 3 or
	// 1 days before its end, and 365 days before the end of an authority.
	Certificates []Certificate `json:",omitempty"`
	// Package is set for a change of a VNF package. VNF then has the attributes of its VNFD and its tenant, and no instance.
	Package *ChangedPackage `json:",omitempty"`
}

// ChangedPackage is a VNF package after a change.
type ChangedPackage struct {
	ID               string   `json:"id"`
	OperationalState string   `json:"operationalState"` // ENABLED or DISABLED
	VnfmInfo         []string `json:"vnfmInfo,omitempty"`
}

// PackageChange is a change of a package for the feed (Manager.WriteDocuments).
type PackageChange struct {
	Kind    ChangeKind
	VNF     VNFIdentity
	Package ChangedPackage
}

// VNFIdentity has the attributes by which filters of subscriptions select a VNF instance (SOL003 v2.6.1 4.4.1.5).
type VNFIdentity struct {
	InstanceID         string `json:"instanceId"`
	InstanceName       string `json:"instanceName,omitempty"`
	VnfdID             string `json:"vnfdId"`
	VnfProvider        string `json:"vnfProvider"`
	VnfProductName     string `json:"vnfProductName"`
	VnfSoftwareVersion string `json:"vnfSoftwareVersion"`
	VnfdVersion        string `json:"vnfdVersion"`
	Tenant             string `json:"tenant,omitempty"`
}

func (rec *instanceRecord) identity() VNFIdentity {
	i := rec.Instance
	return VNFIdentity{InstanceID: i.ID, InstanceName: i.VnfInstanceName, VnfdID: i.VnfdID, VnfProvider: i.VnfProvider,
		VnfProductName: i.VnfProductName, VnfSoftwareVersion: i.VnfSoftwareVersion, VnfdVersion: i.VnfdVersion, Tenant: rec.Tenant}
}

// changeRecord is the stored form of a change.
type changeRecord struct {
	Time      time.Time        `json:"time"`
	Kind      ChangeKind       `json:"kind"`
	VNF       VNFIdentity      `json:"vnf"`
	Operation *operationRecord `json:"operation,omitempty"` // only what Operation shows of it
	// Certificates are set for InstanceCertificatesEnd.
	Certificates []Certificate   `json:"certificates,omitempty"`
	Package      *ChangedPackage `json:"package,omitempty"`
}

func (c changeRecord) Index() store.Index { return store.Index{Start: c.Time.UnixNano()} }

// appendChange adds a change to the feed in the batch that makes it. op is the operation that has entered a state, or nil.
func (r *records) appendChange(b *store.Batch, kind ChangeKind, vnf VNFIdentity, op *operationRecord) error {
	change := changeRecord{Time: time.Now().Round(0), Kind: kind, VNF: vnf}
	if op != nil {
		change.Operation = &operationRecord{Occ: op.Occ, VNF: op.VNF, Drivers: op.Drivers, VIMType: op.VIMType}
	}
	return r.appendRecord(b, change)
}

func (r *records) appendRecord(b *store.Batch, change changeRecord) error {
	record, err := r.Seal(kindChange, uuid.NewString(), 0, change)
	b.Append, b.Wake = append(b.Append, record), true
	return err
}

// LatestChange returns the place in the feed behind all changes that Changes returns now.
func (m *Manager) LatestChange(ctx context.Context) (Cursor, error) {
	_, position, err := m.cfg.Store.Feed(ctx, "", 0)
	return Cursor(position), err
}

// AwaitChanges is Changes, and waits until there is a change. ErrShutdown: the Manager is closed.
func (m *Manager) AwaitChanges(ctx context.Context, after Cursor, limit int) (list []ChangeEntry, next Cursor, err error) {
	m.startWatching(ctx)
	poll := newPoll()
	for {
		changed := m.changed.wait() // before the feed is read: no change is missed
		if list, next, err = m.Changes(ctx, after, limit); len(list) > 0 || err != nil {
			return list, next, err
		}
		if m.isClosed() {
			return nil, after, ErrShutdown
		}
		select {
		case <-ctx.Done():
			return nil, after, fmt.Errorf("waiting for a change: %w", context.Cause(ctx))
		case <-changed:
		case <-time.After(poll.NextBackOff()):
		}
	}
}

// Changes returns at most limit of the changes after a place in the feed, oldest first, and the place behind them. Every
// change of the existence or of the attributes of a VNF instance, and of the state of an operation, is in the feed: it is
// written together with the change itself. Any process can read the feed, from any place. PurgeOperations removes old
// changes.
//
// Of changes that cannot be read, Changes returns the rest, and an ErrUnreadable that names them; next is behind them.
func (m *Manager) Changes(ctx context.Context, after Cursor, limit int) (list []ChangeEntry, next Cursor, err error) {
	stored, position, err := m.cfg.Store.Feed(ctx, string(after), limit)
	if err != nil {
		return nil, after, err
	}
	var errs []error
	for _, record := range stored {
		var c changeRecord
		if err := m.records.Open(record, &c); err != nil {
			errs = append(errs, err)
			continue
		}
		shown := ChangeEntry{ID: record.ID, Time: c.Time, Kind: c.Kind, VNF: c.VNF, Certificates: c.Certificates, Package: c.Package}
		if c.Operation != nil {
			shown.Operation = m.occurrence(c.Operation)
		}
		list = append(list, shown)
	}
	return list, Cursor(position), errors.Join(errs...)
}
