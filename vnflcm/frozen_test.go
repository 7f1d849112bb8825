package vnflcm_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/pgtest"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/postgres"
	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
)

// Files in a directory testdata/format-<commit>. TestFreeze writes them, and TestFrozen reads them.
const (
	frozenSQLite    = "state.db"
	frozenPostgres  = "postgres.sql"  // output of pg_dump
	frozenKeys      = "keys.txt"      // one key per line in hex: the current key, then the old keys
	frozenDocuments = "documents.txt" // the documents that a Manager returns for the database
	frozenWorld     = "world.json"    // a frozenState
	frozenPackage   = "package"       // directory with the files of the VNF package, whose digest is in the database
)

// frozenState is the state of the toys when the database was frozen, and the ends of its operations.
type frozenState struct {
	Machines   map[string][]vnflcm.VNFC               // VNFCs by instance
	Nodes      map[string]map[string]string           // by instance and VNFC
	Tokens     map[string]int                         // by instance
	Links      map[string][]vnflcm.ExtVirtualLinkData // by instance
	Unfinished []frozenOperation
	// Positions are the cursors after the first Read changes of the feed, by file of the database.
	Positions map[string]vnflcm.Cursor
	Read      int
}

// frozenOperation is an operation that has not ended in a frozen database.
type frozenOperation struct {
	ID    string
	State vnflcm.OperationState // state after another process has taken over the operation
	Verb  string                // retry, rollback or fail: the call for an operation in FAILED_TEMP
	Want  vnflcm.OperationState // final state
	Void  bool                  // rolling back has begun, so a retry repeats all steps
	// Step is the key of the step in which the operation was interrupted, if the operation continues with this step.
	Step string
	// Machines are the machines of the instance after the end, separated by spaces.
	Machines string
}

var frozenVerbs = map[string]func(*vnflcm.Manager, context.Context, string) error{
	"retry": (*vnflcm.Manager).Retry, "rollback": (*vnflcm.Manager).Rollback, "fail": (*vnflcm.Manager).Fail}

// Secrets in a frozen database. None of its files contains them in clear.
const (
	canaryParams  = `{"password":"canary-params","replicas":2}` // of each instance
	canaryToken   = "canary-token"                              // of vim1
	canaryState   = "canary-state-"                             // before the id of the instance, in its State
	canaryMade    = "canary-made"                               // of the VIM that an instance has become
	canaryRenewed = "canary-renewed"
)

// Credentials with the validity frozenEnded have expired, and those with the other validity have not, whatever the date is.
var (
	frozenEnded   = vnflcm.Validity{Until: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), For: 10 * time.Minute}
	frozenLasting = vnflcm.Validity{Until: time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC), For: time.Hour}
)

// Instances of a frozen database that the toys below distinguish.
const (
	frozenFull      = "full"      // has resources of every type, and is a VIM with expired credentials
	frozenAdopted   = "adopted-"  // prefix of instances that were not instantiated and have no State
	frozenHooked    = "hooked"    // another program manages it, which calls RunHook
	frozenAbandoned = "abandoned" // abandoned; its machines still exist
)

// frozenCloud is a cloud that stores a secret in the State of each instance.
type frozenCloud struct{ cloud }

func (c *frozenCloud) Instantiate(ctx context.Context, op *vnflcm.Operation) error {
	if err := op.State().Put(ctx, "password", vnflcm.NewSecret(canaryState+op.InstanceID)); err != nil {
		return err
	}
	return c.cloud.Instantiate(ctx, op)
}

// Heal fails unless it reads the secrets of the State, of the request and of the VIM.
func (c *frozenCloud) Heal(ctx context.Context, op *vnflcm.Operation) error {
	var password vnflcm.Secret
	switch err := op.State().Get(ctx, "password", &password); {
	case strings.HasPrefix(op.InstanceID, frozenAdopted) && errors.Is(err, vnflcm.ErrNotFound):
		password = vnflcm.NewSecret(canaryState + op.InstanceID)
	case err != nil:
		return err
	}
	got := []string{password.Reveal(), string(op.Params.Reveal()), tokenOf(op.VIM)}
	if want := []string{canaryState + op.InstanceID, canaryParams, canaryToken}; !slices.Equal(got, want) {
		return fmt.Errorf("these secrets of the State, the request and the VIM have another value: %t, %t, %t",
			got[0] != want[0], got[1] != want[1], got[2] != want[2])
	}
	return c.cloud.Heal(ctx, op)
}

