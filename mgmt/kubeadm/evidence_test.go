package kubeadm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// journalToken is a join token that the journals have.
const journalToken = "abcdef.0123456789abcdef"

// writeJournals writes journals of 200 messages on a machine.
func (l *lab) writeJournals(machine string) {
	l.t.Helper()
	if err := l.host(machine).FS().MkdirAll("/run/log/journal", 0o755); err != nil {
		l.t.Error(err)
	}
	for _, unit := range []string{"kubelet", "containerd"} {
		var text strings.Builder
		for i := range 200 {
			fmt.Fprintf(&text, "%s message %03d: login %s with the token %s\n", unit, i, registryPassword, journalToken)
		}
		if err := afero.WriteFile(l.host(machine).FS(), "/run/log/journal/"+unit, []byte(text.String()), 0o644); err != nil {
			l.t.Error(err)
		}
	}
}

// before returns a configuration in which do is called before a step on a machine.
func (l *lab) before(step, machine string, do func(l *lab)) func(*vnflcm.Config) {
	return func(c *vnflcm.Config) {
		c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			if s.Name == step && s.On != "" && l.NameOf(s.On) == machine {
				do(l)
			}
			return next(ctx)
		}
	}
}

// warn records a warning about a pod on the node of a machine.
func (l *lab) warn(id, machine string) {
	l.t.Helper()
	var pods struct {
		Items []struct {
			Metadata struct{ Name string }
			Spec     struct{ NodeName string }
		}
	}
	if err := json.Unmarshal(l.send(id, http.MethodGet, "/api/v1/namespaces/default/pods", ""), &pods); err != nil {
		l.t.Fatal(err)
	}
	for _, p := range pods.Items {
		if p.Spec.NodeName == l.nodeOn(machine) {
			l.send(id, http.MethodPost, "/api/v1/namespaces/default/events", `{"apiVersion":"v1","kind":"Event","metadata":{"name":"e1"},"type":"Warning","reason":"Failed",
				"message":"pull access denied","involvedObject":{"kind":"Pod","namespace":"default","name":"`+p.Metadata.Name+`"}}`)
			return
		}
	}
	l.t.Fatalf("no pod is on %s", machine)
}

// failure is an operation that fails at a step.
type failure struct {
	setup    setup
	step, on string // "": any machine
	begin    func(l *lab) (*vnflcm.Manager, string, error)
	want     []string // in the error, beside the journals
	secret   bool     // registryPassword is a parameter
}

// failures has a failure of each kind. breaks is called after the journals were written.
func failures(t *testing.T) map[string]failure {
	t.Helper()
	short := setup{driver: kubeadm.Config{Timeouts: kubeadm.Timeouts{Drain: 2 * time.Second, Ready: 2 * time.Second}}}
	noImage := registrySetup(t)
	noImage.sandbox.Registries[0].Images = nil
	withoutRuntime := func(step, machine string) func(l *lab) (*vnflcm.Manager, string, error) {
		return func(l *lab) (*vnflcm.Manager, string, error) {
			m := l.Process(l.before(step, machine, func(l *lab) {
				l.writeJournals(machine)
				l.runRoot(l.host(machine), "systemctl", "stop", "containerd")
			}))
			opID, err := l.instantiateBy(m, clustertest.Sized("simple", 0), with(t, `{"proxy":{"http_proxy":"http://u:`+registryPassword+`@198.18.9.1","https_proxy":"http://198.18.9.1"}}`))
			return m, opID, err
		}
	}
	return map[string]failure{
		"init": {secret: true, step: "init", on: "masterNode-0", begin: withoutRuntime("init", "masterNode-0"), want: []string{"program:\n", "[ERROR CRI]", "containers:\n"}},
		"join": {secret: true, step: "join", on: "workerNode-0", begin: withoutRuntime("join", "workerNode-0"), want: []string{"program:\n", "[ERROR CRI]", "containers:\n"}},
		"image pull": {secret: true, setup: noImage, step: "registries", want: []string{"containers:\n"}, begin: func(l *lab) (*vnflcm.Manager, string, error) {
			m := l.Process(l.before("registries", "workerNode-0", func(l *lab) { l.writeJournals("workerNode-0") }))
			opID, err := l.instantiateBy(m, clustertest.Sized("simple", 0), with(t, registryParams))
			return m, opID, err
		}},
		"drain": {setup: short, step: "drain", on: "workerNode-1", want: []string{"events:\n", "Pod default/", "pull access denied", "containers:\n"}, begin: func(l *lab) (*vnflcm.Manager, string, error) {
			id := l.guarded()
			l.writeJournals("workerNode-1")
			l.warn(id, "workerNode-1")
			opID, err := l.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance"})
			return l.Manager, opID, err
		}},
		"upgrade": {setup: setup{sandbox: sandbox.Config{Missing: []string{"registry.k8s.io/kube-proxy:v1.36.3"}}}, step: "images-1.36.3",
			begin: func(l *lab) (*vnflcm.Manager, string, error) {
				id := l.Instantiated("instantiate_sandbox.json", oldVersion(t))
				l.writeJournals("masterNode-0")
				l.writeJournals("workerNode-0")
				opID, err := l.Maintain(t.Context(), id, upgrading(t, toNext))
				return l.Manager, opID, err
			}},
		"static pod": {setup: short, step: "restart-etcd", on: "masterNode-0", want: []string{"kube-scheduler"}, begin: func(l *lab) (*vnflcm.Manager, string, error) {
			id := l.Instantiated("instantiate_sandbox.json")
			l.writeJournals("masterNode-0")
			m := l.Process(l.before("restart-etcd", "masterNode-0", func(l *lab) { l.runRoot(l.host("masterNode-0"), "systemctl", "stop", "kubelet") }))
			opID, err := m.Maintain(t.Context(), id, vnflcm.MaintainVnfRequest{Task: vnflcm.RenewCertificates})
			return m, opID, err
		}},
	}
}

