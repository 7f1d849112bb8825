package nodeprep

import (
	"bytes"
	"context"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/sshexec"
)

// SetHostName sets the host name of a machine to the name of its node.
func SetHostName(ctx context.Context, n mgmt.Node) error {
	return n.RunRoot(ctx, []string{"hostnamectl", "set-hostname", n.HostName}, nil, nil, nil)
}

// WriteHosts writes the nodes and other names into /etc/hosts and, if cloud-init writes that file, also into cloud-init's
// template.
func WriteHosts(ctx context.Context, n mgmt.Node, nodes []mgmt.Node, others []mgmt.HostEntry) error {
	template, err := linux.On(n.SSH).HostsTemplate(ctx)
	if err != nil {
		return err
	}
	paths := []string{"/etc/hosts"}
	if template != "" {
		paths = append(paths, template)
	}
	for _, path := range paths {
		file := sshexec.File{Path: path, Mode: 0o644, Root: true}
		old, err := n.SSH.ReadFile(ctx, file)
		if err != nil {
			return err
		}
		if err := n.SSH.Upload(ctx, bytes.NewReader(mgmt.HostsFile(old, nodes, others...)), file); err != nil {
			return err
		}
	}
	return nil
}
