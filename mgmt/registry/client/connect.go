package client

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/sshexec"
)

// Connect configures the machine to reach exactly these registries, in addition to those that other programs have
// configured: it adds, changes and removes what differs. It is idempotent, and completes an earlier call that was
// interrupted. The connections must be valid (Connections.Validate); open reads their CA certificates from the package.
//
// The error wraps ErrForeign if another program has configured one of the registries differently, or with credentials
// of another user; ErrNotConfigured if containerd is not configured to look for registries: then nothing has been
// changed. It wraps ErrLogin, ErrUnknownAuthority or ErrPlainHTTP if that is the reason why Docker could not log in.
func Connect(ctx context.Context, host *sshexec.Host, r Runtime, wanted Connections, open linux.Open) error {
	c := &connector{machine: machine{linux.AsRoot(host)}, runtime: r, wanted: wanted, cas: map[string][]byte{}}
	var err error
	if c.old, err = c.readRecord(ctx); err != nil {
		return err
	}
	c.old.takeOver(r)
	if len(wanted) == 0 && len(c.old.Registries) == 0 && !c.old.Reload {
		return nil
	}
	for _, w := range wanted {
		if !w.ownCA() {
			continue
		}
		if c.cas[w.Server], err = w.ca(open); err != nil {
			return fmt.Errorf("registry %s: %s %w", w.Server, cmp.Or(w.CertificatePath, "ca_certificate"), err)
		}
	}
	if c.now, err = c.claims(ctx); err != nil {
		return err
	}
	return c.change(ctx)
}

// connector makes the connections of one machine.
type connector struct {
	machine
	runtime Runtime
	wanted  Connections
	cas     map[string][]byte // by server
	old     record
	now     map[string]claim
}

// claims decides which settings this package will own. It changes nothing.
func (c *connector) claims(ctx context.Context) (map[string]claim, error) {
	out := map[string]claim{}
	ours, err := c.claimLogins(ctx, kubeletFile, func(had claim) bool { return had.Kubelet })
	if err != nil {
		return nil, err
	}
	for _, w := range c.wanted {
		out[w.Server] = claim{Kubelet: ours[w.Server]}
	}
	switch c.runtime {
	case Containerd:
		return out, c.claimContainerd(ctx, out)
	case Docker:
		return out, c.claimDocker(ctx, out)
	}
	return nil, fmt.Errorf("registry: runtime %q is not known", c.runtime)
}

func (c *connector) change(ctx context.Context) error {
	during := record{Registries: union(c.old.Registries, c.now), Reload: c.old.Reload}
	if anyInsecure(during.Registries) {
		during.Reload = true
	}
	if err := c.writeRecord(ctx, during); err != nil {
		return err
	}
	steps := []func(context.Context) error{c.removeOld}
	if c.runtime == Containerd {
		steps = append(steps, c.writeContainerd)
	}
	if during.Reload {
		steps = append(steps, c.writeDaemon)
	}
	if c.runtime == Docker {
		steps = append(steps, c.writeDocker)
	}
	// The kubelet last: Docker has tried the credentials by then.
	steps = append(steps, c.writeKubelet)
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return c.writeRecord(ctx, record{Registries: c.now})
}

// removeOld removes files of this package that are no longer needed. Entries in files of other programs are removed
// where those files are written.
func (c *connector) removeOld(ctx context.Context) error {
	for _, server := range slices.Sorted(maps.Keys(c.old.Registries)) {
		had, has := c.old.Registries[server], c.now[server]
		if had.Containerd && !has.Containerd {
			if err := c.removeDir(ctx, containerdDir(server), "hosts.toml", caFile); err != nil {
				return err
			}
		}
		if had.DockerCA && !has.DockerCA {
			if err := c.removeDir(ctx, dockerDir(server), caFile); err != nil {
				return err
			}
		}
		if had.DockerLogin && !has.DockerLogin {
			if err := c.docker(ctx, nil, "logout", server); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeDir removes files of this package, and their directory if it is empty then.
func (c *connector) removeDir(ctx context.Context, dir string, names ...string) error {
	for i, name := range names {
		names[i] = dir + "/" + name
	}
	if err := c.Remove(ctx, names...); err != nil {
		return err
	}
	_, err := c.Succeeds(ctx, "rmdir", dir) // fails if other files are in it
	return err
}
