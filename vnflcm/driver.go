package vnflcm

import "context"

// InfraDriver creates and changes the resources of a VNF on a VIM. Every method may be called again after a crash and
// then finishes what is missing: it reads the state of the VIM and keeps none in memory. Only Plan and Resources are
// called outside of an operation's phases.
//
// Further operations are optional interfaces with one method. A panic in a method is an error of the request or the operation
// (ErrProgramming). A panic in a goroutine that a driver starts ends the process, unless the goroutine recovers: Each recovers the
// panics of its functions.
type InfraDriver interface {
	// Plan changes nothing. It reports every fault of the request (*ParamError, joined), or which VNFCs the operation
	// will add, remove or replace. The Manager journals the answer before any hook runs; Scale and Heal then remove or
	// replace exactly these, and start hooks see them in op.Change. A scale-in removes the newest first. Added entries
	// state a VDU each; their other fields may be empty. The scalings of a SCALE_TO_LEVEL are planned one after the
	// other before the first begins: op.VNFCs then includes the results of the earlier Plans. A plan with a VDU that the flavour does
	// not have is refused (ErrDriverAnswer).
	Plan(ctx context.Context, op *Operation) (Change, error)
	Instantiate(ctx context.Context, op *Operation) error
	Scale(ctx context.Context, op *Operation) error
	Heal(ctx context.Context, op *Operation) error
	// Terminate removes everything that was made for the instance, and only that.
	Terminate(ctx context.Context, op *Operation) error
	// Resources reports what there is now. After each of the methods above but Plan, the Manager compares the answer with the plan. The
	// operation fails (ErrDriverAnswer) if a VNFC has no id, the id of another VNFC, or a VDU or a connection point that neither the flavour nor a
	// ConnectionPointNamer has; if fewer VNFCs of a VDU are new than were announced, or fewer are new or gone than the scale levels ask for;
	// if one exists that was to be removed, or none has the id of one that was to be replaced; and if anything is left after Terminate. More
	// new VNFCs, missing ones, and an unchanged ResourceID after a heal are warnings. Drivers with VDUs whose number others decide implement
	// ElasticVDUs.
	Resources(ctx context.Context, op *Operation) (Resources, error)
}

// ConnectivityChanger is an InfraDriver that can connect external connection points to other networks
// (SOL003 v2.6.1 5.4.11). Without it CHANGE_EXT_CONN is refused.
type ConnectivityChanger interface {
	// ChangeExtConn makes op.Connectivity true. Like all of an InfraDriver's methods it may be called again.
	ChangeExtConn(ctx context.Context, op *Operation) error
}

// ConnectionPointNamer is an InfraDriver that gives machines connection points which the VNFD does not have, such as
// floating addresses. Management drivers find their VDU by Operation.VDUOf.
type ConnectionPointNamer interface {
	// ConnectionPoints returns the names of these connection points, each with the connection point of the VNFD whose
	// port it uses. The Manager and drivers call it while they check a request: it reads only the package. After nil every
	// connection point that the VNFD lacks is an error of the driver; else those that are not named are warnings.
	ConnectionPoints(op *Operation) (map[string]string, error)
}

// MachineStopper is an InfraDriver that can turn off the machine of a VNFC without removing it. Management drivers reach
// it through Operation.StopMachine.
type MachineStopper interface {
	// StopMachine returns when the VIM reports that the machine is off or does not exist. Like all of an InfraDriver's
	// methods it may be called again. The caller bounds the wait by ctx.
	StopMachine(ctx context.Context, op *Operation, v VNFC) error
}

// MgmtDriver configures what runs on the resources: a cluster, a registry. A VNFD names it per hook. Panics are treated as those of an
// InfraDriver.
type MgmtDriver interface {
	// Validate changes nothing and reports every fault of the request (*ParamError, joined). It runs before the first
	// resource is created.
	Validate(ctx context.Context, op *Operation) error
	// Hooks returns the functions of the driver. A VNFD that names a missing hook is refused before anything is
	// changed. Each hook may be called again after a crash: an action that must not happen twice is a step (Run).
	Hooks() Hooks
}

