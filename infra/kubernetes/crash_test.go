package kubernetes_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/internal/cnftest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/storetest"
)

// scenario is an operation on a VNF.
type scenario struct {
	name   string
	kind   string
	before string // additionalParams that it is instantiated with; empty: it is not
	begin  func(l *lab, m *vnflcm.Manager) (string, error)
}

const plainParams = `{"namespace": "shop", "lcm-kubernetes-def-files": ["Files/plain.yaml"]}`

var scenarios = []scenario{
	{"instantiate charts", kubernetes.VimTypeV1, "", func(l *lab, m *vnflcm.Manager) (string, error) {
		return m.Instantiate(l.t.Context(), l.id, l.request("simple", twoReleases, vnflcm.ScaleInfo{AspectID: "dbs", ScaleLevel: 1}))
	}},
	{"instantiate manifests", kubernetes.VimTypeV2, "", func(l *lab, m *vnflcm.Manager) (string, error) {
		return m.Instantiate(l.t.Context(), l.id, l.request("simple", plainParams, vnflcm.ScaleInfo{AspectID: "dbs", ScaleLevel: 1}))
	}},
	{"scale out by a value", kubernetes.VimTypeV1, twoReleases, func(l *lab, m *vnflcm.Manager) (string, error) {
		return m.Scale(l.t.Context(), l.id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "webs"})
	}},
	{"scale in by a value", kubernetes.VimTypeV1, twoReleases, func(l *lab, m *vnflcm.Manager) (string, error) {
		return m.Scale(l.t.Context(), l.id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "webs"})
	}},
	{"scale manifests in", kubernetes.VimTypeV2, plainParams, func(l *lab, m *vnflcm.Manager) (string, error) {
		return m.Scale(l.t.Context(), l.id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "webs"})
	}},
	{"heal a pod of each", kubernetes.VimTypeV1, twoReleases, func(l *lab, m *vnflcm.Manager) (string, error) {
		ids := append(slices.Sorted(maps.Keys(l.vnfcs("WEB")))[:1], slices.Sorted(maps.Keys(l.vnfcs("DB")))...)
		return m.Heal(l.t.Context(), l.id, vnflcm.HealVnfRequest{VnfcInstanceID: ids})
	}},
	{"heal all of the charts", kubernetes.VimTypeV1, twoReleases, func(l *lab, m *vnflcm.Manager) (string, error) {
		return m.Heal(l.t.Context(), l.id, vnflcm.HealVnfRequest{})
	}},
	{"heal all of the manifests", kubernetes.VimTypeV2, plainParams, func(l *lab, m *vnflcm.Manager) (string, error) {
		return m.Heal(l.t.Context(), l.id, vnflcm.HealVnfRequest{})
	}},
	{"terminate charts", kubernetes.VimTypeV1, twoReleases, func(l *lab, m *vnflcm.Manager) (string, error) {
		return m.Terminate(l.t.Context(), l.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful, AdditionalParams: parse(l.t, `{"delete_pvc": true}`)})
	}},
	{"terminate manifests", kubernetes.VimTypeV2, plainParams, func(l *lab, m *vnflcm.Manager) (string, error) {
		return m.Terminate(l.t.Context(), l.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful, GracefulTerminationTimeout: 5})
	}},
}

// open makes the lab, and the VNF if there is to be one: two of the web, one of the database.
func (s scenario) open(t *testing.T) *lab {
	t.Helper()
	l := newLab(t, s.kind)
	if s.before != "" {
		l.instantiate("simple", s.before, vnflcm.ScaleInfo{AspectID: "webs", ScaleLevel: 1})
	}
	return l
}

// outcome is the end state, in terms that do not change from run to run.
type outcome struct {
	Objects   []string // pods of Deployments without the random part of their names
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
	for _, name := range l.objects("shop", "deployments", "statefulsets", "pods", "configmaps", "services", "persistentvolumeclaims") {
		if strings.HasPrefix(name, "pods/web") {
			name = "pods/web"
		}
		out.Objects = append(out.Objects, name)
	}
	releases, err := l.helm.List(l.t.Context(), helmclient.Filter{Namespace: "shop"})
	if err != nil {
		l.t.Fatal(err)
	}
	for _, r := range releases {
		out.Releases = append(out.Releases, r.Release+" "+string(r.State))
	}
	slices.Sort(out.Releases)
	for _, v := range []string{"WEB", "DB"} {
		out.VNFCs[v] = len(l.vnfcs(v))
	}
	for _, kind := range []string{"instance", "state", "step", "lease", "cancel"} {
		records, err := l.store.List(l.t.Context(), kind, "")
		if err != nil {
			l.t.Fatal(err)
		}
		out.Records[kind] = len(records)
	}
	return out
}

