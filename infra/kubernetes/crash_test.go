package kubernetes_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/internal/cnftest"
	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/crashtest"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// scenario is an operation on a VNF.
type scenario struct {
	name   string
	kind   string
	before string // additionalParams that it is instantiated with; empty: it is not
	begin  func(l *lab, m *vnflcm.Manager) (string, error)

	variant bool                  // another scenario has the same operation: runs with VNFKIT_FULL only
	lab     func(*testing.T) *lab // default: newLab
}

const mciopParams = `{"namespace": "shop", "mciop_values": {"web": {"greeting": "hi"}}}`

const plainParams = `{"namespace": "shop", "lcm-kubernetes-def-files": ["Files/plain.yaml"]}`

var scenarios = []scenario{
	{"instantiate charts", kubernetes.VimTypeV1, "", func(l *lab, m *vnflcm.Manager) (string, error) {
		return m.Instantiate(l.t.Context(), l.id, l.request("simple", twoReleases, vnflcm.ScaleInfo{AspectID: "dbs", ScaleLevel: 1}))
	}, false, nil},
	{"instantiate manifests", kubernetes.VimTypeV2, "", func(l *lab, m *vnflcm.Manager) (string, error) {
		return m.Instantiate(l.t.Context(), l.id, l.request("simple", plainParams, vnflcm.ScaleInfo{AspectID: "dbs", ScaleLevel: 1}))
	}, false, nil},
	{"scale out by a value", kubernetes.VimTypeV1, twoReleases, func(l *lab, m *vnflcm.Manager) (string, error) {
		return m.Scale(l.t.Context(), l.id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "webs"})
	}, false, nil},
	{"scale in by a value", kubernetes.VimTypeV1, twoReleases, func(l *lab, m *vnflcm.Manager) (string, error) {
		return m.Scale(l.t.Context(), l.id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "webs"})
	}, true, nil},
	{"scale manifests in", kubernetes.VimTypeV2, plainParams, func(l *lab, m *vnflcm.Manager) (string, error) {
		return m.Scale(l.t.Context(), l.id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "webs"})
	}, false, nil},
	{"scale to level", kubernetes.VimTypeV1, twoReleases, func(l *lab, m *vnflcm.Manager) (string, error) {
		return m.ScaleToLevel(l.t.Context(), l.id, vnflcm.ScaleVnfToLevelRequest{ScaleInfo: []vnflcm.ScaleInfo{{AspectID: "webs"}, {AspectID: "dbs", ScaleLevel: 1}}})
	}, false, nil},
	{"heal a pod of each", kubernetes.VimTypeV1, twoReleases, func(l *lab, m *vnflcm.Manager) (string, error) {
		ids := append(slices.Sorted(maps.Keys(l.vnfcs("WEB")))[:1], slices.Sorted(maps.Keys(l.vnfcs("DB")))...)
		return m.Heal(l.t.Context(), l.id, vnflcm.HealVnfRequest{VnfcInstanceID: ids})
	}, false, nil},
	{"heal all of the charts", kubernetes.VimTypeV1, twoReleases, func(l *lab, m *vnflcm.Manager) (string, error) {
		return m.Heal(l.t.Context(), l.id, vnflcm.HealVnfRequest{})
	}, true, nil},
	{"heal all of the manifests", kubernetes.VimTypeV2, plainParams, func(l *lab, m *vnflcm.Manager) (string, error) {
		return m.Heal(l.t.Context(), l.id, vnflcm.HealVnfRequest{})
	}, false, nil},
	{"terminate charts", kubernetes.VimTypeV1, twoReleases, func(l *lab, m *vnflcm.Manager) (string, error) {
		return m.Terminate(l.t.Context(), l.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful, AdditionalParams: parse(l.t, `{"delete_pvc": true}`)})
	}, false, nil},
	{"terminate manifests", kubernetes.VimTypeV2, plainParams, func(l *lab, m *vnflcm.Manager) (string, error) {
		return m.Terminate(l.t.Context(), l.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful, GracefulTerminationTimeout: 5})
	}, false, nil},
	{"stop charts", kubernetes.VimTypeV1, twoReleases, func(l *lab, m *vnflcm.Manager) (string, error) {
		return m.Operate(l.t.Context(), l.id, stopGently)
	}, false, nil},
	{"start manifests", kubernetes.VimTypeV2, "", func(l *lab, m *vnflcm.Manager) (string, error) {
		return m.Operate(l.t.Context(), l.id, startAgain)
	}, false, stoppedLab},
	{"scale adopted charts", kubernetes.VimTypeV1, "", scaleWebs, false, adopting("releases of helm, counted by a value")},
	{"scale adopted manifests", kubernetes.VimTypeV2, "", scaleWebs, false, adopting("manifests of kubectl")},
	{"heal all of adopted manifests", kubernetes.VimTypeV2, "", func(l *lab, m *vnflcm.Manager) (string, error) {
		return m.Heal(l.t.Context(), l.id, vnflcm.HealVnfRequest{})
	}, true, adopting("manifests of kubectl")},
	{"terminate adopted manifests", kubernetes.VimTypeV2, "", func(l *lab, m *vnflcm.Manager) (string, error) {
		return m.Terminate(l.t.Context(), l.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
	}, false, adopting("manifests of kubectl")},
	{"instantiate MCIOPs", kubernetes.VimTypeHelm, "", func(l *lab, m *vnflcm.Manager) (string, error) {
		return m.Instantiate(l.t.Context(), l.id, l.request("simple", mciopParams, vnflcm.ScaleInfo{AspectID: "dbs", ScaleLevel: 1}))
	}, false, mciopLab},
	{"scale MCIOPs", kubernetes.VimTypeHelm, mciopParams, scaleWebs, false, mciopLab},
	{"heal all of the MCIOPs", kubernetes.VimTypeHelm, mciopParams, func(l *lab, m *vnflcm.Manager) (string, error) {
		return m.Heal(l.t.Context(), l.id, vnflcm.HealVnfRequest{})
	}, false, mciopLab},
	{"change the package of charts", kubernetes.VimTypeV1, twoReleases, changePackage(`{"prune": []}`), false, nil},
	{"change the package of MCIOPs", kubernetes.VimTypeHelm, mciopParams, changePackage(`{"mciop_values": {"web": {"greeting": "hello"}}}`), false, mciopLab},
	{"change manifests", kubernetes.VimTypeV2, plainParams, changePackage(`{}`), false, func(t *testing.T) *lab {
		t.Helper()
		l := newLab(t, kubernetes.VimTypeV2)
		l.newer["Files/plain.yaml"].Data = []byte(strings.Replace(string(l.newer["Files/plain.yaml"].Data), "metadata: {name: settings}", "metadata: {name: settings-2}", 1))
		return l
	}},
	{"terminate MCIOPs", kubernetes.VimTypeHelm, mciopParams, func(l *lab, m *vnflcm.Manager) (string, error) {
		return m.Terminate(l.t.Context(), l.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful, GracefulTerminationTimeout: 5})
	}, true, mciopLab},
}

