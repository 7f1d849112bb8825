package vnflcm

import (
	"cmp"
	"context"

	"github.com/vnfkit/vnfkit/tosca"
)

// PackageChanger is an InfraDriver that can change the package of a VNF while the VNF runs (CHANGE_VNFPKG, SOL003 v3.3.1 5.4.11a). Without
// it the operation is refused (ErrNotSupported). In all methods op.ChangeVnfPkg is the request, op.Package, op.Flavour, op.Initial and
// op.Params are those that the VNF changes to, and op.Former has those that it changes from. Rolling back (op.RollingBack), the two have
// changed places: a driver always makes what op.Package describes.
//
// A VNFC that runs by op.Package already has no unit, as after a change that has failed: compare each VNFC with what Operation.VersionOf
// returns for it. VDUs of the two packages correspond by Operation.Successor.
type PackageChanger interface {
	// PlanPackage changes nothing. It reports every fault of the request and of the package (*ParamError, joined), or the units of the VNF
	// that change, with everything that ends with them. It is called once, before the operation is accepted; the Manager journals the
	// answer, and divides the units into batches. A volume, a port, an address or a local disk that would end, other than by a new image
	// of its machine, is a DataLoss: the Manager refuses the request unless the request names it.
	PlanPackage(ctx context.Context, op *Operation) (PackagePlan, error)
	// ChangePackage makes the units of op.Batch what op.Package describes, and leaves all other units as they are. It returns when the VIM
	// has made them; whether they work is a matter of HealthChecker. Without a Batch it makes what belongs to no unit, such as the
	// definition of a stack or objects that only op.Former has: after the last batch or, rolling back, before the first.
	//
	// Like all of an InfraDriver's methods it may be called again, after a crash or a retry, also with a Batch that is done in part or whole:
	// what must not happen twice is a step with a Probe that looks at the VIM. Rolling back, op.Batch.Units are those of the batch with
	// ADDED and REMOVED exchanged; some of them may never have been changed. Values that only the VIM has and that rolling back needs, such
	// as a template or the revision of a release, are written to op.State() before the first change, and only if they are not there.
	//
	// The Manager reads the Resources after each call, and compares them with the units as it compares those of other operations with
	// Plan.
	ChangePackage(ctx context.Context, op *Operation) error
	// UnitChanged reports whether the VIM has a unit as op.Package describes it: for a removed unit, whether it is gone. It changes nothing.
	// The Manager asks it for each unit of a batch after ChangePackage (false is ErrDriverAnswer), and when a batch that was begun is given
	// up, to record by which package each VNFC runs. Probes of steps can use it too.
	UnitChanged(ctx context.Context, op *Operation, unit PackageUnit) (bool, error)
}

// PackageBatcher is a MgmtDriver that prepares what it has set up for the change of machines. The Manager calls the drivers that either
// package names for any hook: packages need no hook for it.
type PackageBatcher interface {
	// ArrangeUnits returns the plan with the units in the order in which they change, with Alone set for those that change one at a time,
	// such as members of a quorum. It adds and removes no unit. It adds to Losses and Irreversible what the InfraDriver cannot see. It
	// reports every reason for which the change cannot be made. It changes nothing, and is called before the operation is accepted.
	ArrangeUnits(ctx context.Context, op *Operation, plan PackagePlan) (PackagePlan, error)
	// BeforeBatch runs before the machines of op.Batch change: it drains nodes and takes routes away. op.Change has the VNFCs of the batch, as
	// they are. Machines with the method MethodRebuild or MethodReplace lose what is on their disks.
	BeforeBatch(ctx context.Context, op *Operation) error
	// AfterBatch runs when the machines of op.Batch have changed: nodes join, routes return. op.Change.Added and Replaced are the VNFCs as they
	// are now. Both methods run rolling back too, and may be called again like a hook: what must not happen twice is a step.
	AfterBatch(ctx context.Context, op *Operation) error
}

// Phases of the tasks that a PackageBatcher returns as a Previewer for op.Batch.
const (
	BeforeBatchPhase Hook = packageBefore
	AfterBatchPhase  Hook = packageAfter
)

// HealthChecker is an InfraDriver or a MgmtDriver that reports whether the VNF works after a batch of a CHANGE_VNFPKG.
type HealthChecker interface {
	// CheckHealth returns nil if the units of op.Batch work, and otherwise the reason. It changes nothing, runs no steps and does not
	// wait: the Manager repeats it until the time that the request gives (health_timeout, 10 minutes by default) is over. The last reason is
	// then the error of the operation, or a warning if it is rolled back.
	CheckHealth(ctx context.Context, op *Operation) error
}

// PackageVersion is a package by which VNFCs run, with the part of it that applies.
type PackageVersion struct {
	Package *tosca.Package
	Flavour *tosca.Flavour
	// Initial is the request that the instance was instantiated with, as that package needs it: with its flavour, its levels, and the
	// additionalParams of the change that led to it.
	Initial InstantiateVnfRequest
}

