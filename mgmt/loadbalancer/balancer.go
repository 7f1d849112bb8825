package loadbalancer

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/sshexec"
)

// Balancer is haproxy on a machine. It is safe for concurrent use, in this process and others. Only the context bounds
// the time of its methods.
type Balancer struct{ machine linux.Machine }

// On returns the load balancer on a machine.
func On(host *sshexec.Host) *Balancer { return &Balancer{machine: linux.AsRoot(host)} }

// Install installs haproxy from packages of the distribution, unless it is installed. env is the environment of apt
// (mgmt.Proxy.Environment).
func (b *Balancer) Install(ctx context.Context, env map[string]string) error {
	var missing []string
	for _, p := range []struct {
		argv        []string
		fromPackage string
	}{
		{[]string{"haproxy", "-v"}, "haproxy"},
		{[]string{"id", "haproxy"}, "haproxy"}, // an interrupted installation has unpacked the program, but not created the user
		{[]string{"ss", "-V"}, "iproute2"},
	} {
		err := b.machine.Run(ctx, p.argv...)
		if _, ran := errors.AsType[*sshexec.ExitError](err); ran {
			if !slices.Contains(missing, p.fromPackage) {
				missing = append(missing, p.fromPackage)
			}
		} else if err != nil {
			return err
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return linux.Packages{Machine: b.machine, Env: env, Secrets: secrets(env)}.Install(ctx, missing...)
}

// secrets returns the URLs of proxies, which may contain a password.
func secrets(env map[string]string) []string { return []string{env["http_proxy"], env["https_proxy"]} }

// scriptFile is the path that Tacker uses for the package's script. scriptLock is held while the script runs, but not
// by processes that it leaves running.
const (
	scriptFile = "/tmp/install_external_lb.sh"
	scriptLock = scriptFile + ".lock"
)

// Script runs a package's script with Tacker's arguments, as the login user: -m and -w with the addresses of the
// control-plane nodes and of the workers, separated by commas. The script has to install haproxy; its changes to
// haproxy.cfg are overwritten.
func (b *Balancer) Script(ctx context.Context, content io.Reader, controlPlane, workers []netip.Addr, env map[string]string) error {
	if err := b.machine.SSH.Upload(ctx, content, sshexec.File{Path: scriptFile, Mode: 0o755}); err != nil {
		return err
	}
	return b.machine.SSH.Exec(ctx, sshexec.Command{
		Argv: []string{"flock", "-o", scriptLock, "bash", scriptFile, "-m", list(controlPlane), "-w", list(workers)},
		Env:  maps.Clone(env), Secrets: secrets(env),
	})
}

func list(addresses []netip.Addr) string {
	var out []string
	for _, a := range addresses {
		out = append(out, a.Unmap().String())
	}
	return strings.Join(out, ",")
}

// Put sets the part of an owner, replacing its previous part, and waits until haproxy serves it. Servers in the part
// get connections again if they were drained. The error is a *PortError if another owner, or another program on the
// machine, has one of the ports.
func (b *Balancer) Put(ctx context.Context, owner string, p Part) error {
	return b.update(ctx, func(s *stored) error {
		s.Parts[owner] = p
		delete(s.Drained, owner)
		return s.known(owner)
	})
}

// Remove removes the part of an owner, if it has one.
func (b *Balancer) Remove(ctx context.Context, owner string) error {
	return b.update(ctx, func(s *stored) error {
		delete(s.Parts, owner)
		delete(s.Drained, owner)
		return nil
	})
}

// Parts returns the parts by owner.
func (b *Balancer) Parts(ctx context.Context) (map[string]Part, error) {
	s, _, err := b.read(ctx)
	return s.Parts, err
}
