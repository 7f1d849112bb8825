package kubeadm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

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

// aptLock is how long apt waits for others that install, such as the upgrades of a machine that has just
// started.
const aptLock = 5 * time.Minute

// install installs packages, each as apt-get takes it, held and newer ones too: what is pinned is meant.
// Configuration files that somebody changed stay.
func (d *deployment) install(ctx context.Context, n mgmt.Node, packages ...string) error {
	if err := d.repairPackages(ctx, n); err != nil {
		return err
	}
	options := []string{"-q", "-o", fmt.Sprintf("DPkg::Lock::Timeout=%d", int(aptLock.Seconds())), "-o", "Acquire::Retries=3"}
	install := slices.Concat([]string{"apt-get"}, options, []string{"-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold",
		"install", "-y", "--no-install-recommends", "--allow-change-held-packages", "--allow-downgrades"}, packages)
	update := slices.Concat([]string{"apt-get"}, options, []string{"update"})
	// The lock of the lists is none that apt waits for.
	listed := func(e *sshexec.ExitError) bool { return strings.Contains(e.Stderr, "/var/lib/apt/lists/lock") }
	if err := d.whenUnlocked(ctx, n, update, listed); err != nil {
		return err
	}
	return n.SSH.Exec(ctx, sshexec.Command{Argv: install, Root: true, Env: d.aptEnvironment()})
}

// repairPackages finishes what an installation that was cut short has left: apt refuses to work before that.
// dpkg itself does not wait for its lock, but ends with 2 (dpkg(1), "Exit status").
func (d *deployment) repairPackages(ctx context.Context, n mgmt.Node) error {
	argv := []string{"dpkg", "--force-confdef", "--force-confold", "--configure", "-a"}
	return d.whenUnlocked(ctx, n, argv, func(e *sshexec.ExitError) bool { return e.Code == 2 })
}

// whenUnlocked runs a program again as long as somebody else has the lock that it needs.
func (d *deployment) whenUnlocked(ctx context.Context, n mgmt.Node, argv []string, locked func(*sshexec.ExitError) bool) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := n.SSH.Exec(ctx, sshexec.Command{Argv: argv, Root: true, Env: d.aptEnvironment()})
		if exit, ok := errors.AsType[*sshexec.ExitError](err); err == nil || ok && locked(exit) {
			return struct{}{}, err
		}
		return struct{}{}, backoff.Permanent(err)
	}, backoff.WithBackOff(&backoff.ExponentialBackOff{InitialInterval: 200 * time.Millisecond, Multiplier: 2, MaxInterval: 10 * time.Second}),
		backoff.WithMaxElapsedTime(aptLock))
	return err
}

// aptEnvironment keeps package scripts from asking, and Ubuntu's needrestart from restarting services meanwhile.
func (d *deployment) aptEnvironment() map[string]string {
	env := map[string]string{"DEBIAN_FRONTEND": "noninteractive", "NEEDRESTART_SUSPEND": "1"}
	maps.Copy(env, d.environment())
	return env
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
