package vnflcm_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/pgtest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/postgres"
	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
	"github.com/vnfkit/vnfkit/vnflcm/store/storetest"
)

// TestFreeze creates test data in the current format for TestFrozen: a database with every kind of record, and with operations of every
// kind and in every state. A first process seals under a key and dies. A second process seals under another key and dies too.
//
//	VNFKIT_E2E=postgres VNFKIT_FREEZE=testdata/format-<commit> go test -count=1 -run 'TestFreeze$' ./vnflcm
func TestFreeze(t *testing.T) {
	dir := os.Getenv("VNFKIT_FREEZE")
	if dir == "" {
		t.Skip("VNFKIT_FREEZE names no folder to write test data to")
	}
	server := pgtest.Start(t)
	must(t, os.MkdirAll(dir, 0o755)) //nolint:gosec // test data
	packageFiles := toyFS("cluster", "plain")
	must(t, os.CopyFS(filepath.Join(dir, frozenPackage), packageFiles))
	dsn := server.NewDatabase(t)
	first, err := sqlite.Open(t.Context(), filepath.Join(dir, frozenSQLite))
	must(t, err)
	second, err := postgres.Open(t.Context(), dsn, postgres.Options{})
	must(t, err)
	f := newFreezer(t, &twoStores{Store: first, second: second}, toyPackages(packageFiles))
	f.useFirstProcess()
	f.notePositions(map[string]store.Store{frozenSQLite: first, frozenPostgres: second})
	f.useSecondProcess()
	f.useLastProcess()

	write := func(name string, content []byte) {
		must(t, os.WriteFile(filepath.Join(dir, name), content, 0o644)) //nolint:gosec // test data
	}
	write(frozenKeys, fmt.Appendf(nil, "%s\n%s\n", hex.EncodeToString(otherKey), hex.EncodeToString(testKey)))
	write(frozenDocuments, []byte(strings.Join(f.documents(), "\n")+"\n"))
	f.frozen.Machines, f.frozen.Nodes, f.frozen.Tokens, f.frozen.Links = f.world.machines, f.world.nodes, f.world.token, f.world.links
	state, err := json.MarshalIndent(f.frozen, "", "\t")
	must(t, err)
	write(frozenWorld, append(state, '\n'))
	must(t, second.Close())
	var dump bytes.Buffer
	for line := range strings.Lines(server.Program(t, "pg_dump", "--no-owner", "--no-privileges", dsn)) {
		if !strings.HasPrefix(line, `\restrict`) && !strings.HasPrefix(line, `\unrestrict`) { // older versions of psql refuse them
			dump.WriteString(line)
		}
	}
	write(frozenPostgres, append(dump.Bytes(), '\n'))
	must(t, first.Close())
	compact(t, filepath.Join(dir, frozenSQLite))
}

// compact writes the database to one file.
func compact(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	must(t, err)
	_, err = db.ExecContext(t.Context(), "VACUUM")
	must(t, err)
	must(t, db.Close())
	if _, err := os.Stat(path + "-wal"); err == nil {
		t.Error("SQLite has left a write-ahead log")
	}
}

// twoStores writes every batch to two stores, one batch at a time.
type twoStores struct {
	store.Store
	second store.Store
	mu     sync.Mutex
}

func (s *twoStores) Apply(ctx context.Context, b store.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx = context.WithoutCancel(ctx) // the batch must be in both stores or in neither
	if err := s.Store.Apply(ctx, b); err != nil {
		return err
	}
	return s.second.Apply(ctx, b)
}

// unfinished is an operation that fails, or whose process dies.
type unfinished struct {
	name     string                              // name of the instance
	begin    func(*toys, string) (string, error) // nil: the instantiation
	fails    string                              // step in which the operation fails
	undone   string                              // step in which rolling back fails
	dies     string                              // step in which the process dies, with fails while rolling back; or "grant"
	cancel   bool                                // another process requests to cancel the operation afterwards
	verb     string                              // ends the operation in FAILED_TEMP
	want     vnflcm.OperationState               // final state
	ended    bool                                // the operation has ended in the frozen database
	machines string                              // machines of the instance after the end
}

