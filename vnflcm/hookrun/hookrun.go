package hookrun

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// Runner runs hooks of a driver. It is safe for concurrent use.
type Runner struct {
	Store  store.Store       // required
	Key    []byte            // required: at least 16 bytes, better 32, that seal what the store keeps
	Driver vnflcm.MgmtDriver // required
	VIMs   vnflcm.VIMs       // where the driver registers a cluster as a VIM; default: in the Store

	Intercept vnflcm.Interceptor // wraps every step
	Observe   func(vnflcm.Event) // called for every event; must not block
	Logger    *slog.Logger       // default: no log
	// LeaseTTL is how long a call waits without a sign of life of the process that works on the same hook. Default 15 s.
	LeaseTTL time.Duration
}

// Call is one hook of one operation.
type Call struct {
	// OperationID and InstanceID are ids of the caller, without a slash. A retry has the same OperationID; each scaling
	// of an operation that scales several aspects needs a separate one.
	OperationID, InstanceID string
	Hook                    vnflcm.Hook

	// Request is the request of the operation, of the type that belongs to the hook, such as vnflcm.ScaleVnfRequest
	// (not a pointer). A rollback hook has the request of the operation that is rolled back.
	Request any
	// Initial is the request that the instance was instantiated with, with the current external and managed links.
	// Default: that of the latest hook of its instantiation in the store.
	Initial vnflcm.InstantiateVnfRequest
	Package *tosca.Package // required; the caller closes it

	// Resources are the current ones, Before those when the operation began. Default of Before: those of the start hook
	// of the same operation. A VNFC has the same ID in all operations; a healed one has another ResourceID.
	Before, Resources vnflcm.Resources
	// Change is what the operation does to the VNFCs. Default: derived from the request, and from the difference
	// between Before and Resources. In the start hook of a scale-in there is no difference yet: name the VNFCs that
	// will be removed.
	Change vnflcm.Change
	// Levels are the scale levels when the operation has succeeded, LevelsBefore those when it began, for drivers that read
	// them.
	Levels, LevelsBefore map[string]int

	VIM   vnflcm.VimConnectionInfo // complete: it is not looked up
	Grant *vnflcm.Grant
}

// Result is the result of a hook for the caller.
type Result = vnflcm.HookResult

// Run runs the hook, or continues it, or returns its result if it has succeeded before. The driver validates the request first,
// except in a rollback.
//
// A start hook that the driver lacks does nothing if the driver has the end hook, which then finds out what has changed. A hook of
// the termination that the driver lacks does nothing, as in the operations of a Manager. In the place of a rollback
// hook that the driver lacks, Run runs the hook of the inverse operation.
//
// ErrInvalidRequest: the Call or the request has faults. ErrNotSupported: the driver lacks the hook. ErrConflict: an earlier Call gave
// the OperationID and hook another InstanceID. ErrUnreadable: the store is sealed under another key. The driver returns all other
// errors; call Run again to continue.
func (r Runner) Run(ctx context.Context, c Call) (Result, error) {
	if r.Store == nil || r.Driver == nil {
		return Result{}, errors.New("hookrun: a Runner needs a Store and a Driver")
	}
	data, err := c.data()
	if err != nil {
		return Result{}, fmt.Errorf("hookrun: %w", err)
	}
	return vnflcm.RunHook(ctx, r.config(), r.Driver, c.Hook, data, c.Before.VNFCs)
}

// Forget removes the stored data of an instance. A running hook of the instance fails.
func (r Runner) Forget(ctx context.Context, instanceID string) error {
	if r.Store == nil {
		return errors.New("hookrun: a Runner needs a Store")
	}
	if err := checkID("instanceId", instanceID); err != nil {
		return err
	}
	return vnflcm.ForgetHooks(ctx, r.config(), instanceID)
}

func (r Runner) config() vnflcm.Config {
	return vnflcm.Config{Store: r.Store, Key: r.Key, VIMs: r.VIMs, Intercept: r.Intercept, Observe: r.Observe, Logger: r.Logger, LeaseTTL: r.LeaseTTL}
}

