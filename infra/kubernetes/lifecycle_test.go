package kubernetes_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// twoReleases has the web counted by a value, and the database scaled itself.
const twoReleases = `{"use_helm": "true", "namespace": "shop",
	"using_helm_install_param": [
		{"exthelmchart": "false", "helmchartfile_path": "Files/web-0.1.0.tgz", "helmreleasename": "w1", "helmparameter": ["greeting=a\\,b {c}"],
			"helmvaluesfile_path": ["Files/values.yaml"]},
		{"exthelmchart": false, "helmchartfile_path": "Files/db.v1.tar.gz", "helmreleasename": "d1"}],
	"helm_replica_values": {"webs": "web.replicas"},
	"vdu_mapping": {"WEB": {"kind": "Deployment", "name": "web-w1", "helmreleasename": "w1"}, "DB": {"kind": "StatefulSet", "name": "db-d1", "helmreleasename": "d1"}}}`

var workloads = []string{"deployments", "statefulsets", "pods", "configmaps", "secrets", "services"}

func TestLifeOfCharts(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV1)
	l.instantiate("simple", twoReleases, vnflcm.ScaleInfo{AspectID: "webs", ScaleLevel: 1}, vnflcm.ScaleInfo{AspectID: "dbs", ScaleLevel: 1})
	web, db := l.vnfcs("WEB"), l.vnfcs("DB")
	if len(web) != 2 || len(db) != 2 {
		t.Fatalf("web %v, db %v", web, db)
	}
	if !l.heard("ready") {
		t.Error("no progress was told")
	}
	if text := l.get("shop", "configmaps", "greeting-w1").Object["data"].(map[string]any)["text"]; text != "a,b {c}" {
		t.Errorf("the values came as %q", text)
	}
	info := l.instance().InstantiatedVnfInfo
	var shown []map[string]any
	if err := json.Unmarshal([]byte(info.Metadata["helm_releases"]), &shown); err != nil || len(shown) != 2 || info.Metadata["namespace"] != "shop" ||
		!strings.Contains(info.Metadata["resources"], "greeting-w1") {
		t.Errorf("%v %v", info.Metadata, err)
	}

	l.scale(vnflcm.ScaleOut, "dbs", 2) // by the scale subresource
	if n := l.replicas("shop", "statefulsets", "db-d1"); n != 4 || len(l.vnfcs("DB")) != 4 {
		t.Errorf("%d databases", n)
	}
	l.scale(vnflcm.ScaleOut, "webs", 1) // by the value; what was scaled otherwise stays
	if w, d := l.replicas("shop", "deployments", "web-w1"), l.replicas("shop", "statefulsets", "db-d1"); w != 3 || d != 4 {
		t.Errorf("%d webs, %d databases", w, d)
	}
	if text := l.get("shop", "configmaps", "greeting-w1").Object["data"].(map[string]any)["text"]; text != "a,b {c}" {
		t.Errorf("scaling has changed the values to %q", text)
	}

	l.scale(vnflcm.ScaleIn, "webs", 1)
	if left := l.vnfcs("WEB"); len(left) != 2 || !maps.Equal(left, web) {
		t.Errorf("scaling in took others than the newest: %v of %v", left, web)
	}
	l.scale(vnflcm.ScaleIn, "dbs", 3)
	if left := l.vnfcs("DB"); len(left) != 1 || slices.Collect(maps.Values(left))[0] != "db-d1-0" {
		t.Errorf("left: %v", left)
	}

	l.terminate(vnflcm.TerminateGraceful, `{}`)
	if left := l.objects("shop", workloads...); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if claims := l.objects("shop", "persistentvolumeclaims"); len(claims) == 0 {
		t.Error("the data is gone")
	}
	if entries, err := os.ReadDir(l.dir); err != nil || len(entries) > 0 {
		t.Errorf("Helm's files are left: %v %v", entries, err)
	}
}

// TestUpgradeKeepsWhatWasScaled has both workloads in one release, and one of them counted by a value.
func TestUpgradeKeepsWhatWasScaled(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV1)
	l.instantiate("simple", `{"use_helm": true, "using_helm_install_param": [{"exthelmchart": false, "helmchartfile_path": "Files/both.tgz",
		"helmreleasename": "r"}], "helm_replica_values": {"webs": "web.replicas"}}`, vnflcm.ScaleInfo{AspectID: "dbs", ScaleLevel: 1})
	if n := l.replicas("default", "statefulsets", "db-r"); n != 2 {
		t.Errorf("%d databases", n)
	}
	l.scale(vnflcm.ScaleOut, "dbs", 1)
	before := l.get("default", "pods", "db-r-2").GetUID()
	l.scale(vnflcm.ScaleOut, "webs", 1)
	if l.get("default", "pods", "db-r-2").GetUID() != before {
		t.Error("the upgrade has undone scaling for a moment")
	}
	if n := l.replicas("default", "statefulsets", "db-r"); n != 3 {
		t.Errorf("%d databases", n)
	}
}

