package expose_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vnfkit/vnfkit/internal/cnftest"
	"github.com/vnfkit/vnfkit/mgmt/loadbalancer"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestGone: a CNF can be terminated after its load balancer was removed, and cannot be instantiated without it.
func TestGone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.must(l.Instantiate(t.Context(), l.id, l.request(nil)))
	l.giveUpSoon()
	l.lb.Refuse(true)
	l.lb.CutConnections()
	l.pods.heal = func() { t.Error("it is healed before it is known whether it can be exposed") }
	opID, err := l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{})
	if occ := l.wait(opID, err); occ.OperationState != vnflcm.FailedTemp || !strings.Contains(fmt.Sprint(occ.Error), "load balancer 127.0.0.1:") {
		t.Fatalf("%s: %v", occ.OperationState, occ.Error)
	}
	if err := l.Fail(t.Context(), opID); err != nil {
		t.Fatal(err)
	}
	l.must(l.Terminate(t.Context(), l.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful}))
	if !strings.Contains(l.said(), "its configuration for the CNF is not removed") {
		t.Error("nobody was told")
	}
	l.lb.Refuse(false)
	l.wantLeft()
}

// wantLeft: the load balancer has still what it could not be told, the cluster has not.
func (l *lab) wantLeft() {
	l.t.Helper()
	parts, err := l.direct.Parts(l.t.Context())
	if err != nil || len(parts[loadbalancer.CNFOwner(l.id)].Frontends) != 2 {
		l.t.Errorf("%v, %v", parts, err)
	}
	l.wantForgotten()
}

// wantForgotten: the cluster knows nothing of the CNF's part.
func (l *lab) wantForgotten() {
	l.t.Helper()
	all, err := l.dynamic.Resource(configMaps).Namespace("kube-system").
		List(l.t.Context(), metav1.ListOptions{LabelSelector: "vnfkit.io/loadbalancer=part"})
	if err != nil || len(all.Items) != 0 {
		l.t.Errorf("%v, %v", all, err)
	}
}

// TestWrongPassword: a graceful termination returns the error, a forceful one continues.
func TestWrongPassword(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.must(l.Instantiate(t.Context(), l.id, l.request(nil)))
	l.giveUpSoon()
	wrong := l.params(func(_, access map[string]any) { access["ssh_password"] = "wrong" })
	opID, err := l.Terminate(t.Context(), l.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful, AdditionalParams: wrong})
	if occ := l.wait(opID, err); occ.OperationState != vnflcm.FailedTemp {
		t.Fatalf("%s", occ.OperationState)
	}
	if err := l.Fail(t.Context(), opID); err != nil {
		t.Fatal(err)
	}
	l.must(l.Terminate(t.Context(), l.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful, AdditionalParams: wrong}))
}

// TestReplaced: the load balancer is another machine. It is trusted if its driver has stored its host key in the
// cluster, and not because of the key that it shows.
func TestReplaced(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.must(l.Instantiate(t.Context(), l.id, l.request(nil)))
	if err := l.lb.ReplaceHostKey(); err != nil {
		t.Fatal(err)
	}
	l.lb.CutConnections()
	opID, err := l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{})
	if occ := l.wait(opID, err); occ.OperationState != vnflcm.FailedTemp || !strings.Contains(fmt.Sprint(occ.Error), "host key") {
		t.Fatalf("%s: %v", occ.OperationState, occ.Error)
	}
	l.announce(l.lb.PublicKey())
	l.direct = loadbalancer.On(l.host(l.pool(), l.lb.Addr()))
	l.must(opID, l.Retry(t.Context(), opID))
	l.want(both)
	if got := strings.Count(l.said(), "is trusted because it is the first one seen"); got != 1 {
		t.Errorf("%d warnings, want that of the first login:\n%s", got, l.said())
	}
	l.must(l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{})) // what was left there is still there
	l.must(l.Terminate(t.Context(), l.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful}))
	l.want(map[int]string{})
	l.wantForgotten()
}