const (
	failedJoin   = "instantiate_end/join/worker-0"
	joinOfScale  = "scale_end/join/worker-2"
	rollbackStep = "instantiate_rollback/delete/master-0"

	small     = "master-0 worker-0"
	scaledOut = "master-0 worker-0 worker-1 worker-2"
)

var scaleBoth = func(x *toys, id string) (string, error) {
	return x.ScaleToLevel(x.t.Context(), id, toLevels("masters", 1, "workers", 2))
}

// unfinishedOperations belong alternately to the first and the second process. Operations that fail come first, so that only the
// operations that the process leaves behind are running when it dies.
var unfinishedOperations = []unfinished{
	{name: "rolled-back", fails: failedJoin, verb: "rollback", want: vnflcm.RolledBack, ended: true},
	{name: "failed", fails: "instantiate/create/worker-0", verb: "fail", want: vnflcm.Failed, ended: true},

	{name: "retry", begin: scenarios[4].begin, fails: "heal_end/join/worker-0", verb: "retry", want: vnflcm.Completed, machines: small},
	{name: "undo-level", begin: scaleBoth, fails: "scale_end.2/join/worker-2", verb: "rollback", want: vnflcm.RolledBack, machines: small},
	{name: "undo", fails: failedJoin, verb: "rollback", want: vnflcm.RolledBack},
	{name: "retry-undone", fails: failedJoin, undone: rollbackStep, verb: "retry", want: vnflcm.Completed, machines: small},
	{name: "undo-links", begin: scenarios[6].begin, fails: "change_external_connectivity/connect/", verb: "rollback", want: vnflcm.RolledBack, machines: small},
	{name: "fail", begin: scenarios[1].begin, fails: joinOfScale, verb: "fail", want: vnflcm.Failed, machines: scaledOut},

	{name: "dead-instantiate", dies: failedJoin, want: vnflcm.Completed, machines: small},
	{name: "dead-grant", dies: "grant", want: vnflcm.Completed, machines: small},
	{name: "dead-scale", begin: scenarios[1].begin, dies: joinOfScale, want: vnflcm.Completed, machines: scaledOut},
	{name: "dead-level", begin: scaleBoth, dies: "scale_end.2/join/worker-2", want: vnflcm.Completed, machines: "master-0 master-1 master-2 worker-0 worker-1 worker-2"},
	{name: "dead-modify", begin: scenarios[7].begin, dies: "modify_information_end/configure/", want: vnflcm.Completed, machines: small},
	{name: "dead-undo", fails: failedJoin, dies: "instantiate_rollback_start/leave/master-0", want: vnflcm.RolledBack},
	{name: "dead-terminate", begin: scenarios[5].begin, dies: "terminate/delete/worker-0", want: vnflcm.Completed},
	{name: "dead-cancelled", begin: scenarios[3].begin, dies: "heal/replace/worker-0", cancel: true, verb: "retry", want: vnflcm.Completed, machines: small},
}

// freezer creates a database with several processes, one after the other.
type freezer struct {
	*toys
	store  store.Store
	fence  *storetest.Fence // fence of the running process
	frozen frozenState
	others sync.WaitGroup // goroutines of the process that do not run an operation

	cancelled []string // operations to cancel when their process is dead

	// The id of an operation consists of the name of the instance and a number.
	name  string
	count int

	mu    sync.Mutex
	gates map[string]*gate // gates at which a process waits until it dies, by instance and step
}

