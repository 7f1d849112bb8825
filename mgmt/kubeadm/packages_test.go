package kubeadm_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const armoredKey = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmDMEZ\n-----END PGP PUBLIC KEY BLOCK-----\n"

// machines returns a configuration in which a shell text runs on each machine after it was created, as its image might have
// done.
func (l *lab) machines(text string) func(*vnflcm.Config) {
	return func(c *vnflcm.Config) {
		c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			if err := next(ctx); err != nil || s.Name != "reach" {
				return err
			}
			_, err := mgmttest.Run(ctx, l.host(l.NameOf(s.On)), sshexec.Command{Shell: sshexec.Shell(text)})
			return err
		}
	}
}

// instantiateBy instantiates with this manager.
func (l *lab) instantiateBy(m *vnflcm.Manager, change ...mgmttest.Change) (opID string, err error) {
	l.t.Helper()
	return m.Instantiate(l.t.Context(), l.Created(), l.Request("instantiate_sandbox.json", change...))
}

// ran returns the runs of a program on a machine, as root.
func (l *lab) ran(host, program string) (out [][]string) {
	l.t.Helper()
	for _, r := range l.host(host).Commands() {
		if !r.BuiltIn && r.Argv[0] == program {
			out = append(out, r.Argv[1:])
		}
	}
	return out
}

func (l *lab) file(host, name string) string {
	l.t.Helper()
	text, err := afero.ReadFile(l.host(host).FS(), name)
	if err != nil {
		l.t.Fatal(err)
	}
	return string(text)
}

func TestRepository(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{pkg: mgmttest.Package(t, packageDir, map[string]string{"Files/kubernetes/key": "\n" + armoredKey})})
	m := l.Process(l.machines("sudo rm /etc/apt/sources.list.d/kubernetes.list"))
	opID, err := l.instantiateBy(m, with(t, `{"kubernetes_version":"1.35.4","packages":{"source":"repository","repository_url":"https://pkgs.k8s.io/core:/stable:/v1.35/deb/",
		"repository_key_path":"Files/kubernetes/key","containerd_version":"1.6.20*"}}`))
	l.Must(opID, err, m)
	l.want(1, 1, 0)
	clustertest.Golden(t, "../../linux/testdata/flat.sources", []byte(l.file("workerNode-0", "/etc/apt/sources.list.d/vnfkit-kubernetes.sources")))
	if got := l.file("workerNode-0", "/etc/apt/keyrings/vnfkit-kubernetes.asc"); got != "\n"+armoredKey {
		t.Errorf("the key is %q", got)
	}
	held := [][]string{{"hold", "kubelet", "kubeadm", "kubectl", "containerd"}}
	if diff := cmp.Diff(held, l.ran("workerNode-0", "apt-mark")); diff != "" {
		t.Error(diff)
	}
	runs := l.ran("workerNode-0", "apt-get")
	install := runs[slices.IndexFunc(runs, func(argv []string) bool {
		return slices.Contains(argv, "install") && !slices.Contains(argv, "--simulate")
	})]
	for _, arg := range []string{"containerd=1.6.20*", "kubeadm=1.35.4-*", "--no-install-recommends"} {
		if !slices.Contains(install, arg) {
			t.Errorf("%q is not in %q", arg, install)
		}
	}
}

// TestOldContainerd: package sources, or an image, whose containerd is too old for the kubelet are found before anything is installed.
func TestOldContainerd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ packages, want string }{
		"containerd": {`{"containerd_package":"containerd.io"}`, "have containerd.io 1.7.28-1.1, which is too old for Kubernetes 1.38"},
		"image":      {`{"source":"installed"}`, "containerd of workerNode-0: is too old for Kubernetes 1.38"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{})
			m := l.Process(l.machines("sudo apt-get update && sudo apt-get install -y kubelet kubeadm kubectl containerd"))
			opID, err := l.instantiateBy(m, with(t, `{"kubernetes_version":"1.38.0","packages":`+c.packages+`}`))
			if err := l.Fails(opID, err, m); !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q is not in %v", c.want, err)
			}
			if held := l.ran("workerNode-0", "apt-mark"); len(held) > 0 {
				t.Errorf("packages were installed: %q", held)
			}
		})
	}
}

// TestRepositorySilent: apt only warns of a repository that does not answer, and later does not find its packages. The
// error says both.
func TestRepositorySilent(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{pkg: mgmttest.Package(t, packageDir, map[string]string{"Files/kubernetes/key": armoredKey})})
	m := l.Process(l.machines("sudo rm /etc/apt/sources.list.d/kubernetes.list"))
	opID, err := l.instantiateBy(m, with(t, `{"packages":{"source":"repository","repository_url":"https://packages.invalid/deb/",
		"repository_key_path":"Files/kubernetes/key"},"proxy":{"http_proxy":"http://joe:s3cret@192.0.2.1:3128","https_proxy":"http://joe:s3cret@192.0.2.1:3128"}}`))
	err = l.Fails(opID, err, m)
	for _, want := range []string{"Unable to locate package", "W: Failed to fetch the index of vnfkit-kubernetes.sources"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "s3cret") {
		t.Errorf("the proxy's password is in %v", err)
	}
}

