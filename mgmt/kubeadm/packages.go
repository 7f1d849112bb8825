package kubeadm

import (
	"fmt"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/nodeprep"
	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func (c *checker) packages(p *clusterParam) {
	given := p.Packages
	switch given.From() {
	case nodeprep.FromImage, nodeprep.FromRepository, nodeprep.FromMirrors, nodeprep.FromNowhere:
	default:
		c.Fault("packages.source", given.Source, "must be image, repository, mirrors or installed")
	}
	if given.ContainerdPackage != "" && given.ContainerdPackage != "containerd" && given.ContainerdPackage != "containerd.io" {
		c.Fault("packages.containerd_package", given.ContainerdPackage, "must be containerd or containerd.io")
	}
	if given.ContainerdVersion != "" && !linux.IsVersion(given.ContainerdVersion) {
		c.Fault("packages.containerd_version", given.ContainerdVersion, "must be a version of the package, such as 1.7.27-1 or 1.7.*")
	}
	if strings.HasPrefix(given.ContainerdVersion, "1.") {
		if err := nodeprep.CheckContainerd(1, p.KubernetesVersion); err != nil {
			c.Fault("packages.containerd_version", given.ContainerdVersion, err.Error())
		}
	}
	c.ownContainerd(p)
	c.idlePackages(p)
	if given.From() == nodeprep.FromRepository {
		c.Add(vnflcm.AtPath("packages", given.Validate(mgmt.Artifacts(c.Op))))
	}
	if given.From() != nodeprep.FromMirrors {
		return
	}
	if len(given.Mirrors) == 0 {
		c.Fault("packages.mirrors", "", "is required with packages.source mirrors: the repositories that have the packages of the system and of Kubernetes")
	}
	for i, r := range given.Mirrors {
		c.Add(vnflcm.AtPath(fmt.Sprintf("packages.mirrors[%d]", i), r.Validate(mgmt.Artifacts(c.Op))))
	}
}

// ownContainerd refuses to create a cluster with the package containerd of the supported systems, which is version 1, if it is too old.
func (c *checker) ownContainerd(p *clusterParam) {
	given := p.Packages
	if c.Op.Kind != vnflcm.OpInstantiate || p.ScriptPath != "" || given.From() == nodeprep.FromNowhere ||
		given.ContainerdPackage == "containerd.io" || given.ContainerdVersion != "" {
		return
	}
	if err := nodeprep.CheckContainerd(1, p.KubernetesVersion); err != nil {
		c.Fault("packages.containerd_version", "", "is required, unless containerd_package is containerd.io: version 1, which Debian and Ubuntu have, "+err.Error())
	}
}

// idlePackages refuses parameters that would have no effect.
func (c *checker) idlePackages(p *clusterParam) {
	given, source := p.Packages, p.Packages.From()
	var idle []string
	if source != nodeprep.FromRepository {
		idle = given.Present()
	}
	if source != nodeprep.FromMirrors && len(given.Mirrors) > 0 {
		idle = append(idle, "mirrors")
	}
	if source == nodeprep.FromNowhere && given.ContainerdPackage != "" {
		idle = append(idle, "containerd_package")
	}
	if source == nodeprep.FromNowhere && given.ContainerdVersion != "" {
		idle = append(idle, "containerd_version")
	}
	for _, name := range idle {
		c.Fault("packages."+name, "", "has no effect with packages.source "+source)
	}
	if p.ScriptPath != "" && given.From() != nodeprep.FromImage {
		c.Fault("packages.source", given.Source, "has no effect with script_path: the script installs what it needs")
	}
}
