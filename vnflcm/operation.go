package vnflcm

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/internal/bounded"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// OperationData says what is asked of a driver and what is known of the VNF. The Manager fills it, or package hookrun for a program with its
// own lifecycle management; drivers only read it.
type OperationData struct {
	ID         string
	InstanceID string
	Kind       LcmOperation
	// RollingBack is set while an operation is undone: by its rollback hooks or, without those, by the hooks
	// of the inverse operation, which then find the inverse request here.
	RollingBack bool

	// Of the requests, the one of Kind is set.
	Instantiate   *InstantiateVnfRequest
	Scale         *ScaleVnfRequest
	ScaleToLevel  *ScaleVnfToLevelRequest // in the hooks around the whole operation; each scaling sets Scale
	Heal          *HealVnfRequest
	Terminate     *TerminateVnfRequest
	ChangeExtConn *ChangeExtVnfConnectivityRequest
	Modify        *VnfInfoModificationRequest
	Maintain      *MaintainVnfRequest // Kind is OpModifyInfo
	Operate       *OperateVnfRequest
	ChangeVnfPkg  *ChangeCurrentVnfPkgRequest
	// CreateSnapshot and RevertToSnapshot have no hooks: the Manager calls the Snapshotter.
	CreateSnapshot   *CreateVnfSnapshotRequest
	RevertToSnapshot *RevertToVnfSnapshotRequest

	// Initial is the request that the instance was instantiated with; its credentials and networks hold on.
	Initial InstantiateVnfRequest
	// Params are the additionalParams of this request merged over those of Initial, without those that the Manager reads (with_cnfs).
	Params Params

	Package *tosca.Package
	Flavour *tosca.Flavour
	// Former is the package that a CHANGE_VNFPKG changes from, or from which it returns when it is rolled back; Package is the other one. nil in
	// other operations.
	Former *PackageVersion
	// PackagePlan has the units of a CHANGE_VNFPKG in their order. Batch are those of the phase, nil in the hooks around all batches and in
	// the phase for what belongs to no unit.
	PackagePlan PackagePlan
	Batch       *PackageBatch
	// Levels are the scale levels per aspect after the operation has succeeded; Before those when it began (none for
	// instantiate).
	Levels, Before map[string]int

	// Connectivity are the external links after the operation has succeeded. ManagedLinks are the networks for internal
	// links: those of the grant, or else of the requests.
	Connectivity []ExtVirtualLinkData
	ManagedLinks []ExtManagedVirtualLinkData

	VIM VimConnectionInfo // resolved: with interfaceInfo and accessInfo
	// VIMGone is set while a VNF is terminated whose VIM was a cluster that this VNFM has terminated, or has given up. VIM has ids and
	// type only: drivers do not connect to it.
	VIMGone bool

	Grant *Grant // nil without a Granter, and while the request is only being checked
	// GrantPending is set while a request is checked and a Granter will be asked: data that a grant can supply does not
	// count as missing yet.
	GrantPending bool

	// Resources are as the InfraDriver last reported them.
	Resources
	// Change is what this operation does to the VNFCs. In start hooks it is the result of Plan; after the resources
	// have been changed, Added and Replaced are the actual VNFCs.
	Change Change
}

// Operation is what a driver works on: the data, and methods that store, report and run steps. Only a Manager and RunHook make one that has
// more than its data; Check tells.
type Operation struct {
	OperationData
	Log *slog.Logger

	phase  string
	driver string // of the hook, in Config.Mgmt
	// other is the second package of an instance whose package changes or that is mixed, nil without one. ownVNFD is the VNFD of the instance.
	other      *PackageVersion
	ownVNFD    string
	components successors // of Successor
	state      OperationState
	planned    Change
	// plannedBefore is what the scalings, or the batches, before this one change: the grant counts the VNFCs of all of them.
	plannedBefore Change
	// occurrence is the kind of the operation that is recorded: while rolling back, Kind is the inverse; in a scaling of a
	// SCALE_TO_LEVEL it is SCALE.
	occurrence LcmOperation
	mask       *masker
	steps      *stepGuard
	running    *running  // nil outside of a phase
	warnings   *warnings // nil outside of a phase
	records    *records
	claim      *operationClaim // nil outside of a phase
	infra      InfraDriver
	orderers   []StopOrderer // of an OPERATE
	// declaredParams are the attributes of additionalParams that the drivers of the operation declare.
	declaredParams []string
	instance       *instanceRecord // nil in hookrun
	snapshots      keptSnapshots   // without Snapshots in hookrun
	sender         string
	vims           VIMs
	intercept      Interceptor
	observe        func(Event)
	diagnose       func(ctx context.Context, instanceID string) ([]Finding, error) // Manager.Diagnose
}

// Check returns ErrProgramming unless a Manager or RunHook has made the Operation: one that a program fills in by itself has no store.
func (op *Operation) Check() error {
	if op == nil || op.records == nil || op.mask == nil || op.Log == nil || op.Package == nil || op.Flavour == nil {
		return errByHand
	}
	return nil
}

