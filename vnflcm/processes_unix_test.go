//go:build unix

package vnflcm_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/fleettest"
	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/postgres"
	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
)

// TestProcesses runs operations in two real processes on one SQLite file and disturbs the first process: kill -9, SIGSTOP for longer than
// the TTL, and SIGSTOP with a monotonic clock that is 30 s ahead. VNFKIT_PROCESS_RUNS is the number of runs of each.
func TestProcesses(t *testing.T) {
	t.Parallel()
	runs := 5
	if !fulltest.Enabled() {
		runs = 1
	}
	if n, err := strconv.Atoi(os.Getenv("VNFKIT_PROCESS_RUNS")); err == nil {
		runs = n
	}
	disturbances := map[string]func(*fleettest.Process){
		"killed":      func(c *fleettest.Process) { c.Signal(syscall.SIGKILL) },
		"stopped":     func(c *fleettest.Process) { c.Pause(fleettest.TTL * 3 / 2) },
		"other clock": func(c *fleettest.Process) { c.Pause(fleettest.TTL * 3 / 2) },
	}
	for name, disturb := range disturbances {
		for run := range runs {
			t.Run(fmt.Sprintf("%s/%d", name, run), func(t *testing.T) {
				t.Parallel()
				var prefix []string
				if name == "other clock" {
					prefix = []string{"unshare", "--time", "--monotonic", "30", "--boottime", "30"}
					if err := exec.CommandContext(t.Context(), prefix[0], append(prefix[1:], "true")...).Run(); err != nil { //nolint:gosec // constant
						t.Skip("a separate clock for a process needs root and unshare: ", err)
					}
				}
				disturbed(t, prefix, disturb)
			})
		}
	}
}

// disturbed instantiates and heals in a process that disturb disturbs, with a second process that can take over. It checks the result.
func disturbed(t *testing.T, prefix []string, disturb func(*fleettest.Process)) {
	t.Helper()
	dir := t.TempDir()
	first := fleettest.Start(t, dir, "first", prefix)
	second := fleettest.Start(t, dir, "second", nil)
	first.Tell("instantiate")
	first.Await("accepted")
	<-time.After(time.Duration(rand.IntN(700)) * time.Millisecond) //nolint:gosec // a time, not a secret
	disturb(first)
	second.Await("COMPLETED INSTANTIATE")
	second.Tell("heal")
	second.Await("COMPLETED HEAL")
	first.End()
	second.End()

	db, err := sqlite.Open(t.Context(), filepath.Join(dir, "state.db"))
	must(t, err)
	defer func() { must(t, db.Close()) }()
	for _, kind := range []string{"claim", "step", "cancel"} {
		if left, err := db.List(t.Context(), store.Query{Kind: kind}); err != nil || len(left) > 0 {
			t.Errorf("%d records of kind %s are left (%v)", len(left), kind, err)
		}
	}
	m, err := vnflcm.New(t.Context(), fleettest.Config(dir, db, "judge"))
	must(t, err)
	defer closeManager(t, m)
	list, err := m.Instances(t.Context(), vnflcm.InstanceQuery{})
	must(t, err)
	var got []string
	for _, v := range list.Items[0].InstantiatedVnfInfo.VnfcResourceInfo {
		got = append(got, v.ComputeResource.ResourceID)
	}
	if want := fleettest.Machines(dir, list.Items[0].ID); !slices.Equal(want, got) {
		t.Errorf("the instance has the machines %q, the cloud %q", got, want)
	}
	fleettest.CheckLog(t, dir)
}

// runProcess runs a child process. It starts the operations that it reads from standard input, and prints the end of all operations,
// including those of other processes.
func runProcess(name, dir string) error {
	ctx := context.Background()
	switch dsn := os.Getenv("VNFKIT_PROCESS_DSN"); dsn {
	case "":
	case serveSQLite:
		return serveProcess(ctx, name, dir, func(ctx context.Context) (closableStore, error) {
			return sqlite.Open(ctx, filepath.Join(dir, "state.db"))
		})
	default:
		return serveProcess(ctx, name, dir, func(ctx context.Context) (closableStore, error) {
			return postgres.Open(ctx, dsn, postgres.Options{})
		})
	}
	store, err := sqlite.Open(ctx, filepath.Join(dir, "state.db"))
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	cfg, ready := processConfig(dir, store, name), make(chan struct{})
	cfg.Intercept = endIn(os.Getenv("VNFKIT_PROCESS_DEADLY"), ready)
	m, err := vnflcm.New(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { _ = m.Close(ctx) }()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go tellEnds(ctx, m)
	fmt.Println("ready")
	close(ready)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if err := order(ctx, m, in.Text()); err != nil {
			return err
		}
		fmt.Println("accepted")
	}
	return nil
}

