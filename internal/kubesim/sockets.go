package kubesim

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// ss shows who listens, and the connections of haproxy to its servers.
func ss(_ context.Context, c *call) error {
	switch {
	case slices.Equal(c.Args, []string{"-V"}):
		c.Printf("ss utility, iproute2-6.1.0, libbpf 1.1.0\n")
		return nil
	case slices.Equal(c.Args, []string{"-Htlnp"}):
		return c.on(func(m *machine) error { c.listeners(m); return nil })
	case len(c.Args) >= 5 && slices.Equal(c.Args[:3], []string{"-Htnp", "state", "connected"}):
		return c.connections(c.Args[3:])
	}
	return fmt.Errorf("kubesim: ss %q is not simulated", c.Args)
}

// listeners prints the listening sockets. Whose they are is shown to root only.
func (c *call) listeners(m *machine) {
	line := func(at, program string, pid int) {
		users := ""
		if c.User == "root" {
			users = fmt.Sprintf("users:((%q,pid=%d,fd=7))", program, pid)
		}
		c.Printf("LISTEN 0      4096   %18s      0.0.0.0:*    %s\n", at, users)
	}
	line("0.0.0.0:22", "sshd", 1)
	if c.w.hasAPI(m) {
		line("*:6443", "kube-apiserver", 2)
	}
	if m.runs("kubelet") && m.Cluster != "" {
		line("*:10250", "kubelet", 3)
	}
	for _, number := range m.Taken {
		line(fmt.Sprintf("0.0.0.0:%d", number), "other", 4)
	}
	if m.runs("docker") {
		for _, k := range m.Docker.Containers {
			for number := range k.Ports {
				if k, _ := m.published(number); k != nil {
					line("0.0.0.0:"+number, "docker-proxy", 5)
				}
			}
		}
	}
	if file := m.balancing(); file != nil {
		for _, f := range file.Frontends {
			for _, b := range f.Binds {
				line(strings.Replace(b.Host, "*", "0.0.0.0", 1)+":"+b.Port, "haproxy", m.Haproxy.PID)
			}
		}
	}
}

// connections prints those of haproxy to some servers: dst ADDRESS or dst ADDRESS ...
func (c *call) connections(filter []string) error {
	var wanted []string
	for len(filter) >= 2 && filter[0] == "dst" {
		wanted = append(wanted, filter[1])
		filter = filter[2:]
		if len(filter) > 0 && filter[0] == "or" {
			filter = filter[1:]
		}
	}
	if len(filter) > 0 {
		return fmt.Errorf("Error: an inet prefix is expected rather than %q.", filter[0])
	}
	return c.on(func(m *machine) error {
		for key, n := range c.w.led {
			for range n {
				if key.balancer == m.ID && slices.Contains(wanted, key.to) {
					c.Printf("ESTAB 0      0      %s:40000    %s    users:((\"haproxy\",pid=%d,fd=11))\n", m.Address, key.to, key.pid)
				}
			}
		}
		return nil
	})
}
