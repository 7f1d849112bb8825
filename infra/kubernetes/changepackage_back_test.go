package kubernetes_test

import (
	"fmt"
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/internal/cnftest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// newData are objects with data that only the new software has.
const newData = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.org}
spec: {group: example.org, scope: Namespaced, names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: queue}
spec:
  serviceName: queue
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}
  selector: {matchLabels: {app: queue}}
  template: {metadata: {labels: {app: queue}}, spec: {containers: [{name: c, image: queue}]}}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
`

// addTemplate adds a file to a chart of the newer package.
func (l *lab) addTemplate(archive, name, text string) {
	l.t.Helper()
	m := unpacked(l.t, l.newer[archive].Data)
	m[name] = text
	l.newer[archive].Data = m.pack(l.t)
}

// TestReturnKeepsNewData rolls a change back that has made objects with data: the new software may have written to them.
func TestReturnKeepsNewData(t *testing.T) {
	t.Parallel()
	const more = `{"using_helm_install_param": [
		{"exthelmchart": "false", "helmchartfile_path": "Files/web-0.1.0.tgz", "helmreleasename": "w1"},
		{"exthelmchart": "false", "helmchartfile_path": "Files/db.v1.tar.gz", "helmreleasename": "d1"},
		{"exthelmchart": "false", "helmchartfile_path": "Files/both.tgz", "helmreleasename": "b1"}], "pause_after": 3}`
	for name, c := range map[string]struct{ kind, params, archive, change string }{
		"changed release": {kubernetes.VimTypeV1, twoReleases, "Files/web-0.1.0.tgz", `{"pause_after": 2}`},
		"added release":   {kubernetes.VimTypeV1, twoReleases, "Files/both.tgz", more},
		"manifests":       {kubernetes.VimTypeV2, plainParams, "Files/both.tgz", `{"pause_after": 1}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, c.kind)
			l.addTemplate(c.archive, path.Base(strings.TrimSuffix(strings.TrimSuffix(c.archive, ".tgz"), "-0.1.0"))+"/templates/more.yaml", newData)
			l.newer["Files/plain.yaml"].Data = append(l.newer["Files/plain.yaml"].Data, "---\n"+newData...)
			l.instantiate("simple", c.params)
			op, err := l.change(c.change)
			l.ends(op, err, vnflcm.FailedTemp)
			l.ends(op, l.Rollback(t.Context(), op), vnflcm.RolledBack)
			var left []string
			for _, o := range l.objects("shop", "statefulsets", "persistentvolumeclaims") {
				if !strings.Contains(o, "db") {
					left = append(left, o)
				}
			}
			left = append(l.objects("", "customresourcedefinitions"), left...)
			if diff := cmp.Diff([]string{"customresourcedefinitions/widgets.example.org", "persistentvolumeclaims/data-queue-0"}, left); diff != "" {
				t.Error(diff)
			}
			if claim := l.get("shop", "persistentvolumeclaims", "data-queue-0"); claim.GetDeletionTimestamp() != nil || len(claim.GetOwnerReferences()) > 0 {
				t.Errorf("the claim: %v", claim.Object)
			}
		})
	}
}

// TestReturnKeepsNumbers rolls a change back whose revision before has fewer pods than the VNF: Helm applies the number of the VNF.
func TestReturnKeepsNumbers(t *testing.T) {
	t.Parallel()
	for name, helm := range helmVersions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, kubernetes.VimTypeV1)
			l.Manager = l.start(helm)
			l.instantiate("simple", twoReleases)
			l.scale(vnflcm.ScaleOut, "dbs", 2)
			op, err := l.change(`{"pause_after": 2}`)
			l.ends(op, err, vnflcm.FailedTemp)
			l.ends(op, l.Rollback(t.Context(), op), vnflcm.RolledBack)
			manifest, err := l.helm.Manifest(t.Context(), helmclient.Name{Namespace: "shop", Release: "d1"}, 0)
			if err != nil || !strings.Contains(manifest, "replicas: 3") {
				t.Errorf("%v: Helm has applied\n%s", err, manifest)
			}
		})
	}
}

// TestReturnWithFullHistory repeats a failing change more often than Helm keeps revisions. The revision before is kept.
func TestReturnWithFullHistory(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV1)
	l.instantiate("simple", twoReleases)
	l.otherUpgrades("w1", 3)
	l.cluster.Fail(cnftest.Fault{Method: http.MethodPatch, Path: "/deployments/web-w1", Code: http.StatusForbidden, Times: -1})
	op, err := l.change(`{}`)
	l.ends(op, err, vnflcm.FailedTemp)
	for range 12 {
		l.ends(op, l.Retry(t.Context(), op), vnflcm.FailedTemp)
	}
	l.cluster.Heal()
	l.ends(op, l.Rollback(t.Context(), op), vnflcm.RolledBack)
	if got := l.image("deployments", "web-w1"); got != "web" {
		t.Errorf("image %s", got)
	}
}

// otherUpgrades upgrades a release of the web by another client, which keeps two revisions.
func (l *lab) otherUpgrades(release string, times int) {
	l.t.Helper()
	n := helmclient.Name{Namespace: "shop", Release: release}
	chart := map[string]string{"w1": "Files/web-0.1.0.tgz", "d1": "Files/db.v1.tar.gz"}[release]
	for i := range times {
		_, err := l.helm.Upgrade(l.t.Context(), helmclient.Upgrade{Reuse: helmclient.ReuseValues, MaxHistory: 2, Install: helmclient.Install{Name: n,
			Chart: helmclient.Chart{Archive: archive(l.files[chart].Data)}, Values: helmclient.Values{Set: []string{fmt.Sprintf("greeting=%d", i)}}}})
		if err != nil {
			l.t.Fatal(err)
		}
	}
}

// TestReturnBeforeUnit rolls a change back that has failed before it changed the second release, whose last recorded revision Helm has deleted.
func TestReturnBeforeUnit(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV1)
	l.instantiate("simple", twoReleases)
	op, err := l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{})
	l.must(op, err)
	l.otherUpgrades("w1", 3)
	l.otherUpgrades("d1", 3)
	op, err = l.change(`{"pause_after": 1}`)
	l.ends(op, err, vnflcm.FailedTemp)
	l.cluster.Fail(cnftest.Fault{Method: http.MethodGet, Path: "/secrets", Code: http.StatusForbidden, Times: -1})
	l.ends(op, l.Retry(t.Context(), op), vnflcm.FailedTemp)
	l.cluster.Heal()
	l.ends(op, l.Rollback(t.Context(), op), vnflcm.RolledBack)
	if got := l.image("deployments", "web-w1") + " " + l.image("statefulsets", "db-d1"); got != "web db" {
		t.Errorf("images %s", got)
	}
}

// TestChangeAfterReturn changes the package again after a change was rolled back and another client has upgraded a release.
func TestChangeAfterReturn(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV1)
	l.instantiate("simple", twoReleases)
	op, err := l.change(`{"pause_after": 2}`)
	l.ends(op, err, vnflcm.FailedTemp)
	l.ends(op, l.Rollback(t.Context(), op), vnflcm.RolledBack)
	l.otherUpgrades("w1", 1)
	op, err = l.change(`{}`)
	l.must(op, err)
	if got := l.image("deployments", "web-w1") + " " + l.image("statefulsets", "db-d1"); got != "web2 db2" {
		t.Errorf("images %s", got)
	}
}
