package kubesim

import (
	"context"
	"net"
	"path"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/kubesim/ansiblesim"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// Ansible is an Ansible server with kubespray.
type Ansible struct {
	User      string
	Version   string // of ansible-core; "" without it
	Posix     bool   // the collection ansible.posix is there
	Sshpass   bool
	Kubespray string // its version; "" without it
	Root      string // where it is

	// Dial leads to the machines.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Unexpected is called for misuse that is always a bug of the caller, such as removing nodes without naming them.
	Unexpected func(argv []string)
}

// AnsiblePrograms are the programs of an Ansible server.
func (w *World) AnsiblePrograms(a Ansible) map[string]sshtest.Command {
	k := &kubespray{w: w, server: a}
	server := &ansiblesim.Server{User: a.User, Version: a.Version, Posix: a.Posix, Sshpass: a.Sshpass, Dial: a.Dial, Playbooks: map[string]ansiblesim.Playbook{}}
	for name, book := range map[string]ansiblesim.Playbook{"cluster.yml": k.cluster, "scale.yml": k.scale, "remove-node.yml": k.removeNode, k.factsPath(): k.facts} {
		server.Playbooks[path.Join(a.Root, name)] = book
	}
	return server.Programs()
}

// InstallAnsible writes the tree of kubespray.
func (w *World) InstallAnsible(files afero.Fs, a Ansible) error {
	if a.Kubespray == "" {
		return nil
	}
	for name, content := range (&kubespray{w: w, server: a}).tree() {
		name = path.Join(a.Root, name)
		if err := files.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		if err := afero.WriteFile(files, name, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}
