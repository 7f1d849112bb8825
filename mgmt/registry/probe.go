package registry

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/vnfkit/vnfkit/sshexec"
)

// Why a registry could not be used, found with errors.Is. All are final until the request or the registry is
// changed.
var (
	// ErrUnknownAuthority: the certificate of the registry is signed by no CA that the machine knows.
	ErrUnknownAuthority = errors.New("its certificate is signed by no CA that is known: certificate_path must name the one that signed it")
	// ErrPlainHTTP: the registry does not speak TLS.
	ErrPlainHTTP = errors.New("it speaks HTTP, not HTTPS: connection_type must be 0")
	// ErrLogin: the registry wants a login, or another one.
	ErrLogin = errors.New("it refuses the login: username and password must be those of a user of it")
	// ErrNoProbe: a registry with a login cannot be probed, since the machine has no program for it that takes
	// the password in another way than on its command line.
	ErrNoProbe = errors.New("a probe with a login needs crictl (package cri-tools)")
)

// Probe pulls the image of each connection that has a Connection.ProbeImage, as the runtime of the machine does: a
// wrong CA, address or password is found now and not when the first Pod does not start. The error is an
// *sshexec.ExitError with what the program said, wrapped in one of the errors of this package where the cause is
// known.
func Probe(ctx context.Context, host *sshexec.Host, r Runtime, connections Connections) error {
	m := machine{host}
	var faults []error
	for _, c := range connections {
		if c.ProbeImage == "" {
			continue
		}
		if err := m.pull(ctx, r, c); err != nil {
			faults = append(faults, explained(c, err))
		}
	}
	return errors.Join(faults...)
}

func (m machine) pull(ctx context.Context, r Runtime, c Connection) error {
	image := c.Server + "/" + c.ProbeImage
	if r == Docker {
		return m.docker(ctx, nil, "pull", "--quiet", image)
	}
	exists, err := m.hasCrictl(ctx)
	if err != nil {
		return err
	}
	if exists {
		return m.crictl(ctx, c, image)
	}
	if c.login() {
		return fmt.Errorf("%s: %w", m.host.Name(), ErrNoProbe)
	}
	return m.run(ctx, "ctr", "-n", "k8s.io", "images", "pull", "--hosts-dir", certsDir, image)
}

func (m machine) hasCrictl(ctx context.Context) (bool, error) {
	err := m.host.Exec(ctx, sshexec.Command{Shell: "command -v crictl >/dev/null", Root: true})
	if exit, ok := errors.AsType[*sshexec.ExitError](err); ok && (exit.Code == 1 || exit.Code == 127) {
		return false, nil
	}
	return err == nil, err
}

// crictl takes credentials from its environment, which only root can see (cri-tools, "crictl pull").
func (m machine) crictl(ctx context.Context, c Connection, image string) error {
	command := sshexec.Command{Argv: []string{"crictl", "--runtime-endpoint", "unix:///run/containerd/containerd.sock", "pull", image}, Root: true}
	if c.login() {
		command.Env = map[string]string{"CRICTL_CREDS": c.Username + ":" + c.Password.Reveal()}
		command.Secrets = []string{c.Password.Reveal()}
	}
	return m.host.Exec(ctx, command)
}

// explained names the registry and, where what a runtime said shows it, the cause.
func explained(c Connection, err error) error {
	exit, ok := errors.AsType[*sshexec.ExitError](err)
	if !ok {
		return fmt.Errorf("registry %s: %w", c.Server, err)
	}
	said := strings.ToLower(exit.Stderr)
	for _, cause := range []struct {
		err   error
		words []string
	}{
		{ErrUnknownAuthority, []string{"certificate signed by unknown authority"}},
		{ErrPlainHTTP, []string{"server gave http response to https client"}},
		{ErrLogin, []string{"401 unauthorized", "unauthorized:", "authentication required", "no basic auth credentials", "authorization failed"}},
	} {
		for _, words := range cause.words {
			if strings.Contains(said, words) {
				return fmt.Errorf("registry %s: %w: %w", c.Server, cause.err, err)
			}
		}
	}
	return fmt.Errorf("registry %s: %w", c.Server, err)
}
