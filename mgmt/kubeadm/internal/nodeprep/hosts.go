package nodeprep

import (
	"context"

	"github.com/vnfkit/vnfkit/mgmt"
)

// SetHostName sets the host name of a machine to the name of its node.
func SetHostName(ctx context.Context, n mgmt.Node) error {
	return n.Root().Run(ctx, "hostnamectl", "set-hostname", n.HostName)
}

// WriteHosts writes the nodes and other names into /etc/hosts and, if cloud-init writes that file, also into cloud-init's
// template.
func WriteHosts(ctx context.Context, n mgmt.Node, nodes []mgmt.Node, others []mgmt.HostEntry) error {
	template, err := n.Root().HostsTemplate(ctx)
	if err != nil {
		return err
	}
	paths := []string{"/etc/hosts"}
	if template != "" {
		paths = append(paths, template)
	}
	for _, path := range paths {
		old, err := n.Root().ReadFile(ctx, path)
		if err != nil {
			return err
		}
		if err := n.Root().Write(ctx, path, mgmt.HostsFile(old, nodes, others...), 0o644); err != nil {
			return err
		}
	}
	return nil
}
