package kubespray_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubespray"
	"github.com/vnfkit/vnfkit/mgmt/kubespray/ansible"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestServerIsCheckedFirst checks that the driver reports what an Ansible server lacks before it runs a playbook or creates
// a directory.
func TestServerIsCheckedFirst(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server func(*sandbox.AnsibleServer)
		want   error
	}{
		"no Ansible":   {func(s *sandbox.AnsibleServer) { s.Version = "" }, ansible.ErrAbsent},
		"too old":      {func(s *sandbox.AnsibleServer) { s.Version = "2.12.5" }, ansible.ErrVersion},
		"no sshpass":   {func(s *sandbox.AnsibleServer) { s.Sshpass = false }, ansible.ErrNoSSHPass},
		"no kubespray": {func(s *sandbox.AnsibleServer) { s.Kubespray = "" }, ansible.ErrTree},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{server: c.server})
			before := files(t, l.server())
			_, opID, err := l.Begin(sample)
			if err := l.Fails(opID, err); !errors.Is(err, c.want) {
				t.Errorf("the error is %v", err)
			}
			sameFiles(t, before, files(t, l.server()))
			if len(l.runs()) > 0 {
				t.Errorf("it ran %q", l.runs())
			}
			l.RollBack(opID)
			if len(l.World.Hosts()) > 0 {
				t.Error("machines are left")
			}
		})
	}
}

var errHere = errors.New("it ends here")

// failing makes a step fail after it has been done.
func failing(phase, step string) vnflcm.Interceptor {
	return func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
		err := next(ctx)
		if err == nil && s.Phase == phase && s.Name == step {
			err = errHere
		}
		return err
	}
}

// TestRetry checks that the error of a failed playbook names the task and the host, and that a retry starts the playbook
// again.
func TestRetry(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	m := l.onCluster(func() { l.World.Host("workerNode-0").Refuse(true) })
	opID, err := m.Instantiate(t.Context(), l.Created(), l.Request(sample))
	err = l.Fails(opID, err, m)
	if failed, is := errors.AsType[*ansible.Error](err); !is || failed.Playbook == "" || !strings.Contains(err.Error(), "worker-198-18-") {
		t.Fatalf("the error is %v", err)
	}
	l.World.Host("workerNode-0").Refuse(false)
	l.Must(opID, m.Retry(t.Context(), opID), m)
	if n := len(l.runs()); n != 2 {
		t.Errorf("%d runs", n)
	}
}

// TestUnreachable checks that the error names a machine that dies before the playbook, and that the operation can be rolled
// back.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	m := l.onCluster(func() {
		if err := l.World.Stop("workerNode-0"); err != nil {
			t.Error(err)
		}
	})
	before := files(t, l.server())
	opID, err := m.Instantiate(t.Context(), l.Created(), l.Request(sample))
	err = l.Fails(opID, err, m)
	failed, is := errors.AsType[*ansible.Error](err)
	if !is || !slices.ContainsFunc(failed.Failures, func(e ansible.Event) bool {
		return e.Kind == ansible.Unreachable && strings.HasPrefix(e.Host, "worker-")
	}) {
		t.Fatalf("the error is %v", err)
	}
	l.RollBack(opID, m)
	sameFiles(t, before, files(t, l.server()))
}

// TestForeignPath checks that the driver leaves existing files of other programs unchanged.
func TestForeignPath(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"directory": root + "/inventory/sample", "file": root + "/cluster.yml"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			before := files(t, l.server())
			_, opID, err := l.Begin(sample, with(t, `{"ansible":{"transferring_inventory_path":"`+path+`"}}`))
			err = l.Fails(opID, err)
			if !errors.Is(err, kubespray.ErrDirectory) || !strings.Contains(err.Error(), path+" exists already") {
				t.Errorf("the error is %v", err)
			}
			l.RollBack(opID)
			sameFiles(t, before, files(t, l.server()))
		})
	}
}

