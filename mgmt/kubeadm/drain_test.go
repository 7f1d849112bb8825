package kubeadm_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// shortDrain gives pods little time, but enough for a busy machine to delete one.
var shortDrain = setup{driver: kubeadm.Config{Timeouts: kubeadm.Timeouts{Drain: 2 * time.Second}}}

// guarded creates a cluster of two workers with a disruption budget that lets no pod be evicted.
func (l *lab) guarded() (id string) {
	l.t.Helper()
	id = l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 1))
	access, _ := l.Entry(kubeadm.VIMID(id))
	code, body, err := l.Ask(access, http.MethodPost, "/apis/policy/v1/namespaces/default/poddisruptionbudgets", `{"apiVersion": "policy/v1",
		"kind": "PodDisruptionBudget", "metadata": {"name": "all"}, "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "workload"}}}}`)
	if code != http.StatusCreated || err != nil {
		l.t.Fatalf("%d %s %v", code, body, err)
	}
	return id
}

// TestDrainPolicy: a disruption budget forbids a scale-in. drain_policy of the request decides what happens.
func TestDrainPolicy(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"", "Fail", "Delete", "Continue"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, shortDrain)
			id := l.guarded()
			request := vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance"}
			if policy != "" {
				request.AdditionalParams = params(t, `{"drain_policy": "`+policy+`"}`)
			}
			op, err := l.Scale(t.Context(), id, request)
			if policy == "Delete" || policy == "Continue" {
				l.Must(op, err)
				l.want(1, 1, 0)
				return
			}
			if err := l.Fails(op, err); !strings.Contains(err.Error(), "disruption budget all needs 2 healthy pods") {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestGracefulTermination checks that pods get exactly the time to end that the request allows.
func TestGracefulTermination(t *testing.T) {
	t.Parallel()
	l := openLab(t, shortDrain)
	id := l.guarded()
	l.Must(l.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful, GracefulTerminationTimeout: 3}))
	l.want(0, 0, 0)
	if log := l.Log(); strings.Count(log, "not every pod could be moved") != 2 {
		t.Errorf("two workers keep a pod each:\n%s", log)
	}
}
