package vnflcm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// MaintenanceTask names what a Maintainer does. The name is stored with the operation.
type MaintenanceTask string

// RenewCertificates replaces the certificates of the programs on the machines before they expire. The authorities that sign them stay.
const RenewCertificates MaintenanceTask = "renew_certificates"

// Upgrade replaces programs on the machines by programs of the versions that additionalParams of the request name. The driver of the VNF
// documents the attributes.
const Upgrade MaintenanceTask = "upgrade"

// MaintainVnfRequest asks the management drivers of a VNF for a task that keeps the VNF working. SOL003 has no such task.
type MaintainVnfRequest struct {
	Task             MaintenanceTask `json:"task"`
	AdditionalParams Params          `json:"additionalParams,omitzero"`
	// Until is the end of a maintenance window: then the operation is cancelled as by CancelGraceful. What a driver has begun on a machine
	// is finished; the operation is then FAILED_TEMP. A retry after Until has no end. Default: no end.
	Until time.Time `json:"until,omitzero"`
}

// Maintainer is a MgmtDriver that maintains what it has set up. The Manager calls it for drivers that the VNFD names for any hook:
// packages need no hook for it.
type Maintainer interface {
	// Maintains reports whether the driver has the task.
	Maintains(task MaintenanceTask) bool
	// Maintain does op.Maintain.Task. Its steps are journaled, and Maintain may be called again, like a hook. Before the operation is
	// accepted the Manager calls Validate, with op.Maintain set.
	Maintain(ctx context.Context, op *Operation) error
}

// MaintenancePhase is the PlannedTask.Phase of the tasks of a Maintainer. It is no hook that a VNFD can name.
const MaintenancePhase Hook = "maintain"

// Maintain starts a task of the management drivers on an instantiated VNF, one driver after the other. Its occurrence is a MODIFY_INFO,
// because both versions of SOL003 have this kind: it can be retried, cancelled and failed, but not rolled back, and asks for no grant.
// operationParams has the request. ErrNotSupported: no driver that the VNFD names has the task. Other errors are as for Heal.
func (m *Manager) Maintain(ctx context.Context, instanceID string, req MaintainVnfRequest) (string, error) {
	if err := req.check(); err != nil {
		return "", err
	}
	return m.begin(ctx, instanceID, OpModifyInfo, req.stored(), nil)
}

func (r MaintainVnfRequest) check() error {
	if r.Task == "" {
		return &ParamError{Path: "task", Reason: "is required"}
	}
	if !r.Until.IsZero() && !time.Now().Before(r.Until) {
		return &ParamError{Path: "until", Value: r.Until.Format(time.RFC3339), Reason: "has passed"}
	}
	return nil
}

// storedMaintenance is a MaintainVnfRequest as operations store it. Versions of this package without maintenance read it as a
// VnfInfoModificationRequest, whose attribute vimConnectionInfoDeleteList is a list: they fail to decode it and put the operation into
// FAILED_TEMP. Without Newer they would take it for a modification of nothing, and complete it.
type storedMaintenance struct {
	MaintainVnfRequest

	Newer string `json:"vimConnectionInfoDeleteList"`
}

func (r MaintainVnfRequest) stored() storedMaintenance {
	return storedMaintenance{r, "maintenance: only newer versions of vnfkit can run this operation"}
}

// maintenance returns the request of an operation that Maintain has begun.
func (rec *operationRecord) maintenance() (MaintainVnfRequest, bool) {
	var stored storedMaintenance
	if rec.Occ.Operation != OpModifyInfo || json.Unmarshal(rec.Occ.OperationParams.Reveal(), &stored) != nil {
		return MaintainVnfRequest{}, false
	}
	return stored.MaintainVnfRequest, stored.Task != "" && stored.Newer != ""
}

// maintenancePhases has a phase for each driver that the VNFD names: their steps may have the same names. The last phase changes properties.
func (rec *operationRecord) maintenancePhases() (out []phase) {
	for _, name := range rec.Drivers {
		out = append(out, phase{name: string(MaintenancePhase) + ":" + name, hook: MaintenancePhase, maintainer: name})
	}
	if !rec.configuration().IsZero() {
		out = append(out, phase{name: modifyPhase, record: true})
	}
	return out
}

// planMaintenance finds the faults of a maintenance task.
func (m *Manager) planMaintenance(ctx context.Context, inst *instanceRecord, rec *operationRecord) error {
	if err := errors.Join(cmp.Or(inst.instantiated(), inst.started()), rec.checkExtent(inst)); err != nil {
		return err
	}
	return m.planInPlace(ctx, inst, rec, func(s *session) error {
		faults := []error{s.checkHooks()}
		able := s.maintainers()
		if len(able) == 0 {
			faults = append(faults, s.errNoMaintainer())
		}
		for _, name := range able {
			faults = append(faults, s.call(ctx, func() error { return m.cfg.Mgmt[name].Validate(ctx, s.op) }))
		}
		return errors.Join(faults...)
	})
}

// instantiated returns ErrState unless the VNF is instantiated.
func (rec *instanceRecord) instantiated() error {
	if rec.Instance.InstantiationState != Instantiated {
		return fmt.Errorf("%w: VNF instance %s is %s", ErrState, rec.Instance.ID, rec.Instance.InstantiationState)
	}
	return nil
}

// maintainers are the names of the drivers that the VNFD names and that have the task of the operation.
func (s *session) maintainers() []string {
	return slices.DeleteFunc(s.driverNames(), func(name string) bool {
		driver, able := s.m.cfg.Mgmt[name].(Maintainer)
		return !able || !driver.Maintains(s.op.Maintain.Task)
	})
}

func (s *session) errNoMaintainer() error {
	return fmt.Errorf("%w: no management driver that the VNFD names has the task %q", ErrNotSupported, s.op.Maintain.Task)
}

// maintaining returns the function of a phase; nil if the driver does not have the task and another one does.
func (s *session) maintaining(name string) func(context.Context) error {
	able := s.maintainers()
	if len(able) == 0 { // the operation was accepted by a process with other drivers
		return func(context.Context) error { return s.errNoMaintainer() }
	}
	driver, _ := s.m.cfg.Mgmt[name].(Maintainer)
	if !slices.Contains(able, name) {
		return nil
	}
	s.op.driver = name
	return func(ctx context.Context) error { return driver.Maintain(ctx, s.op) }
}