func (c *frozenCloud) Resources(ctx context.Context, op *vnflcm.Operation) (vnflcm.Resources, error) {
	r, err := c.cloud.Resources(ctx, op)
	if op.InstanceID != frozenFull || len(r.VNFCs) == 0 {
		return r, err
	}
	address := netip.MustParseAddr("192.0.2.10")
	for i := range r.VNFCs[:1] {
		v := &r.VNFCs[i]
		v.Aspect, v.Zone, v.Host, v.HostKey, v.StorageIDs = v.VDU+"s", "north", "compute1", "ssh-ed25519 AAAA "+v.ID, []string{"disk-" + v.ID}
		v.CPs = []vnflcm.ConnectionPoint{{CPD: v.VDU + "_cp", ResourceID: "port-" + v.ID, MAC: "02:00:00:00:00:01", Fixed: []netip.Addr{address}}}
		v.Metadata = map[string]string{"of": "machine"}
		r.Storages = append(r.Storages, vnflcm.Storage{ID: "disk-" + v.ID, Descriptor: "disk", ResourceID: "volume-" + v.ID})
	}
	r.ConnectionPoints = []vnflcm.ConnectionPoint{{CPD: "vip", ResourceID: "port-vip", Fixed: []netip.Addr{address.Next()}, Floating: netip.MustParseAddr("2001:db8::1")}}
	r.VirtualLinks = []vnflcm.VirtualLink{{ID: "inner", VLD: "inner", ResourceID: "net-inner"}}
	r.NodePorts = []vnflcm.NodePort{{Namespace: "default", Service: "web", Port: "http", Protocol: "TCP", NodePort: 30080}}
	r.Metadata = map[string]string{"stack": "full"}
	return r, err
}

// frozenCluster is a cluster whose instances are VIMs, and which publishes metadata.
type frozenCluster struct {
	cluster
	mu      sync.Mutex
	renewal error // error of each RenewVIM; nil: new credentials
	renewed []renewed
}

func (d *frozenCluster) Hooks() vnflcm.Hooks {
	hooks := d.cluster.Hooks()
	hooks[vnflcm.InstantiateEnd] = d.register
	for name, hook := range hooks {
		hooks[name] = func(ctx context.Context, op *vnflcm.Operation) error {
			if op.Grant == nil && name != vnflcm.ModifyEnd && op.InstanceID != frozenHooked {
				return errors.New("the grant is missing")
			}
			if op.Kind == vnflcm.OpTerminate {
				if err := op.RemoveVIM(ctx, madeBy(op.InstanceID)); err != nil {
					return err
				}
			}
			return hook(ctx, op)
		}
	}
	return hooks
}

func madeBy(instanceID string) string { return "made-by-" + instanceID }

func (d *frozenCluster) register(ctx context.Context, op *vnflcm.Operation) error {
	if _, err := vnflcm.Run(ctx, op, vnflcm.Step[string]{Name: "prepare", Rev: 2, Do: func(context.Context) (string, error) { return "prepared", nil }}); err != nil {
		return err
	}
	if err := d.build(ctx, op); err != nil {
		return err
	}
	if err := op.Publish(ctx, op.VNFCs[0], map[string]string{"role": "first"}); err != nil {
		return err
	}
	access, err := vnflcm.NewParams(map[string]string{"bearer_token": canaryMade})
	if err != nil {
		return err
	}
	life := frozenLasting
	if op.InstanceID == frozenFull {
		life = frozenEnded
	}
	id := madeBy(op.InstanceID)
	return op.RegisterVIMUntil(ctx, vnflcm.VimConnectionInfo{ID: id, VimID: id, VimType: "toy", AccessInfo: access}, life)
}

func (d *frozenCluster) RenewVIM(_ context.Context, op *vnflcm.Operation, vim vnflcm.VimConnectionInfo, was vnflcm.Validity) (vnflcm.VimConnectionInfo, vnflcm.Validity, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.renewal != nil {
		return vim, was, d.renewal
	}
	d.renewed = append(d.renewed, renewed{op.InstanceID, tokenOf(vim), string(op.Params.Reveal()), len(op.VNFCs), was})
	access, err := vnflcm.NewParams(map[string]string{"bearer_token": canaryRenewed})
	vim.AccessInfo = access
	return vim, frozenLasting, err
}

