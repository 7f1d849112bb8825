package kubernetes_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"text/tabwriter"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/internal/chartcases"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestChartsOfOthers takes every chart below the folder VNFKIT_CHARTS, a directory or an archive, through a life with its default
// values on the simulated cluster. A chart that Helm alone installs there must be instantiated, scaled by its first workload, and
// removed.
func TestChartsOfOthers(t *testing.T) {
	t.Parallel()
	root := os.Getenv("VNFKIT_CHARTS")
	if root == "" {
		t.Skip("VNFKIT_CHARTS is not set: no folder of charts of others")
	}
	table := &chartTable{}
	t.Run("charts", func(t *testing.T) {
		for _, name := range chartsBelow(t, root) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				row := chartRow{helm: errNoTime}
				if t.Context().Err() == nil && timeLeft(t) {
					row = lifeOfOther(t, filepath.Join(root, name))
				}
				table.add(name, row)
				if row.fault() {
					t.Errorf("%+v", row)
				}
			})
		}
	})
	t.Log(table)
}

// perChart is about the time of a chart that is never ready: every wait of the installation, the operations and Helm has a limit.
const perChart = 4 * time.Minute

// errNoTime: the time limit of the tests (go test -timeout) is too near for another chart.
var errNoTime = errors.New("not tried: the time limit of the tests is too near, see go test -timeout")

// timeLeft reports whether another chart can have its life before the tests are ended.
func timeLeft(t *testing.T) bool {
	t.Helper()
	deadline, ok := t.Deadline()
	return !ok || time.Until(deadline) > perChart
}

// chartsBelow finds charts, but not those in charts.
func chartsBelow(t *testing.T, root string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if strings.HasSuffix(name, ".tgz") && !entry.IsDir() {
			names = append(names, name)
		}
		if _, err := os.Stat(filepath.Join(path, "Chart.yaml")); err == nil && entry.IsDir() {
			names = append(names, name)
			return fs.SkipDir
		}
		return nil
	})
	if err != nil || len(names) == 0 {
		t.Fatalf("no charts in VNFKIT_CHARTS=%s: %v", root, err)
	}
	return names
}

// chartRow is what became of a chart: errors, and the workload that was scaled.
type chartRow struct {
	helm, instantiate, scale, change, terminate error
	workload                                    string
}

// fault reports whether a chart that Helm installs has not had its life.
func (r chartRow) fault() bool {
	return errors.Is(r.helm, errUnread) || errors.Is(r.helm, errPanic) || errors.Is(r.helm, errNoTime) || r.helm == nil && errors.Join(r.instantiate, r.scale, r.change, r.terminate) != nil
}

type chartTable struct {
	mu   sync.Mutex
	rows map[string]chartRow
}

func (c *chartTable) add(name string, row chartRow) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rows == nil {
		c.rows = map[string]chartRow{}
	}
	c.rows[name] = row
}

// String is the table with a line for each chart.
func (c *chartTable) String() string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 8, 2, ' ', 0)
	short := func(err error) string {
		if err == nil {
			return "yes"
		}
		text := strings.Join(strings.Fields(err.Error()), " ")
		return "no: " + text[:min(len(text), 300)]
	}
	helm, whole := 0, 0
	fmt.Fprintln(w, "\nchart\tscaled workload\tinstalled by Helm\tinstantiated\tscaled\tchanged\tremoved")
	for _, name := range slices.Sorted(maps.Keys(c.rows)) {
		r := c.rows[name]
		if r.helm != nil {
			fmt.Fprintf(w, "%s\t\t%s\n", name, short(r.helm))
			continue
		}
		if helm++; !r.fault() {
			whole++
		}
		fmt.Fprintf(w, "%s\t%s\tyes\t%s\t%s\t%s\t%s\n", name, cmp.Or(r.workload, "none"), short(r.instantiate), short(r.scale), short(r.change), short(r.terminate))
	}
	_ = w.Flush()
	return fmt.Sprintf("%s%d charts, %d installed by Helm alone, %d of these had a whole life", &out, len(c.rows), helm, whole)
}

