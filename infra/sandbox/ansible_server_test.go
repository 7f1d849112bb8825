package sandbox_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// TestKubesprayKeys: hosts are logged in to with a key that only its owner may read.
func TestKubesprayKeys(t *testing.T) {
	t.Parallel()
	key := sshtest.NewKey(t, "ssh-ed25519")
	k := newControl(t, func(c *sandbox.Config) { c.AuthorizedKeys, c.Ansible[0].Sshpass = []string{key.Public}, false })
	k.inventory(func(files map[string]string) {
		files["keys/node"] = string(key.PEM)
		files["group_vars/all/own.yml"] = strings.Replace(files["group_vars/all/own.yml"], "ansible_password: \"{{ secrets[inventory_hostname].password }}\"", "ansible_ssh_private_key_file: /home/ansible/inv/keys/node", 1)
	})
	if err := k.host.FS().Chmod("/home/ansible/inv/keys/node", 0o644); err != nil {
		t.Fatal(err)
	}
	if out, _, code := k.play("playbooks/facts.yml"); code != 2 || !strings.Contains(out, "Permissions 0644 for '/home/ansible/inv/keys/node' are too open.") {
		t.Errorf("a key that everybody reads: %d\n%s", code, out)
	}
	if err := k.host.FS().Chmod("/home/ansible/inv/keys/node", 0o600); err != nil {
		t.Fatal(err)
	}
	k.mustPlay("playbooks/facts.yml")
	if err := k.host.FS().Remove("/home/ansible/inv/keys/node"); err != nil {
		t.Fatal(err)
	}
	if out, _, code := k.play("playbooks/facts.yml"); code != 2 || !strings.Contains(out, "Permission denied (publickey,password).") {
		t.Errorf("without the key: %d\n%s", code, out)
	}
}

// TestKubesprayYAML: an inventory of the other form, and of the names of older versions.
func TestKubesprayYAML(t *testing.T) {
	t.Parallel()
	k := newControl(t, nil)
	names, by := k.nodes()
	var hosts strings.Builder
	for _, name := range names {
		fmt.Fprintf(&hosts, "    %s: {ansible_host: %s, ansible_user: ubuntu}\n", name, by[name].Address)
	}
	k.put("/home/ansible/inv/hosts.yaml", "all:\n  hosts:\n"+hosts.String()+"  children:\n    kube-master: {hosts: {"+names[0]+": }}\n    etcd: {hosts: {"+names[0]+": }}\n"+
		"    kube-node: {hosts: {"+names[1]+": , "+names[2]+": }}\n    k8s-cluster: {children: {kube-master: , kube-node: }}\n")
	k.put("/home/ansible/inv/hosts.ini", "")
	k.mustPlay("-i", "/home/ansible/inv/hosts.yaml", "cluster.yml")
	if diff := cmp.Diff(names, k.ready()); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
}

// TestKubesprayCallbacks: the two forms of output tell the same.
func TestKubesprayCallbacks(t *testing.T) {
	t.Parallel()
	k := newControl(t, nil)
	if out := k.mustPlay("playbooks/facts.yml"); !strings.Contains(out, "\nTASK [Gather minimal facts] ****************************************************\nok: [") ||
		!strings.Contains(out, "\nPLAY RECAP *********************************************************************\nlocalhost                  : ok=1    changed=0    unreachable=0    failed=0    skipped=0    rescued=0    ignored=0   \n") {
		t.Error(out)
	}
	k.env["ANSIBLE_STDOUT_CALLBACK"] = "ansible.posix.jsonl"
	out := k.mustPlay("playbooks/facts.yml")
	for _, want := range []string{`"_event":"v2_playbook_on_play_start"`, `"_event":"v2_playbook_on_task_start"`, `"_event":"v2_runner_on_ok"`,
		`"master-198-18-0-10":{"changed":0,"failures":0,"ignored":0,"ok":1,"rescued":0,"skipped":0,"unreachable":0}`} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s:\n%s", want, out)
		}
	}
}

// TestKubesprayAPI: the certificate has the names of the group variables, and the networks are theirs.
func TestKubesprayAPI(t *testing.T) {
	t.Parallel()
	k := newControl(t, nil)
	k.mustPlay("cluster.yml")
	_, by := k.nodes()
	conn, err := k.world.Dial(t.Context(), "tcp", by["master-198-18-0-10"].Address+":6443")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	secure := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // the certificate is what is looked at
	if err := secure.HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	cert := secure.ConnectionState().PeerCertificates[0]
	for _, name := range []string{"198.18.0.250", "198.18.0.10", "127.0.0.1", "master-198-18-0-10", "kubernetes"} {
		if err := cert.VerifyHostname(name); err != nil {
			t.Error(err)
		}
	}
	if cert.VerifyHostname("198.18.0.251") == nil {
		t.Error("the certificate is for anybody")
	}
}

// TestKubesprayKilled: a run that is killed leaves what the next one completes.
func TestKubesprayKilled(t *testing.T) {
	t.Parallel()
	k := newControl(t, func(c *sandbox.Config) { c.Takes = 100 * time.Millisecond })
	ctx, cancel := context.WithCancel(t.Context())
	_, by := k.nodes()
	k.world.Host(by["master-198-18-0-10"].Resource).OnCommand(func(r sshtest.Record) {
		if slices.Equal(r.Argv[:min(2, len(r.Argv))], []string{"kubeadm", "init"}) {
			cancel()
		}
	})
	err := k.ssh.Exec(ctx, sshexec.Command{Dir: k.root, Env: k.env, Argv: []string{"ansible-playbook", "-i", "/home/ansible/inv/hosts.ini", "-b", "cluster.yml"}})
	if err == nil || ctx.Err() == nil {
		t.Fatalf("it was not killed: %v", err)
	}
	if got := k.ready(); len(got) == 3 {
		t.Error("the playbook has run to its end")
	}
	k.mustPlay("cluster.yml")
	if got := k.ready(); len(got) != 3 {
		t.Errorf("the nodes are %q", got)
	}
}

// TestAnsibleServerStays: an Ansible server is on disk and is cloned like the machines.
func TestAnsibleServerStays(t *testing.T) {
	t.Parallel()
	c := sandbox.Config{Dir: t.TempDir(), Ansible: []sandbox.AnsibleServer{ansibleServer()}}
	world, err := sandbox.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	s := on(t, world, store.NewMemory(), nil)
	key := world.AnsibleHost(ansibleAddress).PublicKey()
	if err := s.login(ansibleAddress.String(), "ansible", "secret").Run(t.Context(), []string{"sh", "-c", "echo mine >/home/ansible/own; rm kubespray/galaxy.yml"}, nil, nil, nil); err != nil {
		t.Fatal(err)
	}
	clone, err := world.Clone()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = clone.Close() }()
	if err := world.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := sandbox.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	for name, w := range map[string]*sandbox.World{"clone": clone, "opened again": again} {
		h := w.AnsibleHost(ansibleAddress)
		if h.PublicKey() != key {
			t.Errorf("%s: another host key", name)
		}
		if f, err := h.FS().Open("/home/ansible/own"); err != nil {
			t.Errorf("%s: %v", name, err)
		} else {
			_ = f.Close()
		}
	}
	if _, err := again.AnsibleHost(ansibleAddress).FS().Stat("/home/ansible/kubespray/galaxy.yml"); err == nil {
		t.Error("what was removed came back")
	}
}

const web = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: example.net/web}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec:
  type: NodePort
  selector: {app: web}
  ports: [{port: 80, nodePort: 30080}]
`