// frozenConfig returns the configuration for a frozen database, without the Store, the keys and the package.
func frozenConfig(w *world) vnflcm.Config {
	return vnflcm.Config{LeaseTTL: time.Hour,
		Infra: map[string]vnflcm.InfraDriver{"toy": &frozenCloud{cloud{world: w}}},
		Mgmt:  map[string]vnflcm.MgmtDriver{"cluster": &frozenCluster{cluster: cluster{world: w}}},
		Granter: granter(func(_ context.Context, r vnflcm.GrantRequest) (*vnflcm.Grant, error) {
			return &vnflcm.Grant{ID: "grant-" + r.VnfLcmOpOccID, Zones: []vnflcm.ZoneInfo{{ID: "1", ZoneID: "north"}}}, nil
		})}
}

// hookCall is the data with which another program calls RunHook for the instance frozenHooked.
func hookCall(ctx context.Context, packages vnflcm.Packages, opID string) (vnflcm.OperationData, error) {
	pkg, err := packages.Open(ctx, "", toyVNFD, "")
	if err != nil {
		return vnflcm.OperationData{}, err
	}
	params, err := vnflcm.ParseParams([]byte(canaryParams))
	request := vnflcm.InstantiateVnfRequest{FlavourID: "plain", AdditionalParams: params}
	return vnflcm.OperationData{ID: opID, InstanceID: frozenHooked, Kind: vnflcm.OpInstantiate, Instantiate: &request, Initial: request, Package: pkg,
		VIM: vnflcm.VimConnectionInfo{VimID: "vim1", VimType: "toy"}, Resources: vnflcm.Resources{VNFCs: []vnflcm.VNFC{
			{ID: "a", VDU: "master", ResourceID: "vm-a"}, {ID: "b", VDU: "worker", ResourceID: "vm-b"}}}}, err
}

// documents returns a line for each document of the Manager. Instances, VIMs and subscriptions contain their secrets. Operations contain
// the parameters that the current drivers declare as public.
func (x *toys) documents() (lines []string) {
	x.t.Helper()
	ctx := x.t.Context()
	add := func(what string, document any) {
		x.t.Helper()
		var text []byte
		var err error
		switch document.(type) {
		case *vnflcm.VnfLcmOpOcc, vnflcm.ChangeEntry:
			text, err = json.Marshal(document)
		default:
			text, err = vnflcm.RevealJSON(document)
		}
		must(x.t, err)
		lines = append(lines, what+" "+string(text))
	}
	instances, err := x.Instances(ctx, vnflcm.InstanceQuery{})
	must(x.t, err)
	for _, inst := range instances.Items {
		add(fmt.Sprintf("instance %s version %s tenant %q", inst.ID, inst.Version, inst.Tenant), inst)
	}
	operations, err := x.Operations(ctx, vnflcm.OperationQuery{})
	must(x.t, err)
	for _, occ := range operations.Items {
		add(fmt.Sprintf("operation %s version %s tenant %q, can be rolled back %t", occ.ID, occ.Version, occ.Tenant, occ.CanRollBack), occ)
		history, err := x.History(ctx, occ.ID)
		must(x.t, err)
		add("history of "+occ.ID, history)
	}
	changes, _, err := x.Changes(ctx, "", 10_000)
	must(x.t, err)
	for _, change := range changes {
		add("change", change)
	}
	vims, err := x.VIMs().List(ctx)
	must(x.t, err)
	for _, vim := range vims {
		add("VIM "+vim.VimID, vim)
	}
	for _, tenant := range []string{"", "another"} { // only the tenant of its instance may use an entry without owner
		_, err := x.VIMs().Get(ctx, tenant, madeBy(frozenFull))
		wantIs(x.t, err, vnflcm.ErrNotFound)
		_, err = x.VIMs().Get(ctx, tenant, "vim1")
		must(x.t, err)
	}
	byDefault, err := x.VIMs().Default(ctx, "", "toy")
	must(x.t, err)
	add("default VIM", byDefault)
	subscriptions, err := x.Documents("subscriptions").List(ctx, "", 0)
	must(x.t, err)
	for _, document := range subscriptions {
		var value map[string]any
		must(x.t, document.Decode(&value))
		add(fmt.Sprintf("document %s version %d", document.ID, document.Version), value)
	}
	abandoned, err := x.Abandoned(ctx)
	must(x.t, err)
	for _, left := range abandoned {
		add("abandoned", left)
	}
	return lines
}

