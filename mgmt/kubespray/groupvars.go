package kubespray

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/vnfbalancer"
)

// tunnelOverhead is how many bytes of every packet Calico's tunnels need: 50 for VXLAN, kubespray's default since 2.19, and
// 20 for IP in IP, the default before.
const tunnelOverhead = 50

// groupVars returns the variables that the driver sets, by group. All other variables keep the values in kubespray's
// directory on the server.
func (d *deployment) groupVars() map[string]map[string]any {
	all := map[string]any{"ansible_ssh_common_args": d.dir.sshArgs(d.dir.algorithms)}
	if p := d.p.Proxy; p.Used() {
		// kubespray builds no_proxy from the addresses of all nodes and from these networks (roles/kubespray-defaults,
		// no_proxy.yml).
		direct := []string{p.NodeNetwork(d.controlPlane[0].IP), d.p.Master.PodCIDR, d.p.Master.ClusterCIDR}
		if p.NoProxy != "" {
			direct = append([]string{p.NoProxy}, direct...)
		}
		all["http_proxy"], all["https_proxy"] = p.HTTPProxy, p.HTTPSProxy // URLs may carry a password
		all["additional_no_proxy"] = strings.Join(direct, ",")
	}
	if !d.dir.whole() {
		all["credentials_dir"] = d.dir.own() + "/credentials" // kubespray's default is a directory beside the inventory
	}
	k8s := map[string]any{
		"kube_pods_subnet": d.p.Master.PodCIDR, "kube_service_addresses": d.p.Master.ClusterCIDR,
		// calico_mtu is the MTU of the pods' interfaces, calico_veth_mtu that of the tunnels (network_plugin/calico,
		// calico-config.yml.j2 and calico-node.yml.j2). A packet of a pod must fit into the tunnel, and a packet of the
		// tunnel into the network.
		"calico_mtu": d.mtu - tunnelOverhead, "calico_veth_mtu": d.mtu - tunnelOverhead,
	}
	if names := d.certificateNames(); len(names) > 0 {
		k8s["supplementary_addresses_in_ssl_keys"] = names
	}
	return map[string]map[string]any{"all": all, "k8s_cluster": k8s}
}

// certificateNames returns the addresses at which clients reach the API and that kubespray does not add to the certificate
// by itself.
func (d *deployment) certificateNames() []string {
	names := vnfbalancer.Names(d.balancers)
	for _, n := range d.controlPlane {
		for _, name := range []string{d.p.Master.SSHCPName, d.p.Master.ClusterCPName} {
			if cp, has := n.CP(name); has {
				names = append(names, vnfbalancer.Addresses(cp)...)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// knownHosts returns the recorded host keys of these nodes in the format of sshd(8), and the signature algorithms with
// which the nodes prove them. A node without a recorded key is left out, so Ansible cannot log in to it.
func (d *deployment) knownHosts(ctx context.Context, nodes []mgmt.Node) (file []byte, algorithms []string, err error) {
	var text strings.Builder
	for _, n := range nodes {
		key, err := mgmt.HostKey(ctx, d.op, n.ResourceID)
		if err != nil {
			return nil, nil, err
		}
		if key == "" {
			continue
		}
		public, _, _, _, err := ssh.ParseAuthorizedKey([]byte(key))
		if err != nil {
			return nil, nil, err
		}
		text.WriteString(d.sshAddress(n).String() + " " + string(ssh.MarshalAuthorizedKey(public)))
		algorithms = append(algorithms, proofs(public.Type())...)
	}
	slices.Sort(algorithms)
	return []byte(text.String()), slices.Compact(algorithms), nil
}

// proofs returns the signature algorithms of a type of key. An RSA key signs with SHA-2 (RFC 8332). The algorithm
// "ssh-rsa", which uses SHA-1, is no longer accepted.
func proofs(keyType string) []string {
	if keyType == ssh.KeyAlgoRSA {
		return []string{ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSASHA512}
	}
	return []string{keyType}
}

// sshAddress returns the address at which the driver and Ansible log in to a node.
func (d *deployment) sshAddress(n mgmt.Node) netip.Addr {
	for _, name := range []string{d.p.Master.SSHCPName, d.p.Worker.SSHCPName} {
		if cp, has := n.CP(name); has {
			return cp.Address()
		}
	}
	return n.IP
}
