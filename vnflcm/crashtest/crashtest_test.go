package crashtest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/crashtest"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// process begins one that ends with the test.
func (c *cloud) process(t *testing.T, change ...func(*vnflcm.Config)) *vnflcm.Manager {
	t.Helper()
	m := c.start(change...)
	t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

func (c *cloud) insideCreate(_ vnflcm.StepInfo, die func()) (undo func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.created = die
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.created = nil
	}
}

// undisturbed are the steps that instantiating takes.
func undisturbed(t *testing.T) []vnflcm.StepInfo {
	t.Helper()
	c, steps := &cloud{store: store.NewMemory()}, new(crashtest.Steps)
	m := c.process(t, steps.Record)
	opID, err := instantiate(m)
	if err == nil {
		_, err = m.Wait(t.Context(), opID)
	}
	if err != nil {
		t.Fatal(err)
	}
	return steps.List()
}

func TestSteps(t *testing.T) {
	t.Parallel()
	var got []string
	for _, s := range undisturbed(t) {
		got = append(got, s.Phase+"/"+s.Name+"/"+s.On)
	}
	if diff := cmp.Diff([]string{"instantiate/create-server/web-0", "instantiate/name-server/web-0"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestPoints: a driver that looks first makes one server, wherever its process dies.
func TestPoints(t *testing.T) {
	t.Parallel()
	for _, step := range undisturbed(t) {
		for _, point := range crashtest.Points {
			if point == crashtest.InsideDo && step.Name != "create-server" {
				continue
			}
			t.Run(step.Name+" "+string(point), func(t *testing.T) {
				t.Parallel()
				c, ends := &cloud{store: store.NewMemory()}, 0
				dying := crashtest.New(crashtest.Death{Step: crashtest.At(step), Point: point, Inside: c.insideCreate, End: func() { time.Sleep(10 * time.Millisecond); ends++ }})
				opID, err := dying.Run(t.Context(), c.process(t, dying.Attach), instantiate)
				if err != nil || !dying.Dead() || ends != 1 {
					t.Fatalf("%v; dead: %v, ended %d times", err, dying.Dead(), ends)
				}
				before := len(c.servers)
				if want := map[bool]int{true: 0, false: 1}[point == crashtest.BeforeDo && step.Name == "create-server"]; before != want {
					t.Errorf("it left %d servers, not %d", before, want)
				}
				occ, err := dying.Resume(t.Context(), c.process(t, dying.AttachNext), opID)
				if err != nil || occ.OperationState != vnflcm.Completed || len(c.servers) != 1 {
					t.Errorf("%v, %v; %d servers", occ, err, len(c.servers))
				}
			})
		}
	}
}

// TestOneAfterTheOther: a process dies in each step, each at another point, and the last process ends the operation.
func TestOneAfterTheOther(t *testing.T) {
	t.Parallel()
	for _, points := range [][]crashtest.Point{
		{crashtest.InsideDo, crashtest.BeforeJournal},
		{crashtest.BeforeJournal, crashtest.JournalLost},
		{crashtest.JournalLost, crashtest.BeforeDo},
		{crashtest.AfterJournal, crashtest.AfterJournal},
	} {
		t.Run(fmt.Sprint(points), func(t *testing.T) {
			t.Parallel()
			c, begin := &cloud{store: store.NewMemory()}, instantiate
			left := map[string]crashtest.Point{"create-server": points[0], "name-server": points[1]}
			var last *crashtest.Process
			var opID string
			for range points {
				at := ""
				dying := crashtest.New(crashtest.Death{After: last, Inside: c.insideCreate, PointIn: func(s vnflcm.StepInfo) crashtest.Point {
					at = s.Name
					return left[at]
				}})
				var err error
				if opID, err = dying.Run(t.Context(), c.process(t, dying.Attach), begin); err != nil || !dying.Dead() {
					t.Fatalf("%v; dead: %v", err, dying.Dead())
				}
				delete(left, at)
				last, begin = dying, func(*vnflcm.Manager) (string, error) { return opID, nil }
			}
			occ, err := last.Resume(t.Context(), c.process(t, last.AttachNext), opID)
			if err != nil || occ.OperationState != vnflcm.Completed || len(c.servers) != 1 || len(left) > 0 {
				t.Errorf("%v, %v; %d servers; no process died at %v", occ, err, len(c.servers), left)
			}
		})
	}
}

// TestNobodyDies: the operation ends before its process would have died.
func TestNobodyDies(t *testing.T) {
	t.Parallel()
	c := &cloud{store: store.NewMemory()}
	dying := crashtest.New(crashtest.Death{Step: func(vnflcm.StepInfo) bool { return false }, Point: crashtest.BeforeDo})
	opID, err := dying.Run(t.Context(), c.process(t, dying.Attach), instantiate)
	if err != nil || dying.Dead() {
		t.Fatalf("%v; dead: %v", err, dying.Dead())
	}
	want := `crashtest: the process did not die before Do: Death.Step selected none of the steps, which were ["instantiate/create-server/web-0" "instantiate/name-server/web-0"]`
	if _, err := dying.Resume(t.Context(), c.process(t, dying.AttachNext), opID); err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
}

// TestSurvivesTheStep: the step is found, but nothing in it calls die.
func TestSurvivesTheStep(t *testing.T) {
	t.Parallel()
	c := &cloud{store: store.NewMemory()}
	dying := crashtest.New(crashtest.Death{Step: func(vnflcm.StepInfo) bool { return true }, Point: crashtest.InsideDo, Inside: func(vnflcm.StepInfo, func()) func() { return nil }})
	opID, err := dying.Run(t.Context(), c.process(t, dying.Attach), instantiate)
	if err != nil || dying.Dead() {
		t.Fatalf("%v; dead: %v", err, dying.Dead())
	}
	_, err = dying.Resume(t.Context(), c.process(t, dying.AttachNext), opID)
	if want := "did not die inside Do of step " + opID + "/instantiate/create-server/web-0"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v", err)
	}
}

func TestAt(t *testing.T) {
	t.Parallel()
	recorded := vnflcm.StepInfo{OperationID: "1", Phase: "heal_end", Name: "join", On: "id-1", Host: "workerNode-0"}
	for name, tc := range map[string]struct {
		step, now vnflcm.StepInfo
		want      bool
	}{
		"same id":            {recorded, vnflcm.StepInfo{Phase: "heal_end", Name: "join", On: "id-1"}, true},
		"same name":          {recorded, vnflcm.StepInfo{Phase: "heal_end", Name: "join", On: "id-2", Host: "workerNode-0"}, true},
		"another VNFC":       {recorded, vnflcm.StepInfo{Phase: "heal_end", Name: "join", On: "id-2", Host: "workerNode-1"}, false},
		"two without a name": {vnflcm.StepInfo{Name: "join", On: "id-1"}, vnflcm.StepInfo{Name: "join", On: "id-2"}, false},
		"by name only":       {vnflcm.StepInfo{Name: "join", Host: "workerNode-0"}, vnflcm.StepInfo{Name: "join", On: "id-2", Host: "workerNode-0"}, true},
		"of the whole VNF":   {vnflcm.StepInfo{Name: "cluster"}, vnflcm.StepInfo{Name: "cluster"}, true},
		"not of a VNFC":      {vnflcm.StepInfo{Name: "cluster"}, vnflcm.StepInfo{Name: "cluster", On: "id-1", Host: "workerNode-0"}, false},
		"another phase":      {recorded, vnflcm.StepInfo{Phase: "heal_start", Name: "join", On: "id-1"}, false},
		"another step":       {recorded, vnflcm.StepInfo{Phase: "heal_end", Name: "leave", On: "id-1"}, false},
	} {
		if got := crashtest.At(tc.step)(tc.now); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

func TestDieUnasked(t *testing.T) {
	t.Parallel()
	c := &cloud{store: store.NewMemory()}
	dying := crashtest.New(crashtest.Death{})
	c.created = dying.Die
	opID, err := dying.Run(t.Context(), c.process(t, dying.Attach), instantiate)
	if err != nil || !dying.Dead() {
		t.Fatalf("%v; dead: %v", err, dying.Dead())
	}
	if _, err := dying.Resume(t.Context(), c.process(t, dying.AttachNext), opID); err != nil {
		t.Error(err)
	}
}

var errRefused = errors.New("refused")

// TestErrors are those that are not of the death: they are returned.
func TestErrors(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*vnflcm.Config){
		"begin": func(c *vnflcm.Config) { c.Packages = vnflcm.PackagesFunc(nil) },
		"operation": func(c *vnflcm.Config) {
			c.Intercept = func(context.Context, vnflcm.StepInfo, func(context.Context) error) error { return errRefused }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &cloud{store: store.NewMemory()}
			dying := crashtest.New(crashtest.Death{})
			m := c.process(t, change, dying.Attach)
			if name == "begin" {
				_, err := dying.Run(t.Context(), m, func(*vnflcm.Manager) (string, error) { return "", errRefused })
				if !errors.Is(err, errRefused) {
					t.Errorf("error %v", err)
				}
				return
			}
			if _, err := dying.Run(t.Context(), m, instantiate); !errors.Is(err, errRefused) || dying.Dead() {
				t.Errorf("error %v; dead: %v", err, dying.Dead())
			}
		})
	}
}

// forgetful is a store that has lost the journal, unknown to the process.
type forgetful struct{ store.Store }

func (f forgetful) List(ctx context.Context, q store.Query) ([]store.Record, error) {
	if q.Kind == "step" {
		return nil, nil
	}
	return f.Store.List(ctx, q)
}

func (f forgetful) Get(ctx context.Context, kind, id string) (store.Record, error) {
	if kind == "step" {
		return store.Record{}, vnflcm.ErrNotFound
	}
	return f.Store.Get(ctx, kind, id)
}

// TestDoneAgain: what is in the journal and runs again is reported.
func TestDoneAgain(t *testing.T) {
	t.Parallel()
	c := &cloud{store: store.NewMemory()}
	steps := undisturbed(t)
	dying := crashtest.New(crashtest.Death{Step: crashtest.At(steps[1]), Point: crashtest.BeforeDo})
	opID, err := dying.Run(t.Context(), c.process(t, dying.Attach), instantiate)
	if err != nil {
		t.Fatal(err)
	}
	const want = `create-server on "web-0" was in the journal and ran again`
	second := crashtest.New(crashtest.Death{After: dying})
	forget := func(c *vnflcm.Config) { c.Store = forgetful{c.Store} }
	_, err = second.Run(t.Context(), c.process(t, second.Attach, forget), func(*vnflcm.Manager) (string, error) { return opID, nil })
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error of another process that may die: %v", err)
	}
	if _, err := dying.Resume(t.Context(), c.process(t, dying.AttachNext), opID); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v", err)
	}
}