func changePackage(params string) func(*lab, *vnflcm.Manager) (string, error) {
	return func(l *lab, m *vnflcm.Manager) (string, error) {
		return m.ChangeVnfPkg(l.t.Context(), l.id, vnflcm.ChangeCurrentVnfPkgRequest{VnfdID: newVNFD, AdditionalParams: parse(l.t, params)})
	}
}

func scaleWebs(l *lab, m *vnflcm.Manager) (string, error) {
	return m.Scale(l.t.Context(), l.id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "webs"})
}

// adopting makes a lab with one of the adoptions.
func adopting(name string) func(*testing.T) *lab {
	return func(t *testing.T) *lab {
		t.Helper()
		l := adoptions[name].open(t)
		if err := l.adopt(adoptions[name].params, ""); err != nil {
			t.Fatal(err)
		}
		return l
	}
}

func stoppedLab(t *testing.T) *lab {
	t.Helper()
	l := newLab(t, kubernetes.VimTypeV2)
	l.instantiate("simple", plainParams, vnflcm.ScaleInfo{AspectID: "webs", ScaleLevel: 1})
	l.operate(stopAtOnce)
	return l
}

func mciopLab(t *testing.T) *lab {
	t.Helper()
	return newMCIOPLab(t, kubernetes.VimTypeHelm)
}

func (s scenario) newLab(t *testing.T) *lab {
	t.Helper()
	if s.lab != nil {
		return s.lab(t)
	}
	return newLab(t, s.kind)
}

