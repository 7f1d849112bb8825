package objects_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/internal/cnftest"
	"github.com/vnfkit/vnfkit/internal/kubeaccess"
	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a namespace of a cluster: a simulated one, or a real one with API server, controllers, scheduler, and nodes that
// may be kwok's.
type world struct {
	*objects.Client
	t         *testing.T
	cluster   *kubeaccess.Cluster
	sim       *cnftest.Cluster // nil: a real one
	gate      *gate            // on the way to it
	namespace string
	owner     objects.Owner
}

// kubeconfig is of the cluster that VNFKIT_KUBECONFIG names, and of a simulated one without that.
func kubeconfig(t *testing.T) ([]byte, *cnftest.Cluster) {
	t.Helper()
	name := os.Getenv("VNFKIT_KUBECONFIG")
	if name == "" {
		sim := cnftest.Start(t, cnftest.Nodes(2))
		return []byte(sim.Kubeconfig()), sim
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text, nil
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	text, sim := kubeconfig(t)
	server := regexp.MustCompile(`server: "?https://([^"}\s]+)`).FindSubmatch(text)
	if server == nil {
		t.Fatal("the kubeconfig has no server")
	}
	gate := newGate(t, string(server[1]))
	text = bytes.Replace(text, server[1], []byte(gate.Addr().String()), 1)
	params, err := vnflcm.NewParams(map[string]any{"kubeconfig": string(text)})
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := kubeaccess.Open(t.Context(), vnflcm.VimConnectionInfo{AccessInfo: params, FromOperator: true}, kubeaccess.Options{Log: slog.Default()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	w := &world{gate: gate, sim: sim, Client: objects.New(cluster), t: t, cluster: cluster,
		namespace: "t-" + strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name())), owner: objects.Owner{Instance: "i-" + strings.ReplaceAll(strings.ToLower(t.Name()), "/", "-")}}
	w.remove("v1", "namespaces", "", w.namespace)
	w.create("v1", "namespaces", "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+w.namespace+"}")
	t.Cleanup(func() { w.remove("v1", "namespaces", "", w.namespace) })
	return w
}

// context bounds what a test waits for.
func (w *world) context(limit time.Duration) context.Context {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), limit)
	w.t.Cleanup(cancel)
	return ctx
}

func resource(version, name string) schema.GroupVersionResource {
	gv, _ := schema.ParseGroupVersion(version)
	return gv.WithResource(name)
}

// remove deletes an object as another client, and waits.
func (w *world) remove(version, kind, namespace, name string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	at := w.cluster.Dynamic.Resource(resource(version, kind)).Namespace(namespace)
	for at.Delete(ctx, name, metav1.DeleteOptions{}) == nil {
		if retry.Pause(ctx, 200*time.Millisecond) != nil {
			w.t.Fatalf("%s %s does not go", kind, name)
		}
	}
}

// create creates an object as another client.
func (w *world) create(version, kind, manifest string) *objects.Object {
	w.t.Helper()
	o := w.parse(manifest)[0]
	made, err := w.cluster.Dynamic.Resource(resource(version, kind)).Namespace(o.GetNamespace()).Create(w.t.Context(), o, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return made
}

// patch changes an object as another client.
func (w *world) patch(version, kind, name, patch string, sub ...string) {
	w.t.Helper()
	_, err := w.cluster.Dynamic.Resource(resource(version, kind)).Namespace(w.namespace).Patch(context.WithoutCancel(w.t.Context()), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, sub...)
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) parse(manifest string) []*objects.Object {
	w.t.Helper()
	objs, err := objects.Parse("test.yaml", []byte(manifest))
	if err != nil {
		w.t.Fatal(err)
	}
	return objs
}

// apply applies to the test's namespace.
func (w *world) apply(manifest string) []*objects.Object {
	w.t.Helper()
	objs := w.parse(manifest)
	ctx := w.context(time.Minute)
	if err := w.Place(ctx, objs, w.namespace); err != nil {
		w.t.Fatal(err)
	}
	if err := w.Apply(ctx, objs, w.owner); err != nil {
		w.t.Fatal(err)
	}
	return objs
}

// ready applies, waits, and names.
func (w *world) ready(manifest string) []objects.Ref {
	w.t.Helper()
	refs := objects.Refs(w.apply(manifest))
	if err := w.Await(w.context(time.Minute), refs, nil); err != nil {
		w.t.Fatal(err)
	}
	return refs
}

func (w *world) pods(workloads ...objects.Ref) []objects.Pod {
	w.t.Helper()
	pods, err := w.Pods(w.t.Context(), workloads)
	if err != nil {
		w.t.Fatal(err)
	}
	return pods
}

func (w *world) get(r objects.Ref) *objects.Object {
	w.t.Helper()
	o, err := w.Get(w.t.Context(), r)
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}
