package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vnfkit/vnfkit/examples/internal/sealing"
	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/kubespray"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/progress"
	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
)

// vnfm is a VNF manager, composed of parts of the SDK.
type vnfm struct {
	*vnflcm.Manager
	screen *progress.Screen
	vnfdID string
	close  func()
}

// compose makes the manager on the state directory.
func compose(ctx context.Context, o options, screen *progress.Screen) (*vnfm, error) {
	pkg, err1 := tosca.Open(ctx, o.pkg)
	vim, err2 := openstack.VIMFromClouds(o.cloud)
	if err := errors.Join(err1, err2, os.MkdirAll(o.state, 0o700)); err != nil {
		return nil, err
	}
	vnfdID := pkg.VNFD().ID
	vim.VimID = "cloud"
	key, err1 := sealing.Key(filepath.Join(o.state, "key"))
	store, err2 := sqlite.Open(ctx, filepath.Join(o.state, "state.db"))
	if err := errors.Join(err1, err2, pkg.Close()); err != nil {
		return nil, err
	}
	archives, err := o.archives()
	if err != nil {
		return nil, err
	}
	heat := openstack.New(openstack.Config{UserData: map[string]openstack.UserData{ // the classes of Tacker's sample packages
		"KubernetesClusterUserData": openstack.DefaultUserData, "SampleUserData": openstack.DefaultUserData}})
	pool := sshexec.NewPool(sshexec.Options{})
	manager, err := vnflcm.New(ctx, vnflcm.Config{
		Store: store, Key: key,
		Packages: vnflcm.DirPackages(o.pkg),
		Infra:    map[string]vnflcm.InfraDriver{openstack.VimTypeV1: heat, openstack.VimTypeV2: heat},
		Mgmt: map[string]vnflcm.MgmtDriver{ // the VNFD says which
			"mgmt-drivers-kubernetes": kubeadm.New(kubeadm.Config{Pool: pool, ConfirmWholeHeal: true}),
			"mgmt-drivers-kubespray":  kubespray.New(kubespray.Config{Pool: pool, ConfirmWholeHeal: true}),
		},
		Snapshots:  archives,
		KnownVIMs:  vnflcm.VimConnections{vim},
		AcceptOnly: o.plan || o.reads(), // the operations of another process, or of an earlier one, are left alone
		Observe:    screen.Observe,
	})
	if err != nil {
		return nil, err
	}
	v := &vnfm{Manager: manager, screen: screen, vnfdID: vnfdID}
	v.close = func() {
		_ = errors.Join(manager.Close(context.WithoutCancel(ctx)), pool.Close(), store.Close())
	}
	return v, nil
}

// readRequest reads the instantiate request and puts the network into it.
func (o options) readRequest() (request vnflcm.InstantiateVnfRequest, err error) {
	if err := decodeFile(o.request, &request); err != nil {
		return request, err
	}
	request.VimConnectionInfo = nil // the default VIM, from clouds.yaml
	for i := range request.ExtVirtualLinks {
		if o.network != "" {
			request.ExtVirtualLinks[i].ResourceID = o.network
		}
	}
	return request, nil
}

// decodeFile reads a document of SOL003 and names the attributes without effect.
func decodeFile(name string, into any) error {
	data, err := os.ReadFile(name) //nolint:gosec // the user's own
	if err != nil {
		return err
	}
	warnings, err := vnflcm.DecodeRequest(data, into)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if len(warnings) > 0 {
		fmt.Fprintf(os.Stderr, "attributes of %s without effect: %q\n", name, warnings)
	}
	return nil
}