// TestScaleToLevel scales two workloads of one release, both counted by values: each scaling upgrades the release.
func TestScaleToLevel(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV1)
	l.instantiate("simple", `{"use_helm": true, "using_helm_install_param": [{"exthelmchart": false, "helmchartfile_path": "Files/both.tgz",
		"helmreleasename": "r"}], "helm_replica_values": {"webs": "web.replicas", "dbs": "db.replicas"}}`, vnflcm.ScaleInfo{AspectID: "webs", ScaleLevel: 2})
	op, err := l.ScaleToLevel(t.Context(), l.id, vnflcm.ScaleVnfToLevelRequest{ScaleInfo: []vnflcm.ScaleInfo{{AspectID: "webs"}, {AspectID: "dbs", ScaleLevel: 2}}})
	l.must(op, err)
	if w, d := l.replicas("default", "deployments", "web-r"), l.replicas("default", "statefulsets", "db-r"); w != 1 || d != 3 {
		t.Errorf("%d webs, %d databases", w, d)
	}
	if w, d := l.vnfcs("WEB"), l.vnfcs("DB"); len(w) != 1 || len(d) != 3 {
		t.Errorf("VNFCs: web %v, db %v", w, d)
	}

	l.Manager = l.compose(kubernetes.New(l.config()), func(c *vnflcm.Config) {
		c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			if s.Phase == "scale.2" && s.Name == "await-ready" {
				return errors.New("cut off")
			}
			return next(ctx)
		}
	})
	op, err = l.ScaleToLevel(t.Context(), l.id, vnflcm.ScaleVnfToLevelRequest{ScaleInfo: []vnflcm.ScaleInfo{{AspectID: "webs", ScaleLevel: 1}, {AspectID: "dbs", ScaleLevel: 3}}})
	_ = l.fails(op, err)
	if err := l.Rollback(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	if occ, err := l.Wait(t.Context(), op); occ.OperationState != vnflcm.RolledBack {
		t.Fatalf("%+v %v", occ, err)
	}
	if w, d := l.vnfcs("WEB"), l.vnfcs("DB"); len(w) != 1 || len(d) != 3 {
		t.Errorf("VNFCs after the rollback: web %v, db %v", w, d)
	}
}

func TestTerminateRemovesNamespaceAndClaims(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV1)
	l.instantiate("simple", twoReleases)
	l.terminate(vnflcm.TerminateForceful, `{"delete_pvc": "true"}`)
	if slices.Contains(l.objects("", "namespaces"), "namespaces/shop") {
		t.Error("the namespace is left")
	}
	l.id = l.created(vnfdID)
	l.create("", "namespaces", `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}`)
	l.instantiate("simple", twoReleases)
	l.terminate(vnflcm.TerminateForceful, `{"delete_pvc": true}`)
	if !slices.Contains(l.objects("", "namespaces"), "namespaces/shop") {
		t.Error("somebody else's namespace is gone")
	}
	l.id = l.created(vnfdID)
	l.instantiate("simple", strings.ReplaceAll(twoReleases, `"shop"`, `"other"`))
	l.create("other", "configmaps", `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "precious"}}`)
	l.terminate(vnflcm.TerminateForceful, `{"delete_pvc": true}`)
	if diff := cmp.Diff([]string{"configmaps/precious"}, l.objects("other", workloads...)); diff != "" {
		t.Error(diff)
	}
}

const version2 = `{"helm_chart_path": "Files/both.tgz", "helm_parameters": {"greeting": "x,y=z"}, "helm_value_names": {"WEB": {"replica": "web.replicas"}, "DB": {"replica": "db.replicas"}}}`

func TestLifeOfVersion2(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeHelm)
	l.instantiate("simple", version2)
	release := "vnf" + strings.ReplaceAll(l.id, "-", "")
	if got := l.instance().InstantiatedVnfInfo.Metadata["release_name"]; got != release {
		t.Errorf("release %s", got)
	}
	if len(l.vnfcs("WEB")) != 1 || len(l.vnfcs("DB")) != 1 { // by the names of the workloads
		t.Errorf("%+v", l.instance().InstantiatedVnfInfo.VnfcResourceInfo)
	}
	l.scale(vnflcm.ScaleOut, "webs", 2)
	if n := l.replicas("default", "deployments", "web-"+release); n != 3 {
		t.Errorf("%d webs", n)
	}
	l.terminate(vnflcm.TerminateForceful, `{}`)
	if left := l.objects("default", workloads...); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestChartsByVIM: with extra.use_helm in the VIM entry a chart of version 2 needs no use_helm in the request. Manifests stay manifests.
