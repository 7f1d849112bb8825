package kubeadm

import (
	"cmp"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/apiaccess"
	"github.com/vnfkit/vnfkit/mgmt/internal/vnfbalancer"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// apiAddress is where nodes and other clients reach the API.
type apiAddress struct {
	host     string     // an address, or the name of a load balancer outside
	port     string     // empty: what endpoint says
	floating netip.Addr // by which host is reached from outside, if there is one
	virtual  bool       // no machine has it by itself
}

// String is the host.
func (a apiAddress) String() string { return a.host }

// findEndpoint finds where the API is reached: at the load balancer of the VNF, at api_endpoint, or at the address of
// cluster_cp_name, which is a virtual address of the VNF or one of the first control-plane node. That is known only
// now: a template may make connection points that the VNFD does not show.
func (d *environment) findEndpoint() error {
	if d.p.Balancer != nil {
		d.api = d.balancerAddress()
		return nil
	}
	var faults []error
	candidates := slices.Concat(d.op.ConnectionPoints, d.masters[0].CPs)
	if name := d.p.Master.ClusterCPName; d.p.APIEndpoint == "" {
		i := slices.IndexFunc(candidates, func(cp vnflcm.ConnectionPoint) bool { return cp.CPD == name && len(cp.Fixed) > 0 })
		if i < 0 {
			faults = append(faults, &vnflcm.ParamError{Path: clusterPath + ".master_node.cluster_cp_name", Value: name,
				Reason: "neither the VNF nor its first control-plane node has an address at such a connection point"})
		} else {
			addr := candidates[i].Fixed[0]
			d.api = apiAddress{host: addr.String(), floating: candidates[i].Floating, virtual: !d.hasAddress(addr)}
		}
	} else {
		d.api.host, d.api.port, _ = splitEndpoint(d.p.APIEndpoint) // checked
	}
	if name := d.p.Master.ClusterFIPName; name != "" {
		i := slices.IndexFunc(candidates, func(cp vnflcm.ConnectionPoint) bool { return cp.CPD == name && cp.Floating.IsValid() })
		switch {
		case i >= 0:
			d.api.floating = candidates[i].Floating
		case !d.api.floating.IsValid(): // a template may name the floating address otherwise than its port
			faults = append(faults, &vnflcm.ParamError{Path: clusterPath + ".master_node.cluster_fip_name", Value: name,
				Reason: "neither it nor cluster_cp_name is a connection point with a floating address"})
		}
	}
	return errors.Join(faults...)
}

// hasAddress reports whether a control-plane node has the address.
func (d *environment) hasAddress(addr netip.Addr) bool {
	return slices.ContainsFunc(d.masters, func(m mgmt.Node) bool {
		return slices.ContainsFunc(m.CPs, func(cp vnflcm.ConnectionPoint) bool { return slices.Contains(cp.Fixed, addr) })
	})
}

// endpoint has the port of the API server itself, of the load balancer outside or, where haproxy stands before
// the API servers (ours, or that of the package's script for several of them), haproxy's, which Tacker's
// scripts have at 16443.
func (d *environment) endpoint() string {
	port := cmp.Or(d.api.port, apiPort)
	if d.balanced() || d.p.ScriptPath != "" && len(d.masters) > 1 {
		port = strconv.Itoa(apiaccess.Port)
	}
	return net.JoinHostPort(d.api.host, port)
}

// apiPort is where API servers listen.
const apiPort = "6443"

// certSANs are the names and addresses that clients of the API may use: the certificate holds for all of them,
// so that TLS can always be verified. The endpoint's comes first.
func (d *environment) certSANs() []string {
	var sans []string
	add := func(addr netip.Addr) {
		if addr.IsValid() {
			sans = append(sans, addr.String())
		}
	}
	add(d.api.floating)
	sans = append(sans, vnfbalancer.Names(d.balancers)...)
	for _, m := range d.masters {
		sans = append(sans, m.HostName)
		for _, cp := range m.CPs {
			add(cp.Floating)
			for _, addr := range cp.Fixed {
				add(addr)
			}
		}
	}
	slices.Sort(sans)
	sans = slices.DeleteFunc(slices.Compact(sans), func(name string) bool { return name == d.api.host })
	return slices.Insert(sans, 0, d.api.host)
}