// TestFrozen opens SQLite databases of earlier versions of vnfkit and continues with them, in their format and after a migration.
func TestFrozen(t *testing.T) {
	t.Parallel()
	eachFrozen(t, func(t *testing.T, dir string, migrate bool) {
		content, err := os.ReadFile(filepath.Join(dir, frozenSQLite)) //nolint:gosec // test data
		must(t, err)
		if bytes.Contains(content, []byte("canary")) {
			t.Error("a secret is in the database")
		}
		path := filepath.Join(t.TempDir(), frozenSQLite)
		must(t, os.WriteFile(path, content, 0o600))
		store, err := sqlite.Open(t.Context(), path)
		must(t, err)
		t.Cleanup(func() { must(t, store.Close()) })
		thaw(t, dir, frozenSQLite, store, migrate)
	})
}

// TestFrozenPostgres is TestFrozen for PostgreSQL.
func TestFrozenPostgres(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	eachFrozen(t, func(t *testing.T, dir string, migrate bool) {
		dump, err := os.ReadFile(filepath.Join(dir, frozenPostgres)) //nolint:gosec // test data
		must(t, err)
		if bytes.Contains(dump, []byte("canary")) || bytes.Contains(dump, hex.AppendEncode(nil, []byte("canary"))) {
			t.Error("a secret is in the database")
		}
		path := filepath.Join(server.Dir(), filepath.Base(dir)+".sql")
		must(t, os.WriteFile(path, dump, 0o644)) //nolint:gosec // psql reads the file as another user
		dsn := server.NewDatabase(t)
		server.Program(t, "psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--single-transaction", "--file="+path, dsn)
		store, err := postgres.Open(t.Context(), dsn, postgres.Options{})
		must(t, err)
		t.Cleanup(func() { must(t, store.Close()) })
		thaw(t, dir, frozenPostgres, store, migrate)
	})
}

func eachFrozen(t *testing.T, test func(t *testing.T, dir string, migrate bool)) {
	t.Helper()
	dirs, err := filepath.Glob("testdata/format-*")
	if err != nil || len(dirs) == 0 {
		t.Fatal("testdata has no frozen database", err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) { test(t, dir, false) })
		t.Run(filepath.Base(dir)+", migrated", func(t *testing.T) { test(t, dir, true) })
	}
}

// thawed is a Manager on a copy of a frozen database.
type thawed struct {
	*toys
	frozen   frozenState
	driver   *frozenCluster
	packages *pinnedPackages
	mu       sync.Mutex
	begun    []string // steps and phases that this process has begun, by their keys
}

// pinnedPackages counts how often a package is opened without a digest.
type pinnedPackages struct {
	vnflcm.Packages
	unpinned atomic.Int32
}

func (p *pinnedPackages) Open(ctx context.Context, tenant, vnfdID, digest string) (*tosca.Package, error) {
	if digest == "" {
		p.unpinned.Add(1)
	}
	return p.Packages.Open(ctx, tenant, vnfdID, digest)
}

