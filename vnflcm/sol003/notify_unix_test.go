//go:build unix

package sol003_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/notify"
	"github.com/vnfkit/vnfkit/vnflcm/sqlstore/sqlite"
)

// The environment of a VNFM that TestNotificationsOfKilledVNFM starts as a process.
const (
	killedDir      = "VNFKIT_TEST_NOTIFY_DIR"
	killedCallback = "VNFKIT_TEST_NOTIFY_CALLBACK"
)

// openVNFM opens the VNFM whose state is in a folder.
func openVNFM(t *testing.T, dir string) (*vnflcm.Manager, *notify.Notifier) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, "state.db"))
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	m, _, err := newManager(t.Context(), t.TempDir(), func(cfg *vnflcm.Config) { cfg.Store, cfg.LeaseTTL = store, 500*time.Millisecond })
	must(t, err)
	t.Cleanup(func() { must(t, m.Close(context.Background())) })
	return m, notify.New(m, notify.Options{Allow: notify.AllowAny})
}

// TestVNFMProcess is the program of that process: it resumes what was cut off, makes instances and changes them until it is
// killed.
func TestVNFMProcess(t *testing.T) {
	dir := os.Getenv(killedDir)
	if dir == "" {
		t.Skip("it is a part of TestNotificationsOfKilledVNFM")
	}
	ctx := t.Context()
	m, n := openVNFM(t, dir)
	_, _, err := n.Subscribe(ctx, sol003.Subscriber{API: "v1"}, sol003.SubscriptionRequest{CallbackURI: os.Getenv(killedCallback)})
	must(t, err)
	go func() { _ = n.Run(ctx) }()
	_, _, err = m.Resume(ctx)
	must(t, err)
	for i := 0; ; i++ {
		instance, err := m.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: toyVNFD})
		must(t, err)
		name := fmt.Sprint("toy", i)
		for range 2 {
			opID, err := m.Modify(ctx, instance.ID, vnflcm.VnfInfoModificationRequest{VnfInstanceName: &name}, "")
			must(t, err)
			_, err = m.Wait(ctx, opID)
			must(t, err)
		}
		must(t, m.Delete(ctx, instance.ID, ""))
	}
}

// TestNotificationsOfKilledVNFM kills a VNFM with SIGKILL while it sends: when the subscriber gets a notification of a certain
// state, once for each. In the end the subscriber has been told of every change in the feed, in its order.
func TestNotificationsOfKilledVNFM(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	nfvo := newSubscriber(t, nil)
	var kill atomic.Pointer[func()]
	for _, killAt := range []string{"CreationNotification", "STARTING", "PROCESSING", "COMPLETED", "DeletionNotification"} {
		process := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestVNFMProcess$") //nolint:gosec // this test
		process.Env = append(os.Environ(), killedDir+"="+dir, killedCallback+"="+nfvo.URL)
		killed := make(chan struct{})
		now := func() {
			_ = process.Process.Kill()
			close(killed)
		}
		nfvo.setAnswer(func(r *http.Request, d object) int {
			if r.Method == http.MethodPost && strings.HasSuffix(strings.Join(inShort([]object{d}), ""), killAt) {
				if once := kill.Swap(nil); once != nil {
					(*once)() // the VNFM does not get the answer
				}
			}
			return http.StatusNoContent
		})
		var output bytes.Buffer
		process.Stdout, process.Stderr = &output, &output
		must(t, process.Start())
		kill.Store(&now)
		select {
		case <-killed:
			_ = process.Wait()
		case <-time.After(20 * time.Second):
			now()
			_ = process.Wait()
			t.Fatalf("no notification of %s: %s", killAt, output.String())
		}
	}

	m, n := openVNFM(t, dir)
	nfvo.setAnswer(nil)
	send(t, n)
	_, _, err := m.Resume(t.Context())
	must(t, err)
	_, err = m.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: toyVNFD})
	must(t, err)
	want := map[any][]any{} // ids of changes by instance
	changes, err := whenQuiet(t.Context(), m)
	must(t, err)
	for _, c := range changes {
		want[c.VNF.InstanceID] = append(want[c.VNF.InstanceID], c.ID)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
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

// whenQuiet returns all changes, when no operation is active any more.
func whenQuiet(ctx context.Context, m *vnflcm.Manager) (all []vnflcm.ChangeEntry, err error) {
	active, err := m.Operations(ctx, vnflcm.OperationQuery{States: []vnflcm.OperationState{vnflcm.Starting, vnflcm.Processing}})
	if err != nil {
		return nil, err
	}
	for _, occ := range active.Items {
		if _, err := m.Wait(ctx, occ.ID); err != nil {
			return nil, err
		}
	}
	all, _, err = m.Changes(ctx, "", 1<<20)
	return slices.DeleteFunc(all, func(c vnflcm.ChangeEntry) bool { return c.Kind == vnflcm.InstanceChanged }), err
}

// byInstance returns the ids of the notifications of each instance, in the order in which they first came.
func (s *subscriber) byInstance() map[any][]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[any][]any{}
	for _, d := range s.got {
		out[d["vnfInstanceId"]] = append(out[d["vnfInstanceId"]], d["id"])
	}
	return out
}
