package kubesim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/internal/kubesim/balancer"
	"github.com/vnfkit/vnfkit/internal/kubesim/program"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// call is one run of a program on a machine.
type call struct {
	*program.Call
	w  *World
	id string // of the machine
}

// commands are the programs of a machine.
func (w *World) commands(id string) map[string]sshtest.Command {
	programs := map[string]func(context.Context, *call) error{
		"kubeadm": runKubeadm, "kubectl": runKubectl, "kubelet": version, "systemctl": systemctl,
		"apt-get": aptGet, "apt-cache": aptCache, "apt-mark": noop, "swapoff": swapoff, "modprobe": modprobe, "sysctl": sysctl,
		"hostnamectl": hostnamectl, "hostname": hostname, "ip": ipAddr, "dpkg": dpkg, "nproc": nproc, "getent": getent, "du": diskUsed, "df": diskFree, "journalctl": journalctl, "haproxy": alone(balancer.Haproxy), "keepalived": alone(balancer.Keepalived), "ss": ss,
		"pgrep": pgrep, "nsenter": nsenter, "etcdutl": etcdutl,
	}
	maps.Copy(programs, runtimePrograms)
	maps.Copy(programs, storagePrograms)
	out := map[string]sshtest.Command{}
	for name, run := range programs {
		out[name] = func(ctx context.Context, p *sshtest.Process) int {
			c := &call{w: w, id: id, Call: &program.Call{Process: p, Args: p.Args[1:]}}
			if err := c.installed(name); err != nil {
				return c.Code(program.ExitError{Code: 127, Message: err.Error()})
			}
			return c.Code(run(ctx, c))
		}
	}
	for pkg, p := range w.packages {
		for name, run := range p.Commands {
			out[name] = w.whileInstalled(id, pkg, run)
		}
	}
	return out
}

// whileInstalled returns a program that exists on a machine while a package is installed there.
func (w *World) whileInstalled(id, pkg string, run sshtest.Command) sshtest.Command {
	return func(ctx context.Context, p *sshtest.Process) int {
		w.mu.Lock()
		m := w.state.Machines[id]
		installed := m != nil && m.Packages[pkg] != ""
		w.mu.Unlock()
		if !installed {
			_, _ = fmt.Fprintf(p.Stderr, "bash: %s: command not found\n", p.Args[0])
			return 127
		}
		return run(ctx, p)
	}
}

// packagesOf names the package that a program comes with; the rest is there from the beginning. kubeadm's package depends on
// cri-tools; containerd's brings ctr.
var packagesOf = map[string]string{"kubeadm": "kubeadm", "kubectl": "kubectl", "kubelet": "kubelet", "crictl": "kubeadm", "containerd": "containerd",
	"ctr": "containerd", "docker": "docker.io|docker-ce", "haproxy": "haproxy", "keepalived": "keepalived", "exportfs": "nfs-kernel-server", "mount.nfs": "nfs-common"}

func (c *call) installed(name string) error {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	m := c.w.state.Machines[c.id]
	if m == nil {
		return errors.New("the machine is gone")
	}
	if pkg := packagesOf[name]; pkg != "" && !m.has(pkg) {
		return fmt.Errorf("bash: %s: command not found", name)
	}
	return nil
}

// has reports whether one of some packages is installed, separated by "|".
func (m *machine) has(packages string) bool {
	return slices.ContainsFunc(strings.Split(packages, "|"), func(name string) bool { return m.Packages[name] != "" })
}

// on runs fn with the machine, under the lock.
func (c *call) on(fn func(*machine) error) error {
	err := errors.New("the machine is gone")
	c.w.change(func() {
		if m := c.w.state.Machines[c.id]; m != nil {
			err = fn(m)
		}
	})
	return err
}

// alone is a program that needs nothing but its arguments and files.
func alone(run func(*program.Call) error) func(context.Context, *call) error {
	return func(_ context.Context, c *call) error { return run(c.Call) }
}

func noop(context.Context, *call) error { return nil }

func hostname(_ context.Context, c *call) error {
	return c.on(func(m *machine) error {
		switch {
		case len(c.Args) == 0:
			c.Printf("%s\n", m.Hostname)
		case c.Args[0] == "-I":
			c.Printf("%s \n", m.Address)
		case c.User != "root":
			return errors.New("hostname: you must be root to change the host name")
		default:
			m.Hostname = c.Args[0]
		}
		return nil
	})
}

func hostnamectl(_ context.Context, c *call) error {
	if err := c.Root(); err != nil {
		return err
	}
	if len(c.Args) != 2 || (c.Args[0] != "set-hostname" && c.Args[0] != "hostname") {
		return fmt.Errorf("Unknown command verb %s", strings.Join(c.Args, " "))
	}
	return c.on(func(m *machine) error { m.Hostname = c.Args[1]; return nil })
}

// ipAddr answers "ip -o -4 addr show", also with "to ADDRESS".
func ipAddr(_ context.Context, c *call) error {
	if len(c.Args) < 4 || c.Args[0] != "-o" || c.Args[1] != "-4" && c.Args[1] != "-6" || !slices.Equal(c.Args[2:4], []string{"addr", "show"}) ||
		len(c.Args) != 4 && (len(c.Args) != 6 || c.Args[4] != "to") {
		return fmt.Errorf("kubesim: ip %q is not simulated", c.Args)
	}
	if c.Args[1] == "-6" {
		return nil // these machines have no IPv6
	}
	return c.on(func(m *machine) error {
		if len(c.Args) == 4 {
			c.Printf("1: lo    inet 127.0.0.1/8 scope host lo\\       valid_lft forever preferred_lft forever\n")
		} else if addr, err := netip.ParseAddr(c.Args[5]); err != nil || addr != m.Address {
			return nil
		}
		c.Printf("2: eth0    inet %s/16 scope global eth0\\       valid_lft forever preferred_lft forever\n", m.Address)
		return nil
	})
}

// diskUsed and diskFree print what "du -s -B1 DIR" and "df -B1 --output=avail DIR" do, for files and disks of constant sizes.
func diskUsed(_ context.Context, c *call) error {
	c.Printf("1048576\t%s\n", c.Args[len(c.Args)-1])
	return nil
}

func diskFree(_ context.Context, c *call) error {
	c.Printf("     Avail\n10737418240\n")
	return nil
}
