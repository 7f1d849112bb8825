package vnflcm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm/internal/ledger"

	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// Config composes a Manager.
type Config struct {
	Store    store.Store            // required; store.NewMemory, store/sqlite, or the caller's own
	Key      []byte                 // required: at least 16 bytes, better 32 random ones, that seal what the store keeps (XAES-256-GCM)
	OldKeys  [][]byte               // keys that records may still be sealed under; Reseal makes them superfluous
	Packages Packages               // required; DirPackages, PackagesFunc, or the caller's own
	Infra    map[string]InfraDriver // by vimType
	Mgmt     map[string]MgmtDriver  // by the name that VNFDs give the driver (the key of its artifact)

	VIMs    VIMs    // default: a registry in the Store
	Granter Granter // default: no grant is needed
	Grants  GrantPolicy
	// Coordinator runs coordination scripts of packages. Default: requests that name one are refused.
	Coordinator Coordinator
	// PublicParams are paths of free-form attributes whose values documents show, in addition to those that drivers
	// declare (PublicParams): additionalParams.site, extensions.zones[], vimConnectionInfo[].interfaceInfo.endpoint,
	// vnfcInfoModifications[].vnfcConfigurableProperties.log (of requests and of instances).
	// "*" stands for every key of an object. All other free-form values are ***.
	PublicParams []string
	Intercept    Interceptor // wraps every step
	Observe      func(Event) // called for every event; must not block
	Logger       *slog.Logger
	// NewID returns the id of a new instance or operation. Default: a random UUID.
	NewID func() string

	// KnownVIMs are put into the registry by New, before operations are taken up. The first one that requests
	// without a tenant may use becomes their default. Clients of an API cannot change them (VIMRegistry).
	KnownVIMs VimConnections
	// KnownVIMsSource says where KnownVIMs come from, for the errors of clients that try to change them, such as the name of a file. A VIM
	// that KnownVIMs no longer have stays registered, and can be changed after New with the same source. Default: "the configuration of
	// the program"; then New without KnownVIMs leaves everything as it is.
	KnownVIMsSource string

	// Limit is how many operations this process works on at once. It leaves further ones to other processes, or until it has room.
	// Default 64. With a Runner, its engine sets the limit.
	Limit int
	// AcceptOnly makes a Manager that accepts requests and works on no operation: other processes do. Nor does it renew credentials of
	// VIMs or read certificates. With a Runner it starts the operations there. It is also for programs that only read the Store.
	AcceptOnly bool
	// Runner starts operations elsewhere, by RunPhase: with it this Manager takes up no operation by itself.
	Runner Runner
	// LeaseTTL is how long another process waits, by its own clock, without a sign of life of this process before it
	// takes over the operations of this process, be it the next process of the same program. Default 15 s.
	LeaseTTL time.Duration
	// MaxTakeovers is how often an operation is taken over from processes that ended while they worked on it, without a new
	// journal entry or phase in between. The last two times it is suspected: first it runs beside no other suspected
	// operation, then as the only operation of its process. If that process ends too, the operation is not taken over: it
	// enters FAILED_TEMP with ErrProcessEnded (ROLLED_BACK from STARTING), and can be retried. Processes that end by Close,
	// that were only stopped or that lost the Store do not count, once they have said so. Default 3.
	MaxTakeovers int
	// Maintenance is when certificates are renewed without an order. Default: never.
	Maintenance MaintenanceWindow
	// Snapshots keeps the archives of snapshots; see package vnflcm/snapshots. Default: requests for snapshots are refused, and operations
	// take none.
	Snapshots      Snapshots
	SnapshotPolicy SnapshotPolicy

	format int // the newest that this process knows; 0: newestFormat
}

// Manager runs the lifecycle of VNF instances (SOL003 v2.6.1 5), from New until Close. Its methods return as soon as a request is
// accepted, with the id of the operation; Wait waits for it. It is safe for concurrent use.
type Manager struct {
	cfg     Config
	records *records
	watcher store.Watcher // the Store, if it is a Watcher
	vims    VIMs

	process   *ledger.Lease
	watching  sync.Mutex       // held while orphans are looked for; guards seen
	seen      ledger.Sightings // of other processes
	keeping   sync.WaitGroup
	renewals  renewals
	looks     renewals      // at certificates, by instance
	window    windowMemory  // of this process
	scheduled renewals      // snapshots, by instance
	checks    runningChecks // of VIMs

	mu       sync.Mutex
	runs     map[string]*run
	outcomes outcomes
	waiting  map[string]int64           // versions of the claims of suspected operations that cannot run beside the current ones
	stop     context.CancelFunc         // ends the goroutine that watches the store; nil before it starts
	changed  notice                     // the store may have changed
	lost     map[string]*operationClaim // left without being given up, by operation
	awaited  awaitedOperation
	keep     context.CancelFunc // ends the goroutines that renew the lease and look for orphans; nil if there are none
	closed   bool
}