// thaw compares all documents of the database with the documents of the earlier version; if migrate is set, before and after a
// migration. Then it ends the operations and hooks that have not ended, changes every instance and every other record, and removes them.
func thaw(t *testing.T, dir, file string, db store.Store, migrate bool) {
	t.Helper()
	x := &thawed{}
	text, err := os.ReadFile(filepath.Join(dir, frozenWorld)) //nolint:gosec // test data
	must(t, err)
	must(t, json.Unmarshal(text, &x.frozen))
	w := newWorld()
	w.machines, w.nodes, w.token, w.links = x.frozen.Machines, x.frozen.Nodes, x.frozen.Tokens, x.frozen.Links
	x.toys = &toys{t: t, world: w, cfg: frozenConfig(w)}
	x.cfg.Store, x.cfg.Observe = db, x.observe
	// Without its record, the first of the two processes that have died counts as gone at once.
	processes, err := db.List(t.Context(), store.Query{Kind: "process"})
	must(t, err)
	must(t, db.Apply(t.Context(), store.Batch{Delete: processes[:1]}))
	keys := linesOf(t, filepath.Join(dir, frozenKeys))
	for i, line := range keys {
		key, err := hex.DecodeString(line)
		must(t, err)
		if i == 0 {
			x.cfg.Key = key
		} else {
			x.cfg.OldKeys = append(x.cfg.OldKeys, key)
		}
	}
	x.packages = &pinnedPackages{Packages: vnflcm.PackagesFunc(func(_ context.Context, _, vnfdID string) (tosca.Source, error) {
		if vnfdID != toyVNFD {
			return tosca.Source{}, vnflcm.ErrNotFound
		}
		return tosca.FS(os.DirFS(filepath.Join(dir, frozenPackage))), nil
	})}
	x.cfg.Packages = x.packages
	x.driver = x.cfg.Mgmt["cluster"].(*frozenCluster)

	x.cfg.AcceptOnly = true // this Manager only reads
	x.open()
	x.compareDocuments(dir)
	if migrate {
		done, err := x.Migrate(t.Context())
		must(t, err)
		want := migrated
		if done.From == want.To { // the database already has this format
			want = vnflcm.Migration{From: want.To, To: want.To, Records: map[string]int{}}
		}
		if diff := cmp.Diff(want, done); diff != "" {
			t.Errorf("migration:\n%s", diff)
		}
		x.compareDocuments(dir)
	}
	x.readFeed(x.frozen.Positions[file])
	// Instances stay on the VIM that was the default at their instantiation.
	must(t, x.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "vim2", VimType: "toy"}))
	must(t, x.VIMs().SetDefault(t.Context(), "", "vim2"))
	x.endOperations()
	x.continueRest()
	x.endLives()
	x.discardOldKeys()
}

func (x *thawed) compareDocuments(dir string) {
	x.t.Helper()
	if diff := cmp.Diff(linesOf(x.t, filepath.Join(dir, frozenDocuments)), x.documents()); diff != "" {
		x.t.Fatalf("documents:\n%s", diff)
	}
}

// open creates the Manager. Closing it may take a minute on a busy machine.
func (x *thawed) open() {
	x.t.Helper()
	m, err := vnflcm.New(x.t.Context(), x.cfg)
	must(x.t, err)
	x.Manager = m
	x.t.Cleanup(x.close)
}

func (x *thawed) close() {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	must(x.t, x.Close(ctx))
}

func linesOf(t *testing.T, name string) []string {
	t.Helper()
	content, err := os.ReadFile(name) //nolint:gosec // test data
	must(t, err)
	return strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
}

// observe records steps and phases that begin. A step that is in the journal does not begin.
func (x *thawed) observe(e vnflcm.Event) {
	if e.Kind != vnflcm.StepStarted && e.Kind != vnflcm.PhaseStarted {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.begun = append(x.begun, e.Key())
}

// readFeed reads the feed from a position that a reader had while the database was created.
func (x *thawed) readFeed(position vnflcm.Cursor) {
	x.t.Helper()
	all, _, err := x.Changes(x.t.Context(), "", 10_000)
	must(x.t, err)
	later, _, err := x.Changes(x.t.Context(), position, 10_000)
	must(x.t, err)
	changeIDs := func(list []vnflcm.ChangeEntry) (ids []string) {
		for _, change := range list {
			ids = append(ids, change.ID)
		}
		return ids
	}
	if diff := cmp.Diff(changeIDs(all)[x.frozen.Read:], changeIDs(later)); diff != "" {
		x.t.Errorf("changes after %q:\n%s", position, diff)
	}
}

// frozenPatience is the maximum time for events that must happen.
const frozenPatience = time.Minute

func (x *thawed) await(opID string, want vnflcm.OperationState) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.t.Context(), frozenPatience)
	defer cancel()
	occ, err := x.Wait(ctx, opID)
	if occ == nil || occ.OperationState != want {
		x.t.Fatalf("operation %s, want %s: %+v, %v", opID, want, occ, err)
	}
}

