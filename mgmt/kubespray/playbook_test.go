package kubespray_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubespray/ansible"
	kubesprayinventory "github.com/vnfkit/vnfkit/mgmt/kubespray/inventory"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestTaskFails checks that the error of a failed task names the task, the host and the host's message, and that a retry
// starts the playbook again.
func TestTaskFails(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	m := l.onCluster(func() { l.World.Host("workerNode-0").SetFaults(sshtest.Faults{DiskFull: true}) })
	opID, err := m.Instantiate(t.Context(), l.Created(), l.Request(sample, clustertest.Sized("simple", 1)))
	err = l.Fails(opID, err, m)
	failed, is := errors.AsType[*ansible.Error](err)
	if !is || len(failed.Failures) != 1 {
		t.Fatalf("the error is %v", err)
	}
	if f := failed.Failures[0]; f.Kind != ansible.HostFailed || !strings.HasPrefix(f.Host, "worker-198-18-") || f.Task == "" || f.Message == "" {
		t.Errorf("the failure is %+v", f)
	}
	for _, part := range []string{"instantiate_end: cluster: ansible: cluster.yml failed on workerNode-0 (worker-198-18-", " in task " + failed.Failures[0].Task, "o space left on device"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error lacks %q: %v", part, err)
		}
	}
	l.World.Host("workerNode-0").SetFaults(sshtest.Faults{})
	l.Must(opID, m.Retry(t.Context(), opID), m)
	l.WantNodes(1, 2, 0)
	if n := len(l.runs()); n != 2 {
		t.Errorf("%d runs", n)
	}
}

// TestWrongVaultPassword: variables in kubespray's directory are encrypted with another password, so the run ends before it
// contacts a host. The error says so and shows neither password.
func TestWrongVaultPassword(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	secret, err := kubesprayinventory.Encrypt([]byte("registry_password: x\n"), vnflcm.NewSecret("canary-theirs"))
	if err != nil {
		t.Fatal(err)
	}
	const name = "/group_vars/all/theirs.yml"
	if err := afero.WriteFile(l.server().FS(), root+"/inventory/sample"+name, secret, 0o644); err != nil {
		t.Fatal(err)
	}
	_, opID, err := l.Begin(sample, with(t, `{"ansible":{"vault_password":"canary-ours"}}`))
	err = l.Fails(opID, err)
	if _, is := errors.AsType[*ansible.Error](err); !is || !strings.Contains(err.Error(), "Decryption failed") || strings.Contains(err.Error(), "canary") {
		t.Errorf("the error is %v", err)
	}
	for host := range l.World.Nodes() {
		t.Errorf("there is a node %v", host)
	}
	if secret, err = kubesprayinventory.Encrypt([]byte("registry_password: x\n"), vnflcm.NewSecret("canary-ours")); err != nil {
		t.Fatal(err)
	}
	if err := afero.WriteFile(l.server().FS(), inventory+name, secret, 0o600); err != nil {
		t.Fatal(err)
	}
	l.Must(opID, l.Retry(t.Context(), opID))
}

// TestOneName checks that an operation whose playbook fails on a machine gives the machine one name.
func TestOneName(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	m := l.onCluster(func() { l.World.Host("workerNode-0").SetFaults(sshtest.Faults{DiskFull: true}) })
	l.CheckNames("workerNode-0", l.Request(sample, clustertest.Sized("simple", 1)), m)
}
