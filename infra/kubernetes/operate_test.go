package kubernetes_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/internal/cnftest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

var (
	stopAtOnce = vnflcm.OperateVnfRequest{ChangeStateTo: vnflcm.VnfStopped}
	stopGently = vnflcm.OperateVnfRequest{ChangeStateTo: vnflcm.VnfStopped, StopType: vnflcm.StopGraceful, GracefulStopTimeout: 5}
	startAgain = vnflcm.OperateVnfRequest{ChangeStateTo: vnflcm.VnfStarted}
)

func (l *lab) operate(request vnflcm.OperateVnfRequest) {
	l.t.Helper()
	op, err := l.Operate(l.t.Context(), l.id, request)
	l.must(op, err)
}

// cronManifests has what makes pods beside Deployments and StatefulSets.
const cronManifests = plainManifests + `---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: cache}
spec: {replicas: 2, selector: {matchLabels: {app: cache}}, template: {metadata: {labels: {app: cache}}, spec: {containers: [{name: c, image: cache}]}}}
---
{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly"}, "spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}}}
---
{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "never"}, "spec": {"suspend": true, "schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}}}
---
{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "watcher"}, "spec": {"template": {"spec": {"restartPolicy": "OnFailure", "containers": [{"name": "c", "image": "endless"}]}}}}
`

// numbers are the numbers of pods that workloads are to have, and whether Jobs and CronJobs are suspended.
func (l *lab) numbers(namespace string) map[string]string {
	l.t.Helper()
	out := map[string]string{}
	for _, kind := range []string{"deployments", "statefulsets", "replicasets", "jobs", "cronjobs"} {
		for _, o := range l.list(namespace, kind) {
			if len(o.GetOwnerReferences()) > 0 {
				continue
			}
			replicas, counted, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
			suspend, _, _ := unstructured.NestedBool(o.Object, "spec", "suspend")
			if out[o.GetName()] = fmt.Sprint(replicas); !counted {
				out[o.GetName()] = fmt.Sprint("suspend ", suspend)
			}
		}
	}
	return out
}

// TestOperate stops VNFs and starts them again: numbers of pods are as before, VNFCs keep their ids.
func TestOperate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind, params string
		stop         vnflcm.OperateVnfRequest
		stopped      map[string]string
	}{
		"charts": {kubernetes.VimTypeV1, twoReleases, stopGently, map[string]string{"web-w1": "0", "db-d1": "0"}},
		"manifests": {kubernetes.VimTypeV2, plainParams, stopAtOnce,
			map[string]string{"web": "0", "db": "0", "cache": "0", "nightly": "suspend true", "never": "suspend true", "watcher": "suspend true"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, c.kind)
			l.files["Files/plain.yaml"].Data = []byte(cronManifests)
			l.instantiate("simple", c.params, vnflcm.ScaleInfo{AspectID: "webs", ScaleLevel: 1})
			before, ids := l.numbers("shop"), slices.Sorted(maps.Keys(l.vnfcs("WEB")))
			dbs := l.vnfcs("DB")
			for range 2 { // a second stop changes nothing
				l.operate(c.stop)
				if diff := cmp.Diff(c.stopped, l.numbers("shop")); diff != "" {
					t.Error(diff)
				}
				if pods := l.objects("shop", "pods"); len(pods) > 0 {
					t.Errorf("pods: %v", pods)
				}
			}
			info := l.instance().InstantiatedVnfInfo
			if info.VnfState != vnflcm.VnfStopped || len(info.VnfcInfo) != len(ids)+len(dbs) {
				t.Errorf("%s with VNFCs %v", info.VnfState, info.VnfcInfo)
			}
			if found, err := l.Diagnose(t.Context(), l.id); len(found) > 0 || err != nil {
				t.Errorf("%+v %v", found, err)
			}
			if _, err := l.change(`{}`); !errors.Is(err, vnflcm.ErrState) {
				t.Errorf("a change of the package of a stopped VNF: %v", err)
			}
			l.operate(startAgain)
			if diff := cmp.Diff(before, l.numbers("shop")); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(ids, slices.Sorted(maps.Keys(l.vnfcs("WEB")))); diff != "" {
				t.Errorf("ids of VNFCs:\n%s", diff)
			}
			if diff := cmp.Diff(dbs, l.vnfcs("DB")); diff != "" {
				t.Errorf("VNFCs of the database:\n%s", diff)
			}
			l.scale(vnflcm.ScaleOut, "webs", 1)
			l.operate(c.stop)
			l.terminate(vnflcm.TerminateForceful, `{}`)
			if left := l.objects("shop", workloads...); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestOperateRefused: a VNF with pods that cannot be stopped is left alone.
func TestOperateRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV2)
	l.files["Files/plain.yaml"].Data = []byte(strings.Replace(plainManifests, "serviceName: db", "serviceName: db\n      persistentVolumeClaimRetentionPolicy: {whenScaled: Delete}", 1) + `---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec: {selector: {matchLabels: {app: agent}}, template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: c, image: agent}]}}}
---
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "alone"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
`)
	l.instantiate("simple", plainParams)
	var writes atomic.Int32
	l.cluster.Observe(func(method, _ string) {
		if method != http.MethodGet {
			writes.Add(1)
		}
	})
	_, err := l.Operate(t.Context(), l.id, stopGently)
	for _, want := range []string{"changeStateTo", "StatefulSet shop/db cannot be stopped: its persistentVolumeClaimRetentionPolicy", "DaemonSet shop/agent cannot be stopped: it runs a pod on every node", "Pod shop/alone cannot be stopped: no controller"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if n := writes.Load(); n > 0 {
		t.Errorf("%d changes", n)
	}
}

// TestOperateGivenUp: a stop that fails in the middle is given up. A start restores what the stop has changed, and another stop ends what the first
// one has begun.
func TestOperateGivenUp(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV2)
	l.instantiate("simple", plainParams, vnflcm.ScaleInfo{AspectID: "dbs", ScaleLevel: 1})
	before := l.numbers("shop")
	for _, next := range []vnflcm.OperateVnfRequest{startAgain, stopAtOnce} {
		l.cluster.Fail(cnftest.Fault{Method: http.MethodPatch, Path: "/deployments/web/scale", Code: http.StatusForbidden, Times: -1})
		op, err := l.Operate(t.Context(), l.id, stopGently)
		_ = l.fails(op, err)
		if err := l.Fail(t.Context(), op); err != nil {
			t.Fatal(err)
		}
		l.cluster.Heal()
		if diff := cmp.Diff(map[string]string{"web": "1", "db": "0"}, l.numbers("shop")); diff != "" {
			t.Error(diff)
		}
		l.operate(next)
	}
	l.operate(startAgain)
	if diff := cmp.Diff(before, l.numbers("shop")); diff != "" {
		t.Error(diff)
	}
}
