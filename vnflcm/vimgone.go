package vnflcm

import (
	"context"
	"errors"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// InstanceForgetter is an InfraDriver that keeps data of instances outside of the VIM and of Operation.State, such as files.
type InstanceForgetter interface {
	// ForgetInstance removes these data. The Manager calls it in the place of Terminate for an instance whose VIM was a cluster that
	// no longer exists. It may be called again, and does not connect to the VIM.
	ForgetInstance(ctx context.Context, op *Operation) error
}

// removedVIM is the record of a VIM that a VNF had become. It is written when an operation of that VNF removes the entry from the
// registry, or the VNF is given up. It counts only while the VIM is not registered and the VNF is not instantiated: then VNF instances on
// the VIM can be terminated without the VIM. A VIM that is registered again by an operation or used for an instantiation has no record.
type removedVIM struct {
	Instance string `json:"instance"` // the VNF that was the VIM
}

// findGone looks for the reason why the entry of an instance's VIM is missing. unresolved is the error of resolving the entry; without an
// error the request of the instantiation is a connection without the entry. If the VIM was a cluster that no longer exists, findGone
// makes the session ready for a termination without the VIM.
func (s *session) findGone(ctx context.Context, inst *instanceRecord, unresolved error) error {
	vimID := inst.vimID()
	if _, err := s.m.lookup(inst).get(ctx, vimID); vimID == "" || !errors.Is(err, ErrNotFound) || s.op.Kind == OpInstantiate && s.op.phase != undoPlan {
		return unresolved
	}
	cluster, exists, err := s.m.removedCluster(ctx, vimID)
	if err != nil || unresolved == nil && (cluster == "" || exists) {
		return err
	}
	fault := &ParamError{Path: "vimConnectionInfo[0].vimId", Value: vimID}
	switch {
	case cluster == "":
		fault.Reason = "is no registered VIM: register it again, or give the VNF instance up with Manager.Abandon"
		return fault
	case exists:
		fault.Reason = "is a cluster that has no entry in the registry while its VNF is instantiated: heal or terminate the cluster first"
		return fault
	case s.op.Kind != OpTerminate && s.op.Kind != OpInstantiate:
		fault.Reason = "is a cluster that was terminated or given up: the VNF can only be terminated"
		return fault
	}
	s.op.VIM, s.form, s.op.VIMGone = VimConnectionInfo{VimID: vimID}, inst.VIMForm, true
	if list := inst.Instance.VimConnectionInfo; len(list) > 0 {
		s.op.VIM.ID, s.op.VIM.VimType = list[0].ID, list[0].VimType
	}
	s.infra = goneVIM{cluster: cluster, driver: s.m.cfg.infra(s.op.VIM.VimType)}
	return nil
}

// removedCluster returns the VNF that was a VIM, "" if there is no record of that, and whether the VNF is still instantiated.
func (m *Manager) removedCluster(ctx context.Context, vimID string) (cluster string, exists bool, err error) {
	var removed removedVIM
	if _, err := m.records.Get(ctx, kindRemovedVIM, vimID, &removed); err != nil {
		return "", false, ignoreNotFound(err)
	}
	inst, _, err := m.instance(ctx, removed.Instance)
	if err != nil {
		return removed.Instance, false, ignoreNotFound(err)
	}
	return removed.Instance, inst.Instance.InstantiationState == Instantiated, nil
}

// checkRegistered adds to b that the VIM of a new instance is still registered and has no removedVIM. The error is errInstanceChanged if
// the VIM is no longer registered.
func (m *Manager) checkRegistered(ctx context.Context, b *store.Batch, inst *instanceRecord) error {
	vimID := inst.vimID()
	if inst.VIMForm == vimComplete || vimID == "" {
		return nil
	}
	if err := m.records.Drop(ctx, b, kindRemovedVIM, vimID); err != nil {
		return err
	}
	err := m.assertRegistered(ctx, b, inst.Tenant, vimID) // after the version of the removedVIM was read: a later removal changes that
	if errors.Is(err, ErrNotFound) {
		return errInstanceChanged
	}
	return err
}

// assertRegistered adds to b that the entry of a VIM stays as it is, if the registry is the Manager's own. The removedVIM does not show a
// deletion by VIMRegistry, which writes and deletes the removedVIM.
func (m *Manager) assertRegistered(ctx context.Context, b *store.Batch, tenant, vimID string) error {
	v, stored := m.vims.(*storeVIMs)
	if !stored {
		_, err := vimLookup{vims: m.vims, tenant: tenant}.get(ctx, vimID)
		return err
	}
	_, version, err := v.visible(ctx, tenant, vimID)
	b.Assert = append(b.Assert, store.Record{Kind: kindVIM, ID: vimID, Version: version})
	return err
}

// goneVIM is the InfraDriver of a VIM that was a cluster and no longer exists. It can only terminate.
type goneVIM struct {
	cluster string      // id of the VNF that was the VIM
	driver  InfraDriver // driver of the VIM's type; nil if the Manager has no driver of this type
}

func (goneVIM) Plan(_ context.Context, op *Operation) (Change, error) {
	return Change{Removed: op.VNFCs}, nil
}

func (goneVIM) Instantiate(context.Context, *Operation) error { return errVIMGone }
func (goneVIM) Scale(context.Context, *Operation) error       { return errVIMGone }
func (goneVIM) Heal(context.Context, *Operation) error        { return errVIMGone }

func (g goneVIM) Terminate(ctx context.Context, op *Operation) error {
	const text = "the VIM was a cluster that was terminated or given up: the resources of the VNF on it are not removed"
	op.Log.WarnContext(ctx, text, "vim", op.VIM.VimID, "cluster", g.cluster)
	op.Report(ctx, text)
	if driver, able := g.driver.(InstanceForgetter); able {
		return driver.ForgetInstance(ctx, op)
	}
	return nil
}

func (goneVIM) Resources(context.Context, *Operation) (Resources, error) { return Resources{}, nil }

var errVIMGone = errors.New("the VIM was a cluster that no longer exists")
