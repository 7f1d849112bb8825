package kubeadm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/sshexec"
)

// prepare makes a machine ready for kubeadm: by our own steps or, with script_path, by putting the package's
// script there.
func (d *deployment) prepare(ctx context.Context, n mgmt.Node) error {
	type step struct {
		name string
		do   func(context.Context, mgmt.Node) error
	}
	steps := []step{{"hostname", d.setHostName}, {"hosts", d.writeHosts}, {"system", d.setUpSystem}, {"packages", d.installPackages}, {"runtime", d.setUpRuntime}}
	if d.p.ScriptPath != "" {
		steps = []step{{"hosts", d.writeHosts}, {"script", d.uploadScript}}
	}
	if err := d.do(ctx, "reach", n, d.config.Timeouts.Boot, n.SSH.Wait); err != nil {
		return err
	}
	for _, s := range steps {
		err := d.do(ctx, s.name, n, d.config.Timeouts.Install, func(ctx context.Context) error { return s.do(ctx, n) })
		if err != nil {
			return err
		}
	}
	return d.prepareRegistries(ctx, n)
}

func (d *deployment) setHostName(ctx context.Context, n mgmt.Node) error {
	return n.RunRoot(ctx, []string{"hostnamectl", "set-hostname", n.HostName}, nil, nil, nil)
}

// writeHosts puts all nodes into /etc/hosts.
func (d *deployment) writeHosts(ctx context.Context, n mgmt.Node) error {
	file := sshexec.File{Path: "/etc/hosts", Mode: 0o644, Root: true}
	old, err := n.SSH.ReadFile(ctx, file)
	if err != nil {
		return err
	}
	return n.SSH.Upload(ctx, bytes.NewReader(mgmt.HostsFile(old, d.nodes(), d.p.Registries.HostEntries()...)), file)
}

// Kernel modules and settings that Kubernetes and its network add-ons need
// (kubernetes.io, "Container Runtimes", prerequisites).
const (
	modulesFile = "overlay\nbr_netfilter\n"
	sysctlFile  = "net.bridge.bridge-nf-call-iptables = 1\nnet.bridge.bridge-nf-call-ip6tables = 1\n" +
		"net.ipv4.ip_forward = 1\nnet.ipv6.conf.all.forwarding = 1\n"
)

func (d *deployment) setUpSystem(ctx context.Context, n mgmt.Node) error {
	if err := d.disableSwap(ctx, n); err != nil {
		return err
	}
	if err := put(ctx, n, "/etc/modules-load.d/kubernetes.conf", modulesFile, 0o644); err != nil {
		return err
	}
	if err := put(ctx, n, "/etc/sysctl.d/90-kubernetes.conf", sysctlFile, 0o644); err != nil {
		return err
	}
	if err := n.RunRoot(ctx, []string{"modprobe", "-a", "overlay", "br_netfilter"}, nil, nil, nil); err != nil {
		return err
	}
	return n.RunRoot(ctx, []string{"sysctl", "--system"}, nil, nil, nil)
}

// disableSwap turns swap off, now and after a reboot: the kubelet refuses to run with it.
func (d *deployment) disableSwap(ctx context.Context, n mgmt.Node) error {
	if err := n.RunRoot(ctx, []string{"swapoff", "-a"}, nil, nil, nil); err != nil {
		return err
	}
	exists, err := succeeds(ctx, n, "test", "-e", "/etc/fstab")
	if !exists || err != nil {
		return err
	}
	file := sshexec.File{Path: "/etc/fstab", Mode: 0o644, Root: true}
	table, err := n.SSH.ReadFile(ctx, file)
	if err != nil {
		return err
	}
	return n.SSH.Upload(ctx, bytes.NewReader(withoutSwap(table)), file)
}

// withoutSwap comments out the swap lines of an fstab (fstab(5): fields are separated by tabs or spaces, the third is
// the type).
func withoutSwap(table []byte) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(table) {
		f := bytes.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' })
		if len(f) > 2 && string(bytes.TrimSpace(f[2])) == "swap" && !bytes.HasPrefix(bytes.TrimSpace(f[0]), []byte("#")) {
			out.WriteString("# vnfkit: ")
		}
		out.Write(line)
	}
	return out.Bytes()
}

