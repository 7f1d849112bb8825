package kubespray

import (
	"context"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubespray/ansible"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// The playbooks of kubespray that the driver runs.
const (
	clusterPlaybook = "cluster.yml"
	scalePlaybook   = "scale.yml"
	removePlaybook  = "remove-node.yml"
)

// found is what the driver has found on the Ansible server.
type found struct {
	ansible.Versions
	Home string // home directory of the login user
}

func runCheckServer(ctx context.Context, d *deployment, _ mgmt.Node) error {
	f, err := vnflcm.Run(ctx, d.op, vnflcm.Step[found]{Name: "ansible", Do: func(ctx context.Context) (f found, err error) {
		err = mgmt.Within(ctx, d.config.Timeouts.Login, func(ctx context.Context) error {
			f, err = d.look(ctx)
			return err
		})
		return f, err
	}})
	d.versions, d.home = f.Versions, f.Home
	return err
}

// runClaimDirectory claims the directory of the inventory.
func runClaimDirectory(ctx context.Context, d *deployment, _ mgmt.Node) (err error) {
	if d.dir, err = d.directory(d.home); err != nil {
		return err
	}
	err = vnflcm.Do(ctx, d.op, "directory", "", func(ctx context.Context) error {
		return mgmt.Within(ctx, d.config.Timeouts.Login, d.claim)
	})
	if err != nil || d.dir.mark.Instance != "" {
		return err
	}
	// Another process has done the step, so this process reads the mark.
	return mgmt.Within(ctx, d.config.Timeouts.Login, func(ctx context.Context) (err error) {
		d.dir.mark, err = d.dir.readMark(ctx)
		return err
	})
}

// look checks the server and returns its versions and the home directory.
func (d *deployment) look(ctx context.Context) (f found, err error) {
	if err := d.server.Host.Wait(ctx); err != nil {
		return found{}, err
	}
	f.Versions, err = d.server.Check(ctx, ansible.Requirements{Root: d.p.Ansible.Root,
		Playbooks: []string{clusterPlaybook, scalePlaybook, removePlaybook}, Passwords: d.passwords()})
	if err != nil {
		return found{}, err
	}
	f.Home, err = home(ctx, d.server.Host)
	return f, err
}

// home returns the directory in which the login user starts.
func home(ctx context.Context, host *sshexec.Host) (string, error) {
	out, err := host.Output(ctx, sshexec.Command{Argv: []string{"sh", "-c", "cd && pwd -P"}})
	return strings.TrimSuffix(string(out), "\n"), err
}

// passwords reports whether Ansible logs in to some nodes with passwords.
func (d *deployment) passwords() bool {
	return d.p.Master.PrivateKey.IsZero() || d.p.Worker.PrivateKey.IsZero()
}
