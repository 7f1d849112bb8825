package vnflcm

import (
	"context"
	"errors"
	"fmt"
)

// Configurer is a Maintainer whose tasks a client can also start by Modify: by new values of properties in vnfConfigurableProperties, such as
// the version of the programs of the VNF.
type Configurer interface {
	Maintainer
	// Configure returns the task that gives the VNF these properties, false if none of them is a property of the driver.
	// properties is what the request gives. A *ParamError has a path below vnfConfigurableProperties.
	Configure(properties Params) (req MaintainVnfRequest, configures bool, err error)
}

// storedConfiguration is a storedMaintenance that Modify has started. The properties change when the task has ended well.
type storedConfiguration struct {
	storedMaintenance

	VnfConfigurableProperties Params `json:"vnfConfigurableProperties,omitzero"`
}

// configuring returns the maintenance that a modification starts; nil if it starts none.
func (m *Manager) configuring(ctx context.Context, instanceID string, req VnfInfoModificationRequest) (*storedConfiguration, error) {
	if req.VnfConfigurableProperties.IsZero() || !m.hasConfigurers() {
		return nil, nil //nolint:nilnil // no maintenance
	}
	inst, _, err := m.instance(ctx, instanceID)
	if err != nil || inst.Instance.InstantiationState != Instantiated {
		return nil, err
	}
	pkg, err := m.openPackage(ctx, inst)
	if err != nil {
		return nil, err
	}
	defer closePackage(pkg)
	flavour, err := pkg.VNFD().Flavour(inst.Initial.FlavourID)
	if err != nil {
		return nil, err
	}
	var found *storedConfiguration
	for _, name := range hookDrivers(flavour) {
		driver, able := m.cfg.Mgmt[name].(Configurer)
		if !able {
			continue
		}
		task, configures, err := driver.Configure(req.VnfConfigurableProperties)
		switch {
		case err != nil:
			return nil, AtPath(configurablePath, err)
		case !configures:
		case found != nil && found.Task != task.Task:
			return nil, &ParamError{Path: configurablePath, Reason: fmt.Sprintf("starts the tasks %s and %s: change their properties in one request each", found.Task, task.Task)}
		case found == nil:
			found = &storedConfiguration{task.stored(), req.VnfConfigurableProperties}
		}
	}
	if found != nil && req.changesMore() {
		return nil, &ParamError{Path: configurablePath, Reason: fmt.Sprintf("starts the task %s: change other attributes in another request", found.Task)}
	}
	return found, nil
}

// maintenanceBy returns the maintenance that a request starts if the request is a modification, and other requests as they are.
func (m *Manager) maintenanceBy(ctx context.Context, instanceID string, request any) (any, error) {
	modification, is := request.(VnfInfoModificationRequest)
	if !is {
		return request, nil
	}
	maintenance, err := m.configuring(ctx, instanceID, modification)
	if err == nil && maintenance == nil {
		err = fmt.Errorf("%w: no preview of a modification that starts no maintenance", ErrNotSupported)
	}
	return maintenance, err
}

func (m *Manager) hasConfigurers() bool {
	for _, d := range m.cfg.Mgmt {
		if _, able := d.(Configurer); able {
			return true
		}
	}
	return false
}

// changesMore reports whether the request changes anything but vnfConfigurableProperties.
func (req VnfInfoModificationRequest) changesMore() bool {
	return req.VnfInstanceName != nil || req.VnfInstanceDescription != nil || !req.Extensions.IsZero() || len(req.Metadata) > 0 || req.changesConnections()
}

// configuration returns the properties that a maintenance gives the VNF.
func (rec *operationRecord) configuration() Params {
	var stored storedConfiguration
	if _, is := rec.maintenance(); !is || decodeUseNumber(rec.Occ.OperationParams.Reveal(), &stored) != nil {
		return Params{}
	}
	return stored.VnfConfigurableProperties
}

// checkExtent returns an error if the properties that a maintenance gives the VNF are too large.
func (rec *operationRecord) checkExtent(inst *instanceRecord) error {
	before, err := inst.Instance.extent()
	after, errAfter := inst.Instance.extentAfter(VnfInfoModificationRequest{VnfConfigurableProperties: rec.configuration()})
	return errors.Join(err, errAfter, after.check(before))
}
