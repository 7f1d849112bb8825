package nodeprep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/kubeversion"
	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/sshexec"
)

// Packages is the parameter "packages": the source of the programs of the nodes.
type Packages struct {
	Source            string             `json:"source"` // FromImage, FromRepository, FromMirrors or FromNowhere; default FromImage
	linux.Repository                     // repository of Kubernetes packages
	Mirrors           []linux.Repository `json:"mirrors"`            // with FromMirrors: all package sources
	ContainerdPackage string             `json:"containerd_package"` // containerd (default) or containerd.io
	ContainerdVersion string             `json:"containerd_version"` // in the form of apt after "="; default: the newest
}

// The sources of packages.
const (
	FromImage      = "image"      // the package sources that the machine's image has
	FromRepository = "repository" // the same, and a repository for Kubernetes
	FromMirrors    = "mirrors"    // mirrors only; the sources of the image are not used
	FromNowhere    = "installed"  // none: the image has all programs
)

// From returns the source of the packages.
func (p Packages) From() string { return cmp.Or(p.Source, FromImage) }

// mirrorParts is the folder with the package sources of FromMirrors. The sources of the image stay as they are.
const mirrorParts = "/etc/apt/vnfkit-sources.d"

// packages returns the package manager of a node.
func (s Settings) packages(n mgmt.Node) linux.Packages {
	p := linux.Packages{Machine: n.Root(), Env: s.Env, Secrets: s.Secrets}
	if s.Packages.From() == FromMirrors {
		p.SourceParts = mirrorParts
	}
	return p
}

func (s Settings) install(ctx context.Context, n mgmt.Node, names ...string) error {
	if err := s.setMirrors(ctx, n); err != nil {
		return err
	}
	return s.packages(n).Install(ctx, names...)
}

// Repositories returns the repositories of the request.
func (p *Packages) Repositories() []linux.Repository {
	switch {
	case p == nil:
	case p.From() == FromRepository:
		return []linux.Repository{p.Repository}
	case p.From() == FromMirrors:
		return p.Mirrors
	}
	return nil
}

// setMirrors writes the mirrors of the request. Within an upgrade the repositories of the version before are there, too.
func (s Settings) setMirrors(ctx context.Context, n mgmt.Node) error {
	if s.Packages.From() != FromMirrors {
		return nil
	}
	all := s.Packages.Mirrors
	for _, r := range s.Before.Repositories() {
		if !slices.ContainsFunc(all, func(other linux.Repository) bool { return reflect.DeepEqual(r, other) }) {
			all = append(slices.Clone(all), r)
		}
	}
	return s.packages(n).SetRepositories(ctx, all, s.Artifacts)
}

// CheckPackages checks that the image or the package sources of a machine have the programs of a node. Call it before the
// machine is changed.
func (s Settings) CheckPackages(ctx context.Context, n mgmt.Node) error {
	if s.Packages.From() == FromNowhere {
		return s.checkInstalled(ctx, n)
	}
	return s.lookUp(ctx, n, s.NodePackages()...)
}

// CheckOffered returns an error if the image, or the newest package that the sources of a machine offer, has a containerd that is too old for this
// version of Kubernetes. The version that a request gives is checked with the request. Call CheckOffered after CheckPackages.
func (s Settings) CheckOffered(ctx context.Context, n mgmt.Node) error {
	if CheckContainerd(1, s.Version) == nil || s.Packages.ContainerdVersion != "" {
		return nil
	}
	if s.Packages.From() == FromNowhere {
		return s.CheckRuntime(ctx, n)
	}
	offered, err := s.packages(n).Offered(ctx, s.Packages.containerd())
	if err != nil {
		return err
	}
	version := offered
	if _, after, hasEpoch := strings.Cut(offered, ":"); hasEpoch {
		version = after
	}
	if strings.HasPrefix(version, "1.") {
		return fmt.Errorf("kubeadm: the package sources of %s have %s %s, which %s", n.Label(), s.Packages.containerd(), offered, containerdReason(kubeversion.Minor(s.Version)))
	}
	return nil
}

// CheckUpgrade checks that the package sources of a node have the programs of Kubernetes.
func (s Settings) CheckUpgrade(ctx context.Context, n mgmt.Node) error {
	var names []string
	for _, name := range kubePackages {
		names = append(names, s.pinned(name))
	}
	if s.Packages.ContainerdVersion != "" {
		names = append(names, s.Runtime())
	}
	return s.lookUp(ctx, n, names...)
}

