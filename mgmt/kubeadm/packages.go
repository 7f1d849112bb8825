package kubeadm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// packagesParam is the parameter "packages": where the programs of the nodes come from.
type packagesParam struct {
	Source            string `json:"source"` // fromImage, fromRepository or fromNowhere; default fromImage
	linux.Repository         // of Kubernetes packages
	ContainerdPackage string `json:"containerd_package"` // containerd (default) or containerd.io
	ContainerdVersion string `json:"containerd_version"` // as apt takes it after "="; default: whatever is newest
}

// Where packages come from.
const (
	fromImage      = "image"      // the package sources that the image of the machine is set up with
	fromRepository = "repository" // those, and a repository for Kubernetes
	fromNowhere    = "installed"  // the image holds everything
)

func (p packagesParam) source() string { return cmp.Or(p.Source, fromImage) }

func (c *checker) packages(p *clusterParam) {
	given := p.Packages
	switch given.source() {
	case fromImage, fromRepository, fromNowhere:
	default:
		c.Fault("packages.source", given.Source, "must be image, repository or installed")
	}
	if given.ContainerdPackage != "" && given.ContainerdPackage != "containerd" && given.ContainerdPackage != "containerd.io" {
		c.Fault("packages.containerd_package", given.ContainerdPackage, "must be containerd or containerd.io")
	}
	if given.ContainerdVersion != "" && !linux.IsVersion(given.ContainerdVersion) {
		c.Fault("packages.containerd_version", given.ContainerdVersion, "must be a version of the package, such as 1.7.27-1 or 1.7.*")
	}
	if v := p.version(); strings.HasPrefix(given.ContainerdVersion, "1.") && v.minor > lastMinorOfContainerd1 {
		c.Fault("packages.containerd_version", given.ContainerdVersion, containerdReason(v))
	}
	c.idlePackages(p)
	if given.source() == fromRepository {
		c.Add(vnflcm.AtPath("packages", given.Validate(mgmt.Artifacts(c.Op))))
	}
}

// idlePackages refuses what would have no effect.
func (c *checker) idlePackages(p *clusterParam) {
	given, source := p.Packages, p.Packages.source()
	var idle []string
	if source != fromRepository {
		idle = given.Present()
	}
	if source == fromNowhere && given.ContainerdPackage != "" {
		idle = append(idle, "containerd_package")
	}
	if source == fromNowhere && given.ContainerdVersion != "" {
		idle = append(idle, "containerd_version")
	}
	for _, name := range idle {
		c.Fault("packages."+name, "", "has no effect with packages.source "+source)
	}
	if p.ScriptPath != "" && given.source() != fromImage {
		c.Fault("packages.source", given.Source, "has no effect with script_path: the script installs what it needs")
	}
}

// packages is the package system of a node.
func (d *deployment) packages(n mgmt.Node) linux.Packages {
	proxy := d.p.Proxy
	return linux.Packages{Machine: linux.On(n.SSH), Env: d.environment(), Secrets: []string{proxy.HTTPProxy.Reveal(), proxy.HTTPSProxy.Reveal()}}
}

func (d *deployment) install(ctx context.Context, n mgmt.Node, names ...string) error {
	return d.packages(n).Install(ctx, names...)
}

// checkPackages makes sure, before the machine is changed, that its image or its package sources have the programs of a node.
func (d *deployment) checkPackages(ctx context.Context, n mgmt.Node) error {
	p := d.p.Packages
	switch p.source() {
	case fromNowhere:
		return d.checkInstalled(ctx, n)
	case fromRepository:
		if err := d.packages(n).AddRepository(ctx, "kubernetes", p.Repository, mgmt.Artifacts(d.op)); err != nil {
			return err
		}
	}
	if err := d.packages(n).LookUp(ctx, d.nodePackages()...); err != nil {
		return fmt.Errorf("kubeadm: %s cannot have the packages of a node: %w", n.HostName, err)
	}
	return nil
}

var kubePackages = []string{"kubelet", "kubeadm", "kubectl"}

func (p packagesParam) containerd() string { return cmp.Or(p.ContainerdPackage, "containerd") }

// nodePackages are the packages of a node as apt-get takes them.
func (d *deployment) nodePackages() []string {
	containerd := d.p.Packages.containerd()
	if v := d.p.Packages.ContainerdVersion; v != "" {
		containerd += "=" + v
	}
	names := []string{containerd, "conntrack"}
	for _, name := range kubePackages {
		names = append(names, name+"="+d.p.KubernetesVersion+"-*")
	}
	return names
}

// installPackages installs the programs of a node unless the image has them, and keeps upgrades of the system from changing them.
func (d *deployment) installPackages(ctx context.Context, n mgmt.Node) error {
	if d.p.Packages.source() == fromNowhere {
		return nil
	}
	if err := d.install(ctx, n, d.nodePackages()...); err != nil {
		return err
	}
	return n.RunRoot(ctx, slices.Concat([]string{"apt-mark", "hold"}, kubePackages, []string{d.p.Packages.containerd()}), nil, nil, nil)
}

// checkInstalled makes sure that the image has what its operator says.
func (d *deployment) checkInstalled(ctx context.Context, n mgmt.Node) error {
	want := "v" + d.p.KubernetesVersion
	return d.expect(ctx, n, []program{
		{[]string{"kubeadm", "version", "-o", "short"}, want}, {[]string{"kubelet", "--version"}, "Kubernetes " + want},
		{[]string{"containerd", "--version"}, ""},
	})
}

// program is one that the image must have, and what it must say of its version; "" for any.
type program struct {
	argv []string
	want string
}

// expect names all that is missing, or is another version, at once.
func (d *deployment) expect(ctx context.Context, n mgmt.Node, programs []program) error {
	var lacks []string
	for _, p := range programs {
		var out bytes.Buffer
		err := n.RunRoot(ctx, p.argv, nil, &out, nil)
		if _, failed := errors.AsType[*sshexec.ExitError](err); err != nil && !failed {
			return err
		}
		got := strings.TrimSpace(out.String())
		switch {
		case err != nil:
			lacks = append(lacks, "it lacks "+p.argv[0])
		case p.want != "" && got != p.want:
			lacks = append(lacks, fmt.Sprintf("%s says %q and not %q", p.argv[0], got, p.want))
		}
	}
	if len(lacks) == 0 {
		return nil
	}
	return fmt.Errorf("kubeadm: packages.source is %s, but the image of %s is not so: %s", fromNowhere, n.HostName, strings.Join(lacks, ", "))
}
