package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// Adopter is an InfraDriver that can take over resources which another program has made for a VNF.
type Adopter interface {
	// Adopt reads these resources and changes nothing. resource identifies them on the VIM, for example by the id of a
	// stack. op is like that of an instantiation, but Levels are the current ones of the VNF. Adopt reports every fault
	// of the request, and data that a later operation would lose because the package does not describe these resources
	// (*ParamError, joined). Later calls find the resources by their Metadata or by Adopted.State.
	Adopt(ctx context.Context, op *Operation, resource string) (Adopted, error)
}

// Adopted is what an InfraDriver has read of the resources of another program.
type Adopted struct {
	Resources
	// Levels are the scale levels that the resources show. They count for aspects that are missing in the caller's scale
	// status. Nil: the levels of the request count.
	Levels map[string]int
	// State has the data that later operations read with Operation.State, by key. They are written together with the instance.
	State map[string]any
	// Owned identifies the resources that belong to the instance from now on by ids that are unique among all VIMs, such as UIDs of
	// objects. While the instance is instantiated, no other adoption may return one of them. VNFCs need not be listed: they are
	// compared by their ResourceID.
	Owned []string
}

// Adopt takes over a VNF that another program has instantiated, for example OpenStack Tacker. Afterwards the VNF
// instance is INSTANTIATED, and operations on it work as for a VNF that this Manager has instantiated. Adopt reads the
// VIM, changes nothing there, runs no hook and asks for no grant.
//
// known is the VNF instance in the form of the other program. Adopt takes from it ID (default: a new one), VnfdID,
// VnfInstanceName, VnfInstanceDescription, Tenant, Metadata, Extensions, VnfConfigurableProperties and the scale status
// in InstantiatedVnfInfo (default: Adopted.Levels, else the status of req). The VNFCs get new ids. req is the request that the VNF was
// instantiated with. resource identifies the VNF on the VIM; the InfraDriver defines its form.
//
// All faults are reported at once (*ParamError, joined; ErrInvalidRequest), also a number of VNFCs that contradicts the
// scale status. ErrDriverAnswer: two VNFCs have one id, or a VNFC has a connection point that its VDU does not have.
// ErrNotSupported: the InfraDriver is not an Adopter. ErrConflict: an instance with this ID exists, or another instance has a
// machine or an adopted resource of the VNF, or the VIM was removed meanwhile.
func (m *Manager) Adopt(ctx context.Context, known VnfInstance, req InstantiateVnfRequest, resource string) (*VnfInstance, error) {
	rec := &instanceRecord{Tenant: known.Tenant, Initial: req, Instance: VnfInstance{VnfdID: known.VnfdID}}
	if err := errors.Join(known.checkAdoptable(), checkAdopted(known, req)); err != nil {
		return nil, err
	}
	if err := m.assignPackage(ctx, rec); err != nil {
		return nil, err
	}
	pkg, err := m.openPackage(ctx, rec)
	if err != nil {
		return nil, err
	}
	defer closePackage(pkg)
	known.VnfPkgID = rec.Instance.VnfPkgID
	if known.ID == "" {
		known.ID = m.cfg.NewID()
	}
	rec.Instance = newInstance(known, pkg.VNFD())
	if rec.Instance.Extensions = known.Extensions; known.Extensions.IsZero() {
		rec.Instance.Extensions = req.Extensions
	}
	if rec.Instance.VnfConfigurableProperties = known.VnfConfigurableProperties; known.VnfConfigurableProperties.IsZero() {
		rec.Instance.VnfConfigurableProperties = req.VnfConfigurableProperties
	}
	state, err := m.readAdopted(ctx, pkg, rec, known.scaleStatus(), resource)
	if err != nil {
		return nil, err
	}
	if err := m.records.Update(ctx, func(ctx context.Context, b *store.Batch) error { return m.addAdopted(ctx, b, rec, state) }); err != nil {
		return nil, err
	}
	return m.Get(ctx, rec.Instance.ID)
}

// checkAdoptable returns the faults of a VnfInstance that is to be adopted.
func (i *VnfInstance) checkAdoptable() error {
	var faults []error
	if strings.Contains(i.ID, "/") { // ids of records are paths
		faults = append(faults, &ParamError{Path: "id", Value: i.ID, Reason: "has a slash"})
	}
	if i.VnfdID == "" {
		faults = append(faults, &ParamError{Path: "vnfdId", Reason: "is required"})
	}
	if i.InstantiationState == NotInstantiated {
		faults = append(faults, &ParamError{Path: "instantiationState", Value: string(i.InstantiationState), Reason: "an instance without resources cannot be adopted"})
	}
	return errors.Join(faults...)
}

// checkAdopted refuses values that a document shows as ***, and text that is not stored as it is.
func checkAdopted(known VnfInstance, req InstantiateVnfRequest) error {
	attributes, err1 := NewParams(map[string]Params{extensionsPath: known.Extensions, configurablePath: known.VnfConfigurableProperties})
	request, err2 := NewParams(req)
	return errors.Join(err1, err2, checkParams(attributes), checkParams(request))
}

func (i *VnfInstance) scaleStatus() []ScaleInfo {
	if i.InstantiatedVnfInfo == nil {
		return nil
	}
	return i.InstantiatedVnfInfo.ScaleStatus
}

