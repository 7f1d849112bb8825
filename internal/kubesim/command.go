package kubesim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/spf13/afero"
	"github.com/spf13/pflag"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// call is one run of a program on a machine.
type call struct {
	w       *World
	id      string // of the machine
	process *sshtest.Process
	args    []string
}

// exitError ends a program with another code than 1.
type exitError struct {
	code    int
	message string
}

func (e exitError) Error() string { return e.message }

// errSilent ends a program with exit code 1 when everything has been said.
var errSilent = errors.New("")

// commands are the programs of a machine.
func (w *World) commands(id string) map[string]sshtest.Command {
	programs := map[string]func(context.Context, *call) error{
		"kubeadm": kubeadm, "kubectl": kubectl, "kubelet": version, "systemctl": systemctl,
		"apt-get": aptGet, "apt-cache": aptCache, "apt-mark": noop, "swapoff": swapoff, "modprobe": modprobe, "sysctl": sysctl,
		"hostnamectl": hostnamectl, "hostname": hostname, "ip": ipAddr, "dpkg": dpkg, "haproxy": haproxy, "keepalived": keepalived, "ss": ss,
	}
	maps.Copy(programs, registryPrograms)
	maps.Copy(programs, storagePrograms)
	out := map[string]sshtest.Command{}
	for name, program := range programs {
		out[name] = func(ctx context.Context, p *sshtest.Process) int {
			c := &call{w: w, id: id, process: p, args: p.Args[1:]}
			if err := c.installed(name); err != nil {
				_, _ = fmt.Fprintln(p.Stderr, err)
				return 127
			}
			err := program(ctx, c)
			if exit, ok := errors.AsType[exitError](err); ok {
				_, _ = fmt.Fprintln(p.Stderr, exit.message)
				return exit.code
			}
			if err != nil {
				if !errors.Is(err, errSilent) {
					_, _ = fmt.Fprintln(p.Stderr, err)
				}
				return 1
			}
			return 0
		}
	}
	for pkg, p := range w.packages {
		for name, program := range p.Commands {
			out[name] = w.whileInstalled(id, pkg, program)
		}
	}
	return out
}

// whileInstalled returns a program that exists on a machine while a package is installed there.
func (w *World) whileInstalled(id, pkg string, program sshtest.Command) sshtest.Command {
	return func(ctx context.Context, p *sshtest.Process) int {
		w.mu.Lock()
		m := w.state.Machines[id]
		installed := m != nil && m.Packages[pkg] != ""
		w.mu.Unlock()
		if !installed {
			_, _ = fmt.Fprintf(p.Stderr, "bash: %s: command not found\n", p.Args[0])
			return 127
		}
		return program(ctx, p)
	}
}

// packagesOf names the package that a program comes with; the rest is there from the beginning.
var packagesOf = map[string]string{"kubeadm": "kubeadm", "kubectl": "kubectl", "kubelet": "kubelet", "containerd": "containerd",
	"haproxy": "haproxy", "keepalived": "keepalived"}

func (c *call) installed(program string) error {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	m := c.w.state.Machines[c.id]
	if m == nil {
		return errors.New("the machine is gone")
	}
	if pkg := packagesOf[program]; pkg != "" && !m.has(pkg) {
		return fmt.Errorf("bash: %s: command not found", program)
	}
	return nil
}

// has reports whether one of some packages is installed, separated by "|".
func (m *machine) has(packages string) bool {
	return slices.ContainsFunc(strings.Split(packages, "|"), func(name string) bool { return m.Packages[name] != "" })
}

// root fails for other users, as these programs do.
func (c *call) root() error {
	if c.process.User != "root" {
		return fmt.Errorf("%s: Permission denied (are you root?)", c.process.Args[0])
	}
	return nil
}

// flags parses the arguments strictly and returns the remaining ones.
func (c *call) flags(args []string, define func(*pflag.FlagSet)) ([]string, error) {
	set := pflag.NewFlagSet(c.process.Args[0], pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	define(set)
	if err := set.Parse(args); err != nil {
		return nil, fmt.Errorf("error: %w", err)
	}
	return set.Args(), nil
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

func (c *call) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(c.process.Stdout, format, args...)
}

func (c *call) abs(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(c.process.Dir, name)
}

// read takes a file argument, or standard input.
func (c *call) read(name string) ([]byte, error) {
	if name == "-" || name == "/dev/stdin" {
		return io.ReadAll(c.process.Stdin)
	}
	return afero.ReadFile(c.process.FS, c.abs(name))
}

func (c *call) write(name, content string, mode os.FileMode) error {
	if err := c.process.FS.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	return afero.WriteFile(c.process.FS, name, []byte(content), mode)
}

func (c *call) exists(name string) bool {
	ok, err := afero.Exists(c.process.FS, name)
	return ok && err == nil
}

func noop(context.Context, *call) error { return nil }

func hostname(_ context.Context, c *call) error {
	return c.on(func(m *machine) error {
		switch {
		case len(c.args) == 0:
			c.printf("%s\n", m.Hostname)
		case c.args[0] == "-I":
			c.printf("%s \n", m.Address)
		case c.process.User != "root":
			return errors.New("hostname: you must be root to change the host name")
		default:
			m.Hostname = c.args[0]
		}
		return nil
	})
}

func hostnamectl(_ context.Context, c *call) error {
	if err := c.root(); err != nil {
		return err
	}
	if len(c.args) != 2 || (c.args[0] != "set-hostname" && c.args[0] != "hostname") {
		return fmt.Errorf("Unknown command verb %s", strings.Join(c.args, " "))
	}
	return c.on(func(m *machine) error { m.Hostname = c.args[1]; return nil })
}

// ipAddr answers "ip -o -4 addr show", also with "to ADDRESS".
func ipAddr(_ context.Context, c *call) error {
	if len(c.args) < 4 || c.args[0] != "-o" || c.args[1] != "-4" && c.args[1] != "-6" || !slices.Equal(c.args[2:4], []string{"addr", "show"}) ||
		len(c.args) != 4 && (len(c.args) != 6 || c.args[4] != "to") {
		return fmt.Errorf("kubesim: ip %q is not simulated", c.args)
	}
	if c.args[1] == "-6" {
		return nil // these machines have no IPv6
	}
	return c.on(func(m *machine) error {
		if len(c.args) == 4 {
			c.printf("1: lo    inet 127.0.0.1/8 scope host lo\\       valid_lft forever preferred_lft forever\n")
		} else if addr, err := netip.ParseAddr(c.args[5]); err != nil || addr != m.Address {
			return nil
		}
		c.printf("2: eth0    inet %s/16 scope global eth0\\       valid_lft forever preferred_lft forever\n", m.Address)
		return nil
	})
}