func newFreezer(t *testing.T, store store.Store, packages vnflcm.Packages) *freezer {
	f := &freezer{store: store, fence: &storetest.Fence{Store: store}, gates: map[string]*gate{}}
	w := newWorld()
	f.toys = newToys(t, func(cfg *vnflcm.Config) {
		*cfg = frozenConfig(w)
		cfg.Store, cfg.Packages, cfg.Key, cfg.NewID = f.fence, packages, testKey, f.newID
		cfg.LeaseTTL = time.Second // TestFrozen waits for its end
		cfg.Mgmt["cluster"].(*frozenCluster).renewal = errCut
		grant := cfg.Granter.(granter) //nolint:forcetypeassert // of frozenConfig
		cfg.Granter = granter(func(ctx context.Context, r vnflcm.GrantRequest) (*vnflcm.Grant, error) {
			if err := f.pass(ctx, r.VnfLcmOpOccID, "grant"); err != nil {
				return nil, err
			}
			return grant(ctx, r)
		})
		cfg.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			if err := f.pass(ctx, s.OperationID, keyOf(s)); err != nil {
				return err
			}
			return next(ctx)
		}
	})
	f.world = w
	must(t, f.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "vim1", VimType: "toy", InterfaceInfo: params(t, `{"endpoint":"https://vim1"}`),
		AccessInfo: params(t, `{"bearer_token":"`+canaryToken+`"}`), Extra: params(t, `{"region":"north"}`)}))
	return f
}

// newID returns first the name of an instance as its id, then ids for its operations.
func (f *freezer) newID() string {
	f.count++
	if f.count == 1 {
		return f.name
	}
	return fmt.Sprintf("%s-%d", f.name, f.count-1)
}

// createNamed creates an instance whose id is its name.
func (f *freezer) createNamed(name string) string {
	f.t.Helper()
	f.name, f.count = name, 0
	return f.create()
}

func (f *freezer) gate(name, step string) *gate {
	g := newGate()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gates[name+" "+step] = g
	return g
}

// pass blocks if the process has to die in this step.
func (f *freezer) pass(ctx context.Context, opID, step string) error {
	f.mu.Lock()
	g := f.gates[opID[:strings.LastIndex(opID, "-")]+" "+step]
	f.mu.Unlock()
	if g == nil {
		return nil
	}
	return g.pass(ctx)
}

// die ends the process without an orderly shutdown.
func (f *freezer) die() {
	f.t.Helper()
	f.fence.Cut(true)
	closeManager(f.t, f.Manager)
	f.others.Wait()
}

// become starts the Manager of another process.
func (f *freezer) become(change func(*vnflcm.Config)) {
	f.t.Helper()
	f.fence = &storetest.Fence{Store: f.store}
	f.cfg.Store = f.fence
	change(&f.cfg)
	f.start()
}

// notePositions stores the current end of the feed of each database.
func (f *freezer) notePositions(stores map[string]store.Store) {
	f.t.Helper()
	f.frozen.Positions = map[string]vnflcm.Cursor{}
	for file, store := range stores {
		list, position, err := store.Feed(f.t.Context(), "", 10_000)
		must(f.t, err)
		f.frozen.Positions[file], f.frozen.Read = vnflcm.Cursor(position), len(list)
	}
}

// useFirstProcess creates instances in a process that seals under the key that later is an old key.
func (f *freezer) useFirstProcess() {
	t, ctx := f.t, f.t.Context()
	f.createNamed("created")
	id := f.adopt("deleted")
	f.do(scenarios[5].begin, id)
	must(t, f.Delete(ctx, id, ""))
	id = f.adopt(frozenAdopted + "scaled")
	f.do(scenarios[1].begin, id)
	f.do(scenarios[2].begin, id)
	f.do(func(x *toys, id string) (string, error) {
		return x.ScaleToLevel(ctx, id, toLevels("masters", 0, "workers", 2))
	}, id)
	id = f.createNamed(frozenAbandoned)
	f.do(instantiateSmall, id)
	_, err := f.Abandon(ctx, id)
	must(t, err)
	must(t, f.Documents("subscriptions").Put(ctx, "1", 0, map[string]any{"callbackUri": "https://old", "password": canaryState}))
	f.unfinished(0)
	f.cutHook()
	f.die()
}

