package kubernetes_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// change begins a change to the newer package.
func (l *lab) change(params string) (string, error) {
	l.t.Helper()
	return l.ChangeVnfPkg(l.t.Context(), l.id, vnflcm.ChangeCurrentVnfPkgRequest{VnfdID: newVNFD, AdditionalParams: parse(l.t, params)})
}

// ends waits for an operation that ends in a state.
func (l *lab) ends(op string, err error, want vnflcm.OperationState) error {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
	occ, err := l.Wait(l.t.Context(), op)
	if occ == nil || occ.OperationState != want {
		l.t.Fatalf("%+v %v", occ, err)
	}
	return err
}

// units are the units of a preview, each with its differences.
func (l *lab) units(params string) map[string][]string {
	l.t.Helper()
	p, err := l.Preview(l.t.Context(), l.id, vnflcm.ChangeCurrentVnfPkgRequest{VnfdID: newVNFD, AdditionalParams: parse(l.t, params)})
	if err != nil {
		l.t.Fatal(err)
	}
	out := map[string][]string{}
	for _, b := range p.Package.Batches {
		for _, u := range b.Units {
			name := fmt.Sprint(u.Change, " ", u.ID)
			for _, d := range u.Details {
				out[name] = append(out[name], strings.TrimSpace(fmt.Sprintf("%s %s %s %s", d.Change, d.Name, d.From, d.To)))
			}
		}
	}
	return out
}

func (l *lab) image(kind, name string) string {
	l.t.Helper()
	spec := l.get("shop", kind, name).Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
	return spec["containers"].([]any)[0].(map[string]any)["image"].(string)
}

func (l *lab) text(name string) any {
	l.t.Helper()
	return l.get("shop", "configmaps", name).Object["data"].(map[string]any)["text"]
}

// TestChangeReleases upgrades two releases: the numbers of pods and the values that were given stay, the defaults of the new chart count,
// and later operations use the new charts.
func TestChangeReleases(t *testing.T) {
	t.Parallel()
	for name, helm := range helmVersions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, kubernetes.VimTypeV1)
			l.Manager = l.start(helm)
			l.instantiate("simple", twoReleases, vnflcm.ScaleInfo{AspectID: "webs", ScaleLevel: 1})
			l.scale(vnflcm.ScaleOut, "dbs", 1)
			pods := len(l.vnfcs("WEB"))
			want := map[string][]string{
				"MODIFIED d1": {"MODIFIED chart db 0.1.0 db 0.2.0", "MODIFIED StatefulSet shop/db-d1", "MODIFIED StatefulSet shop/db-d1 image of db db db2"},
				"MODIFIED w1": {"MODIFIED chart web 0.1.0 web 0.2.0", "MODIFIED Deployment shop/web-w1", "MODIFIED Deployment shop/web-w1 image of web web web2"},
			}
			if diff := cmp.Diff(want, l.units(`{}`)); diff != "" {
				t.Errorf("preview:\n%s", diff)
			}
			op, err := l.change(`{}`)
			l.must(op, err)
			if got := l.image("deployments", "web-w1") + " " + l.image("statefulsets", "db-d1"); got != "web2 db2" {
				t.Errorf("images %s", got)
			}
			if n, m := len(l.vnfcs("WEB")), len(l.vnfcs("DB")); n != pods || m != 2 || l.replicas("shop", "statefulsets", "db-d1") != 2 {
				t.Errorf("%d pods of WEB, %d of DB", n, m)
			}
			if text := l.text("greeting-w1"); text != "a,b {c}" {
				t.Errorf("greeting %q", text)
			}
			l.scale(vnflcm.ScaleOut, "webs", 1)
			op, err = l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{})
			l.must(op, err)
			if got := l.image("deployments", "web-w1"); got != "web2" || l.replicas("shop", "deployments", "web-w1") != 3 {
				t.Errorf("after scaling and healing: image %s", got)
			}
			l.terminate(vnflcm.TerminateForceful, `{}`)
			if left := l.empty("shop"); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// unready makes the pods of the newer chart of the web impossible to place.
