package kubeadm

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/kubeversion"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/nodeprep"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Needs are the images and packages of a cluster, for a site whose machines reach no public server.
type Needs struct {
	Images []NeededImage
	// Packages are arguments of apt-get, such as "kubeadm=1.36.3-*". apt-get also installs the packages on which these depend.
	Packages []string
}

// NeededImage is an image that nodes of a cluster pull.
type NeededImage struct {
	Public string // name in the public registry
	Name   string // name by which nodes pull the image; with image_repository another one than Public
	// ForUpgrade is set for an image that an upgrade to the version needs, and a new cluster does not.
	ForUpgrade bool
}

// publicRepository is the default of kubeadm's imageRepository.
const publicRepository = "registry.k8s.io/"

// NeedsOf returns the images and packages that a cluster with this version of Kubernetes needs. additionalParams are the parameters of the
// request, or the zero value for the defaults. NeedsOf leaves out the images of a cni_manifest_path, which is a file of the package, and does not
// read tags and repositories in cluster_configuration. It returns an error for a version whose images the driver does not know, and for parameters
// of a script_path, which installs programs itself.
func NeedsOf(version string, additionalParams vnflcm.Params) (Needs, error) {
	var p parameters
	if _, err := additionalParams.Decode(&p); err != nil {
		return Needs{}, vnflcm.AtPath("additionalParams", err)
	}
	c := &p.Cluster
	c.KubernetesVersion = version
	tags, known := kubeversion.TagsOf(version)
	switch {
	case !known:
		return Needs{}, fmt.Errorf("kubeadm: the images of Kubernetes %q are not known, those of %s are: \"kubeadm config images list --kubernetes-version v%s\" with kubeadm of the version lists them",
			version, kubeversion.Known(), version)
	case c.ScriptPath != "":
		return Needs{}, errors.New("kubeadm: the images and packages of script_path are not known")
	}
	return Needs{Images: c.neededImages(tags), Packages: c.neededPackages()}, nil
}

func (p *clusterParam) neededImages(tags kubeversion.Tags) (out []NeededImage) {
	version := ":v" + p.KubernetesVersion
	for _, image := range []string{"kube-apiserver" + version, "kube-controller-manager" + version, "kube-scheduler" + version, "kube-proxy" + version,
		"coredns/coredns:" + tags.CoreDNS, "pause:" + tags.Pause, "etcd:" + tags.Etcd} {
		out = append(out, NeededImage{Public: publicRepository + image, Name: p.fromRepository(publicRepository + image)})
	}
	if hop(p.KubernetesVersion).needsEtcdBefore() {
		image := publicRepository + "etcd:" + etcdBefore37Tag
		out = append(out, NeededImage{Public: image, Name: p.fromRepository(image), ForUpgrade: true})
	}
	if !p.usesFlannel() {
		return out
	}
	return append(out, NeededImage{Public: cmp.Or(p.Flannel.Image, defaultFlannelImage), Name: p.flannelImage()},
		NeededImage{Public: cmp.Or(p.Flannel.CNIPluginImage, defaultFlannelPlugin), Name: p.flannelPlugin()})
}

func (p *clusterParam) neededPackages() []string {
	if p.Packages.From() == nodeprep.FromNowhere {
		return nil
	}
	names := nodeprep.Settings{Version: p.KubernetesVersion, Packages: p.Packages}.NodePackages()
	switch {
	case p.Balancer != nil && p.Balancer.ScriptPath == "":
		names = append(names, "haproxy", "iproute2")
	case p.Balancer == nil && p.APIEndpoint == "" && (p.Master.ClusterCPName == "" || p.Master.ClusterCPName != p.Master.SSHCPName):
		names = append(names, "haproxy", "keepalived") // of a virtual address
	}
	if p.Storage != nil {
		names = append(names, "nfs-common", "nfs-kernel-server")
	}
	return names
}