func TestChartsByVIM(t *testing.T) {
	t.Parallel()
	for _, params := range []string{version2, `{"lcm-kubernetes-def-files": ["Files/plain.yaml"]}`} {
		l := newLab(t, kubernetes.VimTypeV1)
		entry, err := l.VIMs().Get(t.Context(), "", "vim")
		if err != nil {
			t.Fatal(err)
		}
		entry.Extra = parse(t, `{"use_helm": true}`)
		if err := l.VIMs().Put(t.Context(), entry); err != nil {
			t.Fatal(err)
		}
		l.instantiate("simple", params)
		l.scale(vnflcm.ScaleOut, "webs", 1)
		if n := len(l.vnfcs("WEB")); n != 2 {
			t.Errorf("%d webs", n)
		}
	}
}

func TestLifeOfManifests(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{kubernetes.VimTypeV1, kubernetes.VimTypeV2} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, kind)
			l.create("default", "configmaps", `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "precious"}}`)
			l.instantiate("simple", `{"lcm-kubernetes-def-files": ["Files/plain.yaml"]}`, vnflcm.ScaleInfo{AspectID: "webs", ScaleLevel: 2})
			before := l.vnfcs("WEB")
			if len(before) != 3 || len(l.vnfcs("DB")) != 1 {
				t.Fatalf("%+v", l.instance().InstantiatedVnfInfo.VnfcResourceInfo)
			}
			l.scale(vnflcm.ScaleIn, "webs", 1)
			for id := range l.vnfcs("WEB") {
				if before[id] == "" {
					t.Errorf("VNFC %s is new", id)
				}
			}
			op, err := l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{})
			l.must(op, err)
			if len(l.vnfcs("WEB")) != 2 {
				t.Errorf("after healing: %v", l.vnfcs("WEB"))
			}
			l.terminate(vnflcm.TerminateGraceful, `{}`)
			if diff := cmp.Diff([]string{"configmaps/precious"}, l.objects("default", workloads...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestClusterOfProgram: the VIM has neither endpoint nor credentials, for Kubernetes' API and for Helm.
func TestClusterOfProgram(t *testing.T) {
	t.Parallel()
	for kind, params := range map[string]string{kubernetes.VimTypeHelm: version2, kubernetes.VimTypeV2: `{"lcm-kubernetes-def-files": ["Files/plain.yaml"]}`} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, kind)
			entry := vnflcm.VimConnectionInfo{VimID: "vim", VimType: kind}
			if err := l.VIMs().Put(t.Context(), entry); err != nil {
				t.Fatal(err)
			}
			if _, err := l.Instantiate(t.Context(), l.id, l.request("simple", params)); !errors.Is(err, vnflcm.ErrInvalidRequest) {
				t.Fatalf("without credentials: %v", err)
			}
			l.Manager = l.start(func(c *kubernetes.Config) {
				c.Cluster = func(_ context.Context, vim vnflcm.VimConnectionInfo) (*rest.Config, error) {
					want := entry
					want.FromOperator = true
					if diff := cmp.Diff(want, vim); diff != "" {
						t.Errorf("the VIM:\n%s", diff)
					}
					return l.cluster.Config(), nil
				}
			})
			l.instantiate("simple", params)
			l.scale(vnflcm.ScaleOut, "webs", 1)
			l.terminate(vnflcm.TerminateForceful, `{}`)
			if left := l.objects("default", workloads...); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestHeal(t *testing.T) {
	t.Parallel()
	for _, params := range []string{`{}`, `{"eviction": true}`} {
		l := newLab(t, kubernetes.VimTypeV1)
		l.instantiate("simple", twoReleases, vnflcm.ScaleInfo{AspectID: "webs", ScaleLevel: 1})
		web, db := l.vnfcs("WEB"), l.vnfcs("DB")
		sick := slices.Sorted(maps.Keys(web))[0]
		sets := slices.Collect(maps.Keys(db))
		uid := l.get("shop", "pods", "db-d1-0").GetUID()
		op, err := l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{VnfcInstanceID: append(sets, sick), AdditionalParams: parse(t, params)})
		l.must(op, err)
		now := l.vnfcs("WEB")
		for id, pod := range web {
			if now[id] == "" || (now[id] == pod) != (id != sick) {
				t.Errorf("VNFC %s was pod %s and is %s; sick was %s", id, pod, now[id], sick)
			}
		}
		if !maps.Equal(db, l.vnfcs("DB")) || l.get("shop", "pods", "db-d1-0").GetUID() == uid {
			t.Errorf("the database: %v, now %v", db, l.vnfcs("DB"))
		}

		op, err = l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{})
		l.must(op, err)
		if len(l.vnfcs("WEB")) != 2 || !slices.Equal(slices.Sorted(maps.Keys(web)), slices.Sorted(maps.Keys(l.vnfcs("WEB")))) {
			t.Errorf("%v is now %v", web, l.vnfcs("WEB"))
		}
	}
}

