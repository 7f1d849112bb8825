package kubernetes_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helm4sdk"
	"github.com/vnfkit/vnfkit/helmclient/helmsdk"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/internal/cnftest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// lab is a VNF instance on a simulated cluster.
type lab struct {
	*vnflcm.Manager
	t        *testing.T
	cluster  *cnftest.Cluster
	dynamic  dynamic.Interface
	helm     *helmsdk.Client // a stranger's
	files    fstest.MapFS
	newer    fstest.MapFS // the package of newVNFD
	packages vnflcm.Packages
	store    store.Store
	dir      string
	kind     string // vimType
	id       string

	mu   sync.Mutex
	said []vnflcm.Event // progress and waits
}

func newLab(t *testing.T, kind string) *lab {
	t.Helper()
	return newLabOf(t, kind, shop(t))
}

// newLabOf makes a lab with another package, which has the same VNFD id.
func newLabOf(t *testing.T, kind string, files fstest.MapFS) *lab {
	t.Helper()
	l := &lab{t: t, cluster: cnftest.Start(t), files: files, store: store.NewMemory(), dir: t.TempDir(), kind: kind}
	l.newer = renewed(t, files)
	l.packages = packages(l.files, l.newer)
	var err, err2 error
	l.dynamic, err = dynamic.NewForConfig(l.cluster.Config())
	l.helm, err2 = helmsdk.New(helmsdk.Config{Cluster: l.cluster.Config(), Dir: t.TempDir()})
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	l.createClass()
	l.Manager = l.start()
	if err := l.VIMs().Put(t.Context(), l.vim()); err != nil {
		t.Fatal(err)
	}
	l.id = l.created(vnfdID)
	return l
}

// createClass makes a default storage class.
func (l *lab) createClass() {
	l.t.Helper()
	l.create("", "storageclasses", `{"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "example.org/disk",
		"metadata": {"name": "disk", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}}`)
}

// vim is the connection to the cluster.
func (l *lab) vim() vnflcm.VimConnectionInfo {
	l.t.Helper()
	at, err := vnflcm.NewParams(map[string]string{"endpoint": l.cluster.URL(), "ssl_ca_cert": l.cluster.CA()})
	who, err2 := vnflcm.NewParams(map[string]string{"bearer_token": l.cluster.Token()})
	if err := errors.Join(err, err2); err != nil {
		l.t.Fatal(err)
	}
	return vnflcm.VimConnectionInfo{VimID: "vim", VimType: l.kind, InterfaceInfo: at, AccessInfo: who}
}

func (l *lab) created(vnfdID string) string {
	l.t.Helper()
	inst, err := l.Create(l.t.Context(), vnflcm.CreateVnfRequest{VnfdID: vnfdID})
	if err != nil {
		l.t.Fatal(err)
	}
	return inst.ID
}

// config returns the Config of the driver.
func (l *lab) config() kubernetes.Config {
	return kubernetes.Config{Allow: outbound.AllowAny, Dir: l.dir, Ready: time.Minute, Gone: time.Minute, Helm: func(cluster *rest.Config, dir string) (helmclient.Client, error) {
		return helmsdk.New(helmsdk.Config{Cluster: cluster, Dir: dir})
	}}
}

// helmVersions are the clients that run in the process.
var helmVersions = map[string]func(*kubernetes.Config){
	"Helm 3": func(*kubernetes.Config) {},
	"Helm 4": func(c *kubernetes.Config) {
		c.Helm = func(cluster *rest.Config, dir string) (helmclient.Client, error) {
			return helm4sdk.New(helm4sdk.Config{Cluster: cluster, Dir: dir})
		}
	},
}

// idle is a management driver that does nothing.
type idle struct{}

func (idle) Validate(context.Context, *vnflcm.Operation) error { return nil }
func (idle) Hooks() vnflcm.Hooks {
	out := vnflcm.Hooks{}
	for _, h := range []vnflcm.Hook{"instantiate_start", "instantiate_end", "scale_start", "scale_end", "heal_start", "heal_end", "terminate_start", "terminate_end",
		"modify_information_start", "modify_information_end"} {
		out[h] = func(context.Context, *vnflcm.Operation) error { return nil }
	}
	return out
}

// start begins a process.
func (l *lab) start(change ...func(*kubernetes.Config)) *vnflcm.Manager {
	l.t.Helper()
	cfg := l.config()
	for _, c := range change {
		c(&cfg)
	}
	return l.compose(kubernetes.New(cfg))
}

// logText is the log of a process.
type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// logged begins a process that writes its log there.
func (l *lab) logged(log *logText, change ...func(*kubernetes.Config)) *vnflcm.Manager {
	l.t.Helper()
	cfg := l.config()
	for _, c := range change {
		c(&cfg)
	}
	return l.compose(kubernetes.New(cfg), func(c *vnflcm.Config) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) })
}

// compose begins a process with a driver.
func (l *lab) compose(driver vnflcm.InfraDriver, change ...func(*vnflcm.Config)) *vnflcm.Manager {
	l.t.Helper()
	config := vnflcm.Config{Store: l.store, Key: bytes.Repeat([]byte{1}, 32), Packages: l.packages,
		Infra: map[string]vnflcm.InfraDriver{l.kind: driver}, Mgmt: map[string]vnflcm.MgmtDriver{"sample-script": idle{}},
		Observe: func(e vnflcm.Event) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.said = append(l.said, e)
		}}
	for _, c := range change {
		c(&config)
	}
	m, err := vnflcm.New(l.t.Context(), config)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			l.t.Error(err)
		}
	})
	return m
}

