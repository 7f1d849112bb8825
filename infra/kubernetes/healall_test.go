package kubernetes_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/internal/cnftest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

var dataKinds = []string{"persistentvolumeclaims", "secrets", "configmaps", "services"}

// TestHealKeepsData: a heal of the whole VNF makes new workloads and pods, and leaves everything else as it is.
func TestHealKeepsData(t *testing.T) {
	t.Parallel()
	type variant struct {
		kind, params string
		change       func(*kubernetes.Config)
	}
	variants := map[string]variant{"manifests": {kubernetes.VimTypeV2, databaseByManifest, func(*kubernetes.Config) {}}}
	for version, helm := range helmVersions {
		variants[version] = variant{kubernetes.VimTypeV1, databaseByChart, helm}
	}
	for name, v := range variants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := database(t, v.kind, v.params, v.change)
			data, workloads, pods := l.identities(dataKinds...), l.identities("deployments", "statefulsets"), l.identities("pods")
			ids := []map[string]string{l.vnfcs("WEB"), l.vnfcs("DB")}
			for range 2 {
				l.healAll()
				if diff := cmp.Diff(data, l.identities(dataKinds...)); diff != "" {
					t.Errorf("the data:\n%s", diff)
				}
				for name, uid := range l.identities("deployments", "statefulsets", "pods") {
					if workloads[name] == uid || pods[name] == uid {
						t.Errorf("%s is the old one", name)
					}
				}
				if now := []map[string]string{l.vnfcs("WEB"), l.vnfcs("DB")}; len(now[0]) != 1 || len(now[1]) != 1 || !maps.Equal(ids[1], now[1]) {
					t.Errorf("VNFCs were %v and are %v", ids, now)
				}
			}
			if v.kind == kubernetes.VimTypeV1 {
				if r, err := l.helm.Status(t.Context(), helmclient.Name{Namespace: "data", Release: "r"}); err != nil || r.Revision != 3 {
					t.Errorf("the history has not continued: %v %v", r, err)
				}
			}
		})
	}
}

// TestHealMakesWhatRan: values of another client, numbers of an autoscaler and fields of others are those of the VNF after the
// heal too, and what is missing is made.
func TestHealMakesWhatRan(t *testing.T) {
	t.Parallel()
	for version, helm := range helmVersions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, kubernetes.VimTypeV1)
			l.files["Files/both.tgz"] = &fstest.MapFile{Data: chart("both", webDeployment, dbSet, greeting).pack(t)}
			l.Manager = l.start(helm)
			l.instantiate("simple", `{"use_helm": true, "using_helm_install_param": [{"exthelmchart": false, "helmchartfile_path": "Files/both.tgz",
				"helmreleasename": "r", "helmparameter": ["greeting=20261128", "image=web:1"]}], "helm_replica_values": {"webs": "web.replicas"}}`)
			l.scale(vnflcm.ScaleOut, "webs", 1)
			_, err := l.helm.Upgrade(t.Context(), helmclient.Upgrade{Reuse: helmclient.ReuseReset, Install: helmclient.Install{
				Name: helmclient.Name{Namespace: "default", Release: "r"}, Chart: helmclient.Chart{Archive: archive(l.files["Files/both.tgz"].Data)},
				Values: helmclient.Values{Set: []string{"greeting=20270101", "web.replicas=2", "image=web:2"}}}})
			if err != nil {
				t.Fatal(err)
			}
			l.patch("deployments", "web-r", `{"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "web:patched"}]}}}}`)
			l.patch("statefulsets", "db-r", `{"spec": {"replicas": 3}}`)
			l.create("default", "horizontalpodautoscalers", `{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "db"},
				"spec": {"maxReplicas": 4, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db-r"}}}`)
			before := l.live()
			if err := l.dynamic.Resource(resources["configmaps"]).Namespace("default").Delete(t.Context(), "greeting-r", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			l.healAll()
			if diff := cmp.Diff(before, l.live()); diff != "" {
				t.Errorf("the objects after the heal:\n%s", diff)
			}
			if n := l.replicas("default", "statefulsets", "db-r"); n != 3 {
				t.Errorf("%d databases", n)
			}
		})
	}
}

// TestHealAfterUninstall: another client has uninstalled the release.
func TestHealAfterUninstall(t *testing.T) {
	t.Parallel()
	l := database(t, kubernetes.VimTypeV1, databaseByChart)
	claims := l.identities("persistentvolumeclaims")["persistentvolumeclaims/hooked"]
	if err := l.helm.Uninstall(t.Context(), helmclient.Uninstall{Name: helmclient.Name{Namespace: "data", Release: "r"}}); err != nil {
		t.Fatal(err)
	}
	l.healAll()
	if len(l.vnfcs("WEB")) != 1 || l.identities("persistentvolumeclaims")["persistentvolumeclaims/hooked"] == claims {
		t.Errorf("webs: %v, the hook %s", l.vnfcs("WEB"), claims)
	}
}