// readAdopted checks the request and reads the resources into rec. It returns the data of the driver.
func (m *Manager) readAdopted(ctx context.Context, pkg *tosca.Package, rec *instanceRecord, status []ScaleInfo, resource string) (state map[string]any, err error) {
	params, err := NewParams(rec.Initial)
	if err != nil {
		return nil, err
	}
	op := &operationRecord{Occ: VnfLcmOpOcc{ID: m.cfg.NewID(), VnfInstanceID: rec.Instance.ID, Operation: OpInstantiate, OperationParams: params}}
	s, err := m.session(ctx, openPackages{own: pkg}, rec, op, "adopt")
	if err != nil {
		return nil, err
	}
	adopter, able := s.infra.(Adopter)
	if !able {
		return nil, fmt.Errorf("%w: the driver of VIM type %s cannot adopt", ErrNotSupported, s.op.VIM.VimType)
	}
	rec.Links, rec.ManagedLinks = op.links(rec)
	faults := []error{s.pinVIM(ctx, rec)}
	s.op.Levels, err = s.adoptedLevels(status, nil)
	faults = append(faults, err, s.checkHooks(), checkRequest(s.op), s.validate(ctx, s.op))
	var found Adopted
	if err == nil { // without levels the driver does not know what to expect
		err = s.call(ctx, func() (err error) { found, err = adopter.Adopt(ctx, s.op, resource); return err })
		faults = append(faults, err)
	}
	if err == nil {
		s.op.Levels, err = s.adoptedLevels(status, found.Levels)
		faults = append(faults, err)
	}
	if err == nil {
		faults = append(faults, checkNumbers(s.op, found.VNFCs), s.checkKnown(ctx, nil, found.VNFCs))
	}
	rec.Instance.InstantiationState, rec.Levels, rec.Resources, rec.Adopted = Instantiated, s.op.Levels, found.Resources, found.Owned
	return found.State, s.masked(errors.Join(faults...))
}

// adoptedLevels are the scale levels of a VNF that is adopted: those of status, for the aspects that status lacks those of found, and
// else those of the request.
func (s *session) adoptedLevels(status []ScaleInfo, found map[string]int) (map[string]int, error) {
	size, err := s.op.Flavour.InitialSize(s.op.Instantiate.targetSize())
	if err != nil {
		return nil, paramErrors(err)
	}
	levels := size.ScaleStatus
	maps.Copy(levels, found)
	for _, info := range status {
		levels[info.AspectID] = info.ScaleLevel
	}
	size, err = s.op.Flavour.SizeAt(s.op.Instantiate.targetSize(), levels)
	return size.ScaleStatus, paramErrors(err)
}

// checkNumbers reports each VDU with another number of VNFCs than the scale levels say.
func checkNumbers(op *Operation, now []VNFC) error {
	want, err := op.Instances()
	if err != nil {
		return err
	}
	have := numbersOf(now)
	for vdu := range have {
		want[vdu] += 0
	}
	var faults []error
	for _, vdu := range sortedKeys(want) {
		if have[vdu] != want[vdu] {
			faults = append(faults, &ParamError{Path: "instantiatedVnfInfo.scaleStatus",
				Reason: fmt.Sprintf("the VNF has %d VNFCs of VDU %s, not %d as its scale levels say", have[vdu], vdu, want[vdu])})
		}
	}
	return errors.Join(faults...)
}

// addAdopted adds to b the instance and the data of its driver, unless another instance has one of its machines. The record of the
// latest adoption, which each adoption replaces, keeps two adoptions from being written side by side.
func (m *Manager) addAdopted(ctx context.Context, b *store.Batch, rec *instanceRecord, state map[string]any) error {
	if err := m.records.Put(ctx, b, kindAdoption, "latest", rec.Instance.ID); err != nil {
		return err
	}
	err := m.records.EachPage(ctx, store.Query{Kind: kindInstance}, func(list []store.Record) error {
		for _, stored := range list {
			var other instanceRecord
			if err := m.records.Open(stored, &other); err != nil {
				return err
			}
			if err := rec.shares(&other); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := m.checkRegistered(ctx, b, rec); errors.Is(err, errInstanceChanged) {
		return fmt.Errorf("%w: the VIM %s was removed from the registry meanwhile", ErrConflict, rec.vimID())
	} else if err != nil {
		return err
	}
	for _, key := range sortedKeys(state) {
		if err := m.records.Put(ctx, b, kindState, rec.Instance.ID+"/"+key, state[key]); err != nil {
			return err
		}
	}
	return errors.Join(m.dependOnPackage(ctx, b, rec), m.addInstance(b, rec), m.noteAdopted(ctx, b, rec.Instance.ID))
}

// uidKey is the key of VNFC.Metadata with the UID of a pod: pods of several namespaces and clusters can have one name.
const uidKey = "uid"

// sameResource reports whether two VNFCs are one machine or one pod.
func (v VNFC) sameResource(other VNFC) bool {
	return v.ResourceID == other.ResourceID && v.Metadata[uidKey] == other.Metadata[uidKey]
}

// shares returns ErrConflict if another instance has the same id, or one of the machines or adopted resources.
func (rec *instanceRecord) shares(other *instanceRecord) error {
	if other.Instance.ID == rec.Instance.ID {
		return fmt.Errorf("%w: there is a VNF instance %s", ErrConflict, rec.Instance.ID)
	}
	if i := slices.IndexFunc(rec.Adopted, func(id string) bool { return slices.Contains(other.Adopted, id) }); i >= 0 {
		return fmt.Errorf("%w: the VNF instance %s has adopted the resource %s", ErrConflict, other.Instance.ID, rec.Adopted[i])
	}
	for _, v := range rec.Resources.VNFCs {
		if slices.ContainsFunc(other.Resources.VNFCs, v.sameResource) {
			return fmt.Errorf("%w: the machine %s, resource %s, belongs to the VNF instance %s", ErrConflict, v, v.ResourceID, other.Instance.ID)
		}
	}
	return nil
}
