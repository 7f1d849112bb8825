package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/sshexec"
)

// Why a registry could not be used, found with errors.Is. All are final until the request or the registry is
// changed.
var (
	// ErrUnknownAuthority: the certificate of the registry is not signed by a CA that the machine trusts.
	ErrUnknownAuthority = errors.New("its certificate is signed by no CA that is known: certificate_path must name the one that signed it")
	// ErrPlainHTTP: the registry does not speak TLS.
	ErrPlainHTTP = errors.New("it speaks HTTP, not HTTPS: connection_type must be 0")
	// ErrLogin: the registry wants a login, or another one.
	ErrLogin = errors.New("it refuses the login: username and password must be those of a user of it")
)

// Probe pulls the image of each connection that has a Connection.ProbeImage, as the runtime of the machine does, to
// find a wrong CA, address or password before the first Pod needs it. The error is an *sshexec.ExitError with the
// output of the program, wrapped in one of the errors of this package if the cause is known.
func Probe(ctx context.Context, host *sshexec.Host, r Runtime, connections Connections) error {
	m := machine{linux.AsRoot(host)}
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

// Pull pulls the images that containerd of the machine does not have yet, as Probe does. A registry that is not among the connections is
// asked without a login. Images are whole names, such as "registry.k8s.io/pause:3.10.2".
func Pull(ctx context.Context, host *sshexec.Host, connections Connections, images []string) error {
	m := machine{linux.AsRoot(host)}
	listed, err := m.Output(ctx, sshexec.Command{Argv: []string{"ctr", "-n", "k8s.io", "images", "list", "-q"}})
	if err != nil {
		return err
	}
	exist := strings.Fields(string(listed))
	var faults []error
	for _, image := range images {
		if slices.Contains(exist, image) {
			continue
		}
		c := Connection{}
		c.Server, c.ProbeImage, _ = strings.Cut(image, "/")
		if i := slices.IndexFunc(connections, func(known Connection) bool { return known.Server == c.Server }); i >= 0 {
			name := c.ProbeImage
			c = connections[i]
			c.ProbeImage = name
		}
		if err := m.pull(ctx, Containerd, c); err != nil {
			faults = append(faults, fmt.Errorf("image %s: %w", image, explained(c, err)))
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
		return m.ctrWithLogin(ctx, c, image)
	}
	return m.ctr(ctx, certsDir, image)
}

func (m machine) ctr(ctx context.Context, dir, image string) error {
	return m.Run(ctx, "ctr", "-n", "k8s.io", "images", "pull", "--hosts-dir", dir, image)
}

// probeDir is where ctr finds the credentials for a probe while it runs. It lies in memory, and only root can read it.
const probeDir = "/run/vnfkit-registry-probe"

// ctrWithLogin is for machines without crictl: ctr takes credentials only on its command line or from a terminal, but a
// hosts.toml may have a header with them.
func (m machine) ctrWithLogin(ctx context.Context, c Connection, image string) (err error) {
	content, err := hostsTOML(c, c.credentials())
	if err != nil {
		return err
	}
	if err := m.Run(ctx, "mkdir", "-p", "-m", "0700", probeDir); err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = errors.Join(err, m.Run(ctx, "rm", "-rf", probeDir))
	}()
	if err := m.Write(ctx, probeDir+"/"+c.Server+"/hosts.toml", content, 0o600); err != nil {
		return err
	}
	return m.ctr(ctx, probeDir, image)
}

func (m machine) hasCrictl(ctx context.Context) (bool, error) {
	err := m.Exec(ctx, sshexec.Command{Shell: "command -v crictl >/dev/null"})
	if exit, ok := errors.AsType[*sshexec.ExitError](err); ok && (exit.Code == 1 || exit.Code == 127) {
		return false, nil
	}
	return err == nil, err
}

// crictl takes credentials from its environment, which only root can see (cri-tools, "crictl pull").
func (m machine) crictl(ctx context.Context, c Connection, image string) error {
	command := sshexec.Command{Argv: []string{"crictl", "--runtime-endpoint", "unix:///run/containerd/containerd.sock", "pull", image}}
	if c.login() {
		command.Env = map[string]string{"CRICTL_CREDS": c.credentials()}
		command.Secrets = []string{c.Password.Reveal()}
	}
	return m.Exec(ctx, command)
}

// explained adds the registry and, if the output of a runtime shows it, the cause.
func explained(c Connection, err error) error {
	exit, ok := errors.AsType[*sshexec.ExitError](err)
	if !ok {
		return fmt.Errorf("registry %s: %w", c.Label(), err)
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
				return fmt.Errorf("registry %s: %w: %w", c.Label(), cause.err, err)
			}
		}
	}
	return fmt.Errorf("registry %s: %w", c.Label(), err)
}

// Label names the registry in an error.
func (c Connection) Label() string {
	if c.Mirror != "" {
		return c.Server + ", by its mirror " + c.Mirror
	}
	return c.Server
}
