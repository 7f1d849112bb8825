package kubeadm

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt/registry/client"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// This file has what a cluster needs whose machines reach no public registry.

// repositoryForm matches a registry, which has a dot or a port, and a path in it.
var repositoryForm = regexp.MustCompile(`^(localhost|[A-Za-z0-9]([A-Za-z0-9-]*\.)[A-Za-z0-9.-]*[A-Za-z0-9]|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?:[0-9]{1,5})(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$`)

// imageRepository checks the registry of the images. It stays for the life of the cluster.
func (c *checker) imageRepository(p *clusterParam) {
	if p.ImageRepository == "" {
		return
	}
	if !repositoryForm.MatchString(p.ImageRepository) {
		c.Fault("image_repository", p.ImageRepository, "must be a registry, with a path or without, such as registry.example.com:5000/kubernetes")
	}
	if p.ScriptPath != "" {
		c.Fault("image_repository", "", "has no effect with script_path: the script runs kubeadm")
	}
}

// checkRepository refuses another image_repository than the one of the cluster.
func (p *parameters) checkRepository(op *vnflcm.Operation) error {
	if op.Kind == vnflcm.OpInstantiate {
		return nil
	}
	var initial parameters
	_, _ = op.Initial.AdditionalParams.Decode(&initial) // read has reported the error
	if op.ChangeVnfPkg != nil || p.Cluster.ImageRepository == initial.Cluster.ImageRepository {
		return nil // checkPackageChange reports it
	}
	return &vnflcm.ParamError{Path: clusterPath + ".image_repository", Value: p.Cluster.ImageRepository,
		Reason: fmt.Sprintf("is %q for the life of the cluster: give registry_mirrors, which may change, or instantiate another VNF", initial.Cluster.ImageRepository)}
}

// fromRepository returns the name of an image of a public registry in image_repository.
func (p *clusterParam) fromRepository(image string) string {
	if p.ImageRepository == "" {
		return image
	}
	return p.ImageRepository + "/" + path.Base(image)
}

// networkImages returns the images of the pod network, which every node runs. The images in a manifest of the package are not known.
func (p *clusterParam) networkImages() []string {
	if !p.usesFlannel() {
		return nil
	}
	return []string{p.flannelImage(), p.flannelPlugin()}
}

// imageServers returns the connections to the servers that have the images of a cluster, and of private registries.
func (p *clusterParam) imageServers() client.Connections {
	all := p.connections()
	server, _, _ := strings.Cut(p.ImageRepository, "/")
	if server != "" && !slices.ContainsFunc(all, func(c client.Connection) bool { return c.Server == server }) {
		all = append(all, client.Connection{Type: client.HTTPS, Server: server})
	}
	return all
}

// needsServer reports whether no node can be set up without a server of imageServers. Another registry may be made later.
func (p *clusterParam) needsServer(c client.Connection) bool {
	server, _, _ := strings.Cut(p.ImageRepository, "/")
	return c.ProbeImage != "" || c.Mirror != "" || c.Server == server
}

// imageRemedy says how a node gets an image that it cannot pull.
func (p *clusterParam) imageRemedy() string {
	const list = `: "k8s-cluster images" lists all images`
	switch {
	case p.ImageRepository != "":
		return "push it to " + p.ImageRepository + list
	case len(p.Mirrors) > 0:
		return "push it to the server in registry_mirrors" + list
	}
	return "let the machine reach the registry, or give registry_mirrors or image_repository"
}
