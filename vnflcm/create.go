package vnflcm

import (
	"context"
	"errors"
	"fmt"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// Create makes a VNF instance identifier (SOL003 v2.6.1 5.4.2.3.1): ErrNoPackage if there is no package with
// that VNFD, ErrState if several packages in a folder (DirPackages) have it. The package must be trusted, as it must be again when the
// instance is instantiated.
func (m *Manager) Create(ctx context.Context, req CreateVnfRequest) (*VnfInstance, error) {
	if req.VnfdID == "" {
		return nil, &ParamError{Path: "vnfdId", Reason: "is required"}
	}
	made := instanceRecord{Tenant: req.Tenant, Instance: VnfInstance{VnfdID: req.VnfdID}}
	if err := m.assignPackage(ctx, &made); err != nil {
		return nil, err
	}
	pkg, err := m.openPackage(ctx, &made)
	if err != nil {
		return nil, err
	}
	defer closePackage(pkg)
	rec := instanceRecord{Tenant: req.Tenant, Instance: newInstance(VnfInstance{ID: m.cfg.NewID(), VnfInstanceName: req.VnfInstanceName,
		VnfInstanceDescription: req.VnfInstanceDescription, VnfdID: req.VnfdID, VnfPkgID: made.Instance.VnfPkgID, Metadata: req.Metadata}, pkg.VNFD())}
	size, err := rec.Instance.extent()
	if err = errors.Join(err, size.check(extent{})); err != nil {
		return nil, err
	}
	if err := m.writeNew(ctx, &rec); err != nil {
		return nil, err
	}
	view := rec.view(m.cfg.PublicParams...)
	view.Version = documentVersion(1, 0)
	return view, nil
}

// writeNew writes a new instance.
func (m *Manager) writeNew(ctx context.Context, rec *instanceRecord) error {
	for tries := 0; ; tries++ {
		var b store.Batch
		err := errors.Join(m.dependOnPackage(ctx, &b, rec), m.addInstance(&b, rec))
		if err == nil {
			err = m.cfg.Store.Apply(ctx, b)
		}
		if !errors.Is(err, ErrConflict) || len(b.Assert) == 0 || tries == maxPackageConflicts {
			return err
		}
	}
}

// newInstance returns an instance with the names of given and the data of the VNFD.
func newInstance(given VnfInstance, vnfd *tosca.VNFD) VnfInstance {
	return VnfInstance{ID: given.ID, VnfInstanceName: given.VnfInstanceName, VnfInstanceDescription: given.VnfInstanceDescription,
		VnfdID: given.VnfdID, VnfPkgID: given.VnfPkgID, VnfProvider: vnfd.Provider, VnfProductName: vnfd.ProductName, VnfSoftwareVersion: vnfd.SoftwareVersion,
		VnfdVersion: vnfd.Version, InstantiationState: NotInstantiated, Metadata: given.Metadata}
}

// addInstance adds to b a new instance and its entry in the change feed.
func (m *Manager) addInstance(b *store.Batch, rec *instanceRecord) error {
	record, err := m.records.Seal(kindInstance, rec.Instance.ID, 0, rec)
	b.Put = append(b.Put, record)
	return errors.Join(err, m.records.appendChange(b, InstanceCreated, rec.identity(), nil))
}

// Delete removes an instance that is not instantiated (SOL003 v2.6.1 5.4.3.3.5): ErrState if it is,
// ErrConflict while an operation holds it or if it changes at the same time. ifMatch is the Version that the instance must
// still have (ErrPrecondition), "" for any. Its operation occurrences stay, without
// their evidence.
func (m *Manager) Delete(ctx context.Context, instanceID, ifMatch string) error {
	rec, version, err := m.instanceAt(ctx, instanceID, ifMatch)
	if err != nil {
		return err
	}
	if err := m.heldBy(ctx, rec); err != nil {
		return err
	}
	if rec.Instance.InstantiationState != NotInstantiated {
		return fmt.Errorf("%w: VNF instance %s is %s, terminate it first", ErrState, instanceID, rec.Instance.InstantiationState)
	}
	b := store.Batch{Delete: []store.Record{{Kind: kindInstance, ID: instanceID, Version: version}}}
	if err := m.records.dropEvidence(ctx, &b, instanceID+"/"); err != nil {
		return err
	}
	if err := m.records.appendChange(&b, InstanceDeleted, rec.identity(), nil); err != nil {
		return err
	}
	return m.cfg.Store.Apply(ctx, b)
}