var errByHand = fmt.Errorf("%w: only a Manager or package hookrun makes an Operation that drivers can work on", ErrProgramming)

// WholeVNF reports whether a heal is of the whole VNF rather than of chosen VNFCs.
func (op *Operation) WholeVNF() bool { return op.Heal != nil && len(op.Heal.VnfcInstanceID) == 0 }

// Instances are the numbers of VNFCs of each VDU that there are when the operation has succeeded: those that
// the instance was instantiated with, and the steps of its scaling since.
func (op *Operation) Instances() (map[string]int, error) {
	if op.Flavour == nil {
		return nil, errByHand
	}
	size, err := op.Flavour.SizeAt(op.Initial.targetSize(), op.Levels)
	return size.Instances, err
}

// Phase is the part of the operation that runs: a hook's name, or that of the infra operation.
func (op *Operation) Phase() string { return op.phase }

// Mask replaces the secrets of the request and of the VIM in a text.
func (op *Operation) Mask(text string) string {
	if op.mask == nil {
		return text // made by hand: no secret is known
	}
	return op.mask.apply(text)
}

// State is the sealed store of the instance for data that drivers need in later operations. It is emptied when the
// instance has been terminated. Outside of a phase (in Plan and Validate) it can only be read.
func (op *Operation) State() *State {
	return &State{records: op.records, instance: op.InstanceID, update: op.update}
}

// Report sends the progress of the step in ctx to observers. While the step runs, the last message is what the step waits for
// (Manager.Progress, StepWaiting), unless a wait has failed. It does not block.
func (op *Operation) Report(ctx context.Context, message string) {
	message = op.Mask(message)
	info := StepInfo{OperationID: op.ID, Phase: op.phase}
	if step := stepOf(ctx); step != nil {
		info = step.info
		step.reported(message)
	}
	op.emit(Event{Kind: StepProgress, StepInfo: info, Message: bounded.Text(message, maxText)})
}

// Warn logs a warning and adds it to the document of the operation (VnfLcmOpOcc.Warnings), once: a driver that is called
// again after a crash repeats its warnings. Outside of a phase Warn only logs.
func (op *Operation) Warn(ctx context.Context, message string) {
	message = bounded.Text(op.Mask(message), maxText)
	op.Log.WarnContext(ctx, message)
	op.warnings.add(message)
}

// Instance returns the VNF instance as the phase finds it, with the Resources of op. The credentials of its VIM connections are
// secrets: RevealJSON shows them, json.Marshal does not. In a hook that package hookrun runs it has the VIM, but neither names nor
// attributes that the caller keeps.
func (op *Operation) Instance() *VnfInstance {
	rec := instanceRecord{Instance: newInstance(VnfInstance{ID: op.InstanceID, VnfdID: op.Package.VNFD().ID}, op.Package.VNFD())}
	if op.instance != nil {
		rec = *op.instance
	}
	rec.Initial, rec.Levels, rec.Resources = op.Initial, op.Levels, op.Resources
	rec.Links, rec.ManagedLinks = op.Connectivity, op.ManagedLinks
	rec.Instance.VimConnectionInfo = withFirst(rec.Instance.VimConnectionInfo, op.VIM)
	if len(op.VNFCs) > 0 {
		rec.Instance.InstantiationState = Instantiated
	}
	return rec.view()
}

// withFirst returns the connections with the resolved VIM in the place of the first.
func withFirst(list VimConnections, vim VimConnectionInfo) VimConnections {
	if len(list) == 0 {
		return VimConnections{vim}
	}
	out := slices.Clone(list)
	vim.ID = list[0].ID
	out[0] = vim
	return out
}

// StopMachine turns off the machine of a VNFC, so that the machine no longer writes. A step of a management driver
// calls it before other machines take over. It returns ErrNotSupported if the InfraDriver is not a MachineStopper.
func (op *Operation) StopMachine(ctx context.Context, v VNFC) error {
	if op.claim == nil {
		return errReadOnly
	}
	stopper, able := op.infra.(MachineStopper)
	if !able {
		return fmt.Errorf("%w: the driver of VIM type %s cannot stop machines", ErrNotSupported, op.VIM.VimType)
	}
	return stopper.StopMachine(ctx, op, v)
}

// Publish sets metadata of a machine that every reader of the instance sees: its vnfcResourceInfo gets these metadata
// (SOL003 v3.3.1 5.5.3.5) in addition to those of the infra driver. They replace metadata that were published before.
// They belong to the machine: its replacement, as after a heal, starts without them. Do not publish secrets.
func (op *Operation) Publish(ctx context.Context, v VNFC, metadata map[string]string) error {
	return op.update(ctx, func(ctx context.Context, b *store.Batch) error {
		return op.changeInstance(ctx, b, func(i *instanceRecord) {
			kept := map[string]map[string]string{v.ResourceID: maps.Clone(metadata)}
			for _, other := range i.Resources.VNFCs {
				if known := i.Published[other.ResourceID]; known != nil && other.ResourceID != v.ResourceID {
					kept[other.ResourceID] = known
				}
			}
			i.Published = kept
		})
	})
}