// settled waits until no pod is ending.
func (l *lab) settled(namespace string) bool {
	for range 200 {
		ending := slices.ContainsFunc(l.list(namespace, "pods"), func(p object) bool { return p.GetDeletionTimestamp() != nil })
		if !ending {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

// crash is a process that dies at a point of a step.
type crash struct {
	storetest.Fence
	cluster *cnftest.Cluster
	step    string // phase/name
	point   string // "before", "journal", "after", or the number of the write to the cluster before which it dies

	mu     sync.Mutex
	key    string // of the step, once it has begun
	inside bool
	writes int
	once   sync.Once
	gone   chan struct{}
}

// die fences the store and cuts every connection, as the end of a process does.
func (c *crash) die() {
	c.once.Do(func() {
		c.Cut(true)
		c.cluster.Fail(cnftest.Fault{Drop: true, Times: -1})
		close(c.gone)
	})
}

func (c *crash) Put(ctx context.Context, r vnflcm.Record) error {
	c.mu.Lock()
	ours := r.Kind == "step" && r.ID == c.key
	c.mu.Unlock()
	if ours && c.point == "journal" {
		c.die()
	}
	err := c.Fence.Put(ctx, r)
	if ours && c.point == "after" {
		c.die()
	}
	return err
}

func (c *crash) intercept(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
	if c.IsCut() {
		return storetest.ErrCut
	}
	if s.Phase+"/"+s.Name != c.step {
		return next(ctx)
	}
	if c.point == "before" {
		c.die()
		return storetest.ErrCut
	}
	c.mu.Lock()
	c.key, c.inside = s.Key(), true
	c.mu.Unlock()
	err := next(ctx)
	c.mu.Lock()
	c.inside = false
	c.mu.Unlock()
	return err
}

// request dies before the write that is the one.
func (c *crash) request(method, _ string) {
	c.mu.Lock()
	hit := false
	if c.inside && method != http.MethodGet {
		c.writes++
		hit = fmt.Sprint(c.writes) == c.point
	}
	c.mu.Unlock()
	if hit {
		c.die()
	}
}

// point is a step and how many writes it makes.
type point struct {
	step   string
	writes int
}

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
	m := l.start(l.store, func(ctx context.Context, info vnflcm.StepInfo, next func(context.Context) error) error {
		mu.Lock()
		steps, running = append(steps, point{step: info.Phase + "/" + info.Name}), true
		mu.Unlock()
		defer func() {
			mu.Lock()
			running = false
			mu.Unlock()
		}()
		return next(ctx)
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

// crashed runs the scenario in a process that dies, and resumes it in another.
func (s scenario) crashed(t *testing.T, step, at string, dropJournal bool) outcome {
	t.Helper()
	ctx := t.Context()
	l := s.open(t)
	c := &crash{Fence: storetest.Fence{Store: l.store}, cluster: l.cluster, step: step, point: at, gone: make(chan struct{})}
	l.cluster.Observe(c.request)
	dying := l.start(c, c.intercept)
	op, err := s.begin(l, dying)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, err = dying.Wait(ctx, op)
	}()
	select {
	case <-ended:
	case <-c.gone:
	}
	if closed := dying.Close(ctx); closed != nil {
		t.Fatal(closed)
	}
	<-ended
	if !c.IsCut() {
		if _, number := strconv.Atoi(at); number != nil || err != nil {
			t.Fatalf("it did not die: %v", err)
		}
		return l.outcome() // it had fewer writes to make this time: pods come and go by themselves
	}
	l.cluster.Observe(nil)
	l.cluster.Heal()
	if dropJournal {
		records, err := l.store.List(ctx, "step", "")
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if err := l.store.Delete(ctx, r.Kind, r.ID, r.Version); err != nil {
				t.Fatal(err)
			}
		}
	}
	m := l.start(l.store, nil)
	if _, err := m.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Wait(ctx, op); err != nil {
		t.Fatal(err)
	}
	return l.outcome()
}

// TestRollbackAfterCrash rolls back what a process has left half made, without finishing it first.
func TestRollbackAfterCrash(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"1", "3", "6"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, kubernetes.VimTypeV1)
			c := &crash{Fence: storetest.Fence{Store: l.store}, cluster: l.cluster, step: "instantiate/install-releases", point: at, gone: make(chan struct{})}
			l.cluster.Observe(c.request)
			dying := l.start(c, c.intercept)
			op, err := dying.Instantiate(t.Context(), l.id, l.request("simple", twoReleases))
			if err != nil {
				t.Fatal(err)
			}
			<-c.gone
			if err := dying.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			l.cluster.Observe(nil)
			l.cluster.Heal()
			l.cluster.Fail(cnftest.Fault{Method: http.MethodPost, Path: "/secrets", Code: http.StatusForbidden, Times: -1})
			m := l.start(l.store, nil)
			if _, err := m.Resume(t.Context()); err != nil {
				t.Fatal(err)
			}
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

// TestCrash cuts each operation at each step: before it, before each write to the cluster, before and after its journal.
func TestCrash(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			steps, want := s.undisturbed(t)
			for _, p := range steps {
				points := []string{"before", "journal", "after"}
				for n := 1; n <= p.writes; n++ {
					if n <= 3 || n == p.writes { // many are alike
						points = append(points, fmt.Sprint(n))
					}
				}
				for _, at := range points {
					for _, drop := range []bool{false, true} {
						if drop && at != "after" {
							continue
						}
						t.Run(fmt.Sprint(p.step, " ", at, " drop:", drop), func(t *testing.T) {
							t.Parallel()
							if diff := cmp.Diff(want, s.crashed(t, p.step, at, drop)); diff != "" {
								t.Error(diff)
							}
						})
					}
				}
			}
		})
	}
}
