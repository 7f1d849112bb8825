package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
)

// TestKubeadmUpgradeKilled kills the process with SIGKILL at random and in tasks that leave a node half upgraded. The next process
// continues, and the cluster is in the same state as after an undisturbed upgrade.
func TestKubeadmUpgradeKilled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "vnfm.db")
	j := yardJob{Store: file, Socket: filepath.Join(t.TempDir(), "cloud"), Takeovers: 10} // kubeadm takes longer than several processes live
	u := newUpgradeYard(t, kube135, func(y *yard) {
		store, err := sqlite.Open(t.Context(), file)
		must(t, err)
		t.Cleanup(func() { _ = store.Close() })
		y.store = store
	})
	serveCloud(t, j.Socket, u.machines)
	id, r := u.cluster("simple", u.source(kube135))
	u.must(u.Instantiate(t.Context(), id, r))
	j.Instance, j.Virtual, j.Packages = id, u.virtual, map[string]string{vnfdID: u.packages}
	j.Maintain = fmt.Appendf(nil, `{"task":%q,"additionalParams":%s}`, vnflcm.Upgrade, u.to(kube136).AdditionalParams.Reveal())
	for range 3 {
		after := 5*time.Second + rand.N(20*time.Second) //nolint:gosec // no secret
		t.Logf("the process is killed after %s", after)
		u.killed(j, anyStep, after)
	}
	u.killed(j, "control-plane-"+kube136, rand.N(40*time.Second)) //nolint:gosec // no secret
	u.killed(j, "drain-"+kube136, 300*time.Millisecond)
	u.killed(j, "kubelet-"+kube136, time.Second)
	u.killed(j, "uncordon-"+kube136, 0)
	u.finished(j)
	u.wantVersion(id, kube136)
	u.wantNodes(id, 1, 1)
	u.wantMembers(id)
}

// window is a moment in which kubeadm is killed.
type window struct {
	name string
	node int // of the control plane
	// await returns in the window.
	await func(context.Context, *upgradeYard, string, *vmhost.Host) error
}

// windows are the moments, in the order of an upgrade to 1.36.
var windows = []window{
	{"etcd has no manifest", 0, withoutManifest("etcd")},
	{"the API server has no manifest", 0, withoutManifest("kube-apiserver")},
	{"the control plane is new, the ConfigMap is not", 0, func(ctx context.Context, _ *upgradeYard, _ string, h *vmhost.Host) error {
		return polled(ctx, func() error {
			text, err := afero.ReadFile(h.FS(), manifests+"kube-scheduler.yaml")
			if err == nil && !strings.Contains(string(text), ":v"+kube136) {
				err = errors.New("the manifest of the scheduler is old")
			}
			return err
		})
	}},
	{"the ConfigMap is new, the other nodes are not", 0, func(ctx context.Context, u *upgradeYard, id string, _ *vmhost.Host) error {
		client, err := u.newAPIClient(id, time.Second)
		if err != nil {
			return err
		}
		defer client.http.CloseIdleConnections()
		return polled(ctx, func() error {
			_, answer, err := client.do(ctx, "GET", "/api/v1/namespaces/kube-system/configmaps/kubeadm-config", nil)
			if err == nil && !strings.Contains(string(answer), "kubernetesVersion: v"+kube136) {
				err = errors.New("the ConfigMap is old")
			}
			return err
		})
	}},
	{"the API server of the second node has no manifest", 1, withoutManifest("kube-apiserver")},
	{"the scheduler of the third node has no manifest", 2, withoutManifest("kube-scheduler")},
}

const manifests = "/etc/kubernetes/manifests/"

// polled calls try until it succeeds.
func polled(ctx context.Context, try func() error) error {
	return retry.Policy{First: 20 * time.Millisecond, Most: 20 * time.Millisecond}.Do(ctx, try)
}

// held is how long strace holds kubeadm in a window.
const held = 20 * time.Second