func TestInstalled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, image, patch, want string }{
		{"everything is there", "kubelet kubeadm kubectl containerd", ``, ""},
		{"nothing is there", "", ``, "it lacks kubeadm, it lacks kubelet, it lacks containerd"},
		{"another version", "kubelet kubeadm kubectl containerd", `,"kubernetes_version":"1.34.2"`, `kubeadm says "v1.36.3" and not "v1.34.2", kubelet says`},
		{"no load balancer", "kubelet kubeadm kubectl containerd", `,"master_node":{"cluster_cp_name":"vip_CP"}`, "it lacks haproxy, it lacks keepalived"},
		{"a load balancer", "kubelet kubeadm kubectl containerd haproxy keepalived", `,"master_node":{"cluster_cp_name":"vip_CP"}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{})
			text := "true"
			if c.image != "" {
				text = "sudo apt-get update && sudo apt-get install -y " + c.image
			}
			m := l.Process(l.machines(text))
			opID, err := l.instantiateBy(m, with(t, `{"packages":{"source":"installed"}`+c.patch+`}`))
			if c.want == "" {
				l.Must(opID, err, m)
				l.want(1, 1, 0)
			} else if err := l.Fails(opID, err, m); !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v", err)
			}
			for _, argv := range l.ran("masterNode-0", "apt-get") {
				if slices.Contains(argv, "--no-install-recommends") {
					t.Errorf("it was installed: %q", argv)
				}
			}
		})
	}
}

// TestMissingVersion: a version that the package sources do not have is refused before the machine is changed.
func TestMissingVersion(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{})
	_, opID, err := l.Begin("instantiate_sandbox.json", with(t, `{"kubernetes_version":"1.34.2"}`))
	err = l.Fails(opID, err)
	for _, want := range []string{"preflight", "packages: ", " cannot have the packages of a node", "Version '1.34.2-*' for 'kubelet' was not found",
		"the package sources have kubelet 1.37.2-1.1, 1.36.3-1.1, 1.35.6-1.1, 1.35.4-1.1; kubeadm 1.37.2-1.1, 1.36.3-1.1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	for _, host := range []string{"masterNode-0", "workerNode-0"} {
		if text := l.file(host, "/etc/hosts"); strings.Contains(text, "vnfkit") {
			t.Errorf("the hosts file of %s was changed: %s", host, text)
		}
		for _, argv := range l.ran(host, "apt-get") {
			if slices.Contains(argv, "install") && !slices.Contains(argv, "--simulate") {
				t.Errorf("%s ran apt-get %q", host, argv)
			}
		}
	}
}

// TestSystems: an unsupported system is refused before the machine is changed.
func TestSystems(t *testing.T) {
	t.Parallel()
	// Errors mask the password of the sandbox, "ubuntu". This message has the word as well, but stays readable.
	const refused = `is "debian 11"; the built-in preparation is made for debian 12, debian 13, ubuntu 22.04, ubuntu 24.04: use an image with one of them, or script_path`
	for version, want := range map[string]string{"11": refused, "13": ""} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{})
			m := l.Process(l.machines(`printf 'ID=debian\nVERSION_ID="` + version + `"\n' | sudo tee /etc/os-release >/dev/null`))
			opID, err := l.instantiateBy(m)
			if want == "" {
				l.Must(opID, err, m)
				return
			}
			if err := l.Fails(opID, err, m); !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v", err)
			}
			if text := l.file("masterNode-0", "/etc/hosts"); strings.Contains(text, "vnfkit") {
				t.Errorf("the hosts file was changed: %s", text)
			}
		})
	}
}

// TestCgroupV1: a machine whose cgroups the kubelet would refuse is refused before it is changed. A storage server has no kubelet.
func TestCgroupV1(t *testing.T) {
	t.Parallel()
	const refused = "has cgroup v1, which kubelets refuse from Kubernetes 1.35 on: use an image with cgroup v2, or set kubelet_configuration.failCgroupV1"
	for name, c := range map[string]struct{ machine, params, want string }{
		"refused":        {"masterNode", `{"kubernetes_version":"1.35.4"}`, refused},
		"accepted":       {"masterNode", `{"kubelet_configuration":{"failCgroupV1":false}}`, ""},
		"storage server": {"storage", storageParams, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, storageSetup(t))
			m := l.Process(func(config *vnflcm.Config) {
				config.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
					if s.Name != "reach" || !strings.HasPrefix(l.NameOf(s.On), c.machine) {
						return next(ctx)
					}
					return errors.Join(l.host(l.NameOf(s.On)).FS().MkdirAll("/sys/fs/cgroup/memory", 0o755), next(ctx))
				}
			})
			opID, err := l.instantiateBy(m, with(t, c.params))
			if c.want == "" {
				l.Must(opID, err, m)
				return
			}
			if err := l.Fails(opID, err, m); !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v", err)
			}
			if text := l.file("masterNode-0", "/etc/hosts"); strings.Contains(text, "vnfkit") {
				t.Errorf("the hosts file was changed: %s", text)
			}
		})
	}
}

// TestKernelLacks: the driver ignores the result of modprobe and checks the features of the kernel.
func TestKernelLacks(t *testing.T) {
	t.Parallel()
	broken := sandbox.Config{Commands: programs("modprobe", 1)}
	l := openLab(t, setup{sandbox: broken})
	_, opID, err := l.Begin("instantiate_sandbox.json")
	const want = "lacks overlay (the file system of containers) and br_netfilter (the firewall for traffic between pods): install"
	if err := l.Fails(opID, err); !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v", err)
	}

	l = openLab(t, setup{sandbox: broken})
	m := l.Process(l.machines(`sudo mkdir -p /proc/sys/net/bridge; for f in iptables ip6tables; do echo 0 | sudo tee /proc/sys/net/bridge/bridge-nf-call-$f; done >/dev/null
		printf 'nodev\toverlay\n' | sudo tee /proc/filesystems >/dev/null`))
	opID, err = l.instantiateBy(m)
	l.Must(opID, err, m)
	l.want(1, 1, 0)
}

// TestInstallationCutShort: only half of the packages are installed, and a package manager may still be running on the
// machine.
func TestInstallationCutShort(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		takes    time.Duration
		commands string // commands that were started on the machine before
		program  string // program that the driver runs repeatedly while it waits
		times    int    // least number of its runs
	}{
		"installation is cut": {300 * time.Millisecond, `(sudo apt-get update && sudo timeout 0.05 apt-get install -y haproxy; true)`, "apt-get", 1},
		"installation goes on": {1500 * time.Millisecond, `sudo apt-get update && for p in haproxy keepalived nfs-common nfs-kernel-server; do
			sudo setsid apt-get -o DPkg::Lock::Timeout=60 install -y $p >/dev/null 2>&1 </dev/null & done`, "dpkg", 2},
		"package lists are fetched": {1500 * time.Millisecond, `sudo setsid apt-get update >/dev/null 2>&1 </dev/null &`, "apt-get", 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stretch(t, c.takes, func(takes time.Duration) bool { // until the driver comes while the package manager runs, and waits
				l := openLab(t, setup{sandbox: sandbox.Config{Takes: takes}})
				m := l.Process(l.machines(c.commands))
				opID, err := l.instantiateBy(m)
				l.Must(opID, err, m)
				l.want(1, 1, 0)
				return len(l.ran("workerNode-0", c.program)) >= c.times
			})
		})
	}
}

// TestSwapStays: swap remains on if the kubelet is configured to accept it.
func TestSwapStays(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{})
	l.Instantiated("instantiate_sandbox.json", with(t, `{"kubelet_configuration":{"failSwapOn":false,"cgroupDriver":"cgroupfs"},"ignore_preflight_errors":["Swap"]}`))
	l.want(1, 1, 0)
	if argv := l.ran("workerNode-0", "swapoff"); len(argv) > 0 {
		t.Errorf("swapoff ran: %q", argv)
	}
	var verbs []string
	for _, r := range l.host("masterNode-0").Commands() {
		if r.Argv[0] == "kubeadm" && slices.Contains(r.Argv, "--config") && !slices.Contains(r.Argv, "images") {
			verbs = append(verbs, r.Argv[1])
		}
	}
	if want := []string{"config", "init"}; len(verbs) < 2 || !slices.Equal(want, verbs[:2]) {
		t.Errorf("kubeadm ran with %q: misspelt settings must be refused before init", verbs)
	}
	if text := l.file("workerNode-0", "/etc/containerd/config.toml"); !strings.Contains(text, "SystemdCgroup = false") {
		t.Errorf("containerd and the kubelet do not manage cgroups alike: %s", text)
	}
}

// programs returns a simulated program that only exits with a code.
func programs(name string, code int) map[string]sshtest.Command {
	return map[string]sshtest.Command{name: func(context.Context, *sshtest.Process) int { return code }}
}
