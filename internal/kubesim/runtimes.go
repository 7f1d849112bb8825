package kubesim

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vnfkit/vnfkit/internal/kubesim/containerd"
	"github.com/vnfkit/vnfkit/internal/kubesim/docker"
	"github.com/vnfkit/vnfkit/internal/kubesim/dockercli"
	"github.com/vnfkit/vnfkit/internal/kubesim/helm"
	"github.com/vnfkit/vnfkit/internal/kubesim/pull"
)

// Registry is a private container registry that machines can reach.
type Registry = pull.Registry

// runtimePrograms are those of container runtimes, and Helm.
var runtimePrograms = map[string]func(context.Context, *call) error{
	"containerd": alone(containerd.Run),
	"crictl": func(ctx context.Context, c *call) error {
		return containerd.Crictl(ctx, c.Call, c.network(), store{c}, c.running("containerd"))
	},
	"ctr":    func(ctx context.Context, c *call) error { return containerd.Ctr(ctx, c.Call, c.network(), store{c}) },
	"docker": func(ctx context.Context, c *call) error { return c.dockerClient().Run(ctx) },
	"helm":   alone(helm.Run),
}

// store has the images of the machine of a call.
type store struct{ c *call }

func (s store) Images() (names []string) {
	_ = s.c.on(func(m *machine) error { names = slices.Clone(m.Images); return nil })
	return names
}

func (s store) Containers() []containerd.Container { return s.c.containers() }

func (s store) AddImage(name string) {
	_ = s.c.on(func(m *machine) error {
		if !slices.Contains(m.Images, name) {
			m.Images = append(m.Images, name)
		}
		return nil
	})
}

// network is where the machine finds registries.
func (c *call) network() pull.Network {
	return pull.Network{Registries: c.w.registries, Missing: c.w.missing, Offline: c.w.offline, Now: c.w.nowFunc, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		at, err := netip.ParseAddrPort(addr)
		if err != nil {
			return nil, err
		}
		there := false
		c.w.locked(func() { there = c.w.byAddress(at.Addr()) != nil })
		if !there {
			return nil, fmt.Errorf("dial tcp %s: connect: connection refused", addr)
		}
		return c.w.Dialer(c.id)(ctx, network, addr)
	}}
}

func (c *call) running(service string) (runs bool) {
	_ = c.on(func(m *machine) error { runs = m.runs(service); return nil })
	return runs
}

func (c *call) dockerClient() *dockercli.Client {
	return &dockercli.Client{Call: c.Call, Network: c.network(), Public: c.w.publicImages,
		Reach: func() (answers bool, err error) {
			err = c.on(func(m *machine) error {
				if answers = m.runs("docker.socket"); answers {
					return c.startDaemon(m, false)
				}
				return nil
			})
			return answers, err
		},
		On: func(fn func(dockercli.Engine) error) error {
			return c.on(func(m *machine) error {
				return fn(dockercli.Engine{Engine: &m.Docker, Version: m.dockerVersion(), Runs: m.runs("docker"), Insecure: m.Insecure,
					Launch: c.w.registry(c.w.files[m.ID]()).Launch,
					Start:  func(k *docker.Container) error { return c.w.startContainer(m, k) }})
			})
		}}
}