func (l *lab) unready() {
	l.t.Helper()
	m := unpacked(l.t, l.newer["Files/web-0.1.0.tgz"].Data)
	m["web/values.yaml"] = strings.Replace(m["web/values.yaml"], "nodeSelector: {}", "nodeSelector: {disk: none}", 1)
	l.newer["Files/web-0.1.0.tgz"].Data = m.pack(l.t)
}

// TestChangeReturns: pods never become ready. The operation says so while it waits, and rolling back brings the revision that the release had.
func TestChangeReturns(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV1)
	l.unready()
	l.instantiate("simple", twoReleases, vnflcm.ScaleInfo{AspectID: "webs", ScaleLevel: 1})
	before := l.vnfcs("WEB")
	op, err := l.change(`{}`)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the operation waits for the release", func() bool { return l.heard("waiting for Deployment web-w1") })
	err = l.Cancel(t.Context(), op, vnflcm.CancelForceful)
	l.ends(op, err, vnflcm.FailedTemp)
	l.ends(op, l.Rollback(t.Context(), op), vnflcm.RolledBack)
	if got := l.image("deployments", "web-w1"); got != "web" {
		t.Errorf("image %s", got)
	}
	if diff := cmp.Diff(before, l.vnfcs("WEB")); diff != "" {
		t.Errorf("VNFCs:\n%s", diff)
	}
	op, err = l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{})
	l.must(op, err)
	if got := l.image("deployments", "web-w1"); got != "web" {
		t.Errorf("after a heal: image %s", got)
	}
}

// TestChangeRefused: the schema of one new chart refuses a recorded value, which the error does not quote, and the cluster refuses to change
// selectors as the other chart does. Other requests are wrong themselves. Nothing is touched.
func TestChangeRefused(t *testing.T) {
	t.Parallel()
	l := newMCIOPLab(t, kubernetes.VimTypeHelm)
	m := unpacked(t, l.newer["web.tgz"].Data)
	m["web/values.schema.json"] = `{"type": "object", "properties": {"greeting": {"pattern": "^[0-9]+$"}}}`
	l.newer["web.tgz"].Data = m.pack(t)
	m = unpacked(t, l.newer["db.tgz"].Data)
	for name, text := range m {
		m[name] = strings.ReplaceAll(text, "pods: ", "others: ")
	}
	l.newer["db.tgz"].Data = m.pack(t)
	l.instantiate("simple", mciopParams)
	release := "vnf" + strings.ReplaceAll(l.id, "-", "")
	for params, wants := range map[string][]string{
		`{}`: {"at '/greeting': *** does not match pattern", "Deployment shop/" + release + "-db-exporter: spec.selector: field is immutable: delete the object before",
			"StatefulSet shop/" + release + "-db: spec.selector: field is immutable; spec: updates to statefulset spec"},
		`{"namespace": "other"}`:                      {"additionalParams.namespace"},
		`{"lcm-kubernetes-def-files": ["vnfd.yaml"]}`: {"lcm-kubernetes-def-files"},
	} {
		_, err := l.change(params)
		for _, want := range wants {
			if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, vnflcm.ErrInvalidRequest) {
				t.Errorf("%s: %v, want %s", params, err, want)
			}
		}
	}
	if got := l.image("statefulsets", release+"-db") + " " + l.image("deployments", release+"-web"); got != "c c" {
		t.Errorf("images %s", got)
	}
}

