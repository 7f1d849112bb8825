package kubernetes_test

import (
	"bytes"
	ordered "cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helm4sdk"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const (
	adoptedWeb = `{"use_helm": true, "namespace": "shop", "using_helm_install_param": [{"exthelmchart": false, "helmchartfile_path": "Files/web-0.1.0.tgz",
		"helmreleasename": "w1"}, {"exthelmchart": false, "helmchartfile_path": "Files/db.v1.tar.gz", "helmreleasename": "d1"}], %s
		"vdu_mapping": {"WEB": {"kind": "Deployment", "name": "web-w1", "helmreleasename": "w1"}, "DB": {"kind": "StatefulSet", "name": "db-d1", "helmreleasename": "d1"}}}`
	counted1     = `"helm_replica_values": {"webs": "web.replicas"},`
	adoptedID    = "0f9d2a54-7a0c-4c8e-9f0c-6a1f9b2f7a11"
	adoptedPlain = `{"namespace": "shop", "lcm-kubernetes-def-files": ["Files/plain.yaml"]}`
	fluxLabels   = "helm.toolkit.fluxcd.io/"
)

// stranger installs a chart of the package as a program does that is not a VNFM.
func (l *lab) stranger(client helmclient.Client, release, file string, change func(*helmclient.Install)) {
	l.t.Helper()
	r := helmclient.Install{Name: helmclient.Name{Namespace: "shop", Release: release}, CreateNamespace: true,
		Chart: helmclient.Chart{Archive: archive(l.files[file].Data)}}
	if change != nil {
		change(&r)
	}
	if _, err := client.Install(l.t.Context(), r); err != nil {
		l.t.Fatal(err)
	}
}

// twoByHelm installs the charts of adoptedWeb with values that the request does not have.
func (l *lab) twoByHelm(client helmclient.Client, change func(*helmclient.Install)) {
	l.t.Helper()
	l.stranger(client, "w1", "Files/web-0.1.0.tgz", func(r *helmclient.Install) {
		r.Values = helmclient.Values{Map: map[string]any{"image": "web:by-hand", "web": map[string]any{"replicas": 2}}, SetString: []string{"greeting=20261128"}}
		if change != nil {
			change(r)
		}
	})
	l.stranger(client, "d1", "Files/db.v1.tar.gz", change)
}

// makeShop makes the namespace shop if it does not exist.
func (l *lab) makeShop() {
	l.t.Helper()
	if !slices.Contains(l.objects("", "namespaces"), "namespaces/shop") {
		l.create("", "namespaces", `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}`)
	}
}

// byKubectl applies a manifest as kubectl does.
func (l *lab) byKubectl(text string, kinds map[string]string) {
	l.t.Helper()
	l.makeShop()
	for _, document := range strings.Split(text, "---\n") {
		var o object
		if err := yamlutil.Unmarshal([]byte(document), &o.Object); err != nil {
			l.t.Fatal(err)
		}
		items := []object{o}
		if o.IsList() {
			list, err := o.ToList()
			if err != nil {
				l.t.Fatal(err)
			}
			items = list.Items
		}
		for i := range items {
			l.create("shop", kinds[items[i].GetKind()], "%s", jsonOf(l.t, items[i].Object))
		}
	}
}

func jsonOf(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Resources of definitions of kinds, and of Flux.
var (
	definitions  = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	helmReleases = schema.GroupVersionResource{Group: "helm.toolkit.fluxcd.io", Version: "v2", Resource: "helmreleases"}
)

var plainKinds = map[string]string{"ConfigMap": "configmaps", "Service": "services", "Deployment": "deployments", "StatefulSet": "statefulsets"}

// all returns the objects of the namespace shop, by kind and name. With whole they have every field, else the fields without those that
// the API server sets.
func (l *lab) all(whole bool) map[string]any {
	l.t.Helper()
	out := map[string]any{}
	for _, kind := range append([]string{"persistentvolumeclaims", "replicasets"}, workloads...) {
		for _, o := range l.list("shop", kind) {
			if !whole {
				unstructured.RemoveNestedField(o.Object, "status")
				for _, field := range []string{"managedFields", "resourceVersion", "generation"} {
					unstructured.RemoveNestedField(o.Object, "metadata", field)
				}
			}
			out[kind+"/"+o.GetName()] = o.Object
		}
	}
	return out
}

// running waits until the pods of the workloads are there.
func (l *lab) running(pods int) {
	l.t.Helper()
	eventually(l.t, fmt.Sprintf("%d pods run", pods), func() bool {
		ready := 0
		for _, p := range l.list("shop", "pods") {
			if phase, _, _ := unstructured.NestedString(p.Object, "status", "phase"); phase == "Running" {
				ready++
			}
		}
		return ready == pods
	})
}

// adoption is a VNF that another program has made.
type adoption struct {
	kind, params string
	make         func(*lab)
	change       func(*kubernetes.Config)
	warning      string // of the adoption and of the first scale
}

var adoptions = map[string]adoption{
	"releases of helm, counted by a value":       {kubernetes.VimTypeV1, fmt.Sprintf(adoptedWeb, counted1), func(l *lab) { l.twoByHelm(l.helm, nil) }, nil, ""},
	"releases of helm, by the scale subresource": {kubernetes.VimTypeV1, fmt.Sprintf(adoptedWeb, ""), func(l *lab) { l.twoByHelm(l.helm, nil) }, nil, ""},
	"releases of Helm 4": {kubernetes.VimTypeV1, fmt.Sprintf(adoptedWeb, counted1), func(l *lab) {
		client, err := helm4sdk.New(helm4sdk.Config{Cluster: l.cluster.Config(), Dir: l.t.TempDir()})
		if err != nil {
			l.t.Fatal(err)
		}
		l.twoByHelm(client, nil)
	}, helmVersions["Helm 4"], ""},
	"releases of Flux": {kubernetes.VimTypeV1, fmt.Sprintf(adoptedWeb, counted1), func(l *lab) {
		l.flux("w1", false)
		l.twoByHelm(l.helm, withFlux)
	}, nil, "HelmRelease shop/w1 of Flux manages objects of the VNF"},
	"a release of Tacker, version 2": {kubernetes.VimTypeHelm, `{"namespace": "shop", "helm_chart_path": "Files/both.tgz", "helm_value_names": {"WEB": {"replica": "web.replicas"}, "DB": {"replica": "db.replicas"}}}`,
		func(l *lab) {
			l.stranger(l.helm, "vnf"+strings.ReplaceAll(adoptedID, "-", ""), "Files/both.tgz", func(r *helmclient.Install) {
				r.Values = helmclient.Values{Set: []string{"web.replicas=2,db.replicas=1,image=web:tacker"}}
			})
		}, nil, ""},
	"manifests of kubectl": {kubernetes.VimTypeV2, adoptedPlain, func(l *lab) {
		l.byKubectl(strings.Replace(plainManifests, "replicas: 1", "replicas: 2", 1), plainKinds)
	}, nil, ""},
}

// eventually gives a condition, which what describes, a minute to hold.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// withFlux marks the objects of a release as Flux does.
func withFlux(r *helmclient.Install) {
	name := r.Release
	r.PostRender = func(_ context.Context, rendered []byte) ([]byte, error) {
		var out bytes.Buffer
		for _, document := range strings.Split(string(rendered), "---\n") {
			var o object
			if err := yamlutil.Unmarshal([]byte(document), &o.Object); err != nil || o.Object == nil {
				continue
			}
			o.SetLabels(map[string]string{fluxLabels + "name": name, fluxLabels + "namespace": "shop"})
			text, err := json.Marshal(o.Object)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&out, "---\n%s\n", text)
		}
		return out.Bytes(), nil
	}
}

// adopt makes a lab in which another program has made the VNF, with two of the web and one of the database.
func (a adoption) open(t *testing.T) *lab {
	t.Helper()
	l := newLab(t, a.kind)
	if a.change != nil {
		l.Manager = l.start(a.change)
	}
	a.make(l)
	l.running(3)
	return l
}

func (l *lab) adopt(params, resource string, status ...vnflcm.ScaleInfo) error {
	l.t.Helper()
	known := vnflcm.VnfInstance{ID: adoptedID, VnfdID: vnfdID}
	if len(status) > 0 {
		known.InstantiatedVnfInfo = &vnflcm.InstantiatedVnfInfo{ScaleStatus: status}
	}
	_, err := l.Adopt(l.t.Context(), known, l.request("simple", params), resource)
	if err == nil {
		l.id = adoptedID
	}
	return err
}

// TestAdopt adopts what another program has made. Nothing on the cluster changes, the first scaling changes a number, and terminating
// removes what was adopted and nothing else.
func TestAdopt(t *testing.T) {
	t.Parallel()
	for name, a := range adoptions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := a.open(t)
			l.create("shop", "configmaps", `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "precious"}}`)
			before := l.all(true)
			if err := l.adopt(a.params, "shop"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, l.all(true)); diff != "" {
				t.Errorf("adopting has changed the cluster:\n%s", diff)
			}
			if web, db := l.vnfcs("WEB"), l.vnfcs("DB"); len(web) != 2 || len(db) != 1 {
				t.Errorf("VNFCs: %v %v", web, db)
			}
			if diff := cmp.Diff([]vnflcm.ScaleInfo{{AspectID: "dbs"}, {AspectID: "webs", ScaleLevel: 1}}, l.levels()); diff != "" {
				t.Errorf("the levels:\n%s", diff)
			}
			l.firstScale(a)
			image := l.webImage()
			op, err := l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{})
			l.must(op, err)
			if web, db := l.vnfcs("WEB"), l.vnfcs("DB"); len(web) != 3 || len(db) != 1 || l.webImage() != image {
				t.Errorf("VNFCs after a heal: %v %v, with the image %s instead of %s", web, db, l.webImage(), image)
			}
			l.terminate(vnflcm.TerminateForceful, `{}`)
			if diff := cmp.Diff([]string{"configmaps/precious"}, l.empty("shop")); diff != "" {
				t.Errorf("left on the cluster:\n%s", diff)
			}
			if !slices.Contains(l.objects("", "namespaces"), "namespaces/shop") {
				t.Error("the namespace is removed")
			}
		})
	}
}