// New returns a Manager, which works until Close: it runs the operations that it accepts, takes up those that no process works on, the
// oldest accepted first, and renews credentials of VIMs that expire (VIMRenewer). Processes on the same Store share the operations
// evenly, each up to its Limit. Operations of a process that ended without Close are taken up after its LeaseTTL. Drivers and functions
// of the Config may be called before New returns; ctx bounds only New. ErrUnreadable: the store was written under another key, or has
// a format that this version does not know (docs/store.md); it is unchanged. A Key of zeros is an error for a new store, and a warning in
// the log for a store in use. If a newer version migrates the store later, the next write
// and all later calls of the Manager return ErrShutdown with the reason. If only the record that shows this is damaged, New writes it again
// and logs that.
func New(ctx context.Context, cfg Config) (*Manager, error) {
	if cfg.Store == nil || cfg.Packages == nil {
		return nil, errors.New("vnflcm: Config needs a Store and Packages")
	}
	if err := errors.Join(checkPublicParams(cfg.PublicParams), cfg.Maintenance.check(), cfg.Grants.check(), cfg.SnapshotPolicy.check()); err != nil {
		return nil, err
	}
	watcher, _ := cfg.Store.(store.Watcher)
	recs, err := cfg.open(ctx)
	if err != nil {
		return nil, err
	}
	cfg.Store = recs.Store
	if cfg.NewID == nil {
		cfg.NewID = uuid.NewString
	}
	cfg.Limit = cmp.Or(max(cfg.Limit, 0), 64)
	m := &Manager{cfg: cfg, records: recs, vims: cfg.VIMs, watcher: watcher, runs: map[string]*run{}, changed: notice{next: make(chan struct{})}, seen: ledger.Sightings{}, waiting: map[string]int64{}, lost: map[string]*operationClaim{}}
	m.process = ledger.NewLease(recs.Ledger, ledger.KindProcess, uuid.NewString(), cfg.LeaseTTL, m.limit())
	recs.OnNewer(m.reportNewer)
	if err := m.putKnownVIMs(ctx); err != nil {
		return nil, err
	}
	if recorded, is := cfg.Packages.(RecordedPackages); is {
		if err := recorded.Attach(ctx, m); err != nil {
			return nil, err
		}
	}
	m.start(ctx)
	return m, nil
}

// putKnownVIMs registers Config.KnownVIMs.
func (m *Manager) putKnownVIMs(ctx context.Context) error {
	first := slices.IndexFunc(m.cfg.KnownVIMs, func(vim VimConnectionInfo) bool { return vim.UsableBy("") })
	for i, vim := range m.cfg.KnownVIMs {
		err := m.vims.Put(ctx, vim)
		if err == nil && i == first {
			err = m.vims.SetDefault(ctx, "", vim.VimID)
		}
		if err != nil {
			return fmt.Errorf("KnownVIMs[%d]: %w", i, err)
		}
	}
	own, stored := m.vims.(*storeVIMs)
	if !stored || len(m.cfg.KnownVIMs) == 0 && m.cfg.KnownVIMsSource == "" {
		return nil
	}
	return own.putKnown(ctx, m.cfg.KnownVIMs, cmp.Or(m.cfg.KnownVIMsSource, "the configuration of the program"))
}

// open makes the records of the Store, and fills in the related defaults.
func (c *Config) open(ctx context.Context) (*records, error) {
	if c.LeaseTTL <= 0 {
		c.LeaseTTL = 15 * time.Second
	}
	c.MaxTakeovers = cmp.Or(max(c.MaxTakeovers, 0), 3)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	l, err := ledger.New(c.Store, cmp.Or(c.format, newestFormat), RevealJSON, append([][]byte{c.Key}, c.OldKeys...)...)
	if err == nil {
		err = l.Check(ctx, c.Logger, kindInstance, kindOperation, kindVIM)
	}
	if err != nil {
		return nil, err
	}
	recs := &records{Ledger: l, turns: newTurns()}
	if c.VIMs == nil {
		c.VIMs = &storeVIMs{records: recs, log: c.Logger}
	}
	return recs, nil
}

