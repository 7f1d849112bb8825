package kubernetes_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// patchShop changes an object of the namespace shop as another client does.
func (l *lab) patchShop(kind, name, text string) {
	l.t.Helper()
	_, err := l.dynamic.Resource(resources[kind]).Namespace("shop").Patch(l.t.Context(), name, types.MergePatchType, []byte(text), metav1.PatchOptions{FieldManager: "another"})
	if err != nil {
		l.t.Fatal(err)
	}
}

// stateful is a Helm that shows every release in a state.
type stateful struct {
	helmclient.Client
	state helmclient.State
}

func (s stateful) Status(ctx context.Context, n helmclient.Name) (*helmclient.Release, error) {
	r, err := s.Client.Status(ctx, n)
	if err == nil {
		r.State = s.state
	}
	return r, err
}

// inState begins a process for which every release is in a state.
func (l *lab) inState(state helmclient.State) {
	l.t.Helper()
	l.Manager = l.start(func(c *kubernetes.Config) {
		inner := c.Helm
		c.Helm = func(cluster *rest.Config, dir string) (helmclient.Client, error) {
			client, err := inner(cluster, dir)
			return stateful{client, state}, err
		}
	})
}

// uninstall removes a release of the stranger.
func (l *lab) uninstall(release string) {
	l.t.Helper()
	if err := l.helm.Uninstall(l.t.Context(), helmclient.Uninstall{Name: helmclient.Name{Namespace: "shop", Release: release}}); err != nil {
		l.t.Fatal(err)
	}
}

// relabel makes a revision of a release with labels.
func (l *lab) relabel(release, file string, labels map[string]string) {
	l.t.Helper()
	_, err := l.helm.Upgrade(l.t.Context(), helmclient.Upgrade{Reuse: helmclient.ReuseValues, Install: helmclient.Install{
		Name: helmclient.Name{Namespace: "shop", Release: release}, Chart: helmclient.Chart{Archive: archive(l.files[file].Data)}, Labels: labels}})
	if err != nil {
		l.t.Fatal(err)
	}
}

// TestAdoptRefused holds what cannot be adopted, and that nothing is written then.
func TestAdoptRefused(t *testing.T) {
	t.Parallel()
	charts, plain := adoptions["releases of helm, counted by a value"], adoptions["manifests of kubectl"]
	for name, c := range map[string]struct {
		of       adoption
		change   func(*lab)
		params   func(string) string
		resource string
		status   []vnflcm.ScaleInfo
		want     error
		text     string
	}{
		"another namespace": {of: charts, resource: "other", want: vnflcm.ErrInvalidRequest, text: `resource: "other": is not the namespace of the request, shop`},
		"no release yet": {of: charts, change: func(l *lab) { l.uninstall("d1") }, want: vnflcm.ErrInvalidRequest,
			text: `using_helm_install_param[1].helmreleasename: "d1": is no release in the namespace shop`},
		"a release of another instance": {of: charts, change: func(l *lab) {
			l.relabel("w1", "Files/web-0.1.0.tgz", map[string]string{"vnfkit.io/vnf-instance": "another"})
		},
			want: kubernetes.ErrForeignRelease, text: "belongs to the VNF instance another"},
		"a failed release":  {of: charts, change: func(l *lab) { l.inState(helmclient.Failed) }, want: vnflcm.ErrInvalidRequest, text: "is failed: it must be deployed"},
		"a pending release": {of: charts, change: func(l *lab) { l.inState(helmclient.PendingUpgrade) }, want: vnflcm.ErrInvalidRequest, text: "is pending-upgrade: it must be deployed"},
		"another chart": {of: charts, params: func(p string) string { return strings.Replace(p, "Files/web-0.1.0.tgz", "Files/both.tgz", 1) }, want: vnflcm.ErrInvalidRequest,
			text: "was installed from the chart web 0.1.0, not from both 0.1.0"},
		"an object of another release": {of: charts, change: func(l *lab) {
			l.patchShop("configmaps", "greeting-w1", `{"metadata": {"annotations": {"meta.helm.sh/release-name": "w2"}}}`)
		}, want: kubernetes.ErrForeign, text: "ConfigMap shop/greeting-w1 exists and is not of this VNF instance: it belongs to the Helm release shop/w2"},
		"an object of another instance": {of: plain, change: func(l *lab) {
			l.patchShop("configmaps", "settings", `{"metadata": {"labels": {"vnfkit.io/vnf-instance": "another"}}}`)
		}, want: kubernetes.ErrForeign, text: "ConfigMap shop/settings exists and is not of this VNF instance: it belongs to the VNF instance another"},
		"an object of a release": {of: plain, change: func(l *lab) {
			l.patchShop("services", "web", `{"metadata": {"annotations": {"meta.helm.sh/release-name": "w", "meta.helm.sh/release-namespace": "shop"}}}`)
		}, want: kubernetes.ErrForeign, text: "belongs to the Helm release shop/w"},
		"an object of an operator": {of: plain, change: func(l *lab) {
			l.patchShop("deployments", "web", `{"metadata": {"ownerReferences": [{"apiVersion": "example.org/v1", "kind": "Shop", "name": "s", "uid": "1", "controller": true}]}}`)
		}, want: kubernetes.ErrForeign, text: "is controlled by Shop s"},
		"no objects": {of: plain, params: func(p string) string { return strings.Replace(p, `"shop"`, `"default"`, 1) }, want: vnflcm.ErrInvalidRequest,
			text: "has no object that exists in the namespace default"},
		"other levels": {of: charts, status: []vnflcm.ScaleInfo{{AspectID: "webs", ScaleLevel: 2}}, want: vnflcm.ErrInvalidRequest, text: "has 2 VNFCs of VDU WEB, not 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := c.of.open(t)
			if c.change != nil {
				c.change(l)
			}
			params := c.of.params
			if c.params != nil {
				params = c.params(params)
			}
			if err := l.adopt(params, c.resource, c.status...); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v, want %q", err, c.text)
			}
			for _, kind := range []string{"state", "instance"} {
				records, err := l.store.List(t.Context(), store.Query{Kind: kind, Prefix: adoptedID})
				if err != nil || len(records) > 0 {
					t.Errorf("%d records of kind %s, %v", len(records), kind, err)
				}
			}
		})
	}
}