// webImage returns the image of the web, which another client may have chosen.
func (l *lab) webImage() string {
	l.t.Helper()
	containers, _, _ := unstructured.NestedSlice(l.list("shop", "deployments")[0].Object, "spec", "template", "spec", "containers")
	return fmt.Sprint(containers[0].(map[string]any)["image"])
}

func (l *lab) levels() (out []vnflcm.ScaleInfo) {
	l.t.Helper()
	for _, s := range l.instance().InstantiatedVnfInfo.ScaleStatus {
		out = append(out, vnflcm.ScaleInfo{AspectID: s.AspectID, ScaleLevel: s.ScaleLevel})
	}
	slices.SortFunc(out, func(a, b vnflcm.ScaleInfo) int { return strings.Compare(a.AspectID, b.AspectID) })
	return out
}

// firstScale adds one of the web, and compares all objects of the namespace.
func (l *lab) firstScale(a adoption) {
	l.t.Helper()
	before := l.all(false)
	op, err := l.Scale(l.t.Context(), l.id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "webs"})
	l.must(op, err)
	occ, err := l.Operation(l.t.Context(), op)
	if err != nil || a.warning != "" != strings.Contains(fmt.Sprint(occ.Warnings), ordered.Or(a.warning, "Flux")) {
		l.t.Errorf("the warnings: %q, %v", occ.Warnings, err)
	}
	after := l.all(false)
	var names []string
	for _, name := range slices.Sorted(maps.Keys(after)) {
		was, known := before[name]
		if cmp.Equal(was, after[name]) {
			continue
		}
		kind, of, _ := strings.Cut(name, "/")
		switch o := (&object{Object: after[name].(map[string]any)}); {
		case kind == "secrets" && o.GetLabels()["owner"] == "helm": // the record of the release
		case kind == "pods" && !known: // the new one
		case known && (kind == "deployments" || kind == "replicasets"):
			names = append(names, kind+"/"+strings.SplitN(of, "-", 3)[0])
			_ = unstructured.SetNestedField(o.Object, int64(2), "spec", "replicas")
			for _, annotation := range []string{"deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas"} {
				unstructured.RemoveNestedField(o.Object, "metadata", "annotations", annotation)
				unstructured.RemoveNestedField(was.(map[string]any), "metadata", "annotations", annotation)
			}
			if diff := cmp.Diff(was, o.Object); diff != "" {
				l.t.Errorf("the first scaling has changed %s:\n%s", name, diff)
			}
		default:
			l.t.Errorf("the first scaling has changed %s:\n%s", name, cmp.Diff(was, after[name]))
		}
	}
	if diff := cmp.Diff([]string{"deployments/web", "replicasets/web"}, names); diff != "" {
		l.t.Errorf("changed:\n%s", diff)
	}
	for name := range before {
		if after[name] == nil {
			l.t.Errorf("the first scaling has removed %s", name)
		}
	}
}

// flux makes the HelmRelease of a release.
func (l *lab) flux(release string, suspended bool) {
	l.t.Helper()
	crd := &object{Object: map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "helmreleases.helm.toolkit.fluxcd.io"},
		"spec": map[string]any{"group": "helm.toolkit.fluxcd.io", "scope": "Namespaced", "names": map[string]any{"kind": "HelmRelease", "plural": "helmreleases"},
			"versions": []any{map[string]any{"name": "v2", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}}}
	if _, err := l.dynamic.Resource(definitions).Create(l.t.Context(), crd, metav1.CreateOptions{}); err != nil {
		l.t.Fatal(err)
	}
	l.makeShop()
	o := &object{Object: map[string]any{"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": map[string]any{"name": release, "namespace": "shop"},
		"spec": map[string]any{"suspend": suspended}}}
	eventually(l.t, "the API serves the kind HelmRelease", func() bool {
		_, err := l.dynamic.Resource(helmReleases).Namespace("shop").Create(l.t.Context(), o, metav1.CreateOptions{})
		return err == nil
	})
}