// VIMs is the registry that requests are resolved with.
func (m *Manager) VIMs() VIMs { return m.vims }

// instanceRecord is the stored form of a VNF instance.
type instanceRecord struct {
	Instance      VnfInstance           `json:"instance"`
	Tenant        string                `json:"tenant,omitempty"`
	Holder        string                `json:"holder,omitempty"` // the operation that has the instance locked
	Epoch         int64                 `json:"epoch,omitempty"`  // of the claim of that operation at the latest write
	PackageDigest string                `json:"packageDigest,omitempty"`
	Initial       InstantiateVnfRequest `json:"initial,omitzero"`
	DefaultVIM    string                `json:"defaultVim,omitempty"` // where the instance is, if its request named no VIM
	VIMForm       vimForm               `json:"vimForm,omitempty"`    // of the first connection; "" before forms were stored
	VIMOwner      *string               `json:"vimOwner,omitempty"`   // the tenant of the registered VIM; nil before owners were stored
	Levels        map[string]int        `json:"levels,omitempty"`
	Resources     Resources             `json:"resources,omitzero"`
	// What drivers have published of machines, by their resource ids.
	Published map[string]map[string]string `json:"published,omitempty"`
	// VNFCProperties are the vnfcConfigurableProperties, by the ids of the VNFCs.
	VNFCProperties map[string]Params `json:"vnfcProperties,omitempty"`
	// Adopted are the ids of the resources that the instance has adopted (Adopted.Owned).
	Adopted []string `json:"adopted,omitempty"`
	// RegisteredVIMs are the VIMs that the instance has become, by RegisterVIM.
	RegisteredVIMs []string `json:"registeredVims,omitempty"`
	// Stopped says that the VNF was stopped by Operate.
	Stopped bool `json:"stopped,omitempty"`
	// The current external connections.
	Links        []ExtVirtualLinkData        `json:"links,omitempty"`
	ManagedLinks []ExtManagedVirtualLinkData `json:"managedLinks,omitempty"`
	// ParamsDeclared is set if the instantiation was compared with the additional_parameters of the VNFD.
	ParamsDeclared bool `json:"paramsDeclared,omitempty"`
	// Mixed is set while parts of the VNF run by another package than the instance has.
	Mixed *mixture `json:"mixed,omitempty"`
}

// operationRecord is the stored form of an operation. Only the process that has the claim changes it.
type operationRecord struct {
	Occ     VnfLcmOpOcc    `json:"occ"`
	VNF     VNFIdentity    `json:"vnf,omitzero"`     // when it began
	Levels  map[string]int `json:"levels,omitempty"` // when it has succeeded
	Before  map[string]int `json:"before,omitempty"` // when it began
	VNFCs   []VNFC         `json:"vnfcs,omitempty"`  // when it began
	Began   beginning      `json:"began,omitzero"`
	Drivers []string       `json:"drivers,omitempty"` // that the VNFD names for this flavour
	VIMType string         `json:"vimType,omitempty"`
	VIMForm vimForm        `json:"vimForm,omitempty"` // after a modification of connections
	Owner   *string        `json:"owner,omitempty"`   // of the VIM after a modification of connections
	Planned Change         `json:"planned,omitzero"`
	Change  Change         `json:"change,omitzero"`   // Planned until the resources have been changed
	Undoing bool           `json:"undoing,omitempty"` // rolling back has begun: entries of the forward journal are void
	Undo    Change         `json:"undo,omitzero"`     // what rolling back removes
	Grant   *Grant         `json:"grant,omitempty"`
	Asked   *askedGrant    `json:"asked,omitempty"`  // nil before the request for the grant, and once there is a Grant
	Done    []string       `json:"done,omitempty"`   // phases
	Phases  []Performed    `json:"phases,omitempty"` // that are done: part of the history
	Kept    bool           `json:"kept,omitempty"`   // there is a historyRecord
	// Scalings are what a SCALE_TO_LEVEL does, in this order.
	Scalings []scaling `json:"scalings,omitempty"`
	// Package is set for a CHANGE_VNFPKG.
	Package *packageChange `json:"package,omitempty"`
	Sender  string         `json:"sender,omitempty"` // of the request

	accepting func(*store.Batch) error // adds to the batch that accepts the operation
}

// maxPackageConflicts is how often an instance is written again because the document of its package has changed.
const maxPackageConflicts = 20

