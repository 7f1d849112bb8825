package client

import (
	"context"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/sshexec"
)

// Reserve records that settings for these registries without TLS that appear on the machine from now on belong to this
// package, although a script and not Connect makes them: the next Connect takes them over and can change and remove
// them. Existing settings keep their owner. The runtime need not be installed yet. Reserve is idempotent.
func Reserve(ctx context.Context, host *sshexec.Host, connections Connections) error {
	m := machine{linux.AsRoot(host)}
	r, err := m.readRecord(ctx)
	if err != nil {
		return err
	}
	before := len(r.Reserved)
	for _, c := range connections {
		_, ours := r.Registries[c.Server]
		_, reserved := r.Reserved[c.Server]
		if c.Type != HTTP || ours || reserved {
			continue
		}
		if r.Reserved == nil {
			r.Reserved = map[string]claim{}
		}
		if r.Reserved[c.Server], err = m.unclaimed(ctx, c.Server); err != nil {
			return err
		}
	}
	if len(r.Reserved) == before {
		return nil
	}
	return m.writeRecord(ctx, r)
}

// unclaimed returns the settings of a registry without TLS that no program has made yet.
func (m machine) unclaimed(ctx context.Context, server string) (claim, error) {
	_, exists, err := m.Read(ctx, containerdDir(server)+"/hosts.toml")
	if err != nil {
		return claim{}, err
	}
	daemon, _, err := m.Read(ctx, daemonFile)
	if err != nil {
		return claim{}, err
	}
	listed, err := insecureRegistries(daemon)
	if err != nil {
		return claim{}, m.broken(daemonFile, err)
	}
	return claim{Containerd: !exists, Insecure: !slices.Contains(listed, server)}, nil
}

// takeOver makes the reserved settings of the runtime owned by this package.
func (r *record) takeOver(runtime Runtime) {
	reserved := map[string]claim{}
	for server, c := range r.Reserved {
		reserved[server] = claim{Containerd: c.Containerd && runtime == Containerd, Insecure: c.Insecure && runtime == Docker}
	}
	r.Registries, r.Reserved = union(r.Registries, reserved), nil
}
