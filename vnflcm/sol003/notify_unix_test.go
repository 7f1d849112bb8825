//go:build unix

package sol003_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/notify"
	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
)

// The environment of a VNFM that TestNotificationsOfKilledVNFM starts as a process.
const (
	killedDir      = "VNFKIT_TEST_NOTIFY_DIR"
	killedCallback = "VNFKIT_TEST_NOTIFY_CALLBACK"
	killedWhen     = "VNFKIT_TEST_NOTIFY_KILLED"
)

// Moments at which the VNFM dies inside a step of an instantiation.
const (
	insideStep     = "inside the step" // the notification of PROCESSING may not be sent yet
	toldInsideStep = "told INSTANTIATE PROCESSING"
)

// moments returns all moments at which the VNFM dies: an operation has changed to a state and the VNFM has sent no notification of it; the
// subscriber gets a notification and does not record it; and the moments inside a step. Unless VNFKIT_FULL is set, it returns only one of
// the first two for each state.
func moments() []string {
	out := []string{"told CreationNotification", "told DeletionNotification", insideStep, toldInsideStep}
	for i, state := range []vnflcm.OperationState{vnflcm.Starting, vnflcm.Processing, vnflcm.Completed, vnflcm.FailedTemp, vnflcm.RollingBack, vnflcm.RolledBack, vnflcm.Failed} {
		both := []string{"changed " + string(state), "told " + string(state)}
		if !fulltest.Enabled() {
			both = both[i%2 : i%2+1]
		}
		out = append(out, both...)
	}
	return out
}

// openVNFM starts the VNFM whose state is in a folder.
func openVNFM(t *testing.T, dir string, change func(*vnflcm.Config)) (*vnflcm.Manager, *notify.Notifier, *cloud) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, "state.db"))
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	packages, err := os.MkdirTemp(dir, "packages-") //nolint:usetesting // a killed process leaves the folder, which belongs to the test
	must(t, err)
	m, c, err := newManager(t.Context(), packages, func(cfg *vnflcm.Config) {
		cfg.Store, cfg.LeaseTTL = store, 500*time.Millisecond
		if change != nil {
			change(cfg)
		}
	})
	must(t, err)
	t.Cleanup(func() { must(t, m.Close(context.Background())) })
	return m, notify.New(m, notify.Options{Allow: outbound.AllowAny}), c
}

// mortal is a cloud whose instantiation has a step in which the process may die.
type mortal struct {
	*cloud
	step func()
}

func (c mortal) Instantiate(ctx context.Context, op *vnflcm.Operation) error {
	if err := vnflcm.Do(ctx, op, "dangerous", "", func(context.Context) error { c.step(); return nil }); err != nil {
		return err
	}
	return c.cloud.Instantiate(ctx, op)
}

