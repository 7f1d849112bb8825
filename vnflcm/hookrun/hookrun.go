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
)

// Runner runs hooks of a driver. It is safe for concurrent use.
type Runner struct {
	Store  vnflcm.Store      // required
	Key    []byte            // required: at least 16 bytes, better 32, that seal what the store keeps
	Driver vnflcm.MgmtDriver // required
	VIMs   vnflcm.VIMs       // where the driver registers a cluster as a VIM; default: in the Store

	Intercept vnflcm.Interceptor // wraps every step
	Observe   func(vnflcm.Event) // is told what happens; must not block
	Logger    *slog.Logger       // default: nothing is logged
	// LeaseTTL is how long a call waits without a sign of life of the process that works on the same hook. Default 15 s.
	LeaseTTL time.Duration
}

// Call is one hook of one operation.
type Call struct {
	// OperationID and InstanceID are the caller's own, without a slash. A retry has the same OperationID; each scaling of
	// an operation that scales several aspects needs one of its own.
	OperationID, InstanceID string
	Hook                    vnflcm.Hook

	// Request is that of the operation, of the type that belongs to the hook, such as vnflcm.ScaleVnfRequest (no pointer). A
	// rollback hook has the request of the operation that is rolled back.
	Request any
	// Initial is the request that the instance was instantiated with, with the external and managed links that hold now. When
	// instantiating it is Request.
	Initial vnflcm.InstantiateVnfRequest
	Package *tosca.Package // required; the caller closes it

	// Before are the resources when the operation began, Resources those that there are now.
	Before, Resources vnflcm.Resources
	// Change is what the operation does to the VNFCs. Default: the difference between Before and Resources. In the start hook
	// of an operation that removes or replaces VNFCs there is no difference yet: name them.
	Change *vnflcm.Change
	// Levels are the scale levels when the operation has succeeded, LevelsBefore those when it began, for drivers that read
	// them.
	Levels, LevelsBefore map[string]int

	VIM   vnflcm.VimConnectionInfo // complete: it is not looked up
	Grant *vnflcm.Grant
}

// Result is what the driver has done for the caller.
type Result = vnflcm.HookResult

// Run runs the hook, or continues it, or returns its result if it has succeeded before. The driver validates the request first,
// except in a rollback. ErrInvalidRequest: the Call or the request has faults.
// ErrNotSupported: the driver has no such hook. ErrConflict: the operation is of another instance. ErrUnreadable: the store is
// sealed under another key. Other errors are those of the driver; call Run again to continue.
func (r Runner) Run(ctx context.Context, c Call) (Result, error) {
	if r.Store == nil || r.Driver == nil {
		return Result{}, errors.New("hookrun: a Runner needs a Store and a Driver")
	}
	op, err := c.operation()
	if err != nil {
		return Result{}, fmt.Errorf("hookrun: %w", err)
	}
	return vnflcm.RunHook(ctx, r.config(), r.Driver, c.Hook, op)
}

// Forget removes what the store keeps of an instance. A hook of the instance that is running fails.
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

// operation returns what the driver sees of the call.
func (c Call) operation() (*vnflcm.Operation, error) {
	op := &vnflcm.Operation{ID: c.OperationID, InstanceID: c.InstanceID, Initial: c.Initial, Package: c.Package, VIM: c.VIM, Grant: c.Grant,
		Resources: c.Resources, Levels: c.Levels, Before: c.LevelsBefore}
	if c.Package == nil || c.Package.VNFD() == nil {
		return nil, &vnflcm.ParamError{Path: "package", Reason: "is required, with a VNFD"}
	}
	params, err := c.setRequest(op)
	if err := errors.Join(checkID("operationId", c.OperationID), checkID("instanceId", c.InstanceID), err); err != nil {
		return nil, err
	}
	if op.Change = difference(c.Before.VNFCs, c.Resources.VNFCs); c.Change != nil {
		op.Change = *c.Change
	}
	op.Connectivity, op.ManagedLinks = op.Initial.ExtVirtualLinks, op.Initial.ExtManagedVirtualLinks
	var err1, err2 error
	op.Params, err1 = op.Initial.AdditionalParams.Merge(params)
	op.Flavour, err2 = c.Package.VNFD().Flavour(op.Initial.FlavourID)
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("%w: %w", vnflcm.ErrInvalidRequest, err)
	}
	return op, nil
}