// useSecondProcess creates instances in another process, which seals under the current key and can read the old key.
func (f *freezer) useSecondProcess() {
	t, ctx := f.t, f.t.Context()
	f.become(func(cfg *vnflcm.Config) {
		cfg.Key, cfg.OldKeys = otherKey, [][]byte{testKey}
	})
	f.makeFull()
	id := f.createNamed("cancelled")
	g := f.gate(id, "grant")
	opID, err := instantiateSmall(f.toys, id)
	must(t, err)
	<-g.reached
	_, _ = f.wait(opID, f.Cancel(ctx, opID, vnflcm.CancelGraceful), vnflcm.RolledBack)
	must(t, f.Documents("subscriptions").Put(ctx, "2", 0, map[string]any{"callbackUri": "https://new"}))
	must(t, f.Documents("subscriptions").Put(ctx, "2", 1, map[string]any{"callbackUri": "https://newer"}))
	leased := make(chan struct{})
	f.others.Go(func() {
		_ = f.Exclusively(ctx, "notifications", func(ctx context.Context) error {
			close(leased)
			<-ctx.Done()
			return ctx.Err()
		})
	})
	<-leased
	f.unfinished(1)
	f.die()
}

// useLastProcess accepts requests in a process that does not run operations.
func (f *freezer) useLastProcess() {
	f.become(func(cfg *vnflcm.Config) { cfg.AcceptOnly = true })
	for _, opID := range f.cancelled {
		must(f.t, f.Cancel(f.t.Context(), opID, vnflcm.CancelGraceful))
	}
	opID, err := instantiateSmall(f.toys, f.createNamed("accepted"))
	must(f.t, err)
	f.frozen.Unfinished = append(f.frozen.Unfinished, frozenOperation{ID: opID, State: vnflcm.Completed, Want: vnflcm.Completed, Machines: small})
}

func instantiateSmall(x *toys, id string) (string, error) {
	return x.Instantiate(x.t.Context(), id, smallRequest(x.t))
}

// do runs an operation to its end.
func (f *freezer) do(begin func(*toys, string) (string, error), id string) {
	f.t.Helper()
	opID, err := begin(f.toys, id)
	_, _ = f.wait(opID, err, vnflcm.Completed)
}

// unfinished runs every second one of unfinishedOperations: first those that fail, then those whose process will die.
func (f *freezer) unfinished(remainder int) {
	f.t.Helper()
	for i, u := range unfinishedOperations {
		if i%2 == remainder {
			f.leaveUnfinished(u)
		}
	}
}

func (f *freezer) leaveUnfinished(u unfinished) {
	t, ctx := f.t, f.t.Context()
	var id, opID string
	begin := u.begin
	if begin == nil {
		id, begin = f.createNamed(u.name), instantiateSmall
	} else {
		id = f.adopt(frozenAdopted + u.name)
	}
	if u.fails == "" {
		g := f.gate(id, u.dies)
		var err error
		opID, err = begin(f.toys, id)
		must(t, err)
		<-g.reached
	} else {
		f.world.failAt(u.fails, errCut)
		var err error
		opID, err = begin(f.toys, id)
		_, _ = f.wait(opID, err, vnflcm.FailedTemp)
		f.world.failAt(u.fails, nil)
		switch {
		case u.dies != "":
			g := f.gate(id, u.dies)
			must(t, f.Rollback(ctx, opID))
			<-g.reached
		case u.undone != "":
			f.world.failAt(u.undone, errCut)
			_, _ = f.wait(opID, f.Rollback(ctx, opID), vnflcm.FailedTemp)
			f.world.failAt(u.undone, nil)
		case u.ended:
			_, _ = f.wait(opID, frozenVerbs[u.verb](f.Manager, ctx, opID), u.want)
			return
		}
	}
	op := frozenOperation{ID: opID, State: u.want, Verb: u.verb, Want: u.want, Void: u.undone != "", Machines: u.machines}
	if u.verb != "" {
		op.State = vnflcm.FailedTemp
	}
	if u.dies != "" && u.dies != "grant" {
		op.Step = opID + "/" + u.dies
	} else if u.verb == "retry" {
		op.Step = opID + "/" + u.fails
	}
	f.frozen.Unfinished = append(f.frozen.Unfinished, op)
	if u.cancel {
		f.cancelled = append(f.cancelled, opID)
	}
}

