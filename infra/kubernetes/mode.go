package kubernetes

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helmcli"
	"github.com/vnfkit/vnfkit/internal/hostkeys"
	"github.com/vnfkit/vnfkit/internal/jumphost"
	"github.com/vnfkit/vnfkit/internal/kubeaccess"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// helm is a client for the releases of one VNF instance.
type helm struct {
	helmclient.Client
	// forget removes the files of the instance: charts, repositories, caches.
	forget func(context.Context) error
}

// byCLI decides whether the helm program on machines or this process runs Helm for a VIM. If neither is possible, the
// request has a fault.
func (d *Driver) byCLI(vim vnflcm.VimConnectionInfo) (*helmInfo, bool, error) {
	info, err := readHelmInfo(vim)
	switch {
	case d.cfg.HelmBy == SDK && d.cfg.Helm == nil:
		return nil, false, &vnflcm.ParamError{Path: helmInfoPath, Reason: "Helm cannot be run: Config.HelmBy is SDK, and Config.Helm is missing"}
	case d.cfg.HelmBy == SDK:
		return nil, false, nil
	case err != nil:
		return nil, false, err
	case info == nil && (d.cfg.HelmBy == CLI || d.cfg.Helm == nil):
		return nil, false, &vnflcm.ParamError{Path: helmInfoPath,
			Reason: "is required: masternode_ip, masternode_username and masternode_password of machines that have Helm, as this VNFM does not run Helm itself"}
	case info == nil:
		return nil, false, nil
	case d.cfg.SSH == nil:
		return nil, false, &vnflcm.ParamError{Path: helmInfoPath, Reason: "names machines that have Helm, and this VNFM has no SSH (Config.SSH) to reach them"}
	}
	return info, true, nil
}

// remoteDir is the folder for charts and repositories of an instance on machines of the cluster, as Tacker's
// specification names it.
func remoteDir(instanceID string) string { return "/var/tacker/helm/" + instanceID }

func (d *Driver) openHelm(op *vnflcm.Operation, cluster *kubeaccess.Cluster) (*helm, error) {
	info, cli, err := d.byCLI(op.VIM)
	if err != nil {
		return nil, err
	}
	if cli {
		return d.openCLI(op, info)
	}
	if d.cfg.Dir == "" {
		return nil, fmt.Errorf("%w: Config.Dir is needed with Config.Helm", vnflcm.ErrProgramming)
	}
	dir := d.dir(op)
	client, err := d.cfg.Helm(cluster.Config, dir)
	if err != nil {
		return nil, err
	}
	return &helm{Client: client, forget: func(context.Context) error { return os.RemoveAll(dir) }}, nil
}

// dir returns the folder of an instance's files for Helm in the process.
func (d *Driver) dir(op *vnflcm.Operation) string { return filepath.Join(d.cfg.Dir, op.InstanceID) }

// ForgetInstance implements vnflcm.InstanceForgetter: it removes the files of Helm in the process, and the charts in
// Config.Charts.
func (d *Driver) ForgetInstance(ctx context.Context, op *vnflcm.Operation) error {
	if err := op.Check(); err != nil {
		return err
	}
	d.deleteCharts(ctx, op)
	if d.cfg.Dir == "" {
		return nil
	}
	return os.RemoveAll(d.dir(op))
}

func (d *Driver) openCLI(op *vnflcm.Operation, info *helmInfo) (*helm, error) {
	store := hostKeys{hostkeys.Of(op)}
	via, _, err := jumphost.Target(op.VIM, store)
	if err != nil {
		return nil, err
	}
	cfg := helmcli.Config{Dir: remoteDir(op.InstanceID), Log: op.Log}
	for _, address := range info.Addresses {
		target, err := info.target(address, via, op.VIM.FromOperator, store)
		if err != nil {
			return nil, err
		}
		cfg.Machines = append(cfg.Machines, helmcli.Machine{Name: address, Runner: d.cfg.SSH.Host(target)})
	}
	client, err := helmcli.New(cfg)
	if err != nil {
		return nil, err
	}
	return &helm{Client: client, forget: client.RemoveFiles}, nil
}
