package e2e_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/internal/e2e/programs"
	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/internal/e2e/vminfra"
)

// site is what all tests share. Runs of the part openstack alone have no hosts: network and programs are nil.
var site struct {
	missing  string // why there is none
	network  *vmhost.Network
	programs *programs.Server
	layer    string // files laid over those of the machine, on every host
	cloud    sharedCloud
}

// partNames are those that VNFKIT_E2E may name.
var partNames = []string{"ssh", "openstack", "kubeadm", "kubeadm-full", "kubeadm-upgrade", "kubeadm-restore", "registry", "helm", "all", "tacker", "kubespray", "kubespray-real"}

// named reports whether this run is to have a part.
func named(part string) bool {
	return slices.Contains(strings.Split(os.Getenv("VNFKIT_E2E"), ","), part)
}

func TestMain(m *testing.M) {
	if start := os.Getenv(childStartVariable); start != "" {
		os.Exit(runStart(start))
	}
	if text := os.Getenv(childJob); text != "" {
		os.Exit(runChild[job](text))
	}
	if text := os.Getenv(stackChildVariable); text != "" {
		os.Exit(runChild[stackJob](text))
	}
	if text := os.Getenv(changeChildVariable); text != "" {
		os.Exit(runChild[changeJob](text))
	}
	if text := os.Getenv(yardChildVariable); text != "" {
		os.Exit(runChild[yardJob](text))
	}
	if text := os.Getenv(helmChildVariable); text != "" {
		os.Exit(runChild[helmJob](text))
	}
	if text := os.Getenv(cnfChildVariable); text != "" {
		os.Exit(runChild[cnfJob](text))
	}
	ctx := context.Background()
	down, err := setUp(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(clusterEnded{m}, goleak.IgnoreCurrent(), goleak.Cleanup(func(code int) {
		if err := down(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		os.Exit(code)
	}))
}

// setUp makes the site, if this run is to have one.
func setUp(ctx context.Context) (down func() error, err error) {
	down = func() error { return nil }
	switch {
	case !slices.ContainsFunc(partNames, named):
		site.missing = "VNFKIT_E2E names none of " + strings.Join(partNames, ", ")
		return down, nil
	case os.Geteuid() != 0:
		site.missing = "it takes root to make hosts"
		return down, nil
	}
	for _, program := range []string{"/usr/sbin/sshd", "sudo", "ip", "setpriv", "ssh-keygen", "chpasswd", "busybox", "/lib/systemd/systemd"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("the hosts need openssh-server, sudo, iproute2, systemd and busybox on this machine: %w", err)
		}
	}
	removeHosts := func() error { return nil }
	if slices.ContainsFunc(partNames, func(part string) bool { return named(part) && part != "openstack" }) {
		if removeHosts, err = setUpHosts(ctx); err != nil {
			return nil, err
		}
	}
	return func() error { return errors.Join(site.cloud.close(), removeHosts()) }, nil
}

// setUpHosts makes what hosts need: a network, their files and the server of their programs. It returns what removes
// them, and reports files of this machine that have changed meanwhile.
func setUpHosts(ctx context.Context) (remove func() error, err error) {
	patient, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	if site.network, err = vmhost.Up(patient); err != nil {
		return nil, err
	}
	if site.layer, err = makeLayer(ctx, site.network.Dir()); err != nil {
		return nil, errors.Join(err, site.network.Close())
	}
	if site.programs, err = programs.Listen(ctx, site.network.Gateway()); err != nil {
		return nil, errors.Join(err, site.network.Close())
	}
	before := fingerprint()
	return func() error {
		err := errors.Join(site.programs.Close(), site.network.Close())
		if fingerprint() != before {
			err = errors.Join(err, errors.New("the tests have changed files of this machine"))
		}
		return err
	}, nil
}

// fingerprint is a digest of what drivers change on hosts and must never change on this machine.
func fingerprint() [sha256.Size]byte {
	digest := sha256.New()
	for _, name := range []string{"/etc/hosts", "/etc/hostname", "/etc/fstab", "/etc/passwd", "/etc/shadow", "/etc/kubernetes",
		"/etc/sysctl.d/90-kubernetes.conf", "/etc/containerd/config.toml", "/proc/sys/kernel/hostname", "/proc/sys/net/ipv4/ip_forward", "/proc/modules", "/proc/swaps"} {
		content, err := os.ReadFile(name) //nolint:gosec // from the list above
		_, _ = fmt.Fprintln(digest, name, err, string(content))
	}
	return [sha256.Size]byte(digest.Sum(nil))
}

// makeLayer puts together what hosts have beyond the machine: the stand-ins for node programs, and a source
// of Kubernetes packages.
func makeLayer(ctx context.Context, dir string) (string, error) {
	layer, err := os.MkdirTemp(dir, "layer-*")
	if err != nil {
		return "", err
	}
	const stub = "/usr/local/lib/vnfkit-e2e/stub"
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", layer+stub, "./stub") //nolint:gosec // our own path
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return layer, fmt.Errorf("build the stand-in program: %w: %s", err, out)
	}
	for _, dir := range []string{"/usr/local/bin", "/usr/local/sbin", "/etc/apt/sources.list.d"} {
		if err := os.MkdirAll(layer+dir, 0o755); err != nil { //nolint:gosec // for all users of the host
			return layer, err
		}
	}
	for _, name := range vminfra.Names() {
		for _, dir := range []string{"/usr/local/bin", "/usr/local/sbin"} {
			if err := os.Symlink(stub, filepath.Join(layer, dir, name)); err != nil {
				return layer, err
			}
		}
	}
	source := "deb [signed-by=/etc/apt/keyrings/kubernetes.gpg] https://packages.example.org/ /\n"
	return layer, os.WriteFile(layer+"/etc/apt/sources.list.d/kubernetes.list", []byte(source), 0o644) //nolint:gosec // for all users of the host
}

// needPart skips the test when there is no site, or when the run is about other parts.
func needPart(t testing.TB, part string) {
	t.Helper()
	if site.missing != "" {
		t.Skip(site.missing)
	}
	if !named(part) {
		t.Skip("VNFKIT_E2E does not name " + part)
	}
}

// needSite skips the test when there is no site, or when the run is about other parts than ssh.
func needSite(t testing.TB) {
	t.Helper()
	needPart(t, "ssh")
}