// TestFenced: the dead reach their store no more, and the store behind does not change.
func TestFenced(t *testing.T) {
	t.Parallel()
	c := &cloud{store: store.NewMemory()}
	dying := crashtest.New(crashtest.Death{})
	var fenced store.Store
	c.process(t, dying.Attach, func(c *vnflcm.Config) { fenced = c.Store })
	dying.Die()
	dying.Die()
	if err := fenced.Apply(t.Context(), store.Batch{Put: []store.Record{{Kind: "step", ID: "x"}}}); !errors.Is(err, storetest.ErrCut) {
		t.Errorf("error %v", err)
	}
	if all, err := c.store.List(t.Context(), store.Query{Kind: "step"}); err != nil || len(all) > 0 {
		t.Errorf("%v, %v", all, err)
	}
}

// TestIntercepts: the caller's own Interceptor sees every step too.
func TestIntercepts(t *testing.T) {
	t.Parallel()
	c, steps, own := &cloud{store: store.NewMemory()}, new(crashtest.Steps), []string{}
	m := c.process(t, func(c *vnflcm.Config) {
		c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			own = append(own, s.Name)
			return next(ctx)
		}
	}, steps.Record)
	opID, err := instantiate(m)
	if err == nil {
		_, err = m.Wait(t.Context(), opID)
	}
	if want := []string{"create-server", "name-server"}; err != nil || !slices.Equal(own, want) || len(steps.List()) != 2 {
		t.Errorf("%v: %q, %v", err, own, steps.List())
	}
}
