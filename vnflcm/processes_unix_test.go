//go:build unix

package vnflcm_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sqlstore/sqlite"
)

// processTTL is the LeaseTTL of the processes.
const processTTL = time.Second

// TestProcesses runs operations in two real processes on one SQLite file and disturbs the first: kill -9, SIGSTOP beyond
// the TTL, and a monotonic clock 30 s ahead with SIGSTOP. VNFKIT_PROCESS_RUNS is how often, each.
func TestProcesses(t *testing.T) {
	t.Parallel()
	runs := 5
	if testing.Short() {
		runs = 1
	}
	if n, err := strconv.Atoi(os.Getenv("VNFKIT_PROCESS_RUNS")); err == nil {
		runs = n
	}
	disturbances := map[string]func(*child){
		"killed":      func(c *child) { c.signal(syscall.SIGKILL) },
		"stopped":     func(c *child) { c.pause(processTTL * 3 / 2) },
		"other clock": func(c *child) { c.pause(processTTL * 3 / 2) },
	}
	for name, disturb := range disturbances {
		for run := range runs {
			t.Run(fmt.Sprintf("%s/%d", name, run), func(t *testing.T) {
				t.Parallel()
				var prefix []string
				if name == "other clock" {
					prefix = []string{"unshare", "--time", "--monotonic", "30", "--boottime", "30"}
					if err := exec.CommandContext(t.Context(), prefix[0], append(prefix[1:], "true")...).Run(); err != nil { //nolint:gosec // constant
						t.Skip("a clock of its own for a process needs root and unshare: ", err)
					}
				}
				disturbed(t, prefix, disturb)
			})
		}
	}
}

// disturbed has a process instantiate and heal while it is disturbed, and a second process help. It checks the result.
func disturbed(t *testing.T, prefix []string, disturb func(*child)) {
	t.Helper()
	dir := t.TempDir()
	first := startChild(t, dir, "first", prefix)
	second := startChild(t, dir, "second", nil)
	first.tell("instantiate")
	first.await("accepted")
	<-time.After(time.Duration(rand.IntN(700)) * time.Millisecond) //nolint:gosec // a time, no secret
	disturb(first)
	second.await("COMPLETED INSTANTIATE")
	second.tell("heal")
	second.await("COMPLETED HEAL")
	first.end()
	second.end()

	store, err := sqlite.Open(t.Context(), filepath.Join(dir, "state.db"))
	must(t, err)
	defer func() { must(t, store.Close()) }()
	for _, kind := range []string{"claim", "step", "cancel"} {
		if left, err := store.List(t.Context(), vnflcm.Query{Kind: kind}); err != nil || len(left) > 0 {
			t.Errorf("%d records of kind %s are left (%v)", len(left), kind, err)
		}
	}
	m, err := vnflcm.New(t.Context(), diskConfig(dir, store, "judge"))
	must(t, err)
	list, err := m.Instances(t.Context(), vnflcm.InstanceQuery{})
	must(t, err)
	var got []string
	for _, v := range list.Items[0].InstantiatedVnfInfo.VnfcResourceInfo {
		got = append(got, v.ComputeResource.ResourceID)
	}
	if want := resourceIDs((&disk{dir: dir}).machines(list.Items[0].ID)); !slices.Equal(want, got) {
		t.Errorf("the instance has the machines %q, the cloud %q", got, want)
	}
	checkLog(t, filepath.Join(dir, "log"))
}

// checkLog reads what the processes wrote at the beginning of each Do. Of one version of a claim only one process may
// write, and no step may begin whose result is in the journal. A Do in the middle of which its process was stopped has begun
// before and only counts as repeated.
func checkLog(t *testing.T, name string) {
	t.Helper()
	data, err := os.ReadFile(name) //nolint:gosec // of this test
	must(t, err)
	owner, begun := map[string]string{}, map[string]int{}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line) // process, operation, version of the claim, whether the journal has it, key
		begun[f[4]]++
		if f[3] == "stopped" {
			continue
		}
		epoch := f[1] + "/" + f[2]
		if was := owner[epoch]; was != "" && was != f[0] {
			t.Errorf("the processes %s and %s began steps under the claim %s", was, f[0], epoch)
		}
		owner[epoch] = f[0]
		if f[3] == "journaled" {
			t.Errorf("%s began %s, whose result was in the journal", f[0], f[4])
		}
	}
	repeated := 0
	for _, n := range begun {
		repeated += n - 1
	}
	t.Logf("%d steps, %d of them cut or stopped in the middle and repeated", len(begun), repeated)
}

