package kubeadm_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// firstWorker is the address of the first worker.
const firstWorker = "198.18.1.11"

// noNetwork replaces the network plugin of the package by one that does nothing.
var noNetwork = map[string]string{"Files/kubernetes/cni.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: no-network\n"}

// TestWaitIsVisible checks that, while an operation waits for a machine, the progress of the operation, an event and the log have the
// reason. The test prints how many seconds that has taken.
func TestWaitIsVisible(t *testing.T) {
	t.Parallel()
	dialing := func(answer func(context.Context) error) func(*lab) mgmttest.Dial {
		return func(l *lab) mgmttest.Dial {
			return func(ctx context.Context, network, addr string) (net.Conn, error) {
				if !strings.HasPrefix(addr, firstWorker) {
					return l.World.Dial(ctx, network, addr)
				}
				return nil, &net.OpError{Op: "dial", Net: network, Err: answer(ctx)}
			}
		}
	}
	for name, c := range map[string]struct {
		change mgmttest.Change
		files  map[string]string
		dial   func(*lab) mgmttest.Dial
		step   string
		reason []string
	}{
		"a wrong password": {change: with(t, `{"worker_node":{"password":"hunter2"}}`), step: "reach",
			reason: []string{"waiting for SSH of workerNode-0 at " + firstWorker + ":22: ", "authentication refused"}},
		"a machine that refuses connections": {dial: dialing(func(context.Context) error { return syscall.ECONNREFUSED }), step: "reach",
			reason: []string{"waiting for SSH of workerNode-0 at " + firstWorker + ":22: ", "connection refused"}},
		"a machine that does not answer": {dial: dialing(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }), step: "reach",
			reason: []string{"waiting for SSH of workerNode-0 at " + firstWorker + ":22: no result yet"}},
		"a script without network plugin": {files: noNetwork, step: "ready",
			reason: []string{"waiting for all nodes to be Ready: ", "workerNode-0 (worker-198-18-1-11, " + firstWorker + ", ", ") is not Ready: container runtime network not ready"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{pkg: mgmttest.Package(t, packageDir, c.files)})
			m := l.Manager
			if c.dial != nil {
				m = l.ProcessOver(c.dial(l))
			}
			var changes []mgmttest.Change
			if c.change != nil {
				changes = append(changes, c.change)
			}
			began := time.Now()
			opID, err := m.Instantiate(t.Context(), l.Created(), l.Request("instantiate_sandbox.json", changes...))
			if err != nil {
				t.Fatal(err)
			}
			has := func(text string) bool {
				return !slices.ContainsFunc(c.reason, func(part string) bool { return !strings.Contains(text, part) })
			}
			await := func(where string, visible func() bool) {
				t.Helper()
				err := retry.Policy{First: 50 * time.Millisecond, Most: 200 * time.Millisecond, Within: time.Minute}.Do(t.Context(), func() error {
					if !visible() {
						return errors.New("the reason is not in the " + where)
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
				t.Logf("in the %s after %.1f s", where, time.Since(began).Seconds())
			}
			await("progress", func() bool {
				p, err := m.Progress(t.Context(), opID)
				if err != nil {
					t.Fatal(err)
				}
				return slices.ContainsFunc(p.Steps, func(s vnflcm.RunningStep) bool { return s.Name == c.step && has(s.Reason) })
			})
			await("event", func() bool {
				return slices.ContainsFunc(l.Events(), func(e vnflcm.Event) bool {
					return e.Kind == vnflcm.StepWaiting && e.Name == c.step && has(e.Message)
				})
			})
			await("log", func() bool {
				return slices.ContainsFunc(strings.Split(l.Log(), "\n"), func(line string) bool {
					return strings.Contains(line, `"level":"INFO","msg":"step-waiting"`) && has(line)
				})
			})
			if err := m.Cancel(t.Context(), opID, vnflcm.CancelForceful); err != nil {
				t.Fatal(err)
			}
			_ = l.Fails(opID, nil, m)
			if strings.Contains(l.Log(), "hunter2") {
				t.Error("the password is logged")
			}
		})
	}
}

// TestOneName checks that an operation that fails on a machine gives the machine one name, whether a step is on the machine or waits for it.
func TestOneName(t *testing.T) {
	t.Parallel()
	impatient := kubeadm.Config{Timeouts: kubeadm.Timeouts{Boot: 2 * time.Second, Ready: 2 * time.Second}}
	for name, c := range map[string]setup{
		"login": {driver: impatient},
		"ready": {driver: impatient, pkg: mgmttest.Package(t, packageDir, noNetwork)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, c)
			request := l.Request("instantiate_sandbox.json")
			if name == "login" {
				request = l.Request("instantiate_sandbox.json", with(t, `{"worker_node":{"password":"hunter2"}}`))
			}
			l.CheckNames("workerNode-0", request)
		})
	}
}