// TestVNFMProcess is the program of the process. It resumes interrupted operations, and creates and changes instances until it is killed.
func TestVNFMProcess(t *testing.T) {
	dir, when := os.Getenv(killedDir), os.Getenv(killedWhen)
	if dir == "" {
		t.Skip("only TestNotificationsOfKilledVNFM runs this test")
	}
	die := func() {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	ctx := t.Context()
	m, n, c := openVNFM(t, dir, func(cfg *vnflcm.Config) {
		cfg.Infra["toy"] = mortal{cfg.Infra["toy"].(*cloud), func() {
			switch when {
			case insideStep:
				die()
			case toldInsideStep:
				select {} // until the test kills the process
			}
		}}
		cfg.Observe = func(e vnflcm.Event) {
			if e.Kind == vnflcm.OperationChanged && when == "changed "+string(e.State) {
				die()
			}
		}
	})
	c.setFault(vnflcm.OpInstantiate, errors.New("the cloud is full"))
	_, _, err := n.Subscribe(ctx, sol003.Subscriber{API: "v1"}, sol003.SubscriptionRequest{CallbackURI: os.Getenv(killedCallback)})
	must(t, err)
	go func() { _ = n.Run(ctx) }()
	ends := func(opID string, err error) string {
		t.Helper()
		must(t, err)
		occ, err := m.Wait(ctx, opID)
		if occ == nil {
			t.Fatal(err)
		}
		return opID
	}
	for i := 0; ; i++ {
		instance, err := m.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: toyVNFD})
		must(t, err)
		name := fmt.Sprint("toy", i)
		ends(m.Modify(ctx, instance.ID, vnflcm.VnfInfoModificationRequest{VnfInstanceName: &name}, ""))
		opID := ends(m.Instantiate(ctx, instance.ID, vnflcm.InstantiateVnfRequest{FlavourID: "simple"}))
		ends(opID, m.Retry(ctx, opID))
		ends(opID, m.Rollback(ctx, opID))
		opID = ends(m.Instantiate(ctx, instance.ID, vnflcm.InstantiateVnfRequest{FlavourID: "simple"}))
		must(t, m.Fail(ctx, opID))
		ends(m.Terminate(ctx, instance.ID, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
		must(t, m.Delete(ctx, instance.ID, ""))
	}
}

// TestNotificationsOfKilledVNFM kills a VNFM with SIGKILL at each of the moments. In the end the subscriber must have got a notification of
// every change in the feed, in order, and the feed must have every state of every operation.
func TestNotificationsOfKilledVNFM(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	nfvo := newSubscriber(t, nil)
	for _, when := range moments() {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		process := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestVNFMProcess$") //nolint:gosec // this test
		process.Env = append(os.Environ(), killedDir+"="+dir, killedCallback+"="+nfvo.URL, killedWhen+"="+when)
		var output bytes.Buffer
		process.Stdout, process.Stderr = &output, &output
		must(t, process.Start())
		nfvo.setAnswer(func(r *http.Request, d object) int {
			told, ok := strings.CutPrefix(when, "told ")
			if ok && r.Method == http.MethodPost && strings.HasSuffix(inShort([]object{d})[0], told) && process.Process.Kill() == nil {
				return http.StatusServiceUnavailable // the subscriber does not record this notification
			}
			return http.StatusNoContent
		})
		err := process.Wait()
		if status := process.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || ctx.Err() != nil {
			t.Fatalf("the VNFM was not killed at the moment %q: %v\n%s", when, err, output.String())
		}
		cancel()
	}

	m, n, _ := openVNFM(t, dir, nil)
	nfvo.setAnswer(nil)
	send(t, n)
	_, err := m.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: toyVNFD})
	must(t, err)
	want := map[any][]any{} // ids of changes by instance
	changes, err := whenQuiet(t.Context(), m)
	must(t, err)
	for _, c := range changes {
		want[c.VNF.InstanceID] = append(want[c.VNF.InstanceID], c.ID)
	}
	checkStates(t, m, changes)
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		diff := cmp.Diff(want, nfvo.byInstance())
		if diff == "" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("missing (-) or out of order:\n%s", diff)
		}
	}
	t.Logf("%d changes of %d instances", len(changes), len(want))
}

// follows maps each state of an operation to the possible next states.
var follows = map[vnflcm.OperationState][]vnflcm.OperationState{
	"":                 {vnflcm.Starting},
	vnflcm.Starting:    {vnflcm.Processing},
	vnflcm.Processing:  {vnflcm.Completed, vnflcm.FailedTemp},
	vnflcm.FailedTemp:  {vnflcm.Processing, vnflcm.RollingBack, vnflcm.Failed},
	vnflcm.RollingBack: {vnflcm.RolledBack},
}

// checkStates checks that changes have every state of every operation, in order.
func checkStates(t *testing.T, m *vnflcm.Manager, changes []vnflcm.ChangeEntry) {
	t.Helper()
	last := map[string]vnflcm.OperationState{}
	for _, c := range changes {
		if c.Operation == nil {
			continue
		}
		id, state := c.Operation.ID, c.Operation.OperationState
		if !slices.Contains(follows[last[id]], state) {
			t.Errorf("the %s %s is %s after %q", c.Operation.Operation, id, state, last[id])
		}
		last[id] = state
	}
	seen := map[vnflcm.OperationState]bool{}
	for id, state := range last {
		occ, err := m.Operation(t.Context(), id)
		if err == nil && occ.OperationState != state {
			t.Errorf("the %s %s is %s, its last change has the state %s", occ.Operation, id, occ.OperationState, state)
		}
		seen[state] = true
	}
	if !seen[vnflcm.Completed] || !seen[vnflcm.RolledBack] || !seen[vnflcm.Failed] {
		t.Errorf("operations ended as %v", seen)
	}
}

// whenQuiet waits until no operation is active, and returns all changes.
func whenQuiet(ctx context.Context, m *vnflcm.Manager) (all []vnflcm.ChangeEntry, err error) {
	active, err := m.Operations(ctx, vnflcm.OperationQuery{States: []vnflcm.OperationState{vnflcm.Starting, vnflcm.Processing, vnflcm.RollingBack}})
	if err != nil {
		return nil, err
	}
	for _, occ := range active.Items {
		if ended, err := m.Wait(ctx, occ.ID); ended == nil {
			return nil, err
		}
	}
	all, _, err = m.Changes(ctx, "", 1<<20)
	return slices.DeleteFunc(all, func(c vnflcm.ChangeEntry) bool { return c.Kind == vnflcm.InstanceChanged }), err
}

// byInstance returns the ids of the notifications of each instance, in the order of their first arrival.
func (s *subscriber) byInstance() map[any][]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[any][]any{}
	for _, d := range s.got {
		out[d["vnfInstanceId"]] = append(out[d["vnfInstanceId"]], d["id"])
	}
	return out
}
