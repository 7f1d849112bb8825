package kubespray

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/sshexec"
)

// gather logs in to every host, and becomes root there.
func (r *run) gather(ctx context.Context, hosts []string) error {
	r.play("Gather facts")
	return r.task(ctx, "Gather minimal facts", hosts, func(ctx context.Context, h host) (bool, error) {
		_, err := h.run(ctx, "id", "-un")
		return false, err
	})
}

// facts is facts.yml.
func (s Server) facts(ctx context.Context, r *run) error {
	n, err := s.begin(ctx, r)
	if err != nil {
		return err
	}
	return r.gather(ctx, n.all)
}

// cluster is cluster.yml. A second run changes nothing.
func (s Server) cluster(ctx context.Context, r *run) error {
	n, err := s.begin(ctx, r)
	if err != nil {
		return err
	}
	for _, step := range []func(context.Context, nodes) error{
		func(ctx context.Context, n nodes) error { return r.gather(ctx, n.all) },
		func(ctx context.Context, n nodes) error { return r.prepare(ctx, n.all) },
		r.controlPlane, r.network, r.workers,
	} {
		if err := step(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// scale is scale.yml: workers only.
func (s Server) scale(ctx context.Context, r *run) error {
	n, err := s.begin(ctx, r)
	if err != nil {
		return err
	}
	n.workers = r.limited(n.workers)
	if err := r.gather(ctx, n.workers); err != nil {
		return err
	}
	if err := r.prepare(ctx, n.workers); err != nil {
		return err
	}
	return r.workers(ctx, n)
}

// prepare makes hosts ready for kubeadm.
func (r *run) prepare(ctx context.Context, hosts []string) error {
	r.play("Prepare nodes")
	for _, task := range []struct {
		name string
		do   func(context.Context, host) (bool, error)
	}{
		{"bootstrap-os : Assign inventory name to unconfigured hostnames", nameHost},
		{"kubernetes/preinstall : Disable swap", quiet("swapoff", "-a")},
		{"kubernetes/preinstall : Enable kernel modules", quiet("modprobe", "-a", "overlay", "br_netfilter")},
		{"kubernetes/preinstall : Enable ip forwarding", forward},
		{"kubernetes/preinstall : Install packages requirements", r.install},
		{"container-engine/containerd : Copy containerd config file", func(ctx context.Context, h host) (bool, error) {
			return h.put(ctx, "/etc/containerd/config.toml", "version = 2\n", "systemctl", "restart", "containerd")
		}},
	} {
		if err := r.task(ctx, task.name, hosts, task.do); err != nil {
			return err
		}
	}
	return nil
}

func nameHost(ctx context.Context, h host) (bool, error) {
	if now, err := h.line(ctx, "hostname"); err != nil || now == h.name {
		return false, err
	}
	return h.changes(ctx, "hostnamectl", "set-hostname", h.name)
}

func forward(ctx context.Context, h host) (bool, error) {
	const file = "/etc/sysctl.d/99-sysctl.conf"
	changed, err := h.put(ctx, file, "net.ipv4.ip_forward=1\n")
	if err == nil {
		_, err = h.run(ctx, "sysctl", "-p", file)
	}
	return changed, err
}

// quiet runs a program that does not report whether it has changed something.
func quiet(argv ...string) func(context.Context, host) (bool, error) {
	return func(ctx context.Context, h host) (bool, error) {
		_, err := h.run(ctx, argv...)
		return false, err
	}
}

// install installs the packages of a node, with the proxy of the variables.
func (r *run) install(ctx context.Context, h host) (bool, error) {
	missing := false
	for _, program := range [][]string{{"kubelet", "--version"}, {"kubeadm", "version"}, {"systemctl", "is-active", "--quiet", "containerd"}} {
		installed, err := h.does(ctx, program...)
		if err != nil {
			return false, err
		}
		missing = missing || !installed
	}
	if !missing {
		return false, nil
	}
	env := map[string]string{"DEBIAN_FRONTEND": "noninteractive"}
	for _, name := range []string{"http_proxy", "https_proxy"} {
		env[name] = r.inventory.text(h.name, name)
	}
	for _, argv := range [][]string{{"dpkg", "--configure", "-a"}, {"apt-get", "update"}, {"apt-get", "install", "-y", "containerd", "kubelet", "kubeadm", "kubectl"}} {
		if _, err := h.do(ctx, sshexec.Command{Argv: argv, Env: env}); err != nil {
			return false, err
		}
	}
	return true, nil
}

// isNode reports whether the host is a node already. If it is not, isNode removes what an interrupted run has left there.
func isNode(ctx context.Context, h host) (bool, error) {
	if runs, err := h.does(ctx, "systemctl", "is-active", "--quiet", "kubelet"); runs || err != nil {
		return runs, err
	}
	_, err := h.run(ctx, "kubeadm", "reset", "-f")
	return false, err
}

func (r *run) address(ctx context.Context, h host) (string, error) {
	if ip := r.inventory.text(h.name, "ip"); ip != "" {
		return ip, nil
	}
	return h.line(ctx, "hostname", "-I")
}

// controlPlane creates the cluster on the first node, and joins the remaining ones.
func (r *run) controlPlane(ctx context.Context, n nodes) error {
	r.play("Install the control plane")
	if err := r.task(ctx, "kubernetes/control-plane : kubeadm | Initialize first control plane node", n.masters[:1], func(ctx context.Context, h host) (bool, error) {
		if is, err := isNode(ctx, h); is || err != nil {
			return false, err
		}
		config, err := r.initConfig(ctx, h, n)
		if err != nil {
			return false, err
		}
		return h.put(ctx, "/etc/kubernetes/kubeadm-config.yaml", config, "kubeadm", "init", "--config=/etc/kubernetes/kubeadm-config.yaml", "--upload-certs")
	}); err != nil {
		return err
	}
	if err := r.serial(ctx, "kubernetes/control-plane : Joining control plane node to the cluster.", n.masters[1:], func(ctx context.Context, h host) (bool, error) {
		return r.join(ctx, h, n.masters[0], true)
	}); err != nil {
		return err
	}
	return r.task(ctx, "etcd : Gen_certs | Place the certificates", n.masters, placeFiles)
}

// placeFiles copies the certificates that kubeadm has made to where kubespray has them. The servers use those of kubeadm.
func placeFiles(ctx context.Context, h host) (bool, error) {
	_, err := h.run(ctx, "sh", "-c", placeCertificates, "sh", h.name)
	return false, err
}

const placeCertificates = `set -e
mkdir -p /etc/kubernetes/ssl /etc/ssl/etcd/ssl
cd /etc/kubernetes/pki
cp ca.crt apiserver.crt apiserver-kubelet-client.crt front-proxy-ca.crt front-proxy-client.crt /etc/kubernetes/ssl/
cp etcd/ca.crt /etc/ssl/etcd/ssl/ca.pem
cp etcd/server.crt "/etc/ssl/etcd/ssl/member-$1.pem"
cp etcd/healthcheck-client.crt "/etc/ssl/etcd/ssl/admin-$1.pem"
cp apiserver-etcd-client.crt "/etc/ssl/etcd/ssl/node-$1.pem"
`

// initConfig is the configuration for kubeadm: the networks of the variables, and every name of the API.
func (r *run) initConfig(ctx context.Context, h host, n nodes) (string, error) {
	ip, err := r.address(ctx, h)
	if err != nil {
		return "", err
	}
	names := append(r.inventory.list(h.name, "supplementary_addresses_in_ssl_keys"), "localhost", "127.0.0.1")
	for _, master := range n.masters {
		names = append(names, master, cmp.Or(r.inventory.text(master, "ansible_host"), master))
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
`, token[:6]+"."+token[6:22], h.name, ip, net.JoinHostPort(ip, "6443"), sans.String(),
		r.inventory.text(h.name, "kube_pods_subnet"), r.inventory.text(h.name, "kube_service_addresses")), nil
}

// join makes a host a node, with a token of the first control-plane node.
func (r *run) join(ctx context.Context, h host, master string, controlPlane bool) (bool, error) {
	if is, err := isNode(ctx, h); is || err != nil {
		return false, err
	}
	m, err := r.host(master)
	if err != nil {
		return false, err
	}
	line, err := m.run(ctx, "kubeadm", "token", "create", "--print-join-command")
	if err != nil {
		return false, err
	}
	words := strings.Fields(line) // kubeadm join ENDPOINT --token TOKEN --discovery-token-ca-cert-hash HASH
	if len(words) < 7 {
		return false, fmt.Errorf("kubesim: %q is no command to join", line)
	}
	config := fmt.Sprintf("apiVersion: kubeadm.k8s.io/v1beta3\nkind: JoinConfiguration\nnodeRegistration:\n  name: %s\ndiscovery:\n  bootstrapToken:\n    apiServerEndpoint: %s\n    token: %q\n    caCertHashes:\n    - %s\n",
		h.name, words[2], words[4], words[6])
	if controlPlane {
		key, err := m.line(ctx, "kubeadm", "init", "phase", "upload-certs", "--upload-certs")
		if err != nil {
			return false, err
		}
		ip, err := r.address(ctx, h)
		if err != nil {
			return false, err
		}
		config += fmt.Sprintf("controlPlane:\n  certificateKey: %s\n  localAPIEndpoint:\n    advertiseAddress: %s\n", key[strings.LastIndex(key, "\n")+1:], ip)
	}
	return h.put(ctx, "/etc/kubernetes/kubeadm-client.conf", config, "kubeadm", "join", "--config", "/etc/kubernetes/kubeadm-client.conf")
}

// workers joins the workers.
func (r *run) workers(ctx context.Context, n nodes) error {
	r.play("Join worker nodes")
	workers := slices.DeleteFunc(slices.Clone(n.workers), func(host string) bool { return slices.Contains(n.masters, host) })
	return r.task(ctx, "kubernetes/kubeadm : Join to cluster", workers, func(ctx context.Context, h host) (bool, error) {
		return r.join(ctx, h, n.masters[0], false)
	})
}

const adminConf = "/etc/kubernetes/admin.conf"

// network applies the network add-on.
func (r *run) network(ctx context.Context, n nodes) error {
	r.play("Install the network plugin")
	return r.task(ctx, "network_plugin/calico : Start Calico resources", n.masters[:1], func(ctx context.Context, h host) (bool, error) {
		manifest := fmt.Sprintf(calico, cmp.Or(r.inventory.text(h.name, "calico_veth_mtu"), "0"))
		_, err := h.do(ctx, sshexec.Command{Argv: []string{"kubectl", "--kubeconfig", adminConf, "apply", "-f", "-"}, Stdin: strings.NewReader(manifest)})
		return false, err
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
