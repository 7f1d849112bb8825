package kubeadm

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/addons"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/controlplane"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/jointoken"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/nodeprep"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Functions for the fuzz tests of parsers and quoting.
var (
	WithoutSwap = nodeprep.WithoutSwap
	ScriptLine  = controlplane.Line
	CAHash      = controlplane.CAHash
	HelmVar     = addons.Variable
	NewToken    = jointoken.New

	WithPause = nodeprep.WithPause

	UpgradePath   = upgradePath
	UpgradeChecks = upgradeChecks
	PathForm      = pathForm
	ExportTarget  = exportTarget

	PreflightChecks = preflightChecks
)

// ParseVolume reads the manifest of a persistent volume.
func ParseVolume(text []byte) (name string, manifest []byte, err error) {
	v, err := parseVolume(text)
	if err != nil {
		return "", nil, err
	}
	manifest, err = json.Marshal(v.object)
	return v.name, manifest, err
}

// RestoreHelm copies the Helm repositories and charts of the first control-plane node to the last.
func (d *Driver) RestoreHelm(ctx context.Context, op *vnflcm.Operation) error {
	dep, err := d.open(ctx, op)
	if err != nil {
		return err
	}
	defer dep.kube.Close()
	to := dep.controlPlane[len(dep.controlPlane)-1]
	return to.Do(ctx, op, "restore-helm", time.Minute, func(ctx context.Context) error { return dep.helm().Copy(ctx, dep.controlPlane[0], to) })
}

// UpgradeTasks returns the tasks of an upgrade to one version of a cluster of that size.
func UpgradeTasks(controlPlane, workers, maxUnavailable int) []vnflcm.PlannedTask {
	c := clusterShape{Virtual: true, Upgrade: upgradeShape{Path: []string{"1.36.3"}, ControlPlane: true, MaxUnavailable: maxUnavailable}}
	for i := range controlPlane {
		c.ControlPlane = append(c.ControlPlane, machine{ID: fmt.Sprintf("m%d", i)})
	}
	for i := range workers {
		c.Workers = append(c.Workers, machine{ID: fmt.Sprintf("w%d", i)})
	}
	c.Upgrade.Kubelets = c.nodes()
	return upgrade(c).Preview()
}

// TerminateWithoutWorkers returns the tasks of a graceful termination of a cluster that has no workers.
func TerminateWithoutWorkers() []vnflcm.PlannedTask {
	return terminate(clusterShape{Graceful: true}).Preview()
}
