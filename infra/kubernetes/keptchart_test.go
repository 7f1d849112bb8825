package kubernetes_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// repository serves versions of the chart web.
type repository struct {
	*httptest.Server

	mu     sync.Mutex
	charts map[string][]byte // by version
	asked  int               // archives
}

func serve(t *testing.T, versions ...string) *repository {
	t.Helper()
	r := &repository{charts: map[string][]byte{}}
	for _, v := range versions {
		r.publish(t, v, "")
	}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// publish adds a version of the chart, with a chart that it depends on, which has a file that only makes it larger: Helm's record holds 1 MiB, without
// the charts that a chart depends on.
func (r *repository) publish(t *testing.T, version, ballast string) {
	t.Helper()
	m := chart("web", webDeployment)
	m["web/Chart.yaml"] = "apiVersion: v2\nname: web\nversion: " + version + "\ndependencies:\n- {name: part, version: 0.1.0, repository: \"\"}\n"
	m["web/charts/part/Chart.yaml"], m["web/charts/part/templates/part.yaml"] = "apiVersion: v2\nname: part\nversion: 0.1.0\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"part-{{ .Release.Name }}\"}\ndata: {version: "+`"`+version+`"}`+"\n"
	m["web/charts/part/ballast"] = ballast
	r.mu.Lock()
	defer r.mu.Unlock()
	r.charts[version] = m.pack(t)
}

func (r *repository) withdraw(version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.charts, version)
}

func (r *repository) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if request.URL.Path == "/index.yaml" {
		_, _ = fmt.Fprint(w, "apiVersion: v1\nentries:\n  web:\n")
		for version := range r.charts {
			_, _ = fmt.Fprintf(w, "  - {apiVersion: v2, name: web, version: %s, urls: [%s.tgz]}\n", version, version)
		}
		return
	}
	archive, ok := r.charts[strings.TrimSuffix(strings.TrimPrefix(request.URL.Path, "/"), ".tgz")]
	if !ok {
		http.NotFound(w, request)
		return
	}
	r.asked++
	_, _ = w.Write(archive)
}

// pulls are how often an archive was asked for.
func (r *repository) pulls() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked
}

func (r *repository) params() string {
	return fmt.Sprintf(`{"use_helm": true, "using_helm_install_param": [{"exthelmchart": true, "helmreleasename": "r", "helmrepositoryname": "charts", "helmchartname": "web",
		"exthelmrepo_url": %q}], "helm_replica_values": {"webs": "web.replicas"}, "vdu_mapping": {"WEB": {"kind": "Deployment", "name": "web-r"}}}`, r.URL)
}

func (l *lab) healAll() {
	l.t.Helper()
	op, err := l.Heal(l.t.Context(), l.id, vnflcm.HealVnfRequest{})
	l.must(op, err)
}

// runs checks the version of the chart and the number of webs.
func (l *lab) runs(version string, webs int) {
	l.t.Helper()
	r, err := l.helm.Status(l.t.Context(), helmclient.Name{Namespace: "default", Release: "r"})
	if err != nil {
		l.t.Fatal(err)
	}
	part := l.get("default", "configmaps", "part-r").Object["data"].(map[string]any)["version"]
	if n := len(l.vnfcs("WEB")); r.Chart.Version != version || part != version || n != webs {
		l.t.Errorf("chart %s, its part %v, %d webs; want %s and %d", r.Chart.Version, part, n, version, webs)
	}
}

// keptCharts are the states of charts in the store.
func (l *lab) keptCharts() []store.Record {
	l.t.Helper()
	list, err := l.store.List(l.t.Context(), store.Query{Kind: "state", Prefix: l.id + "/kubernetes/chart/"})
	if err != nil {
		l.t.Fatal(err)
	}
	return list
}

// forgetCharts makes the instance what an earlier version has left, which kept no chart.
func (l *lab) forgetCharts() {
	l.t.Helper()
	list := l.keptCharts()
	if err := l.store.Apply(l.t.Context(), store.Batch{Delete: list}); err != nil || len(list) == 0 {
		l.t.Fatal(list, err)
	}
}

// TestChartIsKept: the repository is needed for the installation only, also if it offers a newer version meanwhile.
func TestChartIsKept(t *testing.T) {
	t.Parallel()
	for version, helm := range helmVersions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			l, charts := newLab(t, kubernetes.VimTypeV1), serve(t, "0.1.0")
			l.Manager = l.start(helm)
			l.instantiate("simple", charts.params())
			charts.publish(t, "0.2.0", "")
			l.healAll()
			l.runs("0.1.0", 1)
			charts.withdraw("0.1.0")
			l.scale(vnflcm.ScaleOut, "webs", 1)
			l.runs("0.1.0", 2)
			charts.Close()
			l.healAll()
			l.scale(vnflcm.ScaleIn, "webs", 1)
			l.runs("0.1.0", 1)
			if n := charts.pulls(); n != 1 {
				t.Errorf("the chart was pulled %d times", n)
			}
			l.terminate(vnflcm.TerminateForceful, `{}`)
			if left := l.keptCharts(); len(left) > 0 {
				t.Errorf("charts are left in the store: %v", left)
			}
		})
	}
}