// TestChangeOfValues: recorded values stay, those of the request are added, and reuse_values keeps the defaults of the chart before.
func TestChangeOfValues(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ params, greeting, image string }{
		"recorded":       {`{}`, "hi 7", "c2"},
		"of the request": {`{"mciop_values": {"web": {"greeting": "hello"}}}`, "hello 7", "c2"},
		"removed":        {`{"mciop_values": {"web": {"greeting": null}}}`, "new default 7", "c2"},
		"plain reuse":    {`{"mciop_values": {"web": {"greeting": null}}, "reuse_values": true}`, "hi 7", "c2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newMCIOPLab(t, kubernetes.VimTypeHelm)
			m := unpacked(t, l.newer["web.tgz"].Data)
			m["web/values.yaml"] = strings.Replace(m["web/values.yaml"], "greeting: hello", "greeting: new default", 1)
			l.newer["web.tgz"].Data = m.pack(t)
			l.instantiate("simple", mciopParams)
			release := "vnf" + strings.ReplaceAll(l.id, "-", "") + "-web"
			values, err := l.helm.Values(t.Context(), helmclient.Name{Namespace: "shop", Release: release}, 0, false)
			if err != nil {
				t.Fatal(err)
			}
			values["build"] = map[string]any{"number": 7} // by another client
			if _, err := l.helm.Upgrade(t.Context(), helmclient.Upgrade{Reuse: helmclient.ReuseReset, Install: helmclient.Install{Name: helmclient.Name{Namespace: "shop", Release: release},
				Chart: helmclient.Chart{Archive: archive(l.files["web.tgz"].Data)}, Values: helmclient.Values{Map: values}}}); err != nil {
				t.Fatal(err)
			}
			op, err := l.change(c.params)
			l.must(op, err)
			if text := l.text(release); text != c.greeting {
				t.Errorf("greeting %q, want %q", text, c.greeting)
			}
			if got := l.image("deployments", release); got != c.image {
				t.Errorf("image %s", got)
			}
		})
	}
}

