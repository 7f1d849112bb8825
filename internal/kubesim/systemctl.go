package kubesim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/afero"
	"github.com/spf13/pflag"

	"github.com/vnfkit/vnfkit/internal/kubesim/balancer"
	"github.com/vnfkit/vnfkit/internal/kubesim/containerd"
	"github.com/vnfkit/vnfkit/internal/kubesim/kubeadm"
	"github.com/vnfkit/vnfkit/internal/kubesim/kubeapi"
	"github.com/vnfkit/vnfkit/internal/kubesim/program"
)

// servicesOf says which packages bring a service.
var servicesOf = map[string]string{"containerd": "containerd", "kubelet": "kubelet", "haproxy": "haproxy", "keepalived": "keepalived",
	"docker": "docker.io|docker-ce", "docker.socket": "docker.io|docker-ce", "cri-docker": "cri-dockerd", "nfs-server": "nfs-kernel-server"}

func systemctl(_ context.Context, c *call) error {
	var now, quiet bool
	args, err := c.Flags(c.Args, func(f *pflag.FlagSet) {
		f.BoolVar(&now, "now", false, "")
		f.BoolVarP(&quiet, "quiet", "q", false, "")
	})
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return errors.New("systemctl: no verb")
	}
	verb, units := args[0], args[1:]
	if verb != "is-active" {
		if err := c.Root(); err != nil {
			return err
		}
	}
	for _, unit := range units {
		if strings.HasSuffix(unit, ".mount") {
			if err := c.mountUnit(verb, unit, now); err != nil {
				return err
			}
			continue
		}
		if err := c.unit(verb, strings.TrimSuffix(unit, ".service"), now, quiet); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) unit(verb, name string, now, quiet bool) error {
	if slices.Contains([]string{"start", "restart", "reload", "reload-or-restart"}, verb) {
		if err := c.startable(name); err != nil {
			return fmt.Errorf("Job for %s.service failed because the control process exited with error code: %w", name, err)
		}
	}
	return c.on(func(m *machine) error {
		if !c.w.hasUnit(m, name) {
			return fmt.Errorf("Failed to %s %s.service: Unit %s.service not found.", verb, name, name)
		}
		switch verb {
		case "enable":
			if now && name == "docker" {
				return c.startDaemon(m, false)
			}
			if now && name == "haproxy" && !m.Services[name] {
				return c.startBalancer(m, false)
			}
			m.Services[name] = m.Services[name] || now
		case "reset-failed":
		case "reload":
			if !m.Services[name] {
				return fmt.Errorf("%s.service is not active, cannot reload.", name)
			}
			switch name {
			case "docker":
				return c.loadDaemon(m, true)
			case "haproxy":
				return c.startBalancer(m, true)
			}
		case "start", "restart", "reload-or-restart":
			if name == "docker" {
				return c.startDaemon(m, verb != "start")
			}
			if name == "haproxy" && (verb != "start" || !m.Services[name]) {
				return c.startBalancer(m, verb == "reload-or-restart" && m.Services[name])
			}
			if name == "kubelet" {
				return c.startKubelet(m)
			}
			m.Services[name] = true
		case "stop", "disable":
			m.Services[name] = false
			switch name {
			case "docker.socket": // the service requires it
				m.Services["docker"] = false
				c.w.daemonChanged(m)
			case "docker":
				c.w.daemonChanged(m)
			}
		case "is-active":
			if !m.Services[name] {
				if !quiet {
					c.Printf("inactive\n")
				}
				return program.ErrSilent
			}
		default:
			return fmt.Errorf("Unknown command verb %s.", verb)
		}
		return nil
	})
}

// startKubelet starts the kubelet that is installed.
func (c *call) startKubelet(m *machine) error {
	if cl := c.w.state.Clusters[m.Cluster]; cl != nil && m.Node != "" {
		if err := kubeadm.CheckKubelet(cl, cl.Nodes[m.Node], m.Kubelet, m.Packages["kubelet"], c.w.apiServers(cl)); err != nil {
			return err
		}
		if err := c.restartStaticPods(cl, m); err != nil {
			return err
		}
	}
	m.Kubelet, m.Blind = m.Packages["kubelet"], false
	if err := c.register(m); err != nil {
		return err
	}
	flags, _ := afero.ReadFile(c.FS, kubeadm.KubeletFlags)
	m.Services["kubelet"] = kubeadm.CheckFlags(string(flags), m.Kubelet) == nil // systemd starts it, and it ends
	return nil
}

// register makes the Node of a kubelet that starts, if the cluster has lost it with the data of etcd. A kubelet may not give its node the role of a
// control-plane node.
func (c *call) register(m *machine) error {
	cl := c.w.state.Clusters[m.Cluster]
	if cl == nil || m.Node == "" || !c.w.quorate(cl) || cl.Nodes[m.Node] != nil && cl.Nodes[m.Node].Machine == m.ID {
		return nil
	}
	return cl.AddNode(&kubeapi.Node{Name: m.Node, Machine: m.ID, Address: m.Address})
}

// restartStaticPods: a kubelet of another minor version starts the static pods of its machine again. No driver may order that while those
// of another control-plane node are possibly not back.
func (c *call) restartStaticPods(cl *cluster, m *machine) error {
	if m.Kubelet == "" || kubeadm.Minor(m.Kubelet) == kubeadm.Minor(m.Packages["kubelet"]) || !m.controlPlane(cl) {
		return nil
	}
	for _, other := range c.w.state.Machines {
		if other != m && other.Cluster == m.Cluster && other.KubeletWas != "" {
			return fmt.Errorf("kubesim: the kubelet of %s restarts its static pods while those of %s are not back", m.Hostname, other.Hostname)
		}
	}
	m.KubeletWas = m.Kubelet
	return nil
}

// startable reports what a service does not start with.
func (c *call) startable(name string) error {
	check := map[string]func(string) error{"containerd": containerd.Check, "haproxy": balancer.Check, "keepalived": balancer.CheckKeepalived}[name]
	if check == nil {
		return nil
	}
	text, err := afero.ReadFile(c.FS, configOf[name])
	if errors.Is(err, fs.ErrNotExist) && name == "containerd" {
		return nil // it has defaults
	}
	if err != nil {
		return err
	}
	return check(string(text))
}

// configOf is where services look for their configuration.
var configOf = map[string]string{"containerd": "/etc/containerd/config.toml", "haproxy": "/etc/haproxy/haproxy.cfg", "keepalived": "/etc/keepalived/keepalived.conf"}