// child is a process with a Manager.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
}

func startChild(t *testing.T, dir, name string, prefix []string, env ...string) *child {
	t.Helper()
	argv := append(slices.Clone(prefix), os.Args[0])
	c := &child{t: t, cmd: exec.CommandContext(context.WithoutCancel(t.Context()), argv[0], argv[1:]...), lines: make(chan string, 100)} //nolint:gosec // this test binary
	c.cmd.Env = append(os.Environ(), "VNFKIT_PROCESS="+name, "VNFKIT_PROCESS_DIR="+dir)
	c.cmd.Env = append(c.cmd.Env, env...)
	c.cmd.Stderr = os.Stderr
	var err error
	c.in, err = c.cmd.StdinPipe()
	must(t, err)
	out, err := c.cmd.StdoutPipe()
	must(t, err)
	must(t, c.cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for s := bufio.NewScanner(out); s.Scan(); {
			c.lines <- s.Text()
		}
		close(c.lines)
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		<-ended
		_ = c.cmd.Wait()
	})
	c.await("ready")
	return c
}

func (c *child) signal(s syscall.Signal) {
	if err := c.cmd.Process.Signal(s); err != nil {
		c.t.Error(err)
	}
}

func (c *child) pause(d time.Duration) {
	c.signal(syscall.SIGSTOP)
	<-time.After(d)
	c.signal(syscall.SIGCONT)
}

// tell asks for an operation; a process that is dead does not listen.
func (c *child) tell(what string) { _, _ = fmt.Fprintln(c.in, what) }

func (c *child) await(want string) {
	c.t.Helper()
	timeout := time.After(60 * time.Second)
	for {
		select {
		case line, open := <-c.lines:
			if !open {
				c.t.Fatalf("the process ended before it said %q", want)
			}
			if line == want {
				return
			}
			if strings.HasPrefix(line, "error") {
				c.t.Fatal(line)
			}
		case <-timeout:
			c.t.Fatalf("the process did not say %q", want)
		}
	}
}

// end closes the Manager of the process, if it lives.
func (c *child) end() {
	c.t.Helper()
	_ = c.in.Close()
	for line := range c.lines {
		if strings.HasPrefix(line, "error") {
			c.t.Error(line)
		}
	}
}

// runProcess is a child process. It works on what it reads from its standard input and says how operations end, its own and
// others'.
func runProcess(name, dir string) error {
	ctx := context.Background()
	if dsn := os.Getenv("VNFKIT_PROCESS_DSN"); dsn != "" {
		return serveProcess(ctx, name, dir, dsn)
	}
	store, err := sqlite.Open(ctx, filepath.Join(dir, "state.db"))
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	m, err := vnflcm.New(ctx, diskConfig(dir, store, name))
	if err != nil {
		return err
	}
	defer func() { _ = m.Close(ctx) }()
	if _, _, err := m.Resume(ctx); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go tellEnds(ctx, m)
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if err := order(ctx, m, in.Text()); err != nil {
			return err
		}
		fmt.Println("accepted")
	}
	return nil
}

func order(ctx context.Context, m *vnflcm.Manager, what string) error {
	if what == "instantiate" {
		inst, err := m.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: toyVNFD})
		if err == nil {
			_, err = m.Instantiate(ctx, inst.ID, vnflcm.InstantiateVnfRequest{FlavourID: "bare",
				VimConnectionInfo: vnflcm.VimConnections{{VimType: "disk", AccessInfo: diskAccess}}})
		}
		return err
	}
	list, err := m.Instances(ctx, vnflcm.InstanceQuery{})
	if err == nil {
		_, err = m.Heal(ctx, list.Items[0].ID, vnflcm.HealVnfRequest{})
	}
	return err
}

// tellEnds prints each operation once, when it has ended or failed.
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

var diskAccess, _ = vnflcm.NewParams(map[string]string{"dir": "."})

