package kubeadm

import (
	"bytes"
	"context"
	"io/fs"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/sshexec"
)

// prepare makes a machine ready for kubeadm: by our own steps or, with script_path, by putting the package's
// script there.
func (d *deployment) prepare(ctx context.Context, n mgmt.Node) error {
	type step struct {
		name string
		do   func(context.Context, mgmt.Node) error
	}
	// The new name is in the hosts file first: sudo looks its machine's name up, which takes long where no name server answers.
	steps := []step{{"platform", d.checkPlatform}, {"package-sources", d.checkPackages}, {"hosts", d.writeHosts}, {"hostname", d.setHostName}, {"system", d.setUpSystem},
		{"packages", d.installPackages}, {"runtime", d.setUpRuntime}}
	if d.balanced() && d.isMaster(n) {
		steps = append(steps, step{"load-balancer", d.setUpBalancer})
	}
	if d.p.ScriptPath != "" {
		steps = []step{{"hosts", d.writeHosts}, {"script", d.uploadScript}}
	}
	if d.p.Storage != nil {
		steps = append(steps, step{"nfs-client", d.setUpClient})
	}
	if err := n.Reach(ctx, d.op, d.config.Timeouts.Boot); err != nil {
		return err
	}
	for _, s := range steps {
		err := d.do(ctx, s.name, n, d.config.Timeouts.Install, func(ctx context.Context) error { return s.do(ctx, n) })
		if err != nil {
			return err
		}
	}
	return d.prepareRegistries(ctx, n)
}

func (d *deployment) setHostName(ctx context.Context, n mgmt.Node) error {
	return n.RunRoot(ctx, []string{"hostnamectl", "set-hostname", n.HostName}, nil, nil, nil)
}

// writeHosts puts all nodes into /etc/hosts and, where cloud-init writes that file, into its template.
func (d *deployment) writeHosts(ctx context.Context, n mgmt.Node) error {
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
		if err := n.SSH.Upload(ctx, bytes.NewReader(mgmt.HostsFile(old, d.nodes(), d.p.Registries.HostEntries()...)), file); err != nil {
			return err
		}
	}
	return nil
}

// environment is the proxy setting of the nodes.
func (d *deployment) environment() map[string]string {
	return d.p.Proxy.Environment(d.p.Master.PodCIDR, d.p.Master.ClusterCIDR, d.api.String(),
		d.p.Proxy.NodeNetwork(d.masters[0].IP))
}

// put writes a file of root's.
func put(ctx context.Context, n mgmt.Node, path, content string, mode fs.FileMode) error {
	return linux.On(n.SSH).Write(ctx, path, []byte(content), mode)
}

// succeeds runs a command that answers by its exit code.
func succeeds(ctx context.Context, n mgmt.Node, argv ...string) (bool, error) {
	return linux.On(n.SSH).Succeeds(ctx, argv...)
}
