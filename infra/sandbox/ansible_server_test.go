package sandbox_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// TestKubesprayKeys: hosts are logged in to with a key that only its owner may read.
func TestKubesprayKeys(t *testing.T) {
	t.Parallel()
	key := sshtest.NewKey(t, "ssh-ed25519")
	k := newControl(t, func(c *sandbox.Config) { c.AuthorizedKeys, c.Ansible[0].Sshpass = []string{key.Public}, false })
	const file = directory + "keys/node"
	k.inventory(func(in *inputs) {
		for i := range in.Nodes {
			in.Nodes[i].Password, in.Nodes[i].KeyFile = vnflcm.Secret{}, file
		}
	})
	if out, code := k.play("playbooks/facts.yml"); code != 2 || !strings.Contains(out, "no such identity") {
		t.Errorf("without the key: %d\n%s", code, out)
	}
	k.put(file, string(key.PEM))
	k.mustPlay("playbooks/facts.yml")
	if err := k.host.FS().Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, code := k.play("playbooks/facts.yml"); code != 2 || !strings.Contains(out, "are too open.") {
		t.Errorf("a key that others can read: %d\n%s", code, out)
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
	err := k.ssh.Exec(ctx, sshexec.Command{Dir: k.root, Env: k.env, Argv: []string{"ansible-playbook", "-i", directory + "hosts.ini", "-b", "cluster.yml"}})
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