// SecretParams is implemented by drivers whose additionalParams contain secrets. Values found at these paths are masked
// in any text of logs, events, errors and documents. A path is dotted; [] stands for every item of a list and * for
// every key of an object. SecretPaths derives the paths from a parameter struct.
type SecretParams interface{ SecretParams() []string }

// Hook is a place in an operation where a VNFD can name a driver, by its name in the Vnflcm interface
// (SOL001 v2.6.1 6.7; Tacker's abstract driver has the same names).
type Hook string

// Hooks maps the hooks of a driver to its functions.
type Hooks map[Hook]func(ctx context.Context, op *Operation) error

// Checked returns hooks that call Operation.Check first.
func Checked(hooks Hooks) Hooks {
	out := Hooks{}
	for name, do := range hooks {
		out[name] = func(ctx context.Context, op *Operation) error {
			if err := op.Check(); err != nil {
				return err
			}
			return do(ctx, op)
		}
	}
	return out
}

// The hooks of this package. Without a rollback hook in the VNFD, rolling back runs the hooks of the inverse
// operation.
const (
	InstantiateStart         Hook = "instantiate_start"
	InstantiateEnd           Hook = "instantiate_end"
	InstantiateRollbackStart Hook = "instantiate_rollback_start"
	InstantiateRollbackEnd   Hook = "instantiate_rollback_end"
	ScaleStart               Hook = "scale_start"
	ScaleEnd                 Hook = "scale_end"
	ScaleRollbackStart       Hook = "scale_rollback_start"
	ScaleRollbackEnd         Hook = "scale_rollback_end"
	HealStart                Hook = "heal_start"
	HealEnd                  Hook = "heal_end"
	TerminateStart           Hook = "terminate_start"
	TerminateEnd             Hook = "terminate_end"

	ModifyStart Hook = "modify_information_start"
	ModifyEnd   Hook = "modify_information_end"

	// These two run around all scalings of a SCALE_TO_LEVEL; around each of them run ScaleStart and ScaleEnd.
	ScaleToLevelStart Hook = "scale_to_level_start"
	ScaleToLevelEnd   Hook = "scale_to_level_end"

	ChangeExtConnStart         Hook = "change_external_connectivity_start"
	ChangeExtConnEnd           Hook = "change_external_connectivity_end"
	ChangeExtConnRollbackStart Hook = "change_external_connectivity_rollback_start"
	ChangeExtConnRollbackEnd   Hook = "change_external_connectivity_rollback_end"

	OperateStart Hook = "operate_start"
	OperateEnd   Hook = "operate_end"
	// These run around all batches of a CHANGE_VNFPKG, as the VNFD names them that the VNF changes to or, rolling back, returns to.
	ChangePackageStart         Hook = "change_current_package_start"
	ChangePackageEnd           Hook = "change_current_package_end"
	ChangePackageRollbackStart Hook = "change_current_package_rollback_start"
	ChangePackageRollbackEnd   Hook = "change_current_package_rollback_end"
)

// hooks are all hooks that operations have.
var hooks = []Hook{
	InstantiateStart, InstantiateEnd, InstantiateRollbackStart, InstantiateRollbackEnd,
	ScaleStart, ScaleEnd, ScaleRollbackStart, ScaleRollbackEnd, ScaleToLevelStart, ScaleToLevelEnd,
	HealStart, HealEnd, TerminateStart, TerminateEnd, ModifyStart, ModifyEnd,
	ChangeExtConnStart, ChangeExtConnEnd, ChangeExtConnRollbackStart, ChangeExtConnRollbackEnd, OperateStart, OperateEnd,
	ChangePackageStart, ChangePackageEnd, ChangePackageRollbackStart, ChangePackageRollbackEnd,
}

// packageHooks are the hooks of a CHANGE_VNFPKG. A driver that lacks them does not keep a package from being used in other operations.
var packageHooks = []Hook{ChangePackageStart, ChangePackageEnd, ChangePackageRollbackStart, ChangePackageRollbackEnd}