// heard reports whether progress told of a text.
func (l *lab) heard(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.said, func(e vnflcm.Event) bool { return strings.Contains(e.Message, text) })
}

func (l *lab) request(flavour, params string, levels ...vnflcm.ScaleInfo) vnflcm.InstantiateVnfRequest {
	l.t.Helper()
	return vnflcm.InstantiateVnfRequest{FlavourID: flavour, AdditionalParams: parse(l.t, params), TargetScaleLevelInfo: levels,
		VimConnectionInfo: vnflcm.VimConnections{{VimID: "vim"}}}
}

func (l *lab) instantiate(flavour, params string, levels ...vnflcm.ScaleInfo) {
	l.t.Helper()
	op, err := l.Instantiate(l.t.Context(), l.id, l.request(flavour, params, levels...))
	l.must(op, err)
}

func (l *lab) scale(kind vnflcm.ScaleType, aspect string, steps int) {
	l.t.Helper()
	op, err := l.Scale(l.t.Context(), l.id, vnflcm.ScaleVnfRequest{Type: kind, AspectID: aspect, NumberOfSteps: steps})
	l.must(op, err)
}

func (l *lab) terminate(kind vnflcm.TerminationType, params string) {
	l.t.Helper()
	op, err := l.Terminate(l.t.Context(), l.id, vnflcm.TerminateVnfRequest{TerminationType: kind, AdditionalParams: parse(l.t, params), GracefulTerminationTimeout: 5})
	l.must(op, err)
}

// must waits for an operation that succeeds.
func (l *lab) must(op string, err error) {
	l.t.Helper()
	if err == nil {
		_, err = l.Wait(l.t.Context(), op)
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// fails waits for an operation that does not.
func (l *lab) fails(op string, err error) error {
	l.t.Helper()
	if err == nil {
		_, err = l.Wait(l.t.Context(), op)
	}
	if err == nil {
		l.t.Fatal("it went well")
	}
	return err
}

func (l *lab) instance() *vnflcm.VnfInstance {
	l.t.Helper()
	inst, err := l.Get(l.t.Context(), l.id)
	if err != nil {
		l.t.Fatal(err)
	}
	return inst
}

// vnfcs are the VNFCs of a VDU: pods by id.
func (l *lab) vnfcs(vdu string) map[string]string {
	l.t.Helper()
	out := map[string]string{}
	if info := l.instance().InstantiatedVnfInfo; info != nil {
		for _, v := range info.VnfcResourceInfo {
			if v.VduID == vdu {
				out[v.ID] = v.ComputeResource.ResourceID
			}
		}
	}
	return out
}

// resources by their plural names.
var resources = map[string]schema.GroupVersionResource{
	"deployments": {Group: "apps", Version: "v1", Resource: "deployments"}, "statefulsets": {Group: "apps", Version: "v1", Resource: "statefulsets"},
	"pods": {Version: "v1", Resource: "pods"}, "configmaps": {Version: "v1", Resource: "configmaps"}, "secrets": {Version: "v1", Resource: "secrets"},
	"services": {Version: "v1", Resource: "services"}, "persistentvolumeclaims": {Version: "v1", Resource: "persistentvolumeclaims"},
	"horizontalpodautoscalers": {Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"},
	"storageclasses":           {Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"}, "namespaces": {Version: "v1", Resource: "namespaces"},
	"persistentvolumes":         {Version: "v1", Resource: "persistentvolumes"},
	"customresourcedefinitions": {Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
	"resourcequotas":            {Version: "v1", Resource: "resourcequotas"}, "replicasets": {Group: "apps", Version: "v1", Resource: "replicasets"},
	"jobs": {Group: "batch", Version: "v1", Resource: "jobs"}, "cronjobs": {Group: "batch", Version: "v1", Resource: "cronjobs"},
}

// objects lists what is in a namespace, as resource/name, without what Kubernetes puts there itself.
func (l *lab) objects(namespace string, kinds ...string) (out []string) {
	l.t.Helper()
	for _, kind := range kinds {
		for _, o := range l.list(namespace, kind) {
			if o.GetName() != "kube-root-ca.crt" {
				out = append(out, kind+"/"+o.GetName())
			}
		}
	}
	slices.Sort(out)
	return out
}

// empty waits until pods have ended, and reports what is left in a namespace.
func (l *lab) empty(namespace string) []string {
	l.t.Helper()
	for deadline := time.Now().Add(time.Minute); len(l.list(namespace, "pods")) > 0 && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	return l.objects(namespace, workloads...)
}

type object = unstructured.Unstructured

func (l *lab) list(namespace, kind string) []object {
	l.t.Helper()
	list, err := l.dynamic.Resource(resources[kind]).Namespace(namespace).List(l.t.Context(), metav1.ListOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	return list.Items
}

func (l *lab) get(namespace, kind, name string) *unstructured.Unstructured {
	l.t.Helper()
	o, err := l.dynamic.Resource(resources[kind]).Namespace(namespace).Get(l.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	return o
}

func (l *lab) replicas(namespace, kind, name string) int64 {
	l.t.Helper()
	n, _, err := unstructured.NestedInt64(l.get(namespace, kind, name).Object, "spec", "replicas")
	if err != nil {
		l.t.Fatal(err)
	}
	return n
}

func (l *lab) create(namespace, kind, text string, args ...any) {
	l.t.Helper()
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(fmt.Appendf(nil, text, args...)); err != nil {
		l.t.Fatal(err)
	}
	if _, err := l.dynamic.Resource(resources[kind]).Namespace(namespace).Create(l.t.Context(), o, metav1.CreateOptions{}); err != nil {
		l.t.Fatal(err)
	}
}
