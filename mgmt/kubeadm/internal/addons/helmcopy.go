package addons

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/jointoken"
	"github.com/vnfkit/vnfkit/sshexec"
)

// Copy copies the Helm repositories of root and of the login user, and the charts, from a healthy control-plane node to a
// new one. Call it after Install. The files pass through this process, so the nodes need no connection to each other, and
// no password of a repository is on a command line.
func (h Helm) Copy(ctx context.Context, from, to mgmt.Node) error {
	err := h.run(ctx, from, true, "version", "--short")
	if _, failed := errors.AsType[*sshexec.ExitError](err); failed {
		h.Log.WarnContext(ctx, "there is no Helm to bring back: the cluster was made without", "host", from.Label())
		return nil
	}
	if err != nil {
		return err
	}
	for _, root := range []bool{true, false} {
		if err := h.restoreRepositories(ctx, from, to, root); err != nil {
			return err
		}
	}
	return h.restoreCharts(ctx, from, to)
}

// restoreRepositories copies the list of repositories of one user, with the credentials in it.
func (h Helm) restoreRepositories(ctx context.Context, from, to mgmt.Node, root bool) error {
	source, err := h.repositoryFile(ctx, from, root)
	if err != nil {
		return err
	}
	list, err := from.SSH.ReadFile(ctx, sshexec.File{Path: source, Root: root})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	repositories, err := repositoriesOf(list)
	if err != nil {
		return fmt.Errorf("kubeadm: %s: %s: %w", from.Label(), source, err)
	}
	if len(repositories) == 0 {
		return nil
	}
	target, err := h.repositoryFile(ctx, to, root)
	if err != nil {
		return err
	}
	if err := to.SSH.Exec(ctx, sshexec.Command{Argv: []string{"mkdir", "-p", "-m", "0700", path.Dir(target)}, Root: root}); err != nil {
		return err
	}
	if err := to.SSH.Upload(ctx, bytes.NewReader(list), sshexec.File{Path: target, Mode: 0o600, Root: root}); err != nil {
		return err
	}
	for _, r := range repositories {
		if r.CAFile != "" || r.CertFile != "" || r.KeyFile != "" {
			h.Log.WarnContext(ctx, "certificates of a Helm repository are not copied", "host", to.Label(), "repository", r.Name)
		}
	}
	// Fetch the indexes again. A repository that does not answer now may answer later, so a failure is only logged.
	if err := h.run(ctx, to, root, "repo", "update"); err != nil {
		if _, failed := errors.AsType[*sshexec.ExitError](err); !failed {
			return err
		}
		h.Log.WarnContext(ctx, "not every Helm repository could be read: run helm repo update when they answer", "host", to.Label(), "error", jointoken.Masked(err))
	}
	return nil
}

// repository is an entry of Helm's repositories.yaml, with the fields that Copy reads.
type repository struct {
	Name     string `yaml:"name"`
	CAFile   string `yaml:"caFile"`
	CertFile string `yaml:"certFile"`
	KeyFile  string `yaml:"keyFile"`
}

func repositoriesOf(list []byte) ([]repository, error) {
	var file struct {
		Repositories []repository `yaml:"repositories"`
	}
	if err := yaml.Unmarshal(list, &file); err != nil {
		// The parser's error may quote a password, so it is not wrapped.
		return nil, errors.New("is no list of Helm repositories")
	}
	return file.Repositories, nil
}

// repositoryFile returns the path of the file in which Helm stores the repositories of a user.
func (h Helm) repositoryFile(ctx context.Context, n mgmt.Node, root bool) (string, error) {
	out, err := n.SSH.Output(ctx, h.command(root, "env"))
	if err != nil {
		return "", err
	}
	name := Variable(string(out), "HELM_REPOSITORY_CONFIG")
	if !path.IsAbs(name) || path.Clean(name) != name {
		return "", fmt.Errorf("kubeadm: %s: helm env names no file as HELM_REPOSITORY_CONFIG: %.200q", n.Label(), name)
	}
	return name, nil
}

// Variable reads a line NAME="value" of helm env.
func Variable(out, name string) string {
	for line := range strings.Lines(out) {
		if quoted, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			if value, err := strconv.Unquote(quoted); err == nil {
				return value
			}
			return quoted
		}
	}
	return ""
}

// mostCharts bounds what restoreCharts copies: Helm accepts charts of a few MiB.
const mostCharts = 1 << 30

// restoreCharts copies the charts. It reads them as root, because any user may own them, and writes them as the login user,
// who owns the directory.
func (h Helm) restoreCharts(ctx context.Context, from, to mgmt.Node) error {
	exists, err := from.Root().Succeeds(ctx, "test", "-d", helmCharts)
	if !exists || err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "vnfkit-helm-")
	if err != nil {
		return err
	}
	err = from.Root().DownloadTree(ctx, dir, sshexec.Tree{Path: helmCharts, Limits: sshexec.TreeLimits{Bytes: mostCharts}})
	if errors.Is(err, sshexec.ErrIrregular) {
		h.Log.WarnContext(ctx, "not everything beside the charts could be copied", "host", from.Label(), "error", err)
		err = nil
	}
	if err == nil {
		err = to.SSH.UploadTree(ctx, os.DirFS(dir), sshexec.Tree{Path: helmCharts})
	}
	return errors.Join(err, os.RemoveAll(dir))
}
