package kubeadm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/sshexec"
)

// packagesParam is the parameter "packages": where the programs of the nodes come from.
type packagesParam struct {
	Source               string   `json:"source"`                // fromImage, fromRepository or fromNowhere; default fromImage
	RepositoryURL        string   `json:"repository_url"`        // of Kubernetes packages
	RepositorySuite      string   `json:"repository_suite"`      // default "/": a flat repository
	RepositoryComponents []string `json:"repository_components"` // with a suite that is none
	RepositoryKeyPath    string   `json:"repository_key_path"`   // OpenPGP key of the repository, in the package
	ContainerdPackage    string   `json:"containerd_package"`    // containerd (default) or containerd.io
	ContainerdVersion    string   `json:"containerd_version"`    // as apt takes it after "="; default: whatever is newest
}

// Where packages come from.
const (
	fromImage      = "image"      // the package sources that the image of the machine is set up with
	fromRepository = "repository" // those, and a repository for Kubernetes
	fromNowhere    = "installed"  // the image holds everything
)

func (p packagesParam) source() string { return cmp.Or(p.Source, fromImage) }

var debVersionForm = regexp.MustCompile(`^[0-9][A-Za-z0-9.+:~-]*\*?$`) // Debian policy 5.6.12, and apt's *

func (c *checker) packages(p *clusterParam) {
	given := p.Packages
	switch given.source() {
	case fromImage, fromRepository, fromNowhere:
	default:
		c.fault("packages.source", given.Source, "must be image, repository or installed")
	}
	if given.ContainerdPackage != "" && given.ContainerdPackage != "containerd" && given.ContainerdPackage != "containerd.io" {
		c.fault("packages.containerd_package", given.ContainerdPackage, "must be containerd or containerd.io")
	}
	if given.ContainerdVersion != "" && !debVersionForm.MatchString(given.ContainerdVersion) {
		c.fault("packages.containerd_version", given.ContainerdVersion, "must be a version of the package, such as 1.7.27-1 or 1.7.*")
	}
	c.idlePackages(p)
	if given.source() == fromRepository {
		c.repository(given)
	}
}

// idlePackages refuses what would have no effect.
func (c *checker) idlePackages(p *clusterParam) {
	given, source := p.Packages, p.Packages.source()
	for _, asked := range []struct {
		name   string
		given  bool
		effect bool
	}{
		{"repository_url", given.RepositoryURL != "", source == fromRepository}, {"repository_suite", given.RepositorySuite != "", source == fromRepository},
		{"repository_components", len(given.RepositoryComponents) > 0, source == fromRepository}, {"repository_key_path", given.RepositoryKeyPath != "", source == fromRepository},
		{"containerd_package", given.ContainerdPackage != "", source != fromNowhere}, {"containerd_version", given.ContainerdVersion != "", source != fromNowhere},
	} {
		if asked.given && !asked.effect {
			c.fault("packages."+asked.name, "", "has no effect with packages.source "+source)
		}
	}
	if p.ScriptPath != "" && given.source() != fromImage {
		c.fault("packages.source", given.Source, "has no effect with script_path: the script installs what it needs")
	}
}

// installPackages puts the programs of a node there, or makes sure that the image has them.
func (d *deployment) installPackages(ctx context.Context, n mgmt.Node) error {
	p := d.p.Packages
	if p.source() == fromNowhere {
		return d.checkInstalled(ctx, n)
	}
	if p.source() == fromRepository {
		if err := d.addRepository(ctx, n); err != nil {
			return err
		}
	}
	kube := []string{"kubelet", "kubeadm", "kubectl"}
	held := slices.Clone(kube)
	containerd := cmp.Or(p.ContainerdPackage, "containerd")
	if p.ContainerdVersion != "" {
		held = append(held, containerd)
		containerd += "=" + p.ContainerdVersion
	}
	wanted := []string{containerd, "conntrack"}
	for _, name := range kube {
		wanted = append(wanted, name+"="+d.p.KubernetesVersion+"-*")
	}
	if err := d.install(ctx, n, wanted...); err != nil {
		return err
	}
	return n.RunRoot(ctx, append([]string{"apt-mark", "hold"}, held...), nil, nil, nil)
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
