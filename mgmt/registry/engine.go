package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/sshexec"
)

// The packages that Docker Engine comes in.
const (
	dockerDebian = "docker.io" // of Debian and Ubuntu
	dockerCE     = "docker-ce" // of Docker itself
)

// platforms are the systems that Docker is installed on: ID and VERSION_ID of os-release(5).
var platforms = []string{"debian 12", "debian 13", "ubuntu 22.04", "ubuntu 24.04"}

// checkPlatform refuses other systems, unless their image is said to have Docker.
func (s *site) checkPlatform(ctx context.Context) error {
	if s.p.Packages.source() == fromNowhere {
		return nil
	}
	if err := s.machine.CheckRelease(ctx, platforms...); err != nil {
		return fmt.Errorf("registry: %w, or one that has Docker and packages.source installed", err)
	}
	return nil
}

// docker runs the client, and returns its output.
func (s *site) docker(ctx context.Context, args ...string) (string, error) {
	return s.dockerWith(ctx, sshexec.Command{Argv: append([]string{"docker"}, args...)})
}

func (s *site) dockerWith(ctx context.Context, c sshexec.Command) (string, error) {
	out, err := s.machine.Output(ctx, c)
	return strings.TrimSpace(string(out)), err
}

// installDocker installs Docker if it is missing or does not match the request.
func (s *site) installDocker(ctx context.Context) error {
	p := s.p.Packages
	_, err := s.docker(ctx, "--version")
	exit, failed := errors.AsType[*sshexec.ExitError](err)
	switch absent := failed && exit.Code == 127; {
	case err != nil && !absent:
		return err
	case absent && p.source() == fromNowhere:
		return fmt.Errorf("registry: packages.source is %s, but the image of %s has no Docker", fromNowhere, s.node.Label())
	case !absent && p.DockerPackage+p.DockerVersion == "":
		return nil
	}
	packages := linux.Packages{Machine: s.machine, Env: s.proxy(), Secrets: []string{s.p.Proxy.HTTPProxy.Reveal(), s.p.Proxy.HTTPSProxy.Reveal()}}
	if p.source() == fromRepository {
		if err := packages.AddRepository(ctx, "docker", p.Repository, mgmt.Artifacts(s.op)); err != nil {
			return err
		}
	}
	wanted := cmp.Or(p.DockerPackage, dockerDebian)
	if p.DockerVersion != "" {
		wanted += "=" + p.DockerVersion
	}
	return packages.Install(ctx, wanted)
}

// proxy is the environment of what reaches the outside.
func (s *site) proxy() map[string]string {
	return s.p.Proxy.proxy().Environment(s.node.IP.String())
}

// proxyFile gives the daemon its proxy: it is what pulls images.
const proxyFile = "/etc/systemd/system/docker.service.d/50-vnfkit-proxy.conf"

// startDocker has the daemon run, now and after a reboot, with the proxy of the request. One that runs so is left
// alone: its containers are in use.
func (s *site) startDocker(ctx context.Context) error {
	changed, err := s.writeProxy(ctx)
	if err != nil {
		return err
	}
	if err := s.machine.Run(ctx, "systemctl", "enable", "docker"); err != nil {
		return err
	}
	verb := "start"
	if changed {
		verb = "restart"
	}
	if err := s.machine.Unit(ctx, verb, "docker"); err != nil {
		return err
	}
	_, err = s.docker(ctx, "version", "--format", "{{.Server.Version}}")
	return err
}

// writeProxy brings the drop-in of the proxy up to date.
func (s *site) writeProxy(ctx context.Context) (changed bool, err error) {
	old, exists, err := s.machine.Read(ctx, proxyFile)
	if err != nil {
		return false, err
	}
	env := s.proxy()
	switch wanted := linux.ProxyDropIn(env); {
	case env == nil && !exists, env != nil && slices.Equal(old, wanted):
		return false, nil
	case env == nil:
		err = s.machine.Remove(ctx, proxyFile)
	default:
		err = s.machine.Write(ctx, proxyFile, wanted, 0o600)
	}
	if err != nil {
		return false, err
	}
	return true, s.machine.Run(ctx, "systemctl", "daemon-reload")
}