// update writes the batch that build returns while this process has the claim. It fails outside of the phases, which
// must not write.
func (op *Operation) update(ctx context.Context, build func(context.Context, *store.Batch) error) error {
	if op.claim == nil {
		return errReadOnly
	}
	return op.claim.Update(ctx, build)
}

// mayCall returns nil while this process has the claim: it comes before a call that no batch can contain.
func (op *Operation) mayCall(ctx context.Context) error {
	if op.claim == nil {
		return errReadOnly
	}
	if err := op.claim.Hold(ctx); err != nil {
		return err
	}
	return op.claim.Verify(ctx)
}

var errReadOnly = fmt.Errorf("%w: Plan, Validate and Resources change nothing", ErrProgramming)

// changeInstance adds to b that change is made to the instance while the operation runs.
func (op *Operation) changeInstance(ctx context.Context, b *store.Batch, change func(*instanceRecord)) error {
	if op.claim.Guards() == kindHook { // the readers of the feed do not follow this instance
		return op.claim.changeInstance(ctx, b, op.claim.ID(), change)
	}
	var vnf VNFIdentity
	err := op.claim.changeInstance(ctx, b, op.InstanceID, func(i *instanceRecord) {
		change(i)
		vnf = i.identity()
	})
	if err != nil {
		return err
	}
	return op.records.appendChange(b, InstanceChanged, vnf, nil)
}

// attempt is the StepInfo.Attempt of steps that begin now.
func (op *Operation) attempt() int {
	if op.claim == nil {
		return 0
	}
	return int(op.claim.Epoch())
}

// hostOf returns the name of a VNFC, "" if it has none.
func (op *Operation) hostOf(id string) string {
	if v, found := op.vnfc(id); found && v.Name != "" {
		return v.Label()
	}
	return ""
}

// vnfc returns the VNFC with this id that exists, or that the operation adds, removes or replaces.
func (op *Operation) vnfc(id string) (v VNFC, found bool) {
	if id == "" {
		return VNFC{}, false
	}
	for _, list := range [][]VNFC{op.Change.Removed, op.Change.Added, op.VNFCs, op.Change.Replaced} {
		if i := slices.IndexFunc(list, func(v VNFC) bool { return v.ID == id }); i >= 0 {
			return list[i], true
		}
	}
	return VNFC{}, false
}

func (op *Operation) emit(e Event) {
	e.Time, e.InstanceID, e.Operation, e.State = time.Now(), op.InstanceID, op.occurrence, op.state
	e.Host, e.Attempt = op.hostOf(e.On), op.attempt()
	if op.Log == nil {
		return // made by a test or a program: it has no observer
	}
	log := op.Log.Debug
	if e.Kind == StepWaiting {
		log = op.Log.Info
	}
	log(string(e.Kind), "phase", e.Phase, "step", e.Name, "on", e.On, "host", e.Host,
		"duration", e.Duration, "message", e.Message)
	if op.observe != nil {
		observe(op.Log, op.observe, e)
	}
}

// State stores the drivers' data of one instance, sealed: host keys, generated passwords. Keys are paths such as
// "hostkey/<resource id>"; parallel steps write different ones.
type State struct {
	records  *records
	instance string
	update   func(context.Context, func(context.Context, *store.Batch) error) error
}

// Get reads the value of a key into v; ErrNotFound if there is no such key.
func (s *State) Get(ctx context.Context, key string, v any) error {
	if s.records == nil {
		return errByHand
	}
	_, err := s.records.Get(ctx, kindState, s.instance+"/"+key, v)
	return err
}

// Put writes the value of a key.
func (s *State) Put(ctx context.Context, key string, v any) error {
	return s.update(ctx, func(ctx context.Context, b *store.Batch) error {
		return s.records.Put(ctx, b, kindState, s.instance+"/"+key, v)
	})
}

// Keys lists the keys that begin with prefix, in order.
func (s *State) Keys(ctx context.Context, prefix string) ([]string, error) {
	if s.records == nil {
		return nil, errByHand
	}
	list, err := s.records.Store.List(ctx, store.Query{Kind: kindState, Prefix: s.instance + "/" + prefix})
	if err != nil {
		return nil, err
	}
	keys := make([]string, len(list))
	for i, r := range list {
		keys[i] = strings.TrimPrefix(r.ID, s.instance+"/")
	}
	return keys, nil
}

// Delete removes a key; a missing key is no error.
func (s *State) Delete(ctx context.Context, key string) error {
	return s.update(ctx, func(ctx context.Context, b *store.Batch) error {
		return s.records.Drop(ctx, b, kindState, s.instance+"/"+key)
	})
}