// endOperations lets the Manager take over the operations of dead processes, and then retries, rolls back and fails operations in
// FAILED_TEMP. No completed step or phase may begin again.
func (x *thawed) endOperations() {
	x.t.Helper()
	done := x.doneBefore()
	x.close()
	x.cfg.AcceptOnly = false
	x.open()
	for _, op := range x.frozen.Unfinished {
		x.await(op.ID, op.State)
		if op.Verb != "" {
			must(x.t, frozenVerbs[op.Verb](x.Manager, x.t.Context(), op.ID))
			x.await(op.ID, op.Want)
		}
		x.checkEnd(op)
	}
	list, err := x.Operations(x.t.Context(), vnflcm.OperationQuery{})
	must(x.t, err)
	for _, occ := range list.Items {
		if !occ.OperationState.Final() {
			x.t.Errorf("operation %s is %s", occ.ID, occ.OperationState)
		}
	}
	if n := x.packages.unpinned.Load(); n > 0 {
		x.t.Errorf("the package of an instance was opened %d times without its digest", n)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, key := range x.begun {
		if done[key] {
			x.t.Errorf("%s was complete and has begun again", key)
		}
	}
}

// doneBefore returns the keys of the completed steps and phases.
func (x *thawed) doneBefore() map[string]bool {
	x.t.Helper()
	done := map[string]bool{}
	for _, op := range x.frozen.Unfinished {
		history, err := x.History(x.t.Context(), op.ID)
		must(x.t, err)
		for _, p := range history {
			if !p.Failed && !op.Void {
				done[vnflcm.StepInfo{OperationID: op.ID, Phase: p.Phase, Name: p.Step, On: p.On}.Key()] = true
			}
		}
	}
	return done
}

// checkEnd compares the machines and nodes of an instance with the expected machines.
func (x *thawed) checkEnd(op frozenOperation) {
	x.t.Helper()
	occ, err := x.Operation(x.t.Context(), op.ID)
	must(x.t, err)
	if occ.ResourceChanges != nil {
		for _, v := range occ.ResourceChanges.AffectedVnfcs {
			if v.ComputeResource.VimConnectionID != "vim1" {
				x.t.Errorf("%s has changed %+v", op.ID, v)
			}
		}
	}
	inst, now := x.get(occ.VnfInstanceID), x.world.state(occ.VnfInstanceID)
	machines, nodes := map[string]string{}, map[string]string{}
	for _, v := range now.Machines {
		machines[v.ID] = v.ResourceID
	}
	for id, resource := range now.Nodes {
		if id != "config" {
			nodes[id] = resource
		}
	}
	if diff := cmp.Diff(op.Machines, strings.Join(slices.Sorted(maps.Keys(machines)), " ")); diff != "" {
		x.t.Errorf("machines after %s:\n%s", op.ID, diff)
	}
	if diff := cmp.Diff(machines, nodes); diff != "" && op.Want != vnflcm.Failed {
		x.t.Errorf("nodes after %s:\n%s", op.ID, diff)
	}
	shown, levels := map[string]string{}, map[string]int{}
	if info := inst.InstantiatedVnfInfo; info != nil {
		for _, v := range info.VnfcResourceInfo {
			shown[v.ID] = v.ComputeResource.ResourceID
		}
		for _, s := range info.ScaleStatus {
			levels[s.AspectID] = s.ScaleLevel
		}
	}
	if diff := cmp.Diff(machines, shown); diff != "" {
		x.t.Errorf("machines that the instance shows after %s:\n%s", op.ID, diff)
	}
	masters, workers := 1+2*levels["masters"], 1+levels["workers"]
	if len(machines) > 0 && (len(machines) != masters+workers || len(levels) != 2) {
		x.t.Errorf("levels after %s: %v", op.ID, levels)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if op.Step == "" {
		return
	}
	begun := slices.DeleteFunc(slices.Clone(x.begun), func(key string) bool { return !strings.HasPrefix(key, op.ID+"/") })
	phase, _, _ := strings.Cut(strings.TrimPrefix(op.Step, op.ID+"/"), "/")
	if !slices.Contains(begun, op.Step) || !op.Void && !strings.HasPrefix(begun[0], op.ID+"/"+phase+"/") {
		x.t.Errorf("the operation has continued with %q, not with %s", begun, op.Step)
	}
}

// continueRest uses the records of hooks, of a lease, of documents, of a VIM and of processes.
func (x *thawed) continueRest() {
	t, ctx := x.t, x.t.Context()
	x.endHooks()

	patient, cancel := context.WithTimeout(ctx, frozenPatience)
	defer cancel()
	must(t, x.Exclusively(patient, "notifications", func(context.Context) error { return nil }))

	documents := x.Documents("subscriptions")
	list, err := documents.List(ctx, "", 0)
	must(t, err)
	for _, document := range list {
		must(t, documents.Put(ctx, document.ID, document.Version, "changed"))
		must(t, documents.Delete(ctx, document.ID, document.Version+1))
	}

	x.poll("the credentials that have ended are renewed", func() bool {
		vim, err := x.VIMs().Get(ctx, "tenant", madeBy(frozenFull))
		must(t, err)
		return tokenOf(vim) == canaryRenewed
	})
	x.poll("only the record of this process is left", func() bool {
		list, err := x.cfg.Store.List(ctx, store.Query{Kind: "process"})
		must(t, err)
		return len(list) == 1
	})
	x.driver.mu.Lock()
	defer x.driver.mu.Unlock()
	want := []renewed{{frozenFull, canaryMade, canaryParams, len(x.get(frozenFull).InstantiatedVnfInfo.VnfcResourceInfo), frozenEnded}}
	if diff := cmp.Diff(want, x.driver.renewed); diff != "" {
		t.Errorf("RenewVIM was given:\n%s", diff)
	}
}

// poll waits until so returns true, and fails the test after frozenPatience.
func (x *thawed) poll(what string, so func() bool) {
	x.t.Helper()
	for end := time.Now().Add(frozenPatience); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			x.t.Fatal("timeout while waiting until " + what)
		}
	}
}