// TestPruneManifests: what only the old package has is deleted, but not data without words.
func TestPruneManifests(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV2)
	const claim = "\n---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
	const crd = "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.org}\nspec: {group: example.org, scope: Namespaced, names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}\n" +
		"---\napiVersion: example.org/v1\nkind: Widget\nmetadata: {name: one}\n"
	l.files["Files/plain.yaml"].Data = append(l.files["Files/plain.yaml"].Data, claim+crd...)
	l.newer["Files/plain.yaml"].Data = []byte(strings.Replace(string(l.newer["Files/plain.yaml"].Data), "metadata: {name: settings}", "metadata: {name: settings-2}", 1))
	l.instantiate("simple", plainParams)
	_, err := l.change(`{}`)
	for _, want := range []string{"must name PersistentVolumeClaim/shop/data", "must name CustomResourceDefinition/widgets.example.org", "with 1 objects of kind Widget"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("%v, want %s", err, want)
		}
	}
	const consent = `{"prune": ["PersistentVolumeClaim/shop/data", "CustomResourceDefinition/widgets.example.org"]}`
	want := map[string][]string{"MODIFIED manifests": {"REMOVED ConfigMap shop/settings", "ADDED ConfigMap shop/settings-2", "REMOVED CustomResourceDefinition widgets.example.org",
		"MODIFIED Deployment shop/web", "MODIFIED Deployment shop/web image of web web web2", "REMOVED PersistentVolumeClaim shop/data", "MODIFIED StatefulSet shop/db",
		"MODIFIED StatefulSet shop/db image of db db db2", "REMOVED Widget shop/one"}}
	if diff := cmp.Diff(want, l.units(consent)); diff != "" {
		t.Errorf("preview:\n%s", diff)
	}
	op, err := l.change(consent)
	l.must(op, err)
	if diff := cmp.Diff([]string{"configmaps/settings-2"}, l.objects("shop", "configmaps", "persistentvolumeclaims")); diff != "" {
		t.Errorf("objects:\n%s", diff)
	}
	l.terminate(vnflcm.TerminateForceful, `{}`)
	if left := l.empty("shop"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestChangeOfReleases adds a release and removes another one, and rolls that back.
func TestChangeOfReleases(t *testing.T) {
	t.Parallel()
	const one = `{"use_helm": "true", "namespace": "shop", "using_helm_install_param": [
		{"exthelmchart": "false", "helmchartfile_path": "Files/web-0.1.0.tgz", "helmreleasename": "w1"},
		{"exthelmchart": "false", "helmchartfile_path": "Files/db.v1.tar.gz", "helmreleasename": "d1"}],
		"vdu_mapping": {"WEB": {"kind": "Deployment", "name": "web-w1"}, "DB": {"kind": "StatefulSet", "name": "db-d1"}}}`
	const other = `{"using_helm_install_param": [
		{"exthelmchart": "false", "helmchartfile_path": "Files/web-0.1.0.tgz", "helmreleasename": "w2"},
		{"exthelmchart": "false", "helmchartfile_path": "Files/db.v1.tar.gz", "helmreleasename": "d1"}],
		"vdu_mapping": {"WEB": {"kind": "Deployment", "name": "web-w2"}}, "pause_after": %d}`
	for name, back := range map[string]bool{"to the end": false, "and back": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, kubernetes.VimTypeV1)
			m := unpacked(t, l.newer["Files/db.v1.tar.gz"].Data)
			m["db/templates/claim.yaml"] = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: more}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
			l.newer["Files/db.v1.tar.gz"].Data = m.pack(t)
			l.instantiate("simple", one)
			l.scale(vnflcm.ScaleOut, "dbs", 1) // the revision of the release does not know it
			op, err := l.change(fmt.Sprintf(other, 3))
			l.ends(op, err, vnflcm.FailedTemp)
			if diff := cmp.Diff([]string{"deployments/web-w2", "statefulsets/db-d1"}, l.objects("shop", "deployments", "statefulsets")); diff != "" {
				t.Errorf("paused:\n%s", diff)
			}
			want, image := []string{"deployments/web-w2", "statefulsets/db-d1"}, "db2"
			if back {
				l.ends(op, l.Rollback(t.Context(), op), vnflcm.RolledBack)
				want, image = []string{"deployments/web-w1", "statefulsets/db-d1"}, "db"
			} else {
				l.ends(op, l.Retry(t.Context(), op), vnflcm.Completed)
			}
			if diff := cmp.Diff(want, l.objects("shop", "deployments", "statefulsets")); diff != "" || l.image("statefulsets", "db-d1") != image || len(l.vnfcs("WEB")) != 1 || len(l.vnfcs("DB")) != 2 {
				t.Errorf("%s\nimage %s, VNFCs %v, %v", diff, l.image("statefulsets", "db-d1"), l.vnfcs("WEB"), l.vnfcs("DB"))
			}
			claims := l.objects("shop", "persistentvolumeclaims") // the new one has data of the new software
			if diff := cmp.Diff([]string{"persistentvolumeclaims/data-db-d1-0", "persistentvolumeclaims/data-db-d1-1", "persistentvolumeclaims/more"}, claims); diff != "" {
				t.Errorf("claims:\n%s", diff)
			}
			l.terminate(vnflcm.TerminateForceful, `{}`)
			if left := l.empty("shop"); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// TestMixedReleases gives a change up after the first of two releases. Scaling, healing and terminating use the chart that each release runs by.
func TestMixedReleases(t *testing.T) {
	t.Parallel()
	l := newMCIOPLab(t, kubernetes.VimTypeHelm)
	l.instantiate("simple", mciopParams)
	op, err := l.change(`{"pause_after": 1}`)
	l.ends(op, err, vnflcm.FailedTemp)
	if err := l.Fail(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	release := "vnf" + strings.ReplaceAll(l.id, "-", "")
	check := func(when string) {
		t.Helper()
		if got := l.image("statefulsets", release+"-db") + " " + l.image("deployments", release+"-web"); got != "c2 c" {
			t.Errorf("%s: images %s", when, got)
		}
	}
	check("failed")
	l.scale(vnflcm.ScaleOut, "dbs", 1)
	check("scaled")
	op, err = l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{})
	l.must(op, err)
	check("healed")
	if units := slices.Sorted(maps.Keys(l.units(`{}`))); !slices.Equal(units, []string{"MODIFIED " + release + "-web"}) {
		t.Errorf("units %v", units)
	}
	l.terminate(vnflcm.TerminateForceful, `{}`)
	if left := l.empty("shop"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
