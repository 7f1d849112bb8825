package kubespraysim

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/internal/kubesim/ansiblesim"
)

// gather is "Gather facts": every host is logged in to, and root there.
func (s Server) gather(ctx context.Context, r *ansiblesim.Run, hosts []string) error {
	return r.Play("Gather facts", hosts).Task(ctx, "Gather minimal facts", func(ctx context.Context, h *ansiblesim.Host) error {
		user, err := h.Run(ctx, "id", "-un")
		if err == nil && strings.TrimSpace(user) != "root" {
			err = &ansiblesim.Failure{Msg: "This has to be run as root"}
		}
		return err
	})
}

// facts is facts.yml.
func (s Server) facts(ctx context.Context, r *ansiblesim.Run) error {
	n, err := s.begin(r)
	if err != nil {
		return err
	}
	if err := s.take(ctx); err != nil {
		return err
	}
	return s.gather(ctx, r, n.all)
}

// cluster is cluster.yml. What is there already stays as it is.
func (s Server) cluster(ctx context.Context, r *ansiblesim.Run) error {
	n, err := s.begin(r)
	if err != nil {
		return err
	}
	steps := []func() error{
		func() error { return s.take(ctx) },
		func() error { return s.gather(ctx, r, n.all) },
		func() error { return s.prepare(ctx, r, n.all) },
		func() error { return s.controlPlane(ctx, r, n) },
		func() error { return s.network(ctx, r, n) },
		func() error { return s.workers(ctx, r, n) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// scale is scale.yml: workers only.
func (s Server) scale(ctx context.Context, r *ansiblesim.Run) error {
	n, err := s.begin(r)
	if err != nil {
		return err
	}
	if err := s.take(ctx); err != nil {
		return err
	}
	if err := s.gather(ctx, r, n.workers); err != nil {
		return err
	}
	if err := s.prepare(ctx, r, n.workers); err != nil {
		return err
	}
	return s.workers(ctx, r, n)
}

// prepare makes hosts ready for kubeadm.
func (s Server) prepare(ctx context.Context, r *ansiblesim.Run, hosts []string) error {
	p := r.Play("Prepare nodes", hosts)
	tasks := []struct {
		name string
		run  func(context.Context, *ansiblesim.Host) error
	}{
		{"bootstrap-os : Assign inventory name to unconfigured hostnames", naming},
		{"kubernetes/preinstall : Disable swap", silently("swapoff", "-a")},
		{"kubernetes/preinstall : Enable kernel modules", silently("modprobe", "-a", "overlay", "br_netfilter")},
		{"kubernetes/preinstall : Enable ip forwarding", forwarding},
		{"kubernetes/preinstall : Install packages requirements", func(ctx context.Context, h *ansiblesim.Host) error {
			return s.install(ctx, r, h, "containerd", "kubelet", "kubeadm", "kubectl")
		}},
		{"container-engine/containerd : Copy containerd config file", func(ctx context.Context, h *ansiblesim.Host) error {
			return put(ctx, h, "/etc/containerd/config.toml", "version = 2\n", "systemctl", "restart", "containerd")
		}},
	}
	for _, task := range tasks {
		if err := p.Task(ctx, task.name, task.run); err != nil {
			return err
		}
	}
	return nil
}

// changes is the result of a task that ran a program.
func changes(_ string, err error) error {
	return cmp.Or(err, ansiblesim.ErrChanged)
}

// put writes a file, and runs a program when it is another one than before.
func put(ctx context.Context, h *ansiblesim.Host, name, content string, argv ...string) error {
	err := h.Put(ctx, name, content)
	if errors.Is(err, ansiblesim.ErrChanged) {
		return changes(h.Run(ctx, argv...))
	}
	return err
}

func naming(ctx context.Context, h *ansiblesim.Host) error {
	if now, err := h.Run(ctx, "hostname"); err != nil || strings.TrimSpace(now) == h.Name {
		return err
	}
	return changes(h.Run(ctx, "hostnamectl", "set-hostname", h.Name))
}

// silently runs a program that says nothing of what it has changed.
func silently(argv ...string) func(context.Context, *ansiblesim.Host) error {
	return func(ctx context.Context, h *ansiblesim.Host) error {
		_, err := h.Run(ctx, argv...)
		return err
	}
}

func forwarding(ctx context.Context, h *ansiblesim.Host) error {
	const file = "/etc/sysctl.d/99-sysctl.conf"
	wrote := h.Put(ctx, file, "net.ipv4.ip_forward=1\n")
	if wrote != nil && !errors.Is(wrote, ansiblesim.ErrChanged) {
		return wrote
	}
	_, err := h.Run(ctx, "sysctl", "-p", file)
	return cmp.Or(err, wrote)
}

// install installs packages, by the proxy of the group variables.
func (s Server) install(ctx context.Context, r *ansiblesim.Run, h *ansiblesim.Host, packages ...string) error {
	missing := false
	for _, program := range [][]string{{"kubelet", "--version"}, {"kubeadm", "version"}, {"systemctl", "is-active", "--quiet", "containerd"}} {
		there, err := h.Does(ctx, program...)
		if err != nil {
			return err
		}
		missing = missing || !there
	}
	if !missing {
		return nil
	}
	argv := []string{"env", "DEBIAN_FRONTEND=noninteractive"}
	for _, name := range []string{"http_proxy", "https_proxy", "no_proxy"} {
		value, err := r.Vars(h.Name)(name)
		if err != nil {
			return err
		}
		if value != "" {
			argv = append(argv, name+"="+value)
		}
	}
	for _, words := range [][]string{{"dpkg", "--configure", "-a"}, {"apt-get", "update"}, append([]string{"apt-get", "install", "-y"}, packages...)} {
		if _, err := h.Run(ctx, slices.Concat(argv, words)...); err != nil {
			return err
		}
	}
	return ansiblesim.ErrChanged
}

// joined reports whether the host is a node already. What an interrupted run has left there is taken away.
func joined(ctx context.Context, h *ansiblesim.Host) (bool, error) {
	if is, err := h.Does(ctx, "systemctl", "is-active", "--quiet", "kubelet"); is || err != nil {
		return is, err
	}
	_, err := h.Run(ctx, "kubeadm", "reset", "-f")
	return false, err
}

func address(ctx context.Context, r *ansiblesim.Run, h *ansiblesim.Host) (string, error) {
	if ip, err := r.Vars(h.Name)("ip"); ip != "" || err != nil {
		return ip, err
	}
	out, err := h.Run(ctx, "hostname", "-I")
	return strings.TrimSpace(out), err
}

// controlPlane creates the cluster on the first node, and joins the remaining ones.
func (s Server) controlPlane(ctx context.Context, r *ansiblesim.Run, n nodes) error {
	first := r.Play("Install the control plane", n.masters[:1])
	if err := first.Task(ctx, "kubernetes/control-plane : kubeadm | Initialize first control plane node", func(ctx context.Context, h *ansiblesim.Host) error {
		if is, err := joined(ctx, h); is || err != nil {
			return err
		}
		config, err := s.initConfig(ctx, r, h, n)
		if err != nil {
			return err
		}
		return put(ctx, h, "/etc/kubernetes/kubeadm-config.yaml", config, "kubeadm", "init", "--config=/etc/kubernetes/kubeadm-config.yaml", "--upload-certs")
	}); err != nil {
		return err
	}
	others := r.Play("Join control plane nodes", n.masters[1:])
	if err := others.Serial(ctx, "kubernetes/control-plane : Joining control plane node to the cluster.", func(ctx context.Context, h *ansiblesim.Host) error {
		return s.join(ctx, r, h, n.masters[0], true)
	}); err != nil {
		return err
	}
	return r.Play("Place the certificates", n.masters).Task(ctx, "etcd : Gen_certs | Place the certificates", func(ctx context.Context, h *ansiblesim.Host) error {
		_, err := h.Run(ctx, "sh", "-c", placeCertificates, "sh", h.Name)
		return err
	})
}

// placeCertificates copies the certificates that kubeadm has made to where kubespray has them. The servers use those of kubeadm.
const placeCertificates = `set -e
mkdir -p /etc/kubernetes/ssl /etc/ssl/etcd/ssl
cd /etc/kubernetes/pki
cp ca.crt apiserver.crt apiserver-kubelet-client.crt front-proxy-ca.crt front-proxy-client.crt /etc/kubernetes/ssl/
cp etcd/ca.crt /etc/ssl/etcd/ssl/ca.pem
cp etcd/server.crt "/etc/ssl/etcd/ssl/member-$1.pem"
cp etcd/healthcheck-client.crt "/etc/ssl/etcd/ssl/admin-$1.pem"
cp apiserver-etcd-client.crt "/etc/ssl/etcd/ssl/node-$1.pem"
`

// initConfig is the configuration for kubeadm: the networks of the group variables, and every name of the API.
func (s Server) initConfig(ctx context.Context, r *ansiblesim.Run, h *ansiblesim.Host, n nodes) (string, error) {
	ip, err := address(ctx, r, h)
	if err != nil {
		return "", err
	}
	vars := r.Vars(h.Name)
	pods, err1 := vars("kube_pods_subnet")
	services, err2 := vars("kube_service_addresses")
	names, err3 := r.List(h.Name, "supplementary_addresses_in_ssl_keys")
	if err := errors.Join(err1, err2, err3); err != nil {
		return "", err
	}
	names = append(names, "localhost", "127.0.0.1")
	for _, master := range n.masters {
		addr, err := r.Vars(master)("ansible_host")
		if err != nil {
			return "", err
		}
		names = append(names, master, cmp.Or(addr, master))
	}
	var sans strings.Builder
	for _, name := range merged(names) {
		fmt.Fprintf(&sans, "  - %q\n", name)
	}
	token := strings.ToLower(rand.Text())
	return fmt.Sprintf(`apiVersion: kubeadm.k8s.io/v1beta3
kind: InitConfiguration
bootstrapTokens:
- token: %q
  ttl: 24h
nodeRegistration:
  name: %s
localAPIEndpoint:
  advertiseAddress: %s
---
apiVersion: kubeadm.k8s.io/v1beta3
kind: ClusterConfiguration
controlPlaneEndpoint: %s
apiServer:
  certSANs:
%snetworking:
  podSubnet: %s
  serviceSubnet: %s
`, token[:6]+"."+token[6:22], h.Name, ip, net.JoinHostPort(ip, "6443"), sans.String(), cmp.Or(pods, "10.233.64.0/18"), cmp.Or(services, "10.233.0.0/18")), nil
}

// join makes a host a node, with a token of the first control-plane node.
func (s Server) join(ctx context.Context, r *ansiblesim.Run, h *ansiblesim.Host, master string, controlPlane bool) error {
	if is, err := joined(ctx, h); is || err != nil {
		return err
	}
	m, err := r.Host(master)
	if err != nil {
		return err
	}
	line, err := m.Run(ctx, "kubeadm", "token", "create", "--print-join-command")
	if err != nil {
		return err
	}
	words := strings.Fields(line) // kubeadm join ENDPOINT --token TOKEN --discovery-token-ca-cert-hash HASH
	if len(words) < 7 {
		return fmt.Errorf("kubesim: %q is no command to join", line)
	}
	config := fmt.Sprintf("apiVersion: kubeadm.k8s.io/v1beta3\nkind: JoinConfiguration\nnodeRegistration:\n  name: %s\ndiscovery:\n  bootstrapToken:\n    apiServerEndpoint: %s\n    token: %q\n    caCertHashes:\n    - %s\n",
		h.Name, words[2], words[4], words[6])
	if controlPlane {
		key, err := m.Run(ctx, "kubeadm", "init", "phase", "upload-certs", "--upload-certs")
		if err != nil {
			return err
		}
		lines := strings.Split(strings.TrimSpace(key), "\n")
		ip, err := address(ctx, r, h)
		if err != nil {
			return err
		}
		config += fmt.Sprintf("controlPlane:\n  certificateKey: %s\n  localAPIEndpoint:\n    advertiseAddress: %s\n", lines[len(lines)-1], ip)
	}
	return put(ctx, h, "/etc/kubernetes/kubeadm-client.conf", config, "kubeadm", "join", "--config", "/etc/kubernetes/kubeadm-client.conf")
}

// workers joins the workers.
func (s Server) workers(ctx context.Context, r *ansiblesim.Run, n nodes) error {
	workers := slices.DeleteFunc(slices.Clone(n.workers), func(host string) bool { return slices.Contains(n.masters, host) })
	return r.Play("Join worker nodes", workers).Task(ctx, "kubernetes/kubeadm : Join to cluster", func(ctx context.Context, h *ansiblesim.Host) error {
		return s.join(ctx, r, h, n.masters[0], false)
	})
}

const adminConf = "/etc/kubernetes/admin.conf"

// network applies the network add-on.
func (s Server) network(ctx context.Context, r *ansiblesim.Run, n nodes) error {
	return r.Play("Install the network plugin", n.masters[:1]).Task(ctx, "network_plugin/calico : Start Calico resources", func(ctx context.Context, h *ansiblesim.Host) error {
		mtu, err := r.Vars(h.Name)("calico_veth_mtu")
		if err != nil {
			return err
		}
		_, err = h.Feed(ctx, fmt.Sprintf(calico, cmp.Or(mtu, "0")), "kubectl", "--kubeconfig", adminConf, "apply", "-f", "-")
		return err
	})
}

const calico = `apiVersion: v1
kind: ConfigMap
metadata:
  name: calico-config
  namespace: kube-system
data:
  veth_mtu: "%s"
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: calico-node
  namespace: kube-system
spec:
  selector:
    matchLabels:
      k8s-app: calico-node
  template:
    metadata:
      labels:
        k8s-app: calico-node
    spec:
      tolerations:
      - operator: Exists
      containers:
      - name: calico-node
        image: quay.io/calico/node:v3.25.2
`
