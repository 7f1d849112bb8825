package kubeadm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Helm on control-plane nodes: the package's script installs it, and charts are kept in helmCharts, where whoever
// installs them puts them as the login user (Tacker's contract).
const (
	helmCharts = "/var/tacker/helm"
	// helmScript is the package's script. Only root can write there: what runs as root must not lie in /tmp.
	helmScript = "/var/lib/vnfkit/install_helm.sh"
	// helmMark has the digest of the script that has run to its end.
	helmMark = "/var/lib/vnfkit/install_helm.sha256"
	// helmLock is held while the script runs: one that a process has begun that died runs on there.
	helmLock = "/run/vnfkit-helm.lock"
	// adminConf is how programs on a control-plane node reach the API.
	adminConf = "/etc/kubernetes/admin.conf"
)

// setUpHelm installs Helm on control-plane nodes with the script of helm_installation_script_path, all at once. It
// does nothing without one. The script runs as root, with the proxy variables and KUBECONFIG in its environment; it
// runs again where Helm does not answer, and where another script has run before.
func (d *deployment) setUpHelm(ctx context.Context, masters []mgmt.Node) error {
	if d.p.HelmScript == "" {
		return nil
	}
	script, err := d.helmScript()
	if err != nil {
		return err
	}
	sum := sha256.Sum256(script)
	digest := hex.EncodeToString(sum[:])
	return vnflcm.Each(ctx, d.config.Parallel, masters, func(ctx context.Context, n mgmt.Node) error {
		_, err := vnflcm.Run(ctx, d.op, vnflcm.Step[struct{}]{
			Name: "helm", On: n.ID,
			Probe: func(ctx context.Context) (struct{}, bool, error) {
				done, err := d.hasHelm(ctx, n, digest)
				return struct{}{}, done, err
			},
			Do: func(ctx context.Context) (struct{}, error) {
				return struct{}{}, mgmt.Within(ctx, d.config.Timeouts.Install, func(ctx context.Context) error {
					return d.installHelm(ctx, n, string(script), digest)
				})
			},
		})
		return err
	})
}

func (d *deployment) helmScript() ([]byte, error) {
	name, err := d.op.Package.Artifact(d.p.HelmScript)
	if err != nil {
		return nil, err
	}
	return fs.ReadFile(d.op.Package, name)
}

// hasHelm reports whether this very script has run to its end on the node, and what it has installed is there.
func (d *deployment) hasHelm(ctx context.Context, n mgmt.Node, digest string) (bool, error) {
	err := mgmt.Within(ctx, d.config.Timeouts.Install, func(ctx context.Context) error {
		return n.RunRoot(ctx, []string{"flock", helmLock, "true"}, nil, nil, nil)
	})
	if err != nil {
		return false, err
	}
	mark, err := n.SSH.ReadFile(ctx, sshexec.File{Path: helmMark, Root: true})
	if errors.Is(err, fs.ErrNotExist) || err == nil && strings.TrimSpace(string(mark)) != digest {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = d.checkHelm(ctx, n)
	if _, failed := errors.AsType[*sshexec.ExitError](err); failed || errors.Is(err, helmclient.ErrInvalid) {
		return false, nil
	}
	return err == nil, err
}

// checkHelm returns an error unless Helm runs on the node and has a version with which CNFs can be made: helmclient.ErrInvalid.
func (d *deployment) checkHelm(ctx context.Context, n mgmt.Node) error {
	version, err := n.SSH.Output(ctx, d.helmCommand(true, "version", "--template", "{{.Version}}"))
	if err != nil {
		return err
	}
	return helmclient.CheckProgram(string(version))
}

func (d *deployment) installHelm(ctx context.Context, n mgmt.Node, script, digest string) error {
	if err := put(ctx, n, helmScript, script, 0o700); err != nil {
		return err
	}
	proxy := d.p.Proxy
	err := n.SSH.Exec(ctx, sshexec.Command{
		Argv: []string{"flock", "-o", helmLock, "bash", helmScript}, Root: true, Env: d.helmEnvironment(true),
		Secrets: []string{proxy.HTTPProxy.Reveal(), proxy.HTTPSProxy.Reveal()},
	})
	if err != nil {
		return masked(err)
	}
	if err := d.checkHelm(ctx, n); err != nil {
		return fmt.Errorf("kubeadm: %s has run on %s, but there is no Helm for CNFs: %w", d.p.HelmScript, n.HostName, err)
	}
	for _, argv := range [][]string{
		{"mkdir", "-p", "/var/tacker"}, {"install", "-d", "-m", "0755", "-o", d.p.Master.Username, helmCharts},
	} {
		if err := n.RunRoot(ctx, argv, nil, nil, nil); err != nil {
			return err
		}
	}
	if err := giveKubeconfig(ctx, n); err != nil {
		return err
	}
	return put(ctx, n, helmMark, digest+"\n", 0o644)
}

// giveKubeconfig lets the login user reach the API: Tacker's contract is that whoever logs in with helm_info can run
// Helm. The user is root's equal already. One that the user has stays.
func giveKubeconfig(ctx context.Context, n mgmt.Node) error {
	var home strings.Builder
	if err := n.SSH.Run(ctx, []string{"pwd"}, nil, &home, nil); err != nil {
		return err
	}
	dir := path.Join(strings.TrimSpace(home.String()), ".kube")
	name := path.Join(dir, "config")
	if _, err := n.SSH.ReadFile(ctx, sshexec.File{Path: name}); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	config, err := n.SSH.ReadFile(ctx, sshexec.File{Path: adminConf, Root: true})
	if err != nil {
		return err
	}
	if err := n.SSH.Run(ctx, []string{"mkdir", "-p", "-m", "0700", dir}, nil, nil, nil); err != nil {
		return err
	}
	return n.SSH.Upload(ctx, bytes.NewReader(config), sshexec.File{Path: name, Mode: 0o600})
}

// helm runs Helm as root or as the login user.
func (d *deployment) helm(ctx context.Context, n mgmt.Node, root bool, args ...string) error {
	return n.SSH.Exec(ctx, d.helmCommand(root, args...))
}

func (d *deployment) helmCommand(root bool, args ...string) sshexec.Command {
	return sshexec.Command{Argv: append([]string{"helm"}, args...), Root: root, Env: d.helmEnvironment(root)}
}

// helmEnvironment names KUBECONFIG, which is nobody's default, and root's home, which sudo may leave as it was.
func (d *deployment) helmEnvironment(root bool) map[string]string {
	env := d.environment()
	if env == nil {
		env = map[string]string{}
	}
	env["KUBECONFIG"] = adminConf
	if root {
		env["HOME"] = "/root"
	}
	return env
}