// lifeOfOther takes a chart through its life. Helm installs the same chart on another cluster, for comparison.
func lifeOfOther(t *testing.T, path string) (row chartRow) {
	t.Helper()
	defer func() {
		if value := recover(); value != nil { // one chart must not end the tests of all
			row.helm = fmt.Errorf("%w: %v", errPanic, value)
		}
	}()
	files, err := filesOf(path)
	if err != nil {
		return chartRow{helm: err}
	}
	var workload objects.Ref
	if workload, row.helm = helmAlone(t, path); row.helm != nil {
		return row
	}
	l := newLab(t, kubernetes.VimTypeV1)
	stopProviding := l.provideReferenced()
	clear(l.files)
	maps.Copy(l.files, chartcases.Package(files))
	chart, mapping := chartcases.Path, ""
	if archive := files[""]; archive != nil {
		delete(l.files, chartcases.Path)
		chart += ".tgz"
		l.files[chart] = &fstest.MapFile{Data: archive}
	}
	if workload.Name != "" {
		row.workload = workload.String()
		mapping = fmt.Sprintf(`, "vdu_mapping": {%q: {"kind": %q, "name": %q, "helmreleasename": "odd"}}`, chartcases.VDU, workload.Kind, workload.Name)
	}
	l.id = l.created(chartcases.VNFD)
	params := fmt.Sprintf(`{"namespace": "odd", "use_helm": true, "using_helm_install_param": [{"exthelmchart": false, "helmreleasename": "odd",
		"helmchartfile_path": %q}]%s}`, chart, mapping)
	if row.instantiate = l.end(l.Instantiate(t.Context(), l.id, l.request(chartcases.Flavour, params))); row.instantiate != nil {
		return row
	}
	if workload.Name != "" {
		row.scale = l.scaleOther(workload)
	}
	row.change = l.changeOther(files)
	stopProviding() // or a pending pod would get back what is being deleted
	row.terminate = l.end(l.Terminate(t.Context(), l.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful,
		AdditionalParams: parse(t, `{"delete_pvc": true}`)}))
	if row.terminate == nil {
		_, err := l.helm.Status(t.Context(), helmclient.Name{Namespace: "odd", Release: "odd"})
		if !errors.Is(err, helmclient.ErrNotFound) {
			row.terminate = fmt.Errorf("the release is left: %w", err)
		}
	}
	return row
}

func (l *lab) scaleOther(workload objects.Ref) error {
	err := l.end(l.Scale(l.t.Context(), l.id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: chartcases.Aspect, NumberOfSteps: 1}))
	if err != nil {
		return err
	}
	kind := strings.ToLower(workload.Kind) + "s"
	if n := l.replicas(workload.Namespace, kind, workload.Name); n != 2 {
		return fmt.Errorf("%d replicas after scaling out", n)
	}
	return l.end(l.Scale(l.t.Context(), l.id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: chartcases.Aspect, NumberOfSteps: 1}))
}

// end waits for an operation.
func (l *lab) end(op string, err error) error {
	l.t.Helper()
	if err == nil {
		_, err = l.Wait(l.t.Context(), op)
	}
	return err
}

// helmAlone installs a chart as helm install --wait does, and returns the first workload that can be scaled.
func helmAlone(t *testing.T, path string) (objects.Ref, error) {
	t.Helper()
	l := newLab(t, kubernetes.VimTypeV1)
	l.provideReferenced()
	n := helmclient.Name{Namespace: "odd", Release: "odd"}
	chart := helmclient.Chart{Path: path}
	_, err := l.helm.Install(t.Context(), helmclient.Install{Name: n, Chart: chart, CreateNamespace: true,
		Wait: helmclient.Wait{Ready: true, Timeout: time.Minute}})
	if err != nil {
		return objects.Ref{}, err
	}
	manifest, err := l.helm.Manifest(t.Context(), n, 0)
	if err != nil {
		return objects.Ref{}, err
	}
	all, err := objects.Rendered("manifest", []byte(manifest))
	if err != nil {
		return objects.Ref{}, fmt.Errorf("%w: %w", errUnread, err)
	}
	for _, kind := range []string{"Deployment", "StatefulSet"} {
		for _, o := range all {
			if r := objects.RefOf(o); o.GetKind() == kind && o.GroupVersionKind().Group == "apps" {
				r.Namespace = cmp.Or(r.Namespace, n.Namespace)
				if l.hasPods(r) {
					return r, nil
				}
			}
		}
	}
	return objects.Ref{}, nil
}