// checkID refuses what would mix up records: their ids are paths.
func checkID(path, id string) error {
	if id == "" || strings.Contains(id, "/") {
		return &vnflcm.ParamError{Path: path, Value: id, Reason: "is required and has no slash"}
	}
	return nil
}

// data returns the call in the form for the driver.
func (c Call) data() (vnflcm.OperationData, error) {
	op := vnflcm.OperationData{ID: c.OperationID, InstanceID: c.InstanceID, Initial: c.Initial, Package: c.Package, VIM: c.VIM, Grant: c.Grant,
		Resources: c.Resources, Change: c.Change, Levels: c.Levels, Before: c.LevelsBefore}
	faults := []error{checkID("operationId", c.OperationID), checkID("instanceId", c.InstanceID), c.setRequest(&op)}
	if c.Package == nil || c.Package.VNFD() == nil {
		faults = append(faults, &vnflcm.ParamError{Path: "package", Reason: "is required, with a VNFD"})
	}
	return op, errors.Join(faults...)
}

// setRequest puts the request in its place, the inverse of it in a rollback hook.
func (c Call) setRequest(op *vnflcm.OperationData) error {
	switch r := c.Request.(type) {
	case vnflcm.InstantiateVnfRequest:
		op.Kind, op.Instantiate, op.Initial = vnflcm.OpInstantiate, &r, r
	case vnflcm.ScaleVnfRequest:
		op.Kind, op.Scale, op.Params = vnflcm.OpScale, &r, r.AdditionalParams
	case vnflcm.ScaleVnfToLevelRequest:
		op.Kind, op.ScaleToLevel, op.Params = vnflcm.OpScaleToLevel, &r, r.AdditionalParams
	case vnflcm.HealVnfRequest:
		op.Kind, op.Heal, op.Params = vnflcm.OpHeal, &r, r.AdditionalParams
	case vnflcm.TerminateVnfRequest:
		op.Kind, op.Terminate, op.Params = vnflcm.OpTerminate, &r, r.AdditionalParams
	case vnflcm.ChangeExtVnfConnectivityRequest:
		op.Kind, op.ChangeExtConn, op.Params = vnflcm.OpChangeExtConn, &r, r.AdditionalParams
	case vnflcm.OperateVnfRequest:
		op.Kind, op.Operate, op.Params = vnflcm.OpOperate, &r, r.AdditionalParams
	case vnflcm.VnfInfoModificationRequest:
		op.Kind, op.Modify = vnflcm.OpModifyInfo, &r
	default:
		return &vnflcm.ParamError{Path: "request", Reason: fmt.Sprintf("a %T is not the request of an operation", c.Request)}
	}
	base, rollback := baseOf(c.Hook)
	if want, known := kinds[base]; known && want != op.Kind {
		return &vnflcm.ParamError{Path: "request", Value: string(op.Kind), Reason: fmt.Sprintf("the hook %s is of %s", c.Hook, want)}
	}
	if rollback {
		op.RollingBack = true
		invert(op)
	}
	return nil
}

// kinds are the operations by the names of their hooks.
var kinds = map[string]vnflcm.LcmOperation{
	"instantiate": vnflcm.OpInstantiate, "scale": vnflcm.OpScale, "scale_to_level": vnflcm.OpScaleToLevel, "heal": vnflcm.OpHeal,
	"terminate": vnflcm.OpTerminate, "change_external_connectivity": vnflcm.OpChangeExtConn, "modify_information": vnflcm.OpModifyInfo,
	"operate": vnflcm.OpOperate,
}

// baseOf splits the name of a hook.
func baseOf(hook vnflcm.Hook) (base string, rollback bool) {
	base = strings.TrimSuffix(strings.TrimSuffix(string(hook), "_start"), "_end")
	return strings.CutSuffix(base, "_rollback")
}

// invert replaces the request by the one that a Manager passes to drivers while it rolls back.
func invert(op *vnflcm.OperationData) {
	switch op.Kind {
	case vnflcm.OpInstantiate:
		op.Kind, op.Instantiate, op.Terminate = vnflcm.OpTerminate, nil, &vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}
	case vnflcm.OpScale:
		inverse := *op.Scale
		inverse.Type = vnflcm.ScaleIn
		op.Scale, op.Levels, op.Before = &inverse, op.Before, op.Levels
	}
}