// Get returns a VNF instance, ErrNotFound for an unknown id.
func (m *Manager) Get(ctx context.Context, instanceID string) (*VnfInstance, error) {
	rec, version, err := m.instance(ctx, instanceID)
	if err != nil {
		return nil, err
	}
	view := rec.view(m.cfg.PublicParams...)
	view.Version = documentVersion(version, 0)
	return view, nil
}

// Operation returns an operation occurrence, ErrNotFound for an unknown id.
func (m *Manager) Operation(ctx context.Context, opID string) (*VnfLcmOpOcc, error) {
	rec, version, err := m.operation(ctx, opID)
	if err != nil {
		return nil, err
	}
	return m.showOperation(ctx, rec, version), nil
}

// showOperation returns a document that also shows a pending cancel and the count of machines. The cancel has a separate record, because only
// the process that works on the operation writes the operation's record.
func (m *Manager) showOperation(ctx context.Context, rec *operationRecord, version int64) *VnfLcmOpOcc {
	var pending int64
	if rec.Occ.OperationState.active() {
		var cancel cancelRequest
		if asked, err := m.records.Get(ctx, kindCancel, rec.Occ.ID, &cancel); err == nil {
			rec.Occ.IsCancelPending, rec.Occ.CancelMode, pending = true, cancel.Mode, asked
		}
		if count, counts := m.counted(ctx, rec); count != nil {
			rec.Occ.Machines, pending = count, pending+counts
		}
	}
	occ := m.occurrence(rec)
	occ.Version = documentVersion(version, pending)
	return occ
}

func (m *Manager) instance(ctx context.Context, id string) (*instanceRecord, int64, error) {
	var rec instanceRecord
	version, err := m.records.Get(ctx, kindInstance, id, &rec)
	if err != nil {
		return nil, 0, fmt.Errorf("VNF instance %s: %w", id, err)
	}
	return &rec, version, nil
}

// instanceAt returns an instance that must have the Version ifMatch (ErrPrecondition), "" for any.
func (m *Manager) instanceAt(ctx context.Context, id, ifMatch string) (*instanceRecord, int64, error) {
	rec, version, err := m.instance(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	if now := documentVersion(version, 0); ifMatch != "" && ifMatch != now {
		return nil, 0, fmt.Errorf("%w: VNF instance %s has the version %s", ErrPrecondition, id, now)
	}
	return rec, version, nil
}

func (m *Manager) operation(ctx context.Context, id string) (*operationRecord, int64, error) {
	var rec operationRecord
	version, err := m.records.Get(ctx, kindOperation, id, &rec)
	if err != nil {
		return nil, 0, fmt.Errorf("operation %s: %w", id, err)
	}
	return &rec, version, nil
}

// heldBy returns the ErrConflict of a locked instance, nil if the instance is not locked. Its text names the state of the operation
// that holds the lock, and what ends that operation. An operation that has ended locks nothing: it has ended since inst was read, and a
// write in place of inst fails, or inst comes from a backup.
func (m *Manager) heldBy(ctx context.Context, inst *instanceRecord) error {
	if inst.Holder == "" {
		return nil
	}
	err := fmt.Errorf("%w: VNF instance %s is locked by operation %s", ErrConflict, inst.Instance.ID, inst.Holder)
	rec, _, readErr := m.operation(ctx, inst.Holder)
	switch {
	case errors.Is(readErr, ErrUnreadable):
		return fmt.Errorf("%w, whose record cannot be read: restore it, or give the operation up with Manager.Forget", err)
	case errors.Is(readErr, ErrNotFound):
		return fmt.Errorf("%w, which does not exist: restore it, or give the instance up with Manager.Abandon", err)
	case readErr != nil:
		return err
	}
	var remedy string
	switch {
	case rec.Occ.OperationState.Final():
		return nil
	case rec.Occ.OperationState.active():
		remedy = "wait for it or cancel it"
	case rec.Occ.OperationState == FailedTemp && rec.canRollBack():
		remedy = "retry it, roll it back or fail it"
	case rec.Occ.OperationState == FailedTemp:
		remedy = "retry it or fail it"
	}
	return fmt.Errorf("%w (%s), which is %s: %s", err, rec.Occ.Operation, rec.Occ.OperationState, remedy)
}

// closePackage closes a package and ignores the error: at that time nothing depends on it.
func closePackage(p *tosca.Package) { _ = p.Close() }