// TestForeignVariables: Ansible would ignore another program's files of variables beside the driver's files. The driver
// names these files and leaves them unchanged. After an operator has moved them to where Ansible reads both, the operation
// succeeds.
func TestForeignVariables(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	const single, apart = "/home/ansible/group_vars/all.yml", "/home/ansible/group_vars/all/all.yml"
	theirs := l.server().FS()
	if err := errors.Join(theirs.MkdirAll("/home/ansible/group_vars", 0o755), afero.WriteFile(theirs, single, []byte("theirs: 1\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	_, opID, err := l.Begin(sample, with(t, `{"ansible":{"transferring_inventory_path":"/home/ansible/hosts.yaml"}}`))
	err = l.Fails(opID, err)
	if !errors.Is(err, kubespray.ErrDirectory) || !strings.Contains(err.Error(), single) || len(l.runs()) > 0 {
		t.Errorf("the error is %v, and it ran %q", err, l.runs())
	}
	if read(t, l.server(), single) != "theirs: 1\n" {
		t.Error("it was changed")
	}
	if err := errors.Join(theirs.MkdirAll("/home/ansible/group_vars/all", 0o755), theirs.Rename(single, apart)); err != nil {
		t.Fatal(err)
	}
	l.Must(opID, l.Retry(t.Context(), opID))
	if read(t, l.server(), apart) != "theirs: 1\n" {
		t.Error("it was changed")
	}
}

// TestTwoInstances sets up two clusters concurrently on one Ansible server. They share no files, and neither may claim the
// directory of the other.
func TestTwoInstances(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{sandbox: sandbox.Config{Takes: takes}})
	home := with(t, `{"ansible":{"transferring_inventory_path":null}}`)
	a, opA, err := l.Begin(sample, home)
	if err != nil {
		t.Fatal(err)
	}
	b, opB, err := l.Begin(sample, home)
	l.Must(opA, nil)
	l.Must(opB, err)
	l.scaleOut(a)
	if n := len(l.sharing()); n != 2 {
		t.Errorf("connections are kept in %d places, for two instances", n)
	}
	before := read(t, l.server(), "/home/ansible/.vnfkit/kubespray/"+b+"/hosts.ini")
	l.Must(l.Terminate(t.Context(), a, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	if after := read(t, l.server(), "/home/ansible/.vnfkit/kubespray/"+b+"/hosts.ini"); after != before {
		t.Error("the inventory of the other instance has changed")
	}
	if n := len(l.sharing()); n != 1 {
		t.Errorf("connections are kept in %d places, for one instance", n)
	}
	_, opC, err := l.Begin(sample, with(t, `{"ansible":{"transferring_inventory_path":"/home/ansible/.vnfkit/kubespray/`+b+`"}}`))
	if err := l.Fails(opC, err); !errors.Is(err, kubespray.ErrDirectory) || !strings.Contains(err.Error(), b) {
		t.Errorf("the error is %v", err)
	}
}

// TestLongHome: if the path of a socket would be too long, connections are not kept open.
func TestLongHome(t *testing.T) {
	t.Parallel()
	user := "ansible-" + strings.Repeat("x", 60)
	l := openLab(t, setup{server: func(s *sandbox.AnsibleServer) { s.User = user }})
	l.Instantiated(sample, with(t, `{"ansible":{"username":"`+user+`","kubespray_root_path":"/home/`+user+`/kubespray","transferring_inventory_path":null}}`))
}

// sharing returns the directories in which Ansible keeps the sockets of connections.
func (l *lab) sharing() (dirs []string) {
	l.t.Helper()
	for name := range files(l.t, l.server()) {
		if strings.HasPrefix(name, "/home/ansible/.vnfkit/cp/") || strings.HasPrefix(name, "/home/ansible/.ansible/") {
			dirs = append(dirs, name)
		}
	}
	return dirs
}

// TestServerIsGone checks that a VNF can be terminated while its Ansible server does not answer, and that the log names
// what is left there.
func TestServerIsGone(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{})
	id := l.Instantiated(sample)
	if err := l.server().Close(); err != nil {
		t.Fatal(err)
	}
	l.driver.Timeouts.Login = 300 * time.Millisecond
	m := l.Process()
	opID, err := m.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
	l.Must(opID, err, m)
	if log := l.Log(); !strings.Contains(log, "is left on the Ansible server") || !strings.Contains(log, inventory) {
		t.Error("nothing is said of what is left")
	}
}

// TestDirectoryLeftByHeal: healing the whole VNF could not remove the directory. The same operation uses the directory
// again, and terminating removes it.
func TestDirectoryLeftByHeal(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	before := files(t, l.server())
	id := l.Instantiated(sample)
	m := l.Process(func(c *vnflcm.Config) {
		c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			away := s.Name == "remove-directory"
			l.server().Refuse(away)
			if away {
				l.server().CutConnections()
			}
			return next(ctx)
		}
	})
	opID, err := m.Heal(t.Context(), id, vnflcm.HealVnfRequest{})
	l.Must(opID, err, m)
	if !strings.Contains(l.Log(), "is left on the Ansible server") {
		t.Fatal("the directory was removed")
	}
	l.Must(l.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	sameFiles(t, before, files(t, l.server()))
}

// TestConnectionLost: the connection breaks during a run. The run continues, and is not started twice.
func TestConnectionLost(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{sandbox: sandbox.Config{Takes: 50 * time.Millisecond}})
	var once sync.Once
	l.server().OnCommand(func(r sshtest.Record) {
		if r.Argv[0] == "ansible-playbook" && !slices.Contains(r.Argv, "--version") {
			once.Do(func() { time.AfterFunc(10*time.Millisecond, l.server().CutConnections) })
		}
	})
	l.Instantiated(sample)
	l.onlyOnce(0)
	if n := len(l.runs()); n != 1 {
		t.Errorf("%d runs", n)
	}
}

// TestVault: with a vault password, neither this password nor those of the nodes are stored in clear on the Ansible server.
func TestVault(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{sandbox: sandbox.Config{Password: "canary-password"}})
	id := l.Instantiated(sample, with(t, `{"ansible":{"vault_password":"canary-vault"},"master_node":{"password":"canary-password"},"worker_node":{"password":"canary-password"},
		"external_lb_param":{"ssh_password":"canary-password"}}`))
	l.scaleOut(id)
	for name, content := range files(t, l.server()) {
		if strings.Contains(content, "canary") {
			t.Errorf("%s has a secret in clear", name)
		}
	}
	if !strings.HasPrefix(read(t, l.server(), inventory+"/group_vars/all/zz_vnfkit_secrets.yml"), "$ANSIBLE_VAULT;1.1;AES256\n") {
		t.Error("the secrets are not encrypted")
	}
}

// TestOverrides: scale and heal requests may have other credentials, of nodes and of the Ansible server.
func TestOverrides(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	id := l.Instantiated(sample, clustertest.Sized("simple", 0))
	req := vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance", AdditionalParams: params(t, `{"ansible":{"password":"other"}}`)}
	opID, err := l.Scale(t.Context(), id, req)
	if err := l.Fails(opID, err); !strings.Contains(err.Error(), "authentication") {
		t.Errorf("the password of the request is not used: %v", err)
	}
	l.RollBack(opID)
	l.WantNodes(1, 1, 0)
	worker := l.vnfcs(id, "workerNode")[0].ID
	l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{worker}, AdditionalParams: params(t,
		`{"ansible":{"ip_address":"10.9.0.1","username":"ansible","password":"`+serverPassword+`","kubespray_root_path":"`+root+`","transferring_inventory_path":"`+inventory+`"},
		"worker_node":{"ssh_cp_name":"workerNode_CP2","username":"ubuntu","password":"ubuntu"}}`)}))
	l.WantNodes(1, 1, 0)
}

