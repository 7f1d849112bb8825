package kubeadm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/addons"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func (e *environment) helm() addons.Helm {
	return addons.Helm{Name: e.p.HelmScript, User: e.p.Master.Username, Env: e.proxyEnvironment(), Secrets: e.proxySecrets(), Log: e.op.Log}
}

// runInstallHelm installs Helm on a control-plane node with the script of helm_installation_script_path. The script runs
// again if Helm does not work, or if another script ran before.
func runInstallHelm(ctx context.Context, e *environment, n mgmt.Node) error {
	name, err := e.op.Package.Artifact(e.p.HelmScript)
	if err != nil {
		return err
	}
	script, err := fs.ReadFile(e.op.Package, name)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(script)
	digest, limit := hex.EncodeToString(sum[:]), e.config.Timeouts.Install
	_, err = vnflcm.Run(ctx, e.op, vnflcm.Step[struct{}]{
		Name: "helm", On: n.ID,
		Probe: func(ctx context.Context) (struct{}, bool, error) {
			done, err := e.helm().Installed(ctx, n, digest, limit)
			return struct{}{}, done, err
		},
		Do: func(ctx context.Context) (struct{}, error) {
			return struct{}{}, mgmt.Within(ctx, limit, func(ctx context.Context) error { return e.helm().Install(ctx, n, script, digest) })
		},
	})
	return err
}

// runRestoreHelm copies the Helm repositories and charts of a node that stayed to a new control-plane node.
func runRestoreHelm(ctx context.Context, e *environment, n mgmt.Node) error {
	from, err := e.kube.Leader(ctx)
	if err != nil {
		return err
	}
	return e.helm().Copy(ctx, from, n)
}
