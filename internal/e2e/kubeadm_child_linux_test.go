package e2e_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/internal/e2e/vminfra"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
)

// yardChildVariable makes this test binary a VNFM that works on a real cluster, and says what it shall do.
const yardChildVariable = "VNFKIT_E2E_YARD_CHILD"

// yardJob is one operation, to be begun or gone on with.
type yardJob struct {
	Store, Socket, Instance string
	Virtual                 netip.Addr
	Packages                map[string]string // directories, by VNFD id; the sample for all others
	Patience                time.Duration     // the longest time of a playbook; 0: the constant patience
	Takeovers               int               // Config.MaxTakeovers

	Maintain    json.RawMessage         `json:",omitempty"`
	Instantiate json.RawMessage         `json:",omitempty"` // one of these, unless there is something to resume
	Scale       *vnflcm.ScaleVnfRequest `json:",omitempty"`
	Heal        *vnflcm.HealVnfRequest  `json:",omitempty"`

	Step  string        // the process kills itself with SIGKILL when this step, or anyStep, has begun,
	After time.Duration // and that time has passed; "" for not at all
}

// anyStep is any step: the process counts the time from the first one.
const anyStep = "*"

// TestKubeadmKilled kills the process with SIGKILL while kubeadm, etcd and the API server are running. The next process
// finishes the operation. The cluster is in the same state as after an undisturbed run.
func TestKubeadmKilled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "vnfm.db")
	j := yardJob{Store: file, Socket: filepath.Join(t.TempDir(), "cloud")}
	y := newYard(t, func(y *yard, _ *vmhost.Spec) {
		store, err := sqlite.Open(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		j.Virtual = site.network.Reserve()
		y.store, y.infra.Shared = store, map[string]netip.Addr{"vip_CP": j.Virtual}
	})
	serveCloud(t, j.Socket, y.machines)
	id, request := y.cluster("complex", highlyAvailable)
	j.Instance = id

	instantiate := j
	instantiate.Instantiate = revealed(t, request)
	y.killed(instantiate, "init", 3*time.Second)
	y.killed(instantiate, "join", time.Second)
	y.killed(instantiate, "join", 8*time.Second)
	y.finished(instantiate)
	y.wantNodes(id, 3, 1)
	y.wantMembers(id)

	y.work(id, 1)
	heal := j
	victim := y.vnfcs(id, masterVDU)[0]
	heal.Heal = &vnflcm.HealVnfRequest{VnfcInstanceID: []string{victim.ID}}
	y.kill(victim)
	y.killed(heal, "remove-member", 50*time.Millisecond)
	y.killed(heal, "delete-node", 0)
	y.killed(heal, "join", 2*time.Second)
	y.finished(heal)
	y.wantNodes(id, 3, 1)
	y.wantMembers(id)

	out := j
	out.Scale = &vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}
	y.finished(out)
	in := j
	in.Scale = &vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance"}
	y.killed(in, "drain", 300*time.Millisecond)
	y.finished(in)
	y.wantNodes(id, 3, 1)
}

// revealed is a request as a client would send it, with its secrets.
func revealed(t testing.TB, r vnflcm.InstantiateVnfRequest) json.RawMessage {
	t.Helper()
	parameters := r.AdditionalParams.Reveal()
	r.AdditionalParams = vnflcm.Params{}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	whole := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	whole["additionalParams"] = parameters
	if text, err = json.Marshal(whole); err != nil {
		t.Fatal(err)
	}
	return text
}

// killed lets a process begin or go on, and die in a step.
func (y *yard) killed(j yardJob, step string, after time.Duration) {
	y.t.Helper()
	j.Step, j.After = step, after
	must(y.t, y.close()) // it would take the operation over
	child := startChild(y.t, yardChildVariable, j)
	_ = child.Wait()
	status, ok := child.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL {
		y.t.Fatalf("the process did not die in step %s: %s", step, child.ProcessState)
	}
}

// finished lets a process begin or go on, and come to the end.
func (y *yard) finished(j yardJob) {
	y.t.Helper()
	begin := time.Now()
	must(y.t, y.close())
	if err := startChild(y.t, yardChildVariable, j).Wait(); err != nil {
		y.t.Fatalf("the last process: %v", err)
	}
	y.process = y.start(y.store)
	y.t.Logf("finished in %s", time.Since(begin).Round(10*time.Millisecond))
}

func (j yardJob) run(ctx context.Context) (err error) {
	store, err := openAlone(ctx, j.Store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	cloud, pool, end, err := cloudOf(j.Socket)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	infra := vminfra.Driver{Cloud: cloud}
	if j.Virtual.IsValid() {
		infra.Shared = map[string]netip.Addr{"vip_CP": j.Virtual}
	}
	return resumeOr(ctx, managerConfig(store, infra, pool, func(c *vnflcm.Config) {
		c.Observe, c.Packages, c.MaxTakeovers = j.observe, packagesBy(packageDir, j.Packages), j.Takeovers
		c.Mgmt[kubesprayDriver] = kubesprayIn(pool, cmp.Or(j.Patience, patience), nil)
	}), j.begin)
}

func (j yardJob) begin(ctx context.Context, m *vnflcm.Manager) (string, error) {
	switch {
	case j.Scale != nil:
		return m.Scale(ctx, j.Instance, *j.Scale)
	case j.Heal != nil:
		return m.Heal(ctx, j.Instance, *j.Heal)
	case j.Maintain != nil:
		var r vnflcm.MaintainVnfRequest
		if err := json.Unmarshal(j.Maintain, &r); err != nil {
			return "", err
		}
		return m.Maintain(ctx, j.Instance, r)
	}
	var r vnflcm.InstantiateVnfRequest
	if err := json.Unmarshal(j.Instantiate, &r); err != nil {
		return "", err
	}
	return m.Instantiate(ctx, j.Instance, r)
}

// observe says what happens, for the log of a test that fails, and dies when it is time to.
func (j yardJob) observe(e vnflcm.Event) {
	fmt.Println(e.Time.Format(time.TimeOnly), e.Kind, e.Name, e.On, e.Host, e.Duration.Round(time.Millisecond), e.Message)
	if e.Kind == vnflcm.StepStarted && (e.Name == j.Step || j.Step == anyStep) {
		time.AfterFunc(j.After, func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) })
	}
}