// open makes the lab, and the VNF if there is to be one: two of the web, one of the database.
func (s scenario) open(t *testing.T) *lab {
	t.Helper()
	l := s.newLab(t)
	if s.before != "" {
		l.instantiate("simple", s.before, vnflcm.ScaleInfo{AspectID: "webs", ScaleLevel: 1})
	}
	return l
}

// outcome is the end state, in terms that do not change from run to run.
type outcome struct {
	Objects   []string // pods of Deployments without the random part of their names
	Images    []string // of workloads
	Releases  []string
	VNFCs     map[string]int
	State     vnflcm.InstantiationState
	Records   map[string]int
	Namespace bool
}

func (l *lab) outcome() outcome {
	l.t.Helper()
	out := outcome{VNFCs: map[string]int{}, Records: map[string]int{}, State: l.instance().InstantiationState,
		Namespace: slices.Contains(l.objects("", "namespaces"), "namespaces/shop")}
	_ = l.settled("shop")
	for _, kind := range []string{"deployments", "statefulsets"} {
		for _, o := range l.list("shop", kind) {
			out.Images = append(out.Images, l.withoutID(o.GetName())+" "+l.image(kind, o.GetName()))
		}
	}
	for _, name := range l.objects("shop", "deployments", "statefulsets", "pods", "configmaps", "services", "persistentvolumeclaims") {
		name = l.withoutID(name)
		for _, of := range []string{"pods/web", "pods/R-web", "pods/R-db-exporter"} {
			if strings.HasPrefix(name, of) {
				name = of
			}
		}
		out.Objects = append(out.Objects, name)
	}
	releases, err := l.helm.List(l.t.Context(), helmclient.Filter{Namespace: "shop"})
	if err != nil {
		l.t.Fatal(err)
	}
	for _, r := range releases {
		out.Releases = append(out.Releases, l.withoutID(r.Release)+" "+string(r.State))
	}
	slices.Sort(out.Objects)
	slices.Sort(out.Releases)
	for _, v := range []string{"WEB", "DB"} {
		out.VNFCs[v] = len(l.vnfcs(v))
	}
	for _, kind := range []string{"instance", "state", "step", "claim", "cancel"} {
		records, err := l.store.List(l.t.Context(), store.Query{Kind: kind})
		if err != nil {
			l.t.Fatal(err)
		}
		out.Records[kind] = len(records)
	}
	return out
}