// dying is a store that fails when an instance is written, before or after.
type dying struct {
	store.Store
	fails, after bool
}

var errKilled = errors.New("killed")

func (d *dying) Apply(ctx context.Context, b store.Batch) error {
	if !d.fails || !slices.ContainsFunc(b.Put, func(r store.Record) bool { return r.Kind == "instance" }) {
		return d.Store.Apply(ctx, b)
	}
	if d.after {
		return errors.Join(errKilled, d.Store.Apply(ctx, b))
	}
	return errKilled
}

// TestAdoptAfterCrash: a process that dies while it writes an adoption leaves all of it or nothing.
func TestAdoptAfterCrash(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]error{"before": nil, "after": vnflcm.ErrConflict} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := adoptions["manifests of kubectl"]
			l := a.open(t)
			before, inner := l.all(true), l.store
			l.store = &dying{inner, true, name == "after"}
			l.Manager = l.start()
			if err := l.adopt(a.params, ""); !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			l.store = inner
			l.Manager = l.start()
			if err := l.adopt(a.params, ""); !errors.Is(err, want) {
				t.Errorf("the second attempt: %v, want %v", err, want)
			}
			if diff := cmp.Diff(before, l.all(true)); diff != "" {
				t.Errorf("adopting has changed the cluster:\n%s", diff)
			}
			l.id = adoptedID
			l.scale(vnflcm.ScaleOut, "webs", 1)
		})
	}
}

// sharedManifests have a namespace and the definition of a kind, in which other clients have objects.
const sharedManifests = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n" +
	"metadata: {name: helmreleases.helm.toolkit.fluxcd.io}\nspec:\n  group: helm.toolkit.fluxcd.io\n  scope: Namespaced\n  names: {kind: HelmRelease, plural: helmreleases}\n" +
	"  versions: [{name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]\n---\n" + plainManifests

// TestAdoptedNamespaceStays: terminating leaves the namespace and the definition of a kind that were adopted, also after a heal has applied them.
func TestAdoptedNamespaceStays(t *testing.T) {
	t.Parallel()
	a := adoptions["manifests of kubectl"]
	l := newLab(t, a.kind)
	l.flux("another", true)
	l.files["Files/plain.yaml"].Data = []byte(sharedManifests)
	l.byKubectl(plainManifests, plainKinds)
	l.running(2)
	if err := l.adopt(a.params, ""); err != nil {
		t.Fatal(err)
	}
	op, err := l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{})
	l.must(op, err)
	l.terminate(vnflcm.TerminateForceful, `{}`)
	if left := l.empty("shop"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if list, err := l.dynamic.Resource(helmReleases).Namespace("shop").List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 1 {
		t.Errorf("the object of another client: %v %v", list, err)
	}
}

// TestAdoptedReleaseIsReplaced: a release that another client has uninstalled and installed again is not the adopted one.
func TestAdoptedReleaseIsReplaced(t *testing.T) {
	t.Parallel()
	a := adoptions["releases of helm, counted by a value"]
	l := a.open(t)
	if err := l.adopt(a.params, ""); err != nil {
		t.Fatal(err)
	}
	l.uninstall("w1")
	l.stranger(l.helm, "w1", "Files/web-0.1.0.tgz", nil)
	op, err := l.Scale(t.Context(), l.id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "webs"})
	if err := l.fails(op, err); !errors.Is(err, kubernetes.ErrForeignRelease) {
		t.Errorf("scaled: %v", err)
	}
	if err := l.Fail(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	l.terminate(vnflcm.TerminateForceful, `{}`)
	if left := l.objects("shop", "deployments", "statefulsets"); len(left) != 1 || left[0] != "deployments/web-w1" {
		t.Errorf("left: %v", left)
	}
}
