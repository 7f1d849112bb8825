package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/vnfkit/vnfkit/internal/e2e/vminfra"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
)

// TestKilledAndStartedAgain: a process that runs an operation is killed with SIGKILL. Started again, it
// finishes; the last process waits for the LeaseTTL of the one before. Hosts and simulated world stay in this process, as a cloud does.
func TestKilledAndStartedAgain(t *testing.T) {
	needSite(t)
	ctx := t.Context()
	file := filepath.Join(t.TempDir(), "vnfm.db")
	store, err := sqlite.Open(ctx, file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	l := newLab(t, labConfig{takes: slow, store: store})
	id, request := l.created("instantiate_sandbox.json", "simple")
	j := job{Socket: filepath.Join(t.TempDir(), "cloud"), Store: file, Instance: id, Request: request.FlavourID, Bury: true}
	serveCloud(t, j.Socket, l.cloud)
	must(t, l.close()) // it would take the operation over

	for _, program := range []string{"apt-get install", "kubeadm join"} {
		running := l.watch("", program)
		child := startChild(t, childJob, j)
		where := awaitProgram(t, running)
		if err := child.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := child.Wait(); err == nil {
			t.Fatal("the child ended by itself")
		}
		t.Logf("killed when %q began on %s", program, where.Host)
	}
	j.Bury = false
	if err := startChild(t, childJob, j).Wait(); err != nil {
		t.Fatalf("the last child: %v", err)
	}
	l.process = l.start(l.store)
	l.want(count{1, 1, 0})
	l.checkFiles(false)
	l.must(l.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	l.wantNothing(id)
	l.checkSecrets()
}

func serveCloud(t testing.TB, socket string, cloud vminfra.Cloud) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- vminfra.Serve(listener, cloud) }()
	t.Cleanup(func() {
		_ = listener.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// childJob names the variable that makes this test binary a child, and says what it shall do.
const childJob = "VNFKIT_E2E_CHILD"

// job is what a child does: instantiate, or go on with what an earlier child began.
type job struct {
	Socket, Store, Instance, Request string

	Bury bool // the record of the earlier child is removed first
}

// startChild makes this test binary a child: the variable holds what it shall do.
func startChild(t testing.TB, variable string, job any) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), self)
	child.Env = append(os.Environ(), variable+"="+string(text))
	var said strings.Builder
	child.Stdout, child.Stderr = &said, &said
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = child.Process.Kill()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	return child
}

// runChild is the main function of a child: the text is its job, in JSON.
func runChild[J interface {
	run(ctx context.Context) error
}](text string) int {
	var j J
	err := json.Unmarshal([]byte(text), &j)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		err = j.run(ctx)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// resumeOr makes a Manager that takes up the operation of an earlier child process, or begins one if that child has left nothing. It waits
// for the end of the operation.
func resumeOr(ctx context.Context, c vnflcm.Config, begin func(context.Context, *vnflcm.Manager) (string, error)) error {
	opID, err := unfinished(ctx, c.Store)
	if err != nil {
		return err
	}
	m, err := vnflcm.New(ctx, c)
	if err != nil {
		return err
	}
	if opID == "" {
		opID, err = begin(ctx, m)
	}
	if err == nil {
		_, err = m.Wait(ctx, opID)
	}
	return errors.Join(err, m.Close(ctx))
}

// unfinished returns the id of the operation that an earlier process has left; "" if it has left nothing. Call it before vnflcm.New: a Manager
// takes the operation up at once, and may end it before it is listed.
func unfinished(ctx context.Context, db store.Store) (string, error) {
	list, err := db.List(ctx, store.Query{Kind: "operation", States: []string{string(vnflcm.Starting), string(vnflcm.Processing), string(vnflcm.RollingBack)}})
	if err != nil || len(list) == 0 {
		return "", err
	}
	return list[0].ID, nil
}

// openAlone opens the database of a child. No other process works on it, so the child before counts as gone at once, without a wait for
// its LeaseTTL.
func openAlone(ctx context.Context, file string) (*sqlite.Store, error) {
	store, err := sqlite.Open(ctx, file)
	if err == nil {
		err = bury(ctx, store)
	}
	return store, err
}

// bury removes the record of the process that has died. Processes that end with Close have none.
func bury(ctx context.Context, db store.Store) error {
	dead, err := db.List(ctx, store.Query{Kind: "process"})
	if err != nil {
		return err
	}
	if len(dead) > 1 {
		return fmt.Errorf("%d processes have records, and only one has died", len(dead))
	}
	return db.Apply(ctx, store.Batch{Delete: dead})
}

// cloudOf connects to the cloud of the test process.
func cloudOf(socket string) (cloud *vminfra.Remote, pool *sshexec.Pool, end func() error, err error) {
	if cloud, err = vminfra.Dial(socket); err != nil {
		return nil, nil, nil, err
	}
	pool = sshexec.NewPool(sshexec.Options{})
	return cloud, pool, func() error { return errors.Join(pool.Close(), cloud.Close()) }, nil
}

func (j job) run(ctx context.Context) (err error) {
	open := sqlite.Open
	if j.Bury {
		open = openAlone
	}
	store, err := open(ctx, j.Store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	cloud, pool, end, err := cloudOf(j.Socket)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	c := managerConfig(store, vminfra.Driver{Cloud: cloud}, pool, func(*vnflcm.Config) {})
	return resumeOr(ctx, c, func(ctx context.Context, m *vnflcm.Manager) (string, error) {
		request, err := instantiation(packageDir, "instantiate_sandbox.json", j.Request)
		if err != nil {
			return "", err
		}
		return m.Instantiate(ctx, j.Instance, request)
	})
}
