package packages

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

//go:embed all:cnf all:cnf-mciop all:k8s-cluster all:k8s-cluster-kubespray all:private-registry
var files embed.FS

// Sample is a sample package.
type Sample struct {
	Name   string // of its folder
	VNFDID string // for vnflcm.CreateVnfRequest

	next  *edition
	first *Sample // of a second version
}

// The sample packages.
var (
	// KubernetesCluster is for mgmt/kubeadm, on infra/sandbox or infra/openstack.
	KubernetesCluster = Sample{Name: "k8s-cluster", VNFDID: "6a1c2f0e-1d6e-4f4e-9a3c-0d5b6a7c8ea0",
		next: machines("6a1c2f0e-1d6e-4f4e-9a3c-0d5b6a7c8ea1", "k8s_cluster_top.vnfd.yaml", "simple", "complex")}
	// KubesprayCluster is for mgmt/kubespray, on infra/sandbox or infra/openstack.
	KubesprayCluster = Sample{Name: "k8s-cluster-kubespray", VNFDID: "1b7a4b52-4c1f-4f0e-8c43-6f2e1a9d5c70",
		next: moreWorkers("1b7a4b52-4c1f-4f0e-8c43-6f2e1a9d5c71", "k8s_cluster_kubespray_top.vnfd.yaml", "simple", "complex")}
	// PrivateRegistry is for mgmt/registry, on infra/sandbox or infra/openstack.
	PrivateRegistry = Sample{Name: "private-registry", VNFDID: "b3d9c1e4-7a52-4c0e-9f1b-2e6a8d4c5f71",
		next: machines("b3d9c1e4-7a52-4c0e-9f1b-2e6a8d4c5f72", "private_registry_top.vnfd.yaml", "simple", "volume")}
	// CNF is for infra/kubernetes, with Tacker's attributes in the requests.
	CNF = Sample{Name: "cnf", VNFDID: "5f0c2b7e-93d4-4a68-b1c5-7d2e9a4f6081",
		next: pods("5f0c2b7e-93d4-4a68-b1c5-7d2e9a4f6082", "cnf_top.vnfd.yaml")}
	// CNFOfMCIOPs is for infra/kubernetes. Its charts are MCIOPs of the VNFD (SOL001 v4.3.1).
	CNFOfMCIOPs = Sample{Name: "cnf-mciop", VNFDID: "8d1f6a52-0c3e-4b79-a6d4-2e9f7b1c5a03",
		next: pods("8d1f6a52-0c3e-4b79-a6d4-2e9f7b1c5a04", "cnf.vnfd.yaml")}
)

// FS returns the files of the package.
func (s Sample) FS() (fs.FS, error) {
	if s.first != nil {
		return s.first.next.write(*s.first)
	}
	return fs.Sub(files, s.Name)
}

// Find is a function for vnflcm.PackagesFunc. The error is vnflcm.ErrNotFound if another package has the id.
func (s Sample) Find(_ context.Context, _, vnfdID string) (tosca.Source, error) {
	if vnfdID != s.VNFDID {
		return tosca.Source{}, vnflcm.ErrNotFound
	}
	dir, err := s.FS()
	return tosca.FS(dir), err
}

// Request reads an instantiate request in the folder requests of the package, such as instantiate_sandbox.json. The error is
// fs.ErrNotExist if the folder has no such file.
func (s Sample) Request(file string) (request vnflcm.InstantiateVnfRequest, err error) {
	dir, err := s.FS()
	if err != nil {
		return request, err
	}
	data, err := fs.ReadFile(dir, "requests/"+file)
	if err != nil {
		return request, err
	}
	if _, err := vnflcm.DecodeRequest(data, &request); err != nil {
		return request, fmt.Errorf("%s: %w", file, err)
	}
	return request, nil
}
