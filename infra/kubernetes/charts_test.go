package kubernetes_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/internal/chartcases"
	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestOddCharts takes charts with odd features through a life: they are rendered and installed as Helm alone does it.
func TestOddCharts(t *testing.T) {
	t.Parallel()
	versions := slices.Sorted(maps.Keys(helmVersions))
	for i, c := range chartcases.All() {
		for j, version := range versions {
			t.Run(c.Name+"/"+version, func(t *testing.T) {
				t.Parallel()
				if !c.Sample || i%len(versions) != j {
					fulltest.Only(t, "in no sample")
				}
				rendersAsHelm(t, c)
				chartLife(t, c, version)
			})
		}
	}
}

const rendersFor = "1.34.2"

// rendersAsHelm renders a chart as the driver passes it to Helm, and as Helm reads it from its directory.
func rendersAsHelm(t *testing.T, c chartcases.Chart) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range c.Files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	l := newLab(t, kubernetes.VimTypeV1)
	ours, err := l.helm.Template(t.Context(), helmclient.Install{Name: helmclient.Name{Namespace: "odd", Release: "odd"}, KubeVersion: rendersFor,
		Chart: helmclient.Chart{Archive: func() (io.ReadCloser, error) {
			return kubernetes.Packaged(chartcases.Package(c.Files), chartcases.Path)
		}}})
	if err != nil {
		t.Fatal(err)
	}
	first, second := helmRendering(t, dir), helmRendering(t, dir)
	if diff := cmp.Diff(withoutChance(first, second, first), withoutChance(first, second, ours)); diff != "" {
		t.Errorf("rendered (-Helm +ours):\n%s", diff)
	}
}

// helmRendering returns the manifest and the hooks of a chart.
func helmRendering(t *testing.T, dir string) string {
	t.Helper()
	ch, err := loader.LoadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	install := action.NewInstall(&action.Configuration{Log: func(string, ...any) {}})
	install.ReleaseName, install.Namespace, install.DryRun, install.ClientOnly, install.Replace = "odd", "odd", true, true, true
	if install.KubeVersion, err = chartutil.ParseKubeVersion(rendersFor); err != nil {
		t.Fatal(err)
	}
	out, err := install.Run(ch, nil)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	text.WriteString(strings.TrimSpace(out.Manifest) + "\n")
	for _, h := range out.Hooks {
		fmt.Fprintf(&text, "---\n# Source: %s\n%s\n", h.Path, strings.TrimSpace(h.Manifest))
	}
	return text.String()
}

// withoutChance returns a text without the lines that differ between two renderings.
func withoutChance(first, second, text string) string {
	a, b, lines := strings.Split(first, "\n"), strings.Split(second, "\n"), strings.Split(text, "\n")
	for i := range lines {
		if i < len(a) && i < len(b) && a[i] != b[i] {
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}

var oddParams = `{"namespace": "odd", "use_helm": true, "using_helm_install_param": [{"exthelmchart": false, "helmreleasename": "odd",
	"helmchartfile_path": "` + chartcases.Path + `"}], "vdu_mapping": {"` + chartcases.VDU + `": {"kind": "Deployment", "name": "odd-web", "helmreleasename": "odd"}}}`

// chartLife instantiates, scales, heals, upgrades and terminates a VNF of one chart.
func chartLife(t *testing.T, c chartcases.Chart, version string) {
	t.Helper()
	l := newLab(t, kubernetes.VimTypeV1)
	clear(l.files)
	maps.Copy(l.files, chartcases.Package(c.Files))
	l.Manager, l.id = l.start(helmVersions[version]), l.created(chartcases.VNFD)

	l.instantiate(chartcases.Flavour, oddParams)
	l.wantWeb("instantiate", 1)
	l.wantStored(c, version)
	l.scale(vnflcm.ScaleOut, chartcases.Aspect, 1)
	l.wantWeb("scale out", 2)
	l.must(l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{}))
	l.wantWeb("heal", 2)
	if err := l.changeOther(c.Files); err != nil {
		t.Errorf("change of the package: %v", err)
	}
	l.wantWeb("change of the package", 2)
	l.scale(vnflcm.ScaleIn, chartcases.Aspect, 1)
	l.wantWeb("scale in", 1)
	l.terminate(vnflcm.TerminateForceful, `{"delete_pvc": true}`)
	if left := l.empty("odd"); len(left) > 0 && !keeps(c) {
		t.Errorf("left: %v", left)
	}
	_, err := l.dynamic.Resource(resources["namespaces"]).Get(t.Context(), "odd", metav1.GetOptions{})
	if keeps(c) && err != nil || !keeps(c) && !apierrors.IsNotFound(err) {
		t.Errorf("the namespace: %v", err)
	}
}

// keeps reports whether a chart has an object that must stay.
func keeps(c chartcases.Chart) bool {
	for _, text := range c.Files {
		if bytes.Contains(text, []byte("helm.sh/resource-policy: keep")) {
			return true
		}
	}
	return false
}

func (l *lab) wantWeb(after string, n int64) {
	l.t.Helper()
	if got := l.replicas("odd", "deployments", "odd-web"); got != n || len(l.vnfcs(chartcases.VDU)) != int(n) {
		l.t.Errorf("after %s: %d replicas, VNFCs %v, want %d", after, got, l.vnfcs(chartcases.VDU), n)
	}
}

// wantStored compares the objects of the release with those that Helm renders for the cluster without the driver. Objects that
// contain what depends on chance have to exist only.
func (l *lab) wantStored(c chartcases.Chart, version string) {
	l.t.Helper()
	cfg := l.config()
	helmVersions[version](&cfg)
	alone, err := cfg.Helm(l.cluster.Config(), l.t.TempDir())
	if err != nil {
		l.t.Fatal(err)
	}
	stored, err := l.helm.Manifest(l.t.Context(), helmclient.Name{Namespace: "odd", Release: "odd"}, 0)
	if err != nil {
		l.t.Fatal(err)
	}
	got, want, again := l.byName(stored), l.byName(l.dryRun(c, alone)), l.byName(l.dryRun(c, alone))
	for name := range want {
		if !cmp.Equal(want[name], again[name]) && got[name] != nil {
			got[name], want[name] = nil, nil
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		l.t.Errorf("installed (-Helm +ours):\n%s", diff)
	}
}

func (l *lab) dryRun(c chartcases.Chart, helm helmclient.Client) string {
	l.t.Helper()
	r, err := helm.Install(l.t.Context(), helmclient.Install{Name: helmclient.Name{Namespace: "odd", Release: "odd"}, DryRun: true,
		Chart: helmclient.Chart{Archive: func() (io.ReadCloser, error) {
			return kubernetes.Packaged(chartcases.Package(c.Files), chartcases.Path)
		}}})
	if err != nil {
		l.t.Fatal(err)
	}
	return r.Manifest
}

var replicas = regexp.MustCompile(`(?m)^  replicas:.*$`)

func (l *lab) byName(manifest string) map[string]any {
	l.t.Helper()
	all, err := objects.Rendered("manifest", []byte(replicas.ReplaceAllString(manifest, "")))
	if err != nil {
		l.t.Fatal(err)
	}
	out := map[string]any{}
	for _, o := range all {
		out[objects.RefOf(o).String()] = o.Object
	}
	return out
}
