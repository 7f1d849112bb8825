package main

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"time"

	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/examples/internal/samples"
	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helmsdk"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/progress"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// realCluster is the id of the VIM of -kubeconfig.
const realCluster = "real-cluster"

// vnfm is a VNF manager for clusters on the sandbox, and for CNFs on any cluster.
type vnfm struct {
	*vnflcm.Manager
	clusterVNFD, cnfVNFD string
	close                func()
}

// helm links Helm into the program.
func helm(cluster *rest.Config, dir string) (helmclient.Client, error) {
	return helmsdk.New(helmsdk.Config{Cluster: cluster, Dir: dir})
}

func compose(ctx context.Context, o options, screen *progress.Screen) (*vnfm, error) {
	v, packages := &vnfm{}, samples.Packages{}
	var err1, err2 error
	v.cnfVNFD, err1 = packages.Add(ctx, o.cnf)
	v.clusterVNFD, err2 = packages.Add(ctx, samples.Package("k8s-cluster"))
	dir, err3 := os.MkdirTemp("", "cnf-helm-*")
	vims, err4 := o.vims()
	// Slow programs take a moment, so that there is something to see.
	world, err5 := sandbox.Open(sandbox.Config{Takes: 300 * time.Millisecond}) //nolint:contextcheck // a world is closed, not cancelled
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return nil, err
	}
	key := make([]byte, 32) // sealed data does not outlive the process
	_, _ = rand.Read(key)   // never fails
	pool := sshexec.NewPool(sshexec.Options{Dial: world.Dial})
	cnf := kubernetes.Config{Helm: helm, Dir: dir}
	if o.kubeconfig == "" {
		cnf.Dial = world.Dial
	}
	driver := kubernetes.New(cnf)
	manager, err := vnflcm.New(ctx, vnflcm.Config{
		Store: store.NewMemory(), Key: key, Packages: vnflcm.PackagesFunc(packages.Find),
		Infra: map[string]vnflcm.InfraDriver{"sandbox": world,
			kubernetes.VimTypeV1: driver, kubernetes.VimTypeV2: driver, kubernetes.VimTypeHelm: driver},
		Mgmt:      map[string]vnflcm.MgmtDriver{"mgmt-drivers-kubernetes": kubeadm.New(kubeadm.Config{Pool: pool})},
		KnownVIMs: vims,
		Observe:   screen.Observe,
	})
	if err != nil {
		return nil, errors.Join(err, pool.Close(), world.Close())
	}
	v.Manager = manager
	v.close = func() {
		_ = errors.Join(manager.Close(context.WithoutCancel(ctx)), pool.Close(), world.Close(), os.RemoveAll(dir))
	}
	return v, nil
}

// vims are where the VNFs come to.
func (o options) vims() (vnflcm.VimConnections, error) {
	if o.kubeconfig == "" {
		return vnflcm.VimConnections{{VimID: "sandbox", VimType: "sandbox"}}, nil
	}
	kubeconfig, err := os.ReadFile(o.kubeconfig)
	if err != nil {
		return nil, err
	}
	access, err := vnflcm.NewParams(map[string]string{"kubeconfig": string(kubeconfig)})
	return vnflcm.VimConnections{{VimID: realCluster, VimType: kubernetes.VimTypeV1, AccessInfo: access}}, err
}
