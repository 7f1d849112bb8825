package kubespraysim

import (
	"context"
	"net"
	"path"
	"time"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/kubesim/ansiblesim"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// Server is an Ansible server with kubespray.
type Server struct {
	User      string
	Version   string // of ansible-core; "" without it
	Posix     bool   // the collection ansible.posix is installed
	Sshpass   bool
	Kubespray string        // its version; "" without it
	Root      string        // its directory
	Takes     time.Duration // duration of a playbook; default no time

	// Dial connects to the machines.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Unexpected is called for misuse that is always a bug of the caller, such as removing nodes without naming them.
	Unexpected func(argv []string)
}

// Programs returns the programs of the server.
func (s Server) Programs() map[string]sshtest.Command {
	server := &ansiblesim.Server{User: s.User, Version: s.Version, Posix: s.Posix, Sshpass: s.Sshpass, Dial: s.Dial, Playbooks: map[string]ansiblesim.Playbook{}}
	for name, book := range map[string]ansiblesim.Playbook{"cluster.yml": s.cluster, "scale.yml": s.scale, "remove-node.yml": s.removeNode, s.factsPath(): s.facts} {
		server.Playbooks[path.Join(s.Root, name)] = book
	}
	return server.Programs()
}

// Install writes the tree of kubespray.
func (s Server) Install(files afero.Fs) error {
	if s.Kubespray == "" {
		return nil
	}
	for name, content := range s.tree() {
		name = path.Join(s.Root, name)
		if err := files.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		if err := afero.WriteFile(files, name, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// take lets time pass, as slow playbooks do.
func (s Server) take(ctx context.Context) error {
	if s.Takes <= 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(s.Takes):
		return nil
	}
}