// TestChartIsNotKeptYet: an earlier version has made the instance, and kept no chart.
func TestChartIsNotKeptYet(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]struct {
		operate func(*lab)
		webs    int
	}{"scale": {func(l *lab) { l.scale(vnflcm.ScaleOut, "webs", 1) }, 2}, "heal": {(*lab).healAll, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, charts := newLab(t, kubernetes.VimTypeV1), serve(t, "0.1.0")
			l.instantiate("simple", charts.params())
			l.forgetCharts()
			charts.publish(t, "0.2.0", "")
			do.operate(l)
			l.runs("0.1.0", do.webs)
			charts.Close()
			l.scale(vnflcm.ScaleOut, "webs", 1)
			l.runs("0.1.0", do.webs+1)
		})
	}
}

// TestHealNeedsTheChart: a heal of the whole VNF removes nothing if the chart cannot be had.
func TestHealNeedsTheChart(t *testing.T) {
	t.Parallel()
	l, charts := newLab(t, kubernetes.VimTypeV1), serve(t, "0.1.0")
	l.instantiate("simple", charts.params())
	l.forgetCharts()
	web := l.vnfcs("WEB")
	charts.Close()
	err := l.fails(l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{}))
	if !errors.Is(err, helmclient.ErrUnreachable) || !cmp.Equal(web, l.vnfcs("WEB")) {
		t.Errorf("%v, pods were %v and are %v", err, web, l.vnfcs("WEB"))
	}
	l.runs("0.1.0", 1)
}

// shelf keeps charts in memory.
type shelf struct {
	mu     sync.Mutex
	charts map[string][]byte
}

func (s *shelf) PutChart(_ context.Context, instance, digest string, archive []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.charts[instance+"/"+digest] = archive
	return nil
}

func (s *shelf) Chart(_ context.Context, instance, digest string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if archive, ok := s.charts[instance+"/"+digest]; ok {
		return archive, nil
	}
	return nil, errors.New("lost")
}

func (s *shelf) DeleteCharts(_ context.Context, instance string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.charts {
		if strings.HasPrefix(name, instance+"/") {
			delete(s.charts, name)
		}
	}
	return nil
}

// damage changes or, if it is nil, removes what is on the shelf.
func (s *shelf) damage(archive []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.charts {
		if archive == nil {
			delete(s.charts, name)
		} else {
			s.charts[name] = archive
		}
	}
}

// TestLargeChart: a chart of more than 2 MiB is kept where the composition says. Without that, and when it is lost or
// damaged, the repository is asked for the same version.
func TestLargeChart(t *testing.T) {
	t.Parallel()
	random := make([]byte, 3<<20)
	if _, err := rand.Read(random); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		shelf *shelf
		spoil func(*shelf)
		pulls int
	}{
		"no store":         {nil, func(*shelf) {}, 3},
		"store":            {&shelf{charts: map[string][]byte{}}, func(*shelf) {}, 1},
		"store that loses": {&shelf{charts: map[string][]byte{}}, func(s *shelf) { s.damage(nil) }, 2},
		"damaged":          {&shelf{charts: map[string][]byte{}}, func(s *shelf) { s.damage([]byte("damaged")) }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, charts := newLab(t, kubernetes.VimTypeV1), serve(t)
			charts.publish(t, "0.1.0", string(random))
			var log logText
			l.Manager = l.logged(&log, func(cfg *kubernetes.Config) {
				if c.shelf != nil {
					cfg.Charts = c.shelf
				}
			})
			l.instantiate("simple", charts.params())
			charts.publish(t, "0.2.0", "")
			c.spoil(c.shelf)
			l.scale(vnflcm.ScaleOut, "webs", 1)
			l.runs("0.1.0", 2)
			l.scale(vnflcm.ScaleOut, "webs", 1)
			l.runs("0.1.0", 3)
			if n := charts.pulls(); n != c.pulls {
				t.Errorf("pulled %d times, want %d", n, c.pulls)
			}
			if warned := strings.Contains(log.String(), "too large"); warned != (c.shelf == nil) {
				t.Errorf("warned that the chart is not kept: %t", warned)
			}
			l.terminate(vnflcm.TerminateForceful, `{}`)
			if c.shelf != nil && len(c.shelf.charts) > 0 {
				t.Error("charts are left in the store")
			}
		})
	}
}
