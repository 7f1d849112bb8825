package client

import (
	"context"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/sshexec"
)

// Reserve notes that what is set up on the machine from now on for those registries without TLS is ours, though not
// Connect does it but a script that is told of them: the next Connect takes it over and can change and remove it. What is
// there already stays somebody else's. No runtime needs to be there yet. It is idempotent.
func Reserve(ctx context.Context, host *sshexec.Host, connections Connections) error {
	m := machine{linux.On(host)}
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

// unclaimed are the settings of a registry without TLS that nobody has made.
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

// takeOver makes what was reserved, of the runtime, ours.
func (r *record) takeOver(runtime Runtime) {
	reserved := map[string]claim{}
	for server, c := range r.Reserved {
		reserved[server] = claim{Containerd: c.Containerd && runtime == Containerd, Insecure: c.Insecure && runtime == Docker}
	}
	r.Registries, r.Reserved = union(r.Registries, reserved), nil
}