func TestSecondReleaseFails(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV1)
	l.files["Files/db.v1.tar.gz"].Data = chart("db", "{{ required \"no size\" .Values.size }}").pack(t)
	err := l.fails(l.Instantiate(t.Context(), l.id, l.request("simple", twoReleases)))
	if !strings.Contains(err.Error(), "no size") || !strings.Contains(err.Error(), "release d1") {
		t.Error(err)
	}
	if left := l.empty("shop"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	ops, err := l.Operations(t.Context(), vnflcm.OperationQuery{InstanceID: l.id})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Rollback(t.Context(), ops.Items[0].ID); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Wait(t.Context(), ops.Items[0].ID); err == nil {
		t.Error("the error is forgotten")
	}
	if slices.Contains(l.objects("", "namespaces"), "namespaces/shop") || l.instance().InstantiationState != vnflcm.NotInstantiated {
		t.Error("rolling back has left something")
	}
}

func TestNeverReady(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV1)
	l.Manager = l.start(func(c *kubernetes.Config) { c.Ready = 2_000_000_000 })
	params := strings.Replace(twoReleases, `"greeting=a`, `"nodeSelector.never=ready", "greeting=a`, 1)
	err := l.fails(l.Instantiate(t.Context(), l.id, l.request("simple", params)))
	if !errors.Is(err, helmclient.ErrNotReady) || !strings.Contains(err.Error(), "web-w1") || !strings.Contains(err.Error(), "Unschedulable") {
		t.Error(err)
	}
}

func TestForeignRelease(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV1)
	_, err := l.helm.Install(t.Context(), helmclient.Install{Name: helmclient.Name{Namespace: "shop", Release: "d1"}, CreateNamespace: true,
		Chart: helmclient.Chart{Archive: archive(chart("x", greeting).pack(t))}})
	if err != nil {
		t.Fatal(err)
	}
	before := l.objects("shop", workloads...)
	_, err = l.Instantiate(t.Context(), l.id, l.request("simple", twoReleases))
	if !errors.Is(err, kubernetes.ErrForeignRelease) || !slices.Contains(pathsOf(err), "using_helm_install_param[1].helmreleasename") {
		t.Errorf("%v %v", err, pathsOf(err))
	}
	if diff := cmp.Diff(before, l.objects("shop", workloads...)); diff != "" {
		t.Error(diff)
	}
}

func TestScaleRollback(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV1)
	l.instantiate("simple", twoReleases)
	web := l.vnfcs("WEB")
	l.Manager = l.start(func(c *kubernetes.Config) { c.Ready = 2_000_000_000 })
	for _, n := range []string{"node-1", "node-2", "node-3"} {
		l.cluster.SetNodeDown(n, true)
	}
	op, err := l.Scale(t.Context(), l.id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "webs", NumberOfSteps: 2})
	_ = l.fails(op, err)
	for _, n := range []string{"node-1", "node-2", "node-3"} {
		l.cluster.SetNodeDown(n, false)
	}
	if err := l.Rollback(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	if occ, _ := l.Wait(t.Context(), op); occ.OperationState != vnflcm.RolledBack {
		t.Fatalf("%+v", occ)
	}
	if n := l.replicas("shop", "deployments", "web-w1"); n != 1 || !maps.Equal(web, l.vnfcs("WEB")) {
		t.Errorf("%d webs: %v, were %v", n, l.vnfcs("WEB"), web)
	}
	history, err := l.helm.History(t.Context(), helmclient.Name{Namespace: "shop", Release: "w1"})
	if err != nil || len(history) != 3 || !strings.Contains(history[2].Description, "rollback") {
		t.Errorf("%+v %v", history, err)
	}
}

func archive(data []byte) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
}