// endHooks calls two hooks again for another program: one hook is complete, and the process of the other hook has died.
func (x *thawed) endHooks() {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.t.Context(), frozenPatience)
	defer cancel()
	journal, err := x.cfg.Store.List(ctx, store.Query{Kind: "step", Prefix: frozenHooked + "-1/"})
	must(x.t, err)
	data, err := hookCall(ctx, x.cfg.Packages, frozenHooked+"-1")
	must(x.t, err)
	x.mu.Lock()
	x.begun = nil
	x.mu.Unlock()
	var result vnflcm.HookResult
	for _, hook := range []vnflcm.Hook{vnflcm.InstantiateStart, vnflcm.InstantiateEnd} {
		result, err = vnflcm.RunHook(ctx, x.cfg, x.driver, hook, data, nil)
		must(x.t, err)
	}
	if len(result.VIMs) != 1 || !cmp.Equal(result.Published, map[string]map[string]string{"vm-a": {"role": "first"}}) {
		x.t.Errorf("the result of the hook is %+v", result)
	}
	if len(journal) == 0 {
		x.t.Error("the hook whose process has died has no step in its journal")
	}
	for _, entry := range journal {
		if slices.Contains(x.begun, entry.ID) {
			x.t.Errorf("the step %s is in the journal and has begun again", entry.ID)
		}
	}
	must(x.t, vnflcm.ForgetHooks(ctx, x.cfg, frozenHooked))
	must(x.t, x.VIMs().Remove(ctx, "", madeBy(frozenHooked)))
}

// endLives heals, scales, terminates and deletes every instance.
func (x *thawed) endLives() {
	x.t.Helper()
	list, err := x.Instances(x.t.Context(), vnflcm.InstanceQuery{})
	must(x.t, err)
	must(x.t, vnflcm.Each(x.t.Context(), 4, list.Items, x.endLife))
	for _, kind := range []string{"instance", "claim", "step", "cancel", "state", "renewal", "hook", "hook-initial"} {
		left, err := x.cfg.Store.List(x.t.Context(), store.Query{Kind: kind})
		must(x.t, err)
		for _, record := range left {
			if record.ID != madeBy(frozenAbandoned) { // the renewal of an abandoned instance is removed when it is due
				x.t.Errorf("the %s %s is left", kind, record.ID)
			}
		}
	}
	for id, machines := range x.world.machines {
		if len(machines) > 0 && id != frozenAbandoned {
			x.t.Errorf("machines of %s are left: %+v", id, machines)
		}
	}
}

