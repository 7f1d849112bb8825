package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"github.com/vnfkit/vnfkit/internal/kubesim/kubespray"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// AnsibleServer is a machine outside of every VNF that runs Ansible, with kubespray on it. It logs in to the machines
// of the world over SSH, as its inventories say.
type AnsibleServer struct {
	// Address is where it answers. One of 198.18.0.0/15 is given to no machine.
	Address netip.Addr
	// User and Password are the credentials of the server. Default: those of the Config.
	User, Password string
	// AuthorizedKeys are authorized_keys lines that may log in too.
	AuthorizedKeys []string
	// Version of ansible-core, such as "2.14.18". "": it is not installed.
	Version string
	// Sshpass says whether the program sshpass is there, without which Ansible cannot use passwords.
	Sshpass bool
	// Kubespray is the version of kubespray, such as "2.23.3", which determines the required version of Ansible. "":
	// kubespray is not installed.
	Kubespray string
	// Root is where kubespray is. Default: kubespray in the home of User.
	Root string
}

func (s AnsibleServer) withDefaults(c Config) AnsibleServer {
	s.User, s.Password = cmp.Or(s.User, c.User), cmp.Or(s.Password, c.Password)
	s.Root = cmp.Or(s.Root, "/home/"+s.User+"/kubespray")
	return s
}

// ansibleHost is a running AnsibleServer. The exported fields are stored.
type ansibleHost struct {
	Address netip.Addr
	HostKey []byte

	host *sshtest.Host
}

// AnsibleHost returns the SSH host of an Ansible server, nil when there is none at the address.
func (w *World) AnsibleHost(address netip.Addr) *sshtest.Host {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.servers {
		if s.Address == address {
			return s.host
		}
	}
	return nil
}

// startServers starts the Ansible servers of the Config, those that were stored with their host keys and files.
func (w *World) startServers(storedServers []*ansibleHost) error {
	if len(w.config.Ansible) == 0 {
		return nil
	}
	for _, c := range w.config.Ansible {
		c = c.withDefaults(w.config)
		s := &ansibleHost{Address: c.Address}
		known := slices.IndexFunc(storedServers, func(s *ansibleHost) bool { return s.Address == c.Address })
		if known >= 0 {
			s.HostKey = storedServers[known].HostKey
		}
		if err := w.startServer(s, c); err != nil {
			return fmt.Errorf("sandbox: Ansible server %s: %w", c.Address, err)
		}
		w.mu.Lock()
		w.servers = append(w.servers, s)
		w.mu.Unlock()
		if known < 0 {
			if err := w.ansible(c).Install(s.host.FS()); err != nil {
				return err
			}
		}
	}
	return w.save()
}

func (w *World) startServer(s *ansibleHost, c AnsibleServer) error {
	config := sshtest.Config{Name: "ansible", User: c.User, Password: c.Password, AuthorizedKeys: c.AuthorizedKeys, HostKey: s.HostKey}
	if w.config.Dir != "" {
		config.Dir = filepath.Join(w.config.Dir, "ansible", c.Address.String())
		if err := os.MkdirAll(config.Dir, 0o700); err != nil {
			return err
		}
	}
	config.Commands = w.ansible(c).Programs()
	if w.config.Unexpected != nil {
		config.Unexpected = func(argv []string) { w.config.Unexpected("ansible", argv) }
	}
	var err error
	if s.host, err = sshtest.New(config); err != nil {
		return err
	}
	s.HostKey = s.host.HostKeyPEM()
	return nil
}

func (w *World) ansible(c AnsibleServer) kubespray.Server {
	return kubespray.Server{User: c.User, Version: c.Version, Sshpass: c.Sshpass, Kubespray: c.Kubespray, Root: c.Root, Takes: w.config.Takes,
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) { return w.Dial(ctx, network, addr) },
		Unexpected: func(argv []string) {
			if w.config.Unexpected != nil {
				w.config.Unexpected("ansible", argv)
			}
		}}
}