// lookUp adds the repository, and returns an error if packages cannot be installed. The repository before is added only for packages that the
// other sources do not have.
func (s Settings) lookUp(ctx context.Context, n mgmt.Node, names ...string) error {
	if err := errors.Join(s.setMirrors(ctx, n), s.addRepositories(ctx, n, "kubernetes", &s.Packages)); err != nil {
		return err
	}
	err := s.packages(n).LookUp(ctx, names...)
	if err != nil && len(s.Before.Repositories()) > 0 {
		if err := s.addRepositories(ctx, n, "kubernetes-before", s.Before); err != nil {
			return err
		}
		err = s.packages(n).LookUp(ctx, names...)
	}
	if err != nil {
		return fmt.Errorf("kubeadm: %s cannot have the packages of a node: %w", n.Label(), err)
	}
	return nil
}

// addRepositories adds repositories to the sources of the image, unless these are not used.
func (s Settings) addRepositories(ctx context.Context, n mgmt.Node, name string, p *Packages) error {
	if s.Packages.From() == FromMirrors {
		return nil
	}
	for i, r := range p.Repositories() {
		file := name
		if i > 0 {
			file += fmt.Sprintf("-%d", i+1)
		}
		if err := s.packages(n).AddRepository(ctx, file, r, s.Artifacts); err != nil {
			return err
		}
	}
	return nil
}

var kubePackages = []string{"kubelet", "kubeadm", "kubectl"}

func (p Packages) containerd() string { return cmp.Or(p.ContainerdPackage, "containerd") }

// Runtime returns the package of the container runtime as an argument of apt-get.
func (s Settings) Runtime() string {
	if v := s.Packages.ContainerdVersion; v != "" {
		return s.Packages.containerd() + "=" + v
	}
	return s.Packages.containerd()
}

// NodePackages returns the packages of a node as arguments of apt-get.
func (s Settings) NodePackages() []string {
	names := []string{s.Runtime(), "conntrack"}
	for _, name := range kubePackages {
		names = append(names, s.pinned(name))
	}
	return names
}

// pinned returns a package of Kubernetes with its version as an argument of apt-get.
func (s Settings) pinned(name string) string {
	version := s.Version
	if name == "kubelet" {
		version = cmp.Or(s.KubeletVersion, version)
	}
	return name + "=" + version + "-*"
}

// InstallPackages installs the programs of a node, unless the image has them, and prevents upgrades of the system from
// changing them.
func (s Settings) InstallPackages(ctx context.Context, n mgmt.Node) error {
	if s.Packages.From() == FromNowhere {
		return nil
	}
	if err := s.install(ctx, n, s.NodePackages()...); err != nil {
		return err
	}
	return n.Root().Run(ctx, slices.Concat([]string{"apt-mark", "hold"}, kubePackages, []string{s.Packages.containerd()})...)
}

// UpgradePackages installs packages of a node in the version of s: of Kubernetes, by their names, and what Runtime returns. They stay held.
func (s Settings) UpgradePackages(ctx context.Context, n mgmt.Node, names ...string) error {
	hold := []string{"apt-mark", "hold"}
	wanted := slices.Clone(names)
	for i, name := range names {
		if slices.Contains(kubePackages, name) {
			wanted[i] = s.pinned(name)
		}
		name, _, _ = strings.Cut(name, "=")
		hold = append(hold, name)
	}
	if err := s.install(ctx, n, wanted...); err != nil {
		return err
	}
	return n.Root().Run(ctx, hold...)
}

// checkInstalled checks that the image has all programs, with the right versions.
func (s Settings) checkInstalled(ctx context.Context, n mgmt.Node) error {
	return expect(ctx, n, []program{
		{[]string{"kubeadm", "version", "-o", "short"}, "v" + s.Version}, {[]string{"kubelet", "--version"}, "Kubernetes v" + cmp.Or(s.KubeletVersion, s.Version)},
		{[]string{"containerd", "--version"}, ""},
	})
}

// program is a program that the image must have. want is what the program must print; "" accepts any output.
type program struct {
	argv []string
	want string
}

// expect returns one error that names all programs that are missing or have another version.
func expect(ctx context.Context, n mgmt.Node, programs []program) error {
	var lacks []string
	for _, p := range programs {
		out, err := n.Root().Output(ctx, sshexec.Command{Argv: p.argv})
		if _, failed := errors.AsType[*sshexec.ExitError](err); err != nil && !failed {
			return err
		}
		got := strings.TrimSpace(string(out))
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
	return fmt.Errorf("kubeadm: packages.source is %s, but the image of %s is not so: %s", FromNowhere, n.Label(), strings.Join(lacks, ", "))
}

// Program is a program that a machine needs: the package that has it, and a command that succeeds if the program is
// installed.
type Program struct {
	Package string
	Shows   []string
}

// Need installs programs. If the image must have all programs, Need only checks them.
func (s Settings) Need(ctx context.Context, n mgmt.Node, programs ...Program) error {
	var names []string
	var there []program
	for _, p := range programs {
		names, there = append(names, p.Package), append(there, program{argv: p.Shows})
	}
	if s.Packages.From() == FromNowhere {
		return expect(ctx, n, there)
	}
	return s.install(ctx, n, names...)
}
