package addons

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"path"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/jointoken"
	"github.com/vnfkit/vnfkit/sshexec"
)

// Files of Helm on control-plane nodes. The package's script installs Helm. The login user puts charts into helmCharts
// (Tacker's contract).
const (
	helmCharts = "/var/tacker/helm"
	// helmScript is the package's script. The script runs as root, so it is in a directory that only root can write, and
	// not in /tmp.
	helmScript = "/var/lib/vnfkit/install_helm.sh"
	// helmMark has the digest of the script that was run last and has succeeded.
	helmMark = "/var/lib/vnfkit/install_helm.sha256"
	// helmLock is held while the script runs, because a script started by a process that has died continues to run.
	helmLock = "/run/vnfkit-helm.lock"
	// adminConf is the kubeconfig for programs on a control-plane node.
	adminConf = "/etc/kubernetes/admin.conf"
)

// Helm installs Helm on control-plane nodes.
type Helm struct {
	Name    string            // name of the script in the package
	User    string            // login user of the nodes
	Env     map[string]string // the proxy of the nodes
	Secrets []string          // secrets in Env
	Log     *slog.Logger
}

// Installed reports whether the script with this digest has succeeded on the node and Helm works. If the script is running,
// Installed waits until the script has ended, at most for limit.
func (h Helm) Installed(ctx context.Context, n mgmt.Node, digest string, limit time.Duration) (bool, error) {
	err := mgmt.Within(ctx, limit, func(ctx context.Context) error {
		return n.Root().Run(ctx, "flock", helmLock, "true")
	})
	if err != nil {
		return false, err
	}
	mark, err := n.Root().ReadFile(ctx, helmMark)
	if errors.Is(err, fs.ErrNotExist) || err == nil && strings.TrimSpace(string(mark)) != digest {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = h.check(ctx, n)
	if _, failed := errors.AsType[*sshexec.ExitError](err); failed || errors.Is(err, helmclient.ErrInvalid) {
		return false, nil
	}
	return err == nil, err
}

// check returns an error unless Helm runs on the node. The error wraps helmclient.ErrInvalid if this version of Helm cannot
// install CNFs.
func (h Helm) check(ctx context.Context, n mgmt.Node) error {
	version, err := n.SSH.Output(ctx, h.command(true, "version", "--template", "{{.Version}}"))
	if err != nil {
		return err
	}
	return helmclient.CheckProgram(string(version))
}

// Install runs the script on a node, as root, with the proxy variables and KUBECONFIG in its environment.
func (h Helm) Install(ctx context.Context, n mgmt.Node, script []byte, digest string) error {
	if err := n.Root().Write(ctx, helmScript, script, 0o700); err != nil {
		return err
	}
	err := n.Root().Exec(ctx, sshexec.Command{
		Argv: []string{"flock", "-o", helmLock, "bash", helmScript}, Env: h.environment(true),
		Secrets: h.Secrets,
	})
	if err != nil {
		return jointoken.Masked(err)
	}
	if err := h.check(ctx, n); err != nil {
		return fmt.Errorf("kubeadm: %s has run on %s, but there is no Helm for CNFs: %w", h.Name, n.Label(), err)
	}
	for _, argv := range [][]string{
		{"mkdir", "-p", "/var/tacker"}, {"install", "-d", "-m", "0755", "-o", h.User, helmCharts},
	} {
		if err := n.Root().Run(ctx, argv...); err != nil {
			return err
		}
	}
	if err := giveKubeconfig(ctx, n); err != nil {
		return err
	}
	return n.Root().Write(ctx, helmMark, []byte(digest+"\n"), 0o644)
}

// giveKubeconfig copies the administrator's kubeconfig to the login user, because Tacker's contract is that the user of
// helm_info can run Helm. The user can become root already. An existing kubeconfig is left unchanged.
func giveKubeconfig(ctx context.Context, n mgmt.Node) error {
	home, err := n.SSH.Output(ctx, sshexec.Command{Argv: []string{"pwd"}})
	if err != nil {
		return err
	}
	dir := path.Join(strings.TrimSpace(string(home)), ".kube")
	name := path.Join(dir, "config")
	if _, err := n.SSH.ReadFile(ctx, sshexec.File{Path: name}); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	config, err := n.Root().ReadFile(ctx, adminConf)
	if err != nil {
		return err
	}
	if err := n.SSH.Run(ctx, []string{"mkdir", "-p", "-m", "0700", dir}, nil, nil, nil); err != nil {
		return err
	}
	return n.SSH.Upload(ctx, bytes.NewReader(config), sshexec.File{Path: name, Mode: 0o600})
}

// run runs Helm as root or as the login user.
func (h Helm) run(ctx context.Context, n mgmt.Node, root bool, args ...string) error {
	return n.SSH.Exec(ctx, h.command(root, args...))
}

func (h Helm) command(root bool, args ...string) sshexec.Command {
	return sshexec.Command{Argv: append([]string{"helm"}, args...), Root: root, Env: h.environment(root)}
}

// environment adds KUBECONFIG, which has no default on a node, and for root HOME, which sudo may leave unchanged.
func (h Helm) environment(root bool) map[string]string {
	env := maps.Clone(h.Env)
	if env == nil {
		env = map[string]string{}
	}
	env["KUBECONFIG"] = adminConf
	if root {
		env["HOME"] = "/root"
	}
	return env
}