func (x *thawed) endLife(ctx context.Context, inst *vnflcm.VnfInstance) error {
	requests := []func() (string, error){
		func() (string, error) { return x.Heal(ctx, inst.ID, vnflcm.HealVnfRequest{}) },
		func() (string, error) { return x.mend(ctx, inst.ID) },
		func() (string, error) { return x.Scale(ctx, inst.ID, scale(vnflcm.ScaleOut, 1)) },
		func() (string, error) {
			return x.Terminate(ctx, inst.ID, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
		},
	}
	if inst.InstantiationState == vnflcm.NotInstantiated {
		request := smallRequest(x.t)
		request.VimConnectionInfo = vnflcm.VimConnections{{VimID: "vim1"}}
		requests = slices.Insert(requests, 0, func() (string, error) { return x.Instantiate(ctx, inst.ID, request) })
	}
	for i, request := range requests {
		opID, err := request()
		if err == nil {
			patient, cancel := context.WithTimeout(ctx, frozenPatience)
			_, err = x.Wait(patient, opID)
			cancel()
		}
		if err != nil {
			return fmt.Errorf("instance %s, request %d: %w", inst.ID, i, err)
		}
	}
	return x.DeleteWithOperations(ctx, inst.ID)
}

// mend removes the attributes that mix a request with a registered VIM from the connection of frozenFull. Versions after 2409923 refuse
// them, so a scale-out before mend is refused. For other instances mend changes the name.
func (x *thawed) mend(ctx context.Context, id string) (string, error) {
	change := vnflcm.VnfInfoModificationRequest{VnfInstanceName: pointer("mended")}
	inst, err := x.Get(ctx, id)
	if err != nil {
		return "", err
	}
	if id == frozenFull && strings.Contains(string(inst.VimConnectionInfo[0].InterfaceInfo.Reveal()), `"ca"`) {
		if _, err := x.Scale(ctx, id, scale(vnflcm.ScaleOut, 1)); !errors.Is(err, vnflcm.ErrInvalidRequest) {
			return "", fmt.Errorf("scale-out with a mixed connection: %w", err)
		}
		change.VimConnectionInfo = vnflcm.VimConnections{{ID: "v", AccessInfo: params(x.t, `{"password":null}`), InterfaceInfo: params(x.t, `{"ca":null}`)}}
	}
	return x.Modify(ctx, id, change, "")
}

// smallRequest returns the request for all instances except frozenFull: one master and one worker.
func smallRequest(t *testing.T) vnflcm.InstantiateVnfRequest {
	return vnflcm.InstantiateVnfRequest{FlavourID: "plain", TargetScaleLevelInfo: []vnflcm.ScaleInfo{{AspectID: "workers"}}, AdditionalParams: params(t, canaryParams)}
}

// discardOldKeys seals every record under the current key, and opens the database with that key alone.
func (x *thawed) discardOldKeys() {
	x.t.Helper()
	ctx := x.t.Context()
	if left, err := x.Reseal(ctx); left > 0 || err != nil {
		x.t.Errorf("Reseal: %d records are under old keys (%v)", left, err)
	}
	x.close()
	x.cfg.OldKeys = nil
	x.open()
	if abandoned, err := x.Abandoned(ctx); len(abandoned) != 1 || err != nil {
		x.t.Errorf("%d abandoned instances (%v)", len(abandoned), err)
	}
	if vim, err := x.VIMs().Get(ctx, "", "vim1"); tokenOf(vim) != canaryToken || err != nil {
		x.t.Errorf("vim1 is %+v (%v)", vim, err)
	}
	if removed, err := x.PurgeOperations(ctx, frozenLasting.Until); removed == 0 || err != nil {
		x.t.Errorf("%d operations of instances that were deleted were purged (%v)", removed, err)
	}
	for _, kind := range []string{"operation", "history", "change", "lease"} {
		if left, err := x.cfg.Store.List(ctx, store.Query{Kind: kind}); len(left) > 0 || err != nil {
			x.t.Errorf("%d records of kind %s are left (%v)", len(left), kind, err)
		}
	}
}