// installPackages installs from the package sources that the image of the machine is set up with.
func (d *deployment) installPackages(ctx context.Context, n mgmt.Node) error {
	pin := "=" + d.p.KubernetesVersion + "-*"
	kube := []string{"kubelet", "kubeadm", "kubectl"}
	install := []string{"install", "-y", "-q", "--no-install-recommends", "containerd", "conntrack"}
	for _, name := range kube {
		install = append(install, name+pin)
	}
	for _, args := range [][]string{{"update", "-q"}, install} {
		err := n.SSH.Exec(ctx, sshexec.Command{
			Argv: append([]string{"apt-get", "-o", "DPkg::Lock::Timeout=300"}, args...), Root: true, Env: d.aptEnvironment(),
		})
		if err != nil {
			return err
		}
	}
	return n.RunRoot(ctx, append([]string{"apt-mark", "hold"}, kube...), nil, nil, nil)
}

func (d *deployment) aptEnvironment() map[string]string {
	env := d.environment()
	if env == nil {
		env = map[string]string{}
	}
	env["DEBIAN_FRONTEND"] = "noninteractive"
	return env
}

// environment is the proxy setting of the nodes.
func (d *deployment) environment() map[string]string {
	return d.p.Proxy.Environment(d.p.Master.PodCIDR, d.p.Master.ClusterCIDR, d.api.String(),
		d.p.Proxy.NodeNetwork(d.masters[0].IP))
}

// containerdConfig uses the systemd cgroup driver, as kubeadm sets the kubelet up, and looks for registries
// in certs.d. Version 2 is read by containerd 1.x and 2.x.
const containerdConfig = `version = 2

[plugins."io.containerd.grpc.v1.cri".registry]
config_path = "/etc/containerd/certs.d"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = true
`

func (d *deployment) setUpRuntime(ctx context.Context, n mgmt.Node) error {
	if err := put(ctx, n, "/etc/containerd/config.toml", containerdConfig, 0o644); err != nil {
		return err
	}
	if env := d.environment(); env != nil {
		// Only root may read it: proxy URLs can hold a password.
		if err := put(ctx, n, "/etc/systemd/system/containerd.service.d/50-vnfkit-proxy.conf", proxyDropIn(env), 0o600); err != nil {
			return err
		}
	}
	for _, argv := range [][]string{
		{"systemctl", "daemon-reload"}, {"systemctl", "enable", "containerd", "kubelet"}, {"systemctl", "restart", "containerd"},
	} {
		if err := n.RunRoot(ctx, argv, nil, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// proxyDropIn is a unit drop-in with the proxy variables (systemd.exec(5), Environment=).
func proxyDropIn(env map[string]string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`, "\n", `\n`)
	var out strings.Builder
	out.WriteString("[Service]\n")
	for _, name := range []string{"http_proxy", "https_proxy", "no_proxy"} {
		fmt.Fprintf(&out, "Environment=\"%s=%s\"\n", strings.ToUpper(name), escape.Replace(env[name]))
	}
	return out.String()
}

// put writes a file of root's.
func put(ctx context.Context, n mgmt.Node, path, content string, mode fs.FileMode) error {
	dir := path[:strings.LastIndexByte(path, '/')]
	if err := n.RunRoot(ctx, []string{"mkdir", "-p", dir}, nil, nil, nil); err != nil {
		return err
	}
	return n.SSH.Upload(ctx, strings.NewReader(content), sshexec.File{Path: path, Mode: mode, Root: true})
}

// succeeds runs a command that answers by its exit code.
func succeeds(ctx context.Context, n mgmt.Node, argv ...string) (bool, error) {
	err := n.RunRoot(ctx, argv, nil, nil, nil)
	if exit, ok := errors.AsType[*sshexec.ExitError](err); ok && exit.Code == 1 {
		return false, nil
	}
	return err == nil, err
}