// TestAPIFails: an API that answers with errors does not stop an operation for ever, neither where ports are stored nor where
// the host key of a replaced load balancer is read. The error has the answer.
func TestAPIFails(t *testing.T) {
	t.Parallel()
	for name, replaced := range map[string]bool{"stored ports": false, "host key": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.must(l.Instantiate(t.Context(), l.id, l.request(nil)))
			if replaced {
				if err := l.lb.ReplaceHostKey(); err != nil {
					t.Fatal(err)
				}
				l.lb.CutConnections()
			}
			l.config.Timeouts.Change = time.Second
			l.Manager = l.start()
			l.cluster.Fail(cnftest.Fault{Path: "/configmaps", Code: 500, Message: "etcdserver: no leader", Times: -1})
			opID, err := l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{})
			if occ := l.wait(opID, err); occ.OperationState != vnflcm.FailedTemp || !strings.Contains(fmt.Sprint(occ.Error)+l.said(), "no success within 1s; last: etcdserver: no leader") {
				t.Errorf("%s: %v\n%s", occ.OperationState, occ.Error, l.said())
			}
		})
	}
}

// TestReplacedWrongPassword: a machine that is known by what the cluster tells is not taken for one that is gone.
func TestReplacedWrongPassword(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.must(l.Instantiate(t.Context(), l.id, l.request(nil)))
	if err := l.lb.ReplaceHostKey(); err != nil {
		t.Fatal(err)
	}
	l.lb.CutConnections()
	l.announce(l.lb.PublicKey())
	l.giveUpSoon()
	wrong := l.params(func(_, access map[string]any) { access["ssh_password"] = "wrong" })
	opID, err := l.Terminate(t.Context(), l.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful, AdditionalParams: wrong})
	if occ := l.wait(opID, err); occ.OperationState != vnflcm.FailedTemp || strings.Contains(fmt.Sprint(occ.Error), "host key") {
		t.Errorf("%s: %v", occ.OperationState, occ.Error)
	}
}

// TestNotReplaced: what is left in the cluster is no key, or that of another machine.
func TestNotReplaced(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]string{"none": "", "no key": "x\n\x00", "another": newBalancer(t).PublicKey()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.must(l.Instantiate(t.Context(), l.id, l.request(nil)))
			if err := l.lb.ReplaceHostKey(); err != nil {
				t.Fatal(err)
			}
			l.lb.CutConnections()
			l.announce(left)
			opID, err := l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{})
			if occ := l.wait(opID, err); occ.OperationState != vnflcm.FailedTemp || !strings.Contains(fmt.Sprint(occ.Error), "host key") {
				t.Errorf("%s: %v", occ.OperationState, occ.Error)
			}
		})
	}
}

// announce leaves host keys in the cluster, as the driver of the cluster does that has healed the load balancer.
func (l *lab) announce(keys string) {
	l.t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"host-keys": keys},
		"metadata": map[string]any{"name": "vnfkit-lb-" + l.id, "namespace": "kube-system"}}}
	_, err := l.dynamic.Resource(configMaps).Namespace("kube-system").Apply(l.t.Context(), "vnfkit-lb-"+l.id, object, metav1.ApplyOptions{FieldManager: "vnfkit"})
	if err != nil {
		l.t.Fatal(err)
	}
}

// TestTaken: two CNFs at one port.
func TestTaken(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.pods.set(port("api", "", "TCP", loadbalancer.DefaultPort))
	opID, err := l.Instantiate(t.Context(), l.id, l.request(nil))
	if occ := l.wait(opID, err); occ.OperationState != vnflcm.FailedTemp || !strings.Contains(fmt.Sprint(occ.Error), "port 8383") || !strings.Contains(fmt.Sprint(occ.Error), "cluster/c") {
		t.Fatalf("%s: %v", occ.OperationState, occ.Error)
	}
}

// TestForbidden: the driver warns if the cluster does not allow it to write to kube-system.
func TestForbidden(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.cluster.Fail(cnftest.Fault{Path: "/configmaps", Code: 403, Times: -1})
	l.must(l.Instantiate(t.Context(), l.id, l.request(nil)))
	l.must(l.Terminate(t.Context(), l.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful}))
	if !strings.Contains(l.said(), "cannot be stored in the cluster") {
		t.Error("no warning")
	}
}
