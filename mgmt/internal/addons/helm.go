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
	"github.com/vnfkit/vnfkit/mgmt/internal/jointoken"
	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/sshexec"
)

// Helm on control-plane nodes: the package's script installs it, and charts are kept in helmCharts, where the login
// user puts them (Tacker's contract).
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

// Helm installs Helm on control-plane nodes.
type Helm struct {
	Name    string            // of the package's script
	User    string            // who logs in to the nodes
	Env     map[string]string // the proxy of the nodes
	Secrets []string          // of Env
	Log     *slog.Logger
}

// Installed reports whether the script of that digest has run to its end on the node, and what it has installed is there. It waits for a
// script that runs, at most for limit.
func (h Helm) Installed(ctx context.Context, n mgmt.Node, digest string, limit time.Duration) (bool, error) {
	err := mgmt.Within(ctx, limit, func(ctx context.Context) error {
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
	err = h.check(ctx, n)
	if _, failed := errors.AsType[*sshexec.ExitError](err); failed || errors.Is(err, helmclient.ErrInvalid) {
		return false, nil
	}
	return err == nil, err
}

// check returns an error unless Helm runs on the node and has a version with which CNFs can be made: helmclient.ErrInvalid.
func (h Helm) check(ctx context.Context, n mgmt.Node) error {
	version, err := n.SSH.Output(ctx, h.command(true, "version", "--template", "{{.Version}}"))
	if err != nil {
		return err
	}
	return helmclient.CheckProgram(string(version))
}

// Install runs the script on a node, as root, with the proxy variables and KUBECONFIG in its environment.
func (h Helm) Install(ctx context.Context, n mgmt.Node, script []byte, digest string) error {
	if err := linux.On(n.SSH).Write(ctx, helmScript, script, 0o700); err != nil {
		return err
	}
	err := n.SSH.Exec(ctx, sshexec.Command{
		Argv: []string{"flock", "-o", helmLock, "bash", helmScript}, Root: true, Env: h.environment(true),
		Secrets: h.Secrets,
	})
	if err != nil {
		return jointoken.Masked(err)
	}
	if err := h.check(ctx, n); err != nil {
		return fmt.Errorf("kubeadm: %s has run on %s, but there is no Helm for CNFs: %w", h.Name, n.HostName, err)
	}
	for _, argv := range [][]string{
		{"mkdir", "-p", "/var/tacker"}, {"install", "-d", "-m", "0755", "-o", h.User, helmCharts},
	} {
		if err := n.RunRoot(ctx, argv, nil, nil, nil); err != nil {
			return err
		}
	}
	if err := giveKubeconfig(ctx, n); err != nil {
		return err
	}
	return linux.On(n.SSH).Write(ctx, helmMark, []byte(digest+"\n"), 0o644)
}

// giveKubeconfig lets the login user reach the API: Tacker's contract is that the user of helm_info can run
// Helm. The user is root's equal already. One that the user has stays.
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
func (h Helm) run(ctx context.Context, n mgmt.Node, root bool, args ...string) error {
	return n.SSH.Exec(ctx, h.command(root, args...))
}

func (h Helm) command(root bool, args ...string) sshexec.Command {
	return sshexec.Command{Argv: append([]string{"helm"}, args...), Root: root, Env: h.environment(root)}
}

// environment adds KUBECONFIG, which has no default on a node, and root's home, which sudo may leave as it was.
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
