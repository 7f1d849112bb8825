package expose_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/mgmt/loadbalancer"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func TestLife(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.leftOver()
	l.must(l.Instantiate(t.Context(), l.id, l.request(func(lb, _ map[string]any) { lb["script_path"] = "Scripts/configure_lb.sh" })))
	l.want(both)
	for _, text := range []string{"script is not run", "cannot be balanced by haproxy: only TCP can"} {
		if !strings.Contains(l.said(), text) {
			t.Errorf("nobody was told: %s", text)
		}
	}
	// The whole CNF is installed again, with another port.
	l.pods.set(port("web", "http", "TCP", 31000))
	healed := 0
	l.pods.heal = func() {
		healed++
		l.want(map[int]string{}) // the cluster may give the old ports to other services meanwhile
	}
	l.must(l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{}))
	l.want(map[int]string{31000: "shop.web.http"})
	if healed != 1 {
		t.Errorf("healed %d times", healed)
	}
	// Nothing is left to expose.
	l.pods.set(port("dns", "", "SCTP", 31001))
	l.must(l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{}))
	l.want(map[int]string{})
	l.pods.set(port("web", "http", "TCP", 31000))
	l.must(l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{}))
	l.must(l.Terminate(t.Context(), l.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful}))
	l.want(map[int]string{})
	parts, err := l.direct.Parts(t.Context())
	if _, ok := parts[loadbalancer.ClusterOwner("c")]; !ok || len(parts) != 1 {
		t.Errorf("%v, %v", parts, err)
	}
	if strings.Contains(l.said(), canary) {
		t.Error("the log has the password")
	}
	for _, r := range l.lb.Commands() {
		if strings.Contains(strings.Join(r.Argv, " "), canary) {
			t.Errorf("the password is in %q", r.Argv)
		}
	}
}

// TestClusterOfProgram: the VIM has neither endpoint nor credentials.
func TestClusterOfProgram(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	if err := l.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "vim", VimType: "kubernetes"}); err != nil {
		t.Fatal(err)
	}
	l.config.Cluster = func(context.Context, vnflcm.VimConnectionInfo) (*rest.Config, error) { return l.cluster.Config(), nil }
	l.Manager = l.start()
	l.must(l.Instantiate(t.Context(), l.id, l.request(nil)))
	l.want(both)
	l.must(l.Terminate(t.Context(), l.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	l.want(map[int]string{})
}

// leftOver is what a process has kept in the cluster that died then.
func (l *lab) leftOver() {
	l.t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"part.json": "{"},
		"metadata": map[string]any{"name": "vnfkit-lb-" + l.id, "namespace": "kube-system"}}}
	if _, err := l.dynamic.Resource(configMaps).Namespace("kube-system").Create(l.t.Context(), object, metav1.CreateOptions{}); err != nil {
		l.t.Fatal(err)
	}
}

// TestRollback: the exposed ports are removed with the CNF.
func TestRollback(t *testing.T) {
	t.Parallel()
	for name, more := range map[string][]vnflcm.Hook{"terminate": nil, "rollback": {vnflcm.InstantiateRollbackStart, vnflcm.InstantiateRollbackEnd}} {
		l := newLab(t, append(slices.Clone(usual), more...)...)
		l.cut = func(s vnflcm.StepInfo, when string) error {
			if s.Name == "expose" && when == "after" {
				return errors.New("not now")
			}
			return nil
		}
		opID, err := l.Instantiate(t.Context(), l.id, l.request(nil))
		if occ := l.wait(opID, err); occ.OperationState != vnflcm.FailedTemp {
			t.Fatalf("%s: %s", name, occ.OperationState)
		}
		l.want(both)
		if err := l.Rollback(t.Context(), opID); err != nil {
			t.Fatal(err)
		}
		if occ := l.wait(opID, nil); occ.OperationState != vnflcm.RolledBack {
			t.Fatalf("%s: %s: %v", name, occ.OperationState, occ.Error)
		}
		l.want(map[int]string{})
	}
}

// TestCrash: the process ends before and after each step of instantiating and terminating, and the next process
// continues.
func TestCrash(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"keep", "expose", "forget", "conceal"} {
		for _, when := range []string{"before", "after"} {
			t.Run(step+" "+when, func(t *testing.T) {
				t.Parallel()
				l := newLab(t)
				failed := false
				l.cut = func(s vnflcm.StepInfo, at string) error {
					if !failed && s.Name == step && at == when {
						failed = true
						return errors.New("cut")
					}
					return nil
				}
				run := func(opID string, err error) {
					t.Helper()
					occ := l.wait(opID, err)
					if occ.OperationState == vnflcm.FailedTemp {
						err := l.Retry(t.Context(), opID)
						occ = l.wait(opID, err)
					}
					if occ.OperationState != vnflcm.Completed {
						t.Fatalf("%s: %v", occ.OperationState, occ.Error)
					}
				}
				run(l.Instantiate(t.Context(), l.id, l.request(nil)))
				l.want(both)
				run(l.Terminate(t.Context(), l.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful}))
				l.want(map[int]string{})
				if !failed {
					t.Error("nothing was cut")
				}
			})
		}
	}
}