// PackagePlan is what an InfraDriver does in a CHANGE_VNFPKG.
type PackagePlan struct {
	// Units change one batch after the other, in this order unless a PackageBatcher has another.
	Units []PackageUnit `json:"units,omitempty"`
	// Losses is the data that ends. The Manager adds the VNFCs of REMOVED units.
	Losses []DataLoss `json:"losses,omitempty"`
	// Irreversible are texts for readers: what rolling back does not undo, such as hooks of a chart that migrate data.
	Irreversible []string `json:"irreversible,omitempty"`
}

// UnitKind is the kind of a PackageUnit.
type UnitKind string

// The kinds of units.
const (
	UnitVNFC      UnitKind = "vnfc"      // a machine
	UnitRelease   UnitKind = "release"   // a Helm release
	UnitManifests UnitKind = "manifests" // Kubernetes objects of files in the package
)

// UnitMethod is how the VIM changes a VNFC.
type UnitMethod string

// The methods. Of several, the one that comes last here counts.
const (
	MethodNone    UnitMethod = ""         // the machine runs on
	MethodInPlace UnitMethod = "in-place" // the same machine and disks, such as a resize; it may restart
	MethodRebuild UnitMethod = "rebuild"  // the same machine, ports and volumes; its local disk starts from the new image
	MethodReplace UnitMethod = "replace"  // another machine, under the same VNFC id
)

// PackageUnit is a part of a VNF that changes at once.
type PackageUnit struct {
	// ID is the id of the VNFC or the name of the release or the manifests, unique among the units. An added VNFC may have another id later.
	ID   string   `json:"id"`
	Kind UnitKind `json:"kind"`
	Name string   `json:"name,omitempty"` // of the machine, for readers
	// VDUs are the VDUs of op.Package whose VNFCs the unit has: one for a VNFC. For a removed unit they are those of op.Former.
	VDUs   []string   `json:"vdus,omitempty"`
	Change ChangeType `json:"change"`
	Method UnitMethod `json:"method,omitempty"` // of a VNFC that is MODIFIED
	// Alone keeps the unit in a batch without other units.
	Alone   bool         `json:"alone,omitempty"`
	Details []UnitDetail `json:"details,omitempty"`
}

// EndsDisk reports whether an existing machine gets a new local disk.
func (u PackageUnit) EndsDisk() bool {
	return u.Change == VnfcModified && (u.Method == MethodRebuild || u.Method == MethodReplace)
}

// UnitDetail is one difference between the two packages, for readers. It has no secrets.
type UnitDetail struct {
	// Name is what differs: image, flavour, user_data, volume data, chart, values.replicas, or an object such as "Deployment default/web".
	Name   string     `json:"name"`
	Change ChangeType `json:"change"`
	From   string     `json:"from,omitempty"`
	To     string     `json:"to,omitempty"`
}

// Consent is a list in additionalParams of a ChangeCurrentVnfPkgRequest that allows the end of data.
type Consent string

// The consents.
const (
	AllowDataLoss Consent = "allow_data_loss" // VDUs whose data may end
	AllowPrune    Consent = "prune"           // objects of a cluster that may be deleted with what depends on them
)

// DataLoss is data that a CHANGE_VNFPKG ends. Without the consent of the request it is refused before anything is touched.
type DataLoss struct {
	// Resource is what ends, such as "the volume data of worker-0" or "CustomResourceDefinition widgets.example.com".
	Resource string `json:"resource"`
	// With is what ends with it, such as "12 objects of kind Widget".
	With []string `json:"with,omitempty"`
	// Consent and Name are the list that allows the loss, and the item of the list: a VDU, or an object as
	// "CustomResourceDefinition/widgets.example.com" and "PersistentVolumeClaim/default/data-db-0".
	Consent Consent `json:"consent"`
	Name    string  `json:"name"`
}

// PackageBatch are the units of a CHANGE_VNFPKG that change at once.
type PackageBatch struct {
	Number int           `json:"number"` // from 1, in the order of the change; rolling back, the highest number comes first
	Of     int           `json:"of"`     // how many batches there are
	Units  []PackageUnit `json:"units"`
}

// Successor returns the id in op.Package of the component that has an id in op.Former: as the policy of the new package maps it
// (component_mappings), else the same id. op.Package need not have it. Outside of a CHANGE_VNFPKG it returns id.
func (op *Operation) Successor(component tosca.ComponentType, id string) string {
	return op.components.of(component, id)
}

// VersionOf returns the package by which a VNFC runs: op.Package, or the other package of a VNF whose package changes, or is mixed because a
// change has failed. A driver heals a VNFC by it. In a CHANGE_VNFPKG it returns op.Former for a VNFC of which no record is certain.
func (op *Operation) VersionOf(v VNFC) PackageVersion {
	id := cmp.Or(v.VnfdID, op.ownVNFD)
	if op.other != nil && (id == op.other.Package.VNFD().ID || op.Former != nil && op.instance.Mixed.isUnsure(v)) {
		return *op.other
	}
	return PackageVersion{Package: op.Package, Flavour: op.Flavour, Initial: op.Initial}
}