// makeFull creates an instance with every attribute, and changes it.
func (f *freezer) makeFull() {
	t, ctx := f.t, f.t.Context()
	f.name, f.count = frozenFull, 0
	inst, err := f.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: toyVNFD, VnfInstanceName: "full", VnfInstanceDescription: "has everything", Tenant: "tenant",
		Metadata: vnflcm.KeyValuePairs{"site": "north", "racks": []any{"a", "b"}}})
	must(t, err)
	var request vnflcm.InstantiateVnfRequest
	must(t, json.Unmarshal([]byte(`{"flavourId": "plain", "instantiationLevelId": "small", "localizationLanguage": "en", "additionalParams": `+canaryParams+`,
		"extensions": {"zone": "z1"}, "vnfConfigurableProperties": {"isAutohealEnabled": true},
		"extVirtualLinks": [{"id": "a", "resourceId": "net-a", "extCps": [
			{"cpdId": "worker_cp", "cpConfig": [{"cpInstanceId": "1", "cpProtocolData": [{"layerProtocol": "IP_OVER_ETHERNET", "ipOverEthernet": {"ipAddresses": [
				{"type": "IPV4", "fixedAddresses": ["192.0.2.12"]}]}}]}]}, {"cpdId": "master_cp"}]}],
		"extManagedVirtualLinks": [{"id": "m", "vnfVirtualLinkDescId": "inner", "resourceId": "net-m"}],
		"vimConnectionInfo": [{"id": "v", "vimId": "vim1", "vimType": "toy", "accessInfo": {"password": "canary-access", "bearer_token": "`+canaryToken+`"}},
			{"id": "w", "vimType": "other", "accessInfo": {"password": "canary-other"}}]}`), &request))
	steps := []func(*toys, string) (string, error){
		func(x *toys, id string) (string, error) { return x.Instantiate(ctx, id, request) },
		scenarios[3].begin, scenarios[6].begin,
		func(x *toys, id string) (string, error) {
			return x.Modify(ctx, id, vnflcm.VnfInfoModificationRequest{VnfInstanceName: pointer("renamed"), Extensions: params(t, `{"zone":"z2"}`),
				VimConnectionInfo: vnflcm.VimConnections{{ID: "v", AccessInfo: params(t, `{"password":"canary-changed"}`)}}, VimConnectionInfoDeleteList: []string{"w"}}, "")
		},
	}
	for _, begin := range steps {
		f.do(begin, inst.ID)
	}
}

// adopt adopts machines that another program has created. An adopted instance has fewer records than an instantiated instance.
func (f *freezer) adopt(id string) string {
	f.t.Helper()
	f.name, f.count = id, 1
	f.world.mu.Lock()
	f.world.nodes[id], f.world.token[id] = map[string]string{}, 1
	for _, vdu := range []string{"master", "worker"} {
		v := vnflcm.VNFC{ID: vdu + "-0", VDU: vdu, Name: vdu + "0", ResourceID: id + "-" + vdu}
		f.world.machines[id] = append(f.world.machines[id], v)
		f.world.nodes[id][v.ID] = v.ResourceID
	}
	f.world.mu.Unlock()
	inst, err := f.Adopt(f.t.Context(), vnflcm.VnfInstance{ID: id, VnfdID: toyVNFD}, smallRequest(f.t), "cluster of toys")
	must(f.t, err)
	return inst.ID
}

// cutHook runs hooks for another program. The process dies in the second hook.
func (f *freezer) cutHook() {
	t := f.t
	cfg := f.cfg
	cfg.LeaseTTL = time.Second // TestFrozen waits for its end
	data, err := hookCall(t.Context(), cfg.Packages, frozenHooked+"-1")
	must(t, err)
	_, err = vnflcm.RunHook(t.Context(), cfg, cfg.Mgmt["cluster"], vnflcm.InstantiateStart, data, nil)
	must(t, err)
	g := f.gate(frozenHooked, "instantiate_end/join/b")
	ctx, cancel := context.WithCancel(t.Context())
	f.others.Go(func() { _, _ = vnflcm.RunHook(ctx, cfg, cfg.Mgmt["cluster"], vnflcm.InstantiateEnd, data, nil) })
	<-g.reached
	f.fence.Cut(true)
	cancel()
}