// serveSQLite is the VNFKIT_PROCESS_DSN of processes that serve operations from the SQLite file.
const serveSQLite = "sqlite"

// closableStore is a store of a process.
type closableStore interface {
	store.Store
	Close() error
}

// processConfig is the configuration of a process. VNFKIT_PROCESS_FORMAT is the newest format of a store that its version of vnfkit knows.
func processConfig(dir string, store store.Store, name string) vnflcm.Config {
	cfg := fleettest.Config(dir, store, name)
	if format, err := strconv.Atoi(os.Getenv("VNFKIT_PROCESS_FORMAT")); err == nil {
		vnflcm.KnowFormat(&cfg, format)
	}
	return cfg
}

// endIn returns an interceptor that ends the process in the fourth step of an operation, once the process is ready.
func endIn(opID string, ready <-chan struct{}) vnflcm.Interceptor {
	return func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
		if s.OperationID == opID && s.On == "worker-3" {
			<-ready
			os.Exit(3)
		}
		return next(ctx)
	}
}

// TestDeadlyProcesses runs five operations in a process. One of them ends the process, and the test starts another process each time. This
// operation must fail after three takeovers, and all other operations must complete.
func TestDeadlyProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, err := sqlite.Open(t.Context(), filepath.Join(dir, "state.db"))
	must(t, err)
	defer func() { must(t, db.Close()) }()
	cfg := fleettest.Config(dir, db, "api")
	cfg.AcceptOnly = true
	api, err := vnflcm.New(t.Context(), cfg)
	must(t, err)
	defer closeManager(t, api)
	var ids []string
	for range 5 {
		inst, err := api.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: fleettest.VNFD})
		must(t, err)
		opID, err := fleettest.Instantiate(t.Context(), api, inst.ID)
		must(t, err)
		ids = append(ids, opID)
	}
	culprit, deaths := ids[2], 0
	for failed := false; !failed; {
		p := fleettest.Start(t, dir, fmt.Sprint("process-", deaths), nil, "VNFKIT_PROCESS_DEADLY="+culprit)
		poll(t, "the process dies, or the operation fails", func() bool {
			occ, err := api.Operation(t.Context(), culprit)
			failed = err == nil && occ.OperationState == vnflcm.FailedTemp
			select {
			case <-p.Ended():
				return true
			default:
				return failed
			}
		})
		if failed {
			for _, id := range ids {
				occ, err := api.Wait(t.Context(), id)
				if id == culprit {
					wantIs(t, err, vnflcm.ErrProcessEnded)
				} else if err != nil {
					t.Errorf("operation %s is %s: %v", id, occ.OperationState, err)
				}
			}
		} else if deaths++; deaths > 4 {
			t.Fatalf("%d processes have died", deaths)
		}
	}
	if deaths != 4 {
		t.Errorf("%d processes have died, want 4", deaths)
	}
	if left, err := db.List(t.Context(), store.Query{Kind: "suspect"}); err != nil || len(left) > 0 {
		t.Errorf("%d records of suspects are left (%v)", len(left), err)
	}
	fleettest.CheckLog(t, dir)
}

func order(ctx context.Context, m *vnflcm.Manager, what string) error {
	if what == "instantiate" {
		inst, err := m.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: fleettest.VNFD})
		if err == nil {
			_, err = fleettest.Instantiate(ctx, m, inst.ID)
		}
		return err
	}
	list, err := m.Instances(ctx, vnflcm.InstanceQuery{})
	if err == nil {
		_, err = m.Heal(ctx, list.Items[0].ID, vnflcm.HealVnfRequest{})
	}
	return err
}

// tellEnds prints each operation once when it has ended or failed.
func tellEnds(ctx context.Context, m *vnflcm.Manager) {
	told := map[string]bool{}
	for every := time.NewTicker(50 * time.Millisecond); ; {
		list, err := m.Operations(ctx, vnflcm.OperationQuery{})
		if err != nil && ctx.Err() == nil && !errors.Is(err, vnflcm.ErrShutdown) {
			fmt.Println("error", err)
		}
		for _, occ := range list.Items {
			if text := fmt.Sprint(occ.OperationState, " ", occ.Operation); !told[occ.ID] && (occ.OperationState.Final() || occ.OperationState == vnflcm.FailedTemp) {
				told[occ.ID] = true
				if occ.OperationState == vnflcm.FailedTemp {
					text = "error " + text + ": " + occ.Error.Detail
				}
				fmt.Println(text)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}
