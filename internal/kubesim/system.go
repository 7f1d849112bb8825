package kubesim

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/kubesim/program"
)

func swapoff(_ context.Context, c *call) error {
	if err := c.Root(); err != nil {
		return err
	}
	if !slices.Equal(c.Args, []string{"-a"}) {
		return errors.New("swapoff: bad usage")
	}
	return c.on(func(m *machine) error { m.SwapOff = true; return nil })
}

// modprobe creates the files by which programs detect a module.
func modprobe(_ context.Context, c *call) error {
	if err := c.Root(); err != nil {
		return err
	}
	for _, arg := range c.Args {
		var err error
		switch arg {
		case "-a":
		case "overlay":
			err = c.show("/proc/filesystems", "overlay", "nodev\tproc\n\text4\nnodev\toverlay\n")
		case "br_netfilter":
			err = errors.Join(c.show("/proc/sys/net/bridge/bridge-nf-call-iptables", "", "1\n"), c.show("/proc/sys/net/bridge/bridge-nf-call-ip6tables", "", "1\n"))
		default:
			err = fmt.Errorf("modprobe: FATAL: Module %s not found in directory /lib/modules", arg)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// show writes a file of the kernel, unless it already has the wanted content: it may be that of a real kernel.
func (c *call) show(name, wanted, content string) error {
	c.w.mu.Lock()
	files := c.w.files[c.id]
	c.w.mu.Unlock()
	if files == nil {
		return errors.New("the machine is gone")
	}
	if now, err := afero.ReadFile(files(), name); err == nil && strings.Contains(string(now), wanted) {
		return nil
	}
	if err := files().MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	return afero.WriteFile(files(), name, []byte(content), 0o444)
}

// sysctl loads one file, or those of /etc/sysctl.d: the value that kubeadm checks must be in one of them.
func sysctl(_ context.Context, c *call) error {
	if err := c.Root(); err != nil {
		return err
	}
	var files []string
	switch {
	case slices.Equal(c.Args, []string{"--system"}):
		var err error
		if files, err = afero.Glob(c.FS, "/etc/sysctl.d/*.conf"); err != nil {
			return err
		}
	case len(c.Args) == 2 && c.Args[0] == "-p":
		files = c.Args[1:]
	default:
		return fmt.Errorf("sysctl: unknown arguments %q", c.Args)
	}
	for _, name := range files {
		text, err := afero.ReadFile(c.FS, name)
		if err != nil {
			return fmt.Errorf("sysctl: cannot open %q: %w", name, err)
		}
		for line := range strings.Lines(string(text)) {
			key, value, _ := strings.Cut(line, "=")
			if err := c.setSysctl(strings.TrimSpace(key), strings.TrimSpace(value)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *call) setSysctl(key, value string) error {
	if file := "/proc/sys/" + strings.ReplaceAll(key, ".", "/"); strings.HasPrefix(key, "net.bridge.") && !c.Exists(file) {
		return fmt.Errorf("sysctl: cannot stat %s: No such file or directory", file)
	}
	return c.on(func(m *machine) error {
		if key == "net.ipv4.ip_forward" {
			m.Forward = value == "1"
		}
		return nil
	})
}

func version(_ context.Context, c *call) error {
	return c.on(func(m *machine) error { c.Printf("Kubernetes v%s\n", m.Packages["kubelet"]); return nil })
}

// nproc prints the number of cores of every machine.
func nproc(_ context.Context, c *call) error {
	c.Printf("4\n")
	return nil
}

// getent answers "getent ahosts NAME": only names below .invalid, which RFC 6761 reserves, do not exist.
func getent(_ context.Context, c *call) error {
	if len(c.Args) != 2 || c.Args[0] != "ahosts" {
		return fmt.Errorf("kubesim: getent %q is not simulated", c.Args)
	}
	if strings.HasSuffix(c.Args[1], ".invalid") {
		return program.ExitError{Code: 2}
	}
	c.Printf("198.51.100.7  STREAM %s\n", c.Args[1])
	return nil
}