// withoutManifest awaits that kubeadm has moved the manifest of a static pod away. The new manifest follows within microseconds: strace
// holds the thread of kubeadm after the first system call that renames the file.
func withoutManifest(pod string) func(context.Context, *upgradeYard, string, *vmhost.Host) error {
	return func(ctx context.Context, u *upgradeYard, _ string, h *vmhost.Host) error {
		file := manifests + pod + ".yaml"
		pid, err := kubeadmOn(ctx, h)
		if err != nil {
			return err
		}
		const calls = "rename,renameat,renameat2"
		trace := exec.CommandContext(ctx, "strace", "-f", "-qq", "-o", filepath.Join(u.t.TempDir(), "strace"), "-p", strconv.Itoa(pid), "-P", file, //nolint:gosec // our own arguments
			"-e", "trace="+calls, "-e", fmt.Sprintf("inject=%s:delay_exit=%d", calls, held.Microseconds()))
		if err := trace.Start(); err != nil {
			return err
		}
		u.t.Cleanup(func() { _ = trace.Wait() }) // it ends with kubeadm
		return polled(ctx, func() error {
			if there, err := afero.Exists(h.FS(), file); there || err != nil {
				return errors.Join(err, errors.New("the manifest is there"))
			}
			return nil
		})
	}
}

// kubeadmOn awaits that kubeadm upgrades a node, and returns its process id on this machine.
func kubeadmOn(ctx context.Context, h *vmhost.Host) (pid int, err error) {
	return pid, polled(ctx, func() error {
		processes, err := filepath.Glob("/proc/[0-9]*")
		name, err2 := afero.ReadFile(h.FS(), "/etc/hostname")
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		for _, process := range processes {
			if comm, _ := os.ReadFile(process + "/comm"); string(comm) != "kubeadm\n" { //nolint:gosec // of a process
				continue
			}
			argv, _ := os.ReadFile(process + "/cmdline") //nolint:gosec // of a process
			words := strings.Split(string(argv), "\x00")
			if host, _ := os.ReadFile(process + "/root/etc/hostname"); string(host) != string(name) || !isUpgrade(words) { //nolint:gosec // of a process
				continue
			}
			pid, err = strconv.Atoi(filepath.Base(process))
			return err
		}
		return fs.ErrNotExist
	})
}

// isUpgrade reports whether these are the arguments of a kubeadm that changes a node.
func isUpgrade(argv []string) bool {
	return slices.Contains(argv, "upgrade") && !slices.Contains(argv, "--dry-run")
}

// TestKubeadmUpgradeWindows kills kubeadm in each window in which a node is half upgraded. Each time the operation fails, and a retry
// continues. In no window is a control-plane node taken for a worker.
func TestKubeadmUpgradeWindows(t *testing.T) {
	t.Parallel()
	u := newUpgradeYard(t, kube135, nil)
	ctx := t.Context()
	id, r := u.cluster("complex", highlyAvailable, u.source(kube135))
	u.must(u.Instantiate(ctx, id, r))
	op, err := u.Maintain(ctx, id, u.to(kube136))
	must(t, err)
	masters := u.vnfcs(id, masterVDU)
	for _, w := range windows {
		host := u.machines.Host(masters[w.node].ComputeResource.ResourceID)
		killed := make(chan error, 1)
		awaiting, cancel := context.WithTimeout(ctx, upgradePatience)
		go func() {
			err := w.await(awaiting, u, id, host)
			if err == nil {
				_, err = host.Exec(awaiting, "pkill", "-KILL", "-x", "kubeadm")
			}
			killed <- err
		}()
		_, err := u.Wait(within(t, upgradePatience), op)
		if err == nil {
			t.Fatalf("%s: the operation has ended", w.name)
		}
		timer := time.AfterFunc(time.Minute, cancel) // the operation may have failed before
		if errKilled := <-killed; errKilled != nil {
			t.Fatalf("%s: kubeadm was not killed: %v; the operation failed: %v", w.name, errKilled, err)
		}
		timer.Stop()
		cancel()
		t.Logf("kubeadm was killed while %s: %v", w.name, err)
		must(t, u.Retry(ctx, op))
	}
	_, err = u.Wait(within(t, upgradePatience), op)
	must(t, err)
	t.Log(u.times(op))
	u.wantVersion(id, kube136)
	u.wantNodes(id, 3, 1)
	u.wantMembers(id)
	u.must(u.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	u.gone(id)
}