// setRequest puts the request in its place, the inverse of it in a rollback hook, and returns its additionalParams.
func (c Call) setRequest(op *vnflcm.Operation) (params vnflcm.Params, err error) {
	switch r := c.Request.(type) {
	case vnflcm.InstantiateVnfRequest:
		op.Kind, op.Instantiate, op.Initial, params = vnflcm.OpInstantiate, &r, r, r.AdditionalParams
	case vnflcm.ScaleVnfRequest:
		op.Kind, op.Scale, params = vnflcm.OpScale, &r, r.AdditionalParams
	case vnflcm.ScaleVnfToLevelRequest:
		op.Kind, op.ScaleToLevel, params = vnflcm.OpScaleToLevel, &r, r.AdditionalParams
	case vnflcm.HealVnfRequest:
		op.Kind, op.Heal, params = vnflcm.OpHeal, &r, r.AdditionalParams
	case vnflcm.TerminateVnfRequest:
		op.Kind, op.Terminate, params = vnflcm.OpTerminate, &r, r.AdditionalParams
	case vnflcm.ChangeExtVnfConnectivityRequest:
		op.Kind, op.ChangeExtConn, params = vnflcm.OpChangeExtConn, &r, r.AdditionalParams
	case vnflcm.VnfInfoModificationRequest:
		op.Kind, op.Modify = vnflcm.OpModifyInfo, &r
	default:
		return params, &vnflcm.ParamError{Path: "request", Reason: fmt.Sprintf("a %T is not the request of an operation", c.Request)}
	}
	base, rollback := baseOf(c.Hook)
	if want, known := kinds[base]; known && want != op.Kind {
		return params, &vnflcm.ParamError{Path: "request", Value: string(op.Kind), Reason: fmt.Sprintf("the hook %s is of %s", c.Hook, want)}
	}
	if rollback {
		op.RollingBack = true
		invert(op)
	}
	return params, nil
}

// kinds are the operations by the names of their hooks.
var kinds = map[string]vnflcm.LcmOperation{
	"instantiate": vnflcm.OpInstantiate, "scale": vnflcm.OpScale, "scale_to_level": vnflcm.OpScaleToLevel, "heal": vnflcm.OpHeal,
	"terminate": vnflcm.OpTerminate, "change_external_connectivity": vnflcm.OpChangeExtConn, "modify_information": vnflcm.OpModifyInfo,
}

// baseOf splits the name of a hook.
func baseOf(hook vnflcm.Hook) (base string, rollback bool) {
	base = strings.TrimSuffix(strings.TrimSuffix(string(hook), "_start"), "_end")
	return strings.CutSuffix(base, "_rollback")
}

// invert replaces the request by what a Manager shows drivers while it rolls back.
func invert(op *vnflcm.Operation) {
	switch op.Kind {
	case vnflcm.OpInstantiate:
		op.Kind, op.Instantiate, op.Terminate = vnflcm.OpTerminate, nil, &vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}
	case vnflcm.OpScale:
		inverse := *op.Scale
		inverse.Type = vnflcm.ScaleIn
		op.Scale, op.Levels, op.Before = &inverse, op.Before, op.Levels
	}
}

// difference is what has happened to the VNFCs. A healed VNFC has kept its id and has another resource.
func difference(before, now []vnflcm.VNFC) (change vnflcm.Change) {
	was, is := byID(before), byID(now)
	for _, v := range now {
		old, known := was[v.ID]
		switch {
		case !known:
			change.Added = append(change.Added, v)
		case old.ResourceID != v.ResourceID:
			change.Replaced = append(change.Replaced, v)
		}
	}
	for _, v := range before {
		if _, stays := is[v.ID]; !stays {
			change.Removed = append(change.Removed, v)
		}
	}
	return change
}

func byID(list []vnflcm.VNFC) map[string]vnflcm.VNFC {
	out := map[string]vnflcm.VNFC{}
	for _, v := range list {
		out[v.ID] = v
	}
	return out
}
