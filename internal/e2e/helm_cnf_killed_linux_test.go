package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
)

// cnfChildVariable makes this test binary a VNFM that works on a CNF, and says what it shall do.
const cnfChildVariable = "VNFKIT_E2E_CNF_CHILD"

// cnfJob is one operation on a CNF, to be begun or gone on with.
type cnfJob struct {
	Site            cnfSite
	Store, Instance string

	Instantiate json.RawMessage             `json:",omitempty"` // one of these, unless there is something to resume
	Scale       *vnflcm.ScaleVnfRequest     `json:",omitempty"`
	Heal        *vnflcm.HealVnfRequest      `json:",omitempty"`
	Terminate   *vnflcm.TerminateVnfRequest `json:",omitempty"`

	// Dies is the moment at which the process kills itself: each step has three, at its beginning, 100 ms later or
	// when it ends before, and at its end. 0: at none.
	Dies int32
}

func (j cnfJob) run(ctx context.Context) (err error) {
	store, err := openAlone(ctx, j.Store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	pool := j.Site.pool()
	defer func() { err = errors.Join(err, pool.Close()) }()
	cfg := j.Site.config(store, pool)
	var moments atomic.Int32
	var middle atomic.Bool
	cfg.Observe = func(e vnflcm.Event) {
		switch e.Kind {
		case vnflcm.StepStarted:
			if moments.Add(1) == j.Dies {
				die()
			}
			if moments.Add(1) == j.Dies {
				middle.Store(true)
				time.AfterFunc(100*time.Millisecond, die)
			}
		case vnflcm.StepDone:
			if middle.Load() || moments.Add(1) == j.Dies { // a step may be quicker: the operation must not end
				die()
			}
		}
	}
	return resumeOr(ctx, cfg, j.begin)
}

// die kills the process with SIGKILL. It does not return.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

func (j cnfJob) begin(ctx context.Context, m *vnflcm.Manager) (string, error) {
	switch {
	case j.Scale != nil:
		return m.Scale(ctx, j.Instance, *j.Scale)
	case j.Heal != nil:
		return m.Heal(ctx, j.Instance, *j.Heal)
	case j.Terminate != nil:
		return m.Terminate(ctx, j.Instance, *j.Terminate)
	}
	var r vnflcm.InstantiateVnfRequest
	if err := json.Unmarshal(j.Instantiate, &r); err != nil {
		return "", err
	}
	return m.Instantiate(ctx, j.Instance, r)
}

// killedThroughout lets process after process work on an operation. Of the steps that are left when it begins, each is
// killed in the first: at its beginning, the next in the middle, the next at its end, until one comes to the end.
func (j cnfJob) killedThroughout(t *testing.T) {
	t.Helper()
	for killed := range int32(100) {
		j.Dies = killed%3 + 1
		child := startChild(t, cnfChildVariable, j)
		err := child.Wait()
		status, ok := child.ProcessState.Sys().(syscall.WaitStatus)
		switch {
		case err == nil:
			t.Logf("%d processes were killed", killed)
			return
		case !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL:
			t.Fatalf("process %d: %v", killed+1, err)
		}
	}
	t.Fatal("a hundred processes have not come to the end")
}

// TestCNFKilled takes CNFs through their life by processes that are killed with SIGKILL at the beginning, in the
// middle and at the end of each step.
func TestCNFKilled(t *testing.T) {
	cluster := needCluster(t)
	for _, mode := range cnfModes {
		t.Run(mode.name, func(t *testing.T) {
			var masters []*master
			if mode.masters {
				masters = newMasters(t, cluster.Client(), 1, helm3Program(t))
			}
			file := filepath.Join(t.TempDir(), "vnfm.db")
			store, err := sqlite.Open(t.Context(), file)
			must(t, err)
			t.Cleanup(func() { _ = store.Close() })
			site := cnfSite{Dir: t.TempDir(), Packages: map[string]string{cnfVNFD: cnfDir(t)}}
			c := newCNF(t, store, site, cnfVIM(t, kubernetes.VimTypeV1, cluster.Client(), masters), cnfVNFD, "simple", mode.params)
			j := cnfJob{Site: site, Store: file, Instance: c.id}
			must(t, c.Close(t.Context())) // it would take the operations over

			instantiate := j
			instantiate.Instantiate = revealed(t, c.request)
			instantiate.killedThroughout(t)
			one := c.vnfcs(1)

			out := j
			request := webScale(vnflcm.ScaleOut, 2)
			out.Scale = &request
			out.killedThroughout(t)
			three := c.vnfcs(3)
			in := j
			less := webScale(vnflcm.ScaleIn, 1)
			in.Scale = &less
			in.killedThroughout(t)
			c.vnfcs(2)

			heal := j
			for id, pod := range one {
				if three[id] != pod {
					t.Errorf("VNFC %s was pod %s, and is %s", id, pod, three[id])
				}
				heal.Heal = &vnflcm.HealVnfRequest{VnfcInstanceID: []string{id}}
				heal.killedThroughout(t)
				if healed := c.vnfcs(2); healed[id] == pod || healed[id] == "" {
					t.Errorf("VNFC %s is healed, and its pod is %q, which was %s", id, healed[id], pod)
				}
			}
			heal.Heal = &vnflcm.HealVnfRequest{}
			heal.killedThroughout(t)
			c.vnfcs(2)

			terminate := j
			terminate.Terminate = &vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}
			terminate.killedThroughout(t)
			c.wantNothing()
		})
	}
}