// provideReferenced does what programs do whose pods only seem to run on a simulated cluster, such as Jobs of hooks and managers of
// certificates: it creates the Secrets and ConfigMaps that pods wait for. The nodes get the labels that pods select, and the cluster the
// storage classes that claims name.
func (l *lab) provideReferenced() (stop func()) {
	l.t.Helper()
	var running sync.WaitGroup
	var watches []watch.Interface
	stop = func() {
		for _, w := range watches {
			w.Stop()
		}
		running.Wait()
	}
	l.t.Cleanup(stop)
	for kind, each := range map[string]func(*object){"pods": l.providePod, "persistentvolumeclaims": l.provideClass} {
		events, err := l.dynamic.Resource(resources[kind]).Watch(l.t.Context(), metav1.ListOptions{})
		if err != nil {
			l.t.Fatal(err)
		}
		watches = append(watches, events)
		running.Go(func() {
			for event := range events.ResultChan() {
				o, ok := event.Object.(*object)
				if !ok || event.Type == watch.Deleted || o.GetDeletionTimestamp() != nil {
					continue
				}
				if phase, _, _ := unstructured.NestedString(o.Object, "status", "phase"); phase == "Pending" {
					each(o)
				}
			}
		})
	}
	return stop
}

func (l *lab) providePod(pod *object) {
	volumes, _, _ := unstructured.NestedSlice(pod.Object, "spec", "volumes")
	for _, v := range volumes {
		l.provide(pod.GetNamespace(), v)
	}
	l.labelNodes(pod)
}

// provideClass creates the storage class of a claim, unless it exists or volumes have it.
func (l *lab) provideClass(claim *object) {
	name, _, _ := unstructured.NestedString(claim.Object, "spec", "storageClassName")
	volumes, err := l.dynamic.Resource(resources["persistentvolumes"]).List(context.Background(), metav1.ListOptions{})
	if name == "" || err != nil || slices.ContainsFunc(volumes.Items, func(v object) bool {
		of, _, _ := unstructured.NestedString(v.Object, "spec", "storageClassName")
		return of == name
	}) {
		return
	}
	o := &object{Object: map[string]any{"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "example.org/disk", "metadata": map[string]any{"name": name}}}
	_, _ = l.dynamic.Resource(resources["storageclasses"]).Create(context.Background(), o, metav1.CreateOptions{}) // fails if it exists
}

// provide creates what a volume mounts, unless it exists.
func (l *lab) provide(namespace string, volume any) {
	m, _ := volume.(map[string]any)
	for _, of := range []struct{ kind, kinds, field, name string }{{"Secret", "secrets", "secret", "secretName"}, {"ConfigMap", "configmaps", "configMap", "name"}} {
		name, _, _ := unstructured.NestedString(m, of.field, of.name)
		if name == "" {
			continue
		}
		o := &object{Object: map[string]any{"apiVersion": "v1", "kind": of.kind, "metadata": map[string]any{"name": name}}}
		_, _ = l.dynamic.Resource(resources[of.kinds]).Namespace(namespace).Create(context.Background(), o, metav1.CreateOptions{}) // fails if it exists
	}
}

func (l *lab) labelNodes(pod *object) {
	labels, _, _ := unstructured.NestedMap(pod.Object, "spec", "nodeSelector")
	if labels == nil {
		labels = map[string]any{}
	}
	terms, _, _ := unstructured.NestedSlice(pod.Object, "spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
	for _, term := range terms {
		m, _ := term.(map[string]any)
		expressions, _, _ := unstructured.NestedSlice(m, "matchExpressions")
		for _, e := range expressions {
			m, _ := e.(map[string]any)
			key, _, _ := unstructured.NestedString(m, "key")
			values, _, _ := unstructured.NestedStringSlice(m, "values")
			if m["operator"] == "In" && len(values) > 0 {
				labels[key] = values[0]
			}
		}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels}})
	if err != nil || len(labels) == 0 {
		return
	}
	for _, name := range []string{"node-1", "node-2", "node-3"} {
		_, _ = l.dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}).Patch(context.Background(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	}
}

// errPanic: Helm, or the reading of its manifest, has panicked.
var errPanic = errors.New("panic")

// errUnread: the driver cannot read what Helm has installed.
var errUnread = errors.New("the manifest that Helm has installed is refused")

// hasPods reports whether a workload has a number of pods, and no autoscaler changes it.
func (l *lab) hasPods(r objects.Ref) bool {
	list, err := l.dynamic.Resource(resources["horizontalpodautoscalers"]).Namespace(r.Namespace).List(l.t.Context(), metav1.ListOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return false
	}
	if list != nil && len(list.Items) > 0 {
		return false
	}
	return l.replicas(r.Namespace, strings.ToLower(r.Kind)+"s", r.Name) > 0
}