// TestRemoveNodeIsNeverForAll: without the variable node, remove-node.yml would remove every node.
func TestRemoveNodeIsNeverForAll(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	id := l.Instantiated(sample, clustertest.Sized("simple", 2))
	l.Must(l.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance", NumberOfSteps: 2}))
	l.WantNodes(1, 1, 0)
	var removals int
	for _, argv := range l.runs() {
		if strings.HasSuffix(argv[len(argv)-1], "remove-node.yml") {
			removals++
		}
	}
	if removals != 1 {
		t.Errorf("%d runs of remove-node.yml for two nodes", removals)
	}
}

// TestRollBackOfScaleOut checks that rolling back removes the new nodes, whether or not scale.yml has run on them.
func TestRollBackOfScaleOut(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"facts", "scale", "routes"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			id := l.Instantiated(sample, clustertest.Sized("simple", 0))
			m := l.Process(func(c *vnflcm.Config) { c.Intercept = failing("scale_end", step) })
			opID, err := m.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"})
			if err := l.Fails(opID, err, m); !errors.Is(err, errHere) {
				t.Fatalf("the error is %v", err)
			}
			l.RollBack(opID, m)
			l.WantNodes(1, 1, 0)
			if n := len(l.vnfcs(id, "workerNode")); n != 1 {
				t.Errorf("%d workers", n)
			}
			l.scaleOut(id)
			l.WantNodes(1, 2, 0)
		})
	}
}

// TestDiskFull checks that the error names a full disk of the Ansible server, and that a retry succeeds once the disk has
// room.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.server().SetFaults(sshtest.Faults{DiskFull: true})
	_, opID, err := l.Begin(sample)
	if err := l.Fails(opID, err); !strings.Contains(err.Error(), "no space left") && !strings.Contains(err.Error(), "No space left") {
		t.Errorf("the error is %v", err)
	}
	l.server().SetFaults(sshtest.Faults{})
	l.Must(opID, l.Retry(t.Context(), opID))
}

// TestBalancerServesTheAPI checks that the entry in the VIM registry leads to the API through the load balancer, also after
// the load balancer has been replaced.
func TestBalancerServesTheAPI(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	id := l.Instantiated(sample, clustertest.Sized("simple", 1))
	if code, err := l.ask(id, "/api/v1/nodes"); code != http.StatusOK {
		t.Errorf("%d, %v", code, err)
	}
	l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{l.vnfcs(id, "externalLB")[0].ID}}))
	if code, err := l.ask(id, "/api/v1/nodes"); code != http.StatusOK {
		t.Errorf("after the heal: %d, %v", code, err)
	}
	for _, h := range l.World.Hosts() {
		if found, err := afero.Exists(h.FS(), "/etc/haproxy/haproxy.cfg"); err != nil || found != (h.Name() == "externalLB-0") {
			t.Errorf("%s has a haproxy.cfg: %t, %v", h.Name(), found, err)
		}
	}
}