func diskConfig(dir string, store vnflcm.Store, name string) vnflcm.Config {
	return vnflcm.Config{Store: store, Key: testKey, Packages: toyPackage("bare"), LeaseTTL: processTTL,
		Infra: map[string]vnflcm.InfraDriver{"disk": &disk{dir: dir, name: name, store: store}}}
}

// disk is an InfraDriver whose machines are files, which outlive the processes.
type disk struct {
	dir, name string
	store     vnflcm.Store
}

func (d *disk) folder(instanceID string) string { return filepath.Join(d.dir, "machines", instanceID) }

func (d *disk) machines(instanceID string) (list []vnflcm.VNFC) {
	names, _ := filepath.Glob(d.folder(instanceID) + "/*")
	for _, name := range names {
		var v vnflcm.VNFC
		if data, err := os.ReadFile(name); err == nil && json.Unmarshal(data, &v) == nil { //nolint:gosec // of this test
			list = append(list, v)
		}
	}
	return list
}

func resourceIDs(list []vnflcm.VNFC) (ids []string) {
	for _, v := range list {
		ids = append(ids, v.ResourceID)
	}
	return ids
}

// make replaces a machine, in a step that takes a while.
func (d *disk) make(ctx context.Context, op *vnflcm.Operation, v vnflcm.VNFC) error {
	return vnflcm.Do(ctx, op, "make", v.ID, func(ctx context.Context) error {
		if err := d.log(ctx, vnflcm.StepInfo{OperationID: op.ID, Phase: op.Phase(), Name: "make", On: v.ID}); err != nil {
			return err
		}
		select {
		case <-time.After(60 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		data, err := json.Marshal(v)
		name := filepath.Join(d.folder(op.InstanceID), v.ID)
		if err = errors.Join(err, os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name+"."+d.name, data, 0o600)); err != nil {
			return err
		}
		return os.Rename(name+"."+d.name, name)
	})
}

// log notes the beginning of a Do: under which claim, and whether the journal has its result already.
func (d *disk) log(ctx context.Context, s vnflcm.StepInfo) error {
	began, journal := time.Now(), "new"
	claim, err := d.read(ctx, "claim", s.OperationID)
	if err != nil {
		return err
	}
	switch _, err := d.read(ctx, "step", s.Key()); {
	case err == nil:
		journal = "journaled"
	case !errors.Is(err, vnflcm.ErrNotFound):
		return err
	}
	if time.Since(began) > processTTL/2 {
		journal = "stopped" // in the middle of Do: what was read may be of after the takeover
	}
	f, err := os.OpenFile(filepath.Join(d.dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, d.name, s.OperationID, claim.Version, journal, s.Key())
	return errors.Join(err, f.Close())
}

// read waits while the store does not answer.
func (d *disk) read(ctx context.Context, kind, id string) (vnflcm.Record, error) {
	for {
		r, err := d.store.Get(ctx, kind, id)
		if err == nil || errors.Is(err, vnflcm.ErrNotFound) || ctx.Err() != nil {
			return r, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

const diskMachines = 8

func (d *disk) Plan(_ context.Context, op *vnflcm.Operation) (change vnflcm.Change, err error) {
	if op.Heal != nil {
		change.Replaced = op.VNFCs
		return change, nil
	}
	for range diskMachines {
		change.Added = append(change.Added, vnflcm.VNFC{VDU: "worker"})
	}
	return change, nil
}

func (d *disk) all(ctx context.Context, op *vnflcm.Operation) error {
	for i := range diskMachines {
		v := vnflcm.VNFC{ID: fmt.Sprint("worker-", i), VDU: "worker", ResourceID: fmt.Sprint(op.Kind, "-", i)}
		if err := d.make(ctx, op, v); err != nil {
			return err
		}
	}
	return nil
}

func (d *disk) Instantiate(ctx context.Context, op *vnflcm.Operation) error { return d.all(ctx, op) }
func (d *disk) Heal(ctx context.Context, op *vnflcm.Operation) error        { return d.all(ctx, op) }
func (d *disk) Scale(context.Context, *vnflcm.Operation) error              { return nil }
func (d *disk) Terminate(context.Context, *vnflcm.Operation) error          { return nil }

func (d *disk) Resources(_ context.Context, op *vnflcm.Operation) (vnflcm.Resources, error) {
	return vnflcm.Resources{VNFCs: d.machines(op.InstanceID)}, nil
}