// settled waits until no pod is ending.
func (l *lab) settled(namespace string) bool {
	ending := func(p object) bool { return p.GetDeletionTimestamp() != nil }
	for deadline := time.Now().Add(time.Minute); slices.ContainsFunc(l.list(namespace, "pods"), ending); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// point is a step and how many writes to the cluster it makes.
type point struct {
	step   string // phase/name
	writes int
}

func nameOf(s vnflcm.StepInfo) string { return s.Phase + "/" + s.Name }

// undisturbed runs the scenario to its end.
func (s scenario) undisturbed(t *testing.T) (steps []point, want outcome) {
	t.Helper()
	l := s.open(t)
	var mu sync.Mutex
	running := false
	l.cluster.Observe(func(method, _ string) {
		mu.Lock()
		defer mu.Unlock()
		if running && method != http.MethodGet {
			steps[len(steps)-1].writes++
		}
	})
	m := l.process(func(c *vnflcm.Config) {
		c.Intercept = func(ctx context.Context, info vnflcm.StepInfo, next func(context.Context) error) error {
			mu.Lock()
			steps, running = append(steps, point{step: nameOf(info)}), true
			mu.Unlock()
			defer func() {
				mu.Lock()
				running = false
				mu.Unlock()
			}()
			return next(ctx)
		}
	})
	op, err := s.begin(l, m)
	if err == nil {
		_, err = m.Wait(t.Context(), op)
	}
	if err != nil {
		t.Fatal(err)
	}
	l.cluster.Observe(nil)
	return steps, l.outcome()
}

// process begins one with the usual driver.
func (l *lab) process(change func(*vnflcm.Config)) *vnflcm.Manager {
	l.t.Helper()
	return l.compose(kubernetes.New(l.config()), change)
}

// doomed is a process that dies at that cut.
func (l *lab) doomed(c cut) *crashtest.Process {
	return crashtest.New(crashtest.Death{
		Point: c.at,
		Step:  func(s vnflcm.StepInfo) bool { return nameOf(s) == c.step },
		Inside: func(_ vnflcm.StepInfo, die func()) (undo func()) {
			var writes atomic.Int32
			l.cluster.Observe(func(method, _ string) {
				if method != http.MethodGet && int(writes.Add(1)) == c.write {
					die()
				}
			})
			return func() { l.cluster.Observe(nil) }
		},
		End: func() { l.cluster.Fail(cnftest.Fault{Drop: true, Times: -1}) },
	})
}

// crashed runs the scenario in a process that dies, and resumes it in another.
func (s scenario) crashed(t *testing.T, c cut) outcome {
	t.Helper()
	l := s.open(t)
	p := l.doomed(c)
	op, err := p.Run(t.Context(), l.process(p.Attach), func(m *vnflcm.Manager) (string, error) { return s.begin(l, m) })
	if err != nil {
		t.Fatal(err)
	}
	if c.at == crashtest.InsideDo && !p.Dead() {
		return l.outcome() // it had fewer writes to make this time: pods come and go by themselves
	}
	l.cluster.Heal()
	if _, err := p.Resume(t.Context(), l.process(p.AttachNext), op); err != nil {
		t.Fatal(err)
	}
	return l.outcome()
}

// TestRollbackAfterCrash rolls back what a process has left half made, without finishing it first.
func TestRollbackAfterCrash(t *testing.T) {
	t.Parallel()
	for _, write := range []int{1, 3, 6} {
		t.Run(fmt.Sprint(write), func(t *testing.T) {
			t.Parallel()
			l := newLab(t, kubernetes.VimTypeV1)
			p := l.doomed(cut{"instantiate/install-releases", crashtest.InsideDo, write})
			op, err := p.Run(t.Context(), l.process(p.Attach), func(m *vnflcm.Manager) (string, error) {
				return m.Instantiate(t.Context(), l.id, l.request("simple", twoReleases))
			})
			if err != nil || !p.Dead() {
				t.Fatal(err, p.Dead())
			}
			l.cluster.Heal()
			l.cluster.Fail(cnftest.Fault{Method: http.MethodPost, Path: "/secrets", Code: http.StatusForbidden, Times: -1})
			m := l.process(p.AttachNext)
			_ = l.fails(op, nil)
			l.cluster.Heal()
			if err := m.Rollback(t.Context(), op); err != nil {
				t.Fatal(err)
			}
			if occ, err := m.Wait(t.Context(), op); occ == nil || occ.OperationState != vnflcm.RolledBack {
				t.Fatalf("%+v %v", occ, err)
			}
			if left := l.empty("shop"); len(left) > 0 || slices.Contains(l.objects("", "namespaces"), "namespaces/shop") {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// cut is where a process dies: at a point of a step, and inside it before the write of that number to the cluster.
type cut struct {
	step  string // phase/name
	at    crashtest.Point
	write int // the first is 1
}

// cutsOf cuts each step at every point: inside it before its first three writes and before the last, for many are alike.
func cutsOf(steps []point) (cuts []cut) {
	for _, p := range steps {
		for _, at := range crashtest.Points {
			if at != crashtest.InsideDo {
				cuts = append(cuts, cut{step: p.step, at: at})
			}
		}
		for n := 1; n <= p.writes; n++ {
			if n <= 3 || n == p.writes {
				cuts = append(cuts, cut{p.step, crashtest.InsideDo, n})
			}
		}
	}
	return cuts
}

// TestCrash cuts each operation at each step: before it, before each write to the cluster, before and after its journal.
func TestCrash(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			if s.variant {
				fulltest.SkipVariant(t)
			}
			steps, want := s.undisturbed(t)
			cuts := cutsOf(steps)
			if !fulltest.Enabled() { // one cut of each step
				cuts = crashtest.Sample(cuts, func(c cut) (step, name string) { return c.step, fmt.Sprint(c) })
			}
			for _, c := range cuts {
				t.Run(fmt.Sprint(c.step, " ", c.at, " ", c.write), func(t *testing.T) {
					t.Parallel()
					if diff := cmp.Diff(want, s.crashed(t, c)); diff != "" {
						t.Error(diff)
					}
				})
			}
		})
	}
}