// TestEvidence: the error of a task has what explains it, and the rest is kept with the operation, without secrets.
func TestEvidence(t *testing.T) {
	t.Parallel()
	for name, f := range failures(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, f.setup)
			m, opID, err := f.begin(l)
			err = l.Fails(opID, err, m)
			wants := append(slices.Clone(f.want), "evidence of ", " after "+f.step+":\n", "kubelet.journal:\n  kubelet message 170: login", "kubelet message 199", "containerd.journal:\n  containerd message 170")
			for _, want := range wants {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in %v", want, err)
				}
			}
			occ, errOcc := m.Operation(t.Context(), opID)
			kept, errKept := m.Evidence(t.Context(), opID)
			if err := errors.Join(errOcc, errKept); err != nil || len(kept) == 0 || len(occ.Error.Detail) > 32<<10 {
				t.Fatalf("%d are kept, the error has %d bytes: %v", len(kept), len(occ.Error.Detail), err)
			}
			var files strings.Builder
			for _, e := range kept {
				if e.Step != f.step || e.On != "" && f.on != "" && l.NameOf(e.On) != f.on {
					t.Errorf("evidence of %s on %s", e.Step, e.Host)
				}
				for _, file := range e.Files {
					fmt.Fprintln(&files, file.Name, file.Content)
				}
			}
			for _, want := range []string{"kubelet message 000", "containers ", "disks ", "memory ", "error "} {
				if !strings.Contains(files.String(), want) {
					t.Errorf("%q is not kept", want)
				}
			}
			for where, text := range map[string]string{"error": err.Error() + occ.Error.Detail, "evidence": files.String()} {
				if strings.Contains(text, journalToken) || f.secret && strings.Contains(text, registryPassword) {
					t.Errorf("a secret is in the %s", where)
				}
			}
		})
	}
}

// TestEvidenceOfDeadMachine: a machine that has died is asked once, and the error has the evidence of the program only.
func TestEvidenceOfDeadMachine(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	var asked atomic.Int32
	m := l.Process(l.watchHosts("workerNode-0", "kubeadm", "join", func() {
		addr := l.host("workerNode-0").Addr()
		if err := l.World.Stop("workerNode-0"); err != nil {
			t.Error(err)
		}
		l.dials.watch(func(to string) {
			if to == addr {
				asked.Add(1)
			}
		})
	}))
	opID, err := l.instantiateBy(m, clustertest.Sized("simple", 0))
	err = l.Fails(opID, err, m)
	if !strings.Contains(err.Error(), "evidence of ") || !strings.Contains(err.Error(), "machine:\n") {
		t.Errorf("%v", err)
	}
	if n := asked.Load(); n > 1 {
		t.Errorf("the machine was asked %d times", n)
	}
}