// ownWebhook refuses Deployments while its pods do not run, which the simulated ones never do.
const ownWebhook = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: own}
webhooks:
  - name: own.example.com
    sideEffects: None
    admissionReviewVersions: [v1]
    clientConfig: {service: {name: own, namespace: data}}
    rules: [{operations: [CREATE], apiGroups: [apps], apiVersions: [v1], resources: [deployments]}]
`

// TestHealIsRefused: the cluster would not accept an object. Findings that the removal ends are none.
func TestHealIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault   cnftest.Fault // of the dry run
		refused string
	}{
		"admission": {cnftest.Fault{Code: http.StatusForbidden, Message: `admission webhook "policy.example.com" denied the request: no`}, "denied the request"},
		"invalid":   {cnftest.Fault{Code: http.StatusUnprocessableEntity, Message: "spec.x: Invalid value"}, "Invalid value"},
		"webhook of others": {cnftest.Fault{Code: http.StatusInternalServerError,
			Message: `Internal error occurred: failed calling webhook "policy.example.com": no endpoints available for service "policy"`}, "no endpoints"},
		"own webhook": {cnftest.Fault{Code: http.StatusInternalServerError,
			Message: `Internal error occurred: failed calling webhook "own.example.com": no endpoints available for service "own"`}, ""},
		"quota":      {cnftest.Fault{Code: http.StatusForbidden, Message: "exceeded quota: q, requested: count/deployments.apps=1, used: 1, limited: 1"}, ""},
		"no dry run": {cnftest.Fault{Code: http.StatusBadRequest, Message: `admission webhook "policy.example.com" does not support dry run`}, ""},
		"immutable":  {cnftest.Fault{Code: http.StatusConflict, Message: "already exists"}, ""},
		"overload":   {cnftest.Fault{Code: http.StatusServiceUnavailable}, ""},
	} {
		for vimType, params := range map[string]string{kubernetes.VimTypeV1: databaseByChart, kubernetes.VimTypeV2: databaseByManifest} {
			t.Run(name+", "+vimType, func(t *testing.T) {
				t.Parallel()
				l := newLab(t, vimType)
				l.files["Files/database.yaml"] = &fstest.MapFile{Data: []byte(databaseObjects + "---\n" + ownWebhook)}
				l.files["Files/database.tgz"] = &fstest.MapFile{Data: chart("database", databaseObjects, ownWebhook).pack(t)}
				l.instantiate("simple", params)
				all := append([]string{"deployments", "statefulsets", "pods"}, dataKinds...)
				before := l.identities(all...)
				c.fault.Method, c.fault.Path = http.MethodPost, "/deployments"
				l.cluster.Fail(c.fault)
				op, err := l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{})
				if c.refused == "" {
					l.must(op, err)
					return
				}
				err = l.fails(op, err)
				if !errors.Is(err, kubernetes.ErrRefused) || !strings.Contains(err.Error(), "Deployment data/web: ") || !strings.Contains(err.Error(), c.refused) {
					t.Error(err)
				}
				if diff := cmp.Diff(before, l.identities(all...)); diff != "" {
					t.Errorf("the refused heal has changed:\n%s", diff)
				}
				if err := l.Fail(t.Context(), op); err != nil {
					t.Fatal(err)
				}
				l.cluster.Fail(c.fault)
				op, err = l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{AdditionalParams: parse(t, `{"ignore_findings": ["Deployment data/web"]}`)})
				l.must(op, err)
				if now := l.identities("deployments"); cmp.Equal(before["deployments/web"], now["deployments/web"]) {
					t.Error("nothing was healed")
				}
			})
		}
	}
}

// TestHealUnknownKind: the definition of a kind of the VNF is gone, and not among its objects.
func TestHealUnknownKind(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV2)
	l.files["Files/crd.yaml"] = &fstest.MapFile{Data: []byte(thingDefinition)}
	l.files["Files/plain.yaml"].Data = append(l.files["Files/plain.yaml"].Data, []byte("---\n{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}}\n")...)
	crd, err := l.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: vnfdID})
	if err != nil {
		t.Fatal(err)
	}
	vnf := l.id
	l.id = crd.ID
	l.files["Files/crd.yaml"].Data = append(l.files["Files/crd.yaml"].Data, []byte("---\n"+plainManifests)...)
	l.instantiate("simple", `{"namespace": "other", "lcm-kubernetes-def-files": ["Files/crd.yaml"]}`)
	l.id = vnf
	l.instantiate("simple", `{"lcm-kubernetes-def-files": ["Files/plain.yaml"]}`)
	web := l.vnfcs("WEB")
	l.id = crd.ID
	l.terminate(vnflcm.TerminateForceful, `{}`)
	l.id = vnf
	err = l.fails(l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{}))
	if !strings.Contains(err.Error(), "Thing") || !cmp.Equal(web, l.vnfcs("WEB")) || len(l.list("default", "pods")) != 2 {
		t.Errorf("%v, webs %v", err, l.vnfcs("WEB"))
	}
}

const thingDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing, listKind: ThingList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// TestHealFailsAndIsRetried: an upgrade that fails leaves the release and its data, and a retry ends the heal.
func TestHealFailsAndIsRetried(t *testing.T) {
	t.Parallel()
	for version, helm := range helmVersions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			l := database(t, kubernetes.VimTypeV1, databaseByChart, helm)
			data := l.identities(dataKinds...)
			mine := errors.New("mine")
			l.Manager = l.start(helm, disturb(mine))
			op, err := l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{})
			if err := l.fails(op, err); !errors.Is(err, mine) {
				t.Fatal(err)
			}
			l.must(op, l.Retry(t.Context(), op))
			if diff := cmp.Diff(data, l.identities(dataKinds...)); diff != "" || len(l.vnfcs("WEB")) != 1 {
				t.Errorf("webs %v, the data:\n%s", l.vnfcs("WEB"), diff)
			}
		})
	}
}

// TestHealWithDeadNode: pods of a node that does not answer are removed without it.
func TestHealWithDeadNode(t *testing.T) {
	t.Parallel()
	for kind, params := range map[string]string{kubernetes.VimTypeV1: twoReleases, kubernetes.VimTypeV2: plainParams} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, kind)
			l.Manager = l.start(func(c *kubernetes.Config) { c.Gone = 2 * time.Second })
			l.instantiate("simple", params)
			node, _, _ := unstructured.NestedString(l.list("shop", "pods")[0].Object, "spec", "nodeName")
			l.cluster.SetNodeDown(node, true)
			op, err := l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{})
			l.must(op, err)
			for _, p := range l.list("shop", "pods") {
				if now, _, _ := unstructured.NestedString(p.Object, "spec", "nodeName"); now == node {
					t.Errorf("pod %s is on the dead node", p.GetName())
				}
			}
		})
	}
}

// unfinished is a Helm with a release that another client has begun to upgrade at a time, and never finished.
type unfinished struct {
	helmclient.Client
	since time.Time
	ended *atomic.Bool
}

func (u unfinished) Status(ctx context.Context, n helmclient.Name) (*helmclient.Release, error) {
	r, err := u.Client.Status(ctx, n)
	if err == nil && !u.ended.Load() {
		r.State, r.Updated = helmclient.PendingUpgrade, u.since
	}
	return r, err
}

func (u unfinished) Upgrade(ctx context.Context, r helmclient.Upgrade) (*helmclient.Release, error) {
	if !u.ended.Load() && (r.DryRun || time.Since(u.since) < r.Stale) {
		return nil, &helmclient.StaleError{Release: r.Name, State: helmclient.PendingUpgrade, Since: u.since, Busy: true}
	}
	u.ended.Store(true)
	return u.Client.Upgrade(ctx, r)
}

// TestHealOfPendingRelease: while another client may work on the release, nothing is removed. A dead one does not prevent the heal.
func TestHealOfPendingRelease(t *testing.T) {
	t.Parallel()
	for _, age := range []time.Duration{0, time.Hour} {
		t.Run(age.String(), func(t *testing.T) {
			t.Parallel()
			l := database(t, kubernetes.VimTypeV1, databaseByChart)
			pods := l.identities("pods")
			l.Manager = l.start(func(c *kubernetes.Config) {
				inner, ended, since := c.Helm, &atomic.Bool{}, time.Now().Add(-age)
				c.Helm = func(cluster *rest.Config, dir string) (helmclient.Client, error) {
					client, err := inner(cluster, dir)
					return unfinished{client, since, ended}, err
				}
			})
			op, err := l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{})
			if age > 0 {
				l.must(op, err)
				return
			}
			if err := l.fails(op, err); !errors.Is(err, helmclient.ErrBusy) || !cmp.Equal(pods, l.identities("pods")) {
				t.Errorf("%v, pods were %v and are %v", err, pods, l.identities("pods"))
			}
		})
	}
}
