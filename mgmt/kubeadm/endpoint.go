package kubeadm

import (
	"cmp"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/vnfbalancer"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/apiaccess"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// apiAddress is the address of the API for nodes and other clients.
type apiAddress struct {
	host     string     // an address, or the name of a load balancer outside of the VNF
	port     string     // empty: see endpoint
	floating netip.Addr // address of the host for clients outside, if there is one
	virtual  bool       // no machine has the address as a fixed one
}

// String returns the host.
func (a apiAddress) String() string { return a.host }

// findEndpoint finds the address of the API: the load balancer of the VNF, api_endpoint, or the address of cluster_cp_name,
// which is a virtual address of the VNF or an address of the first control-plane node. Only the created machines show
// which: a template may create connection points that the VNFD does not declare.
func (e *environment) findEndpoint() error {
	if e.p.Balancer != nil {
		e.api = e.balancerAddress()
		return nil
	}
	var faults []error
	candidates := slices.Concat(e.op.ConnectionPoints, e.controlPlane[0].CPs)
	if name := e.p.Master.ClusterCPName; e.p.APIEndpoint == "" {
		i := slices.IndexFunc(candidates, func(cp vnflcm.ConnectionPoint) bool { return cp.CPD == name && len(cp.Fixed) > 0 })
		if i < 0 {
			faults = append(faults, &vnflcm.ParamError{Path: clusterPath + ".master_node.cluster_cp_name", Value: name,
				Reason: "neither the VNF nor its first control-plane node has an address at such a connection point"})
		} else {
			addr := candidates[i].Fixed[0]
			e.api = apiAddress{host: addr.String(), floating: candidates[i].Floating, virtual: !e.hasAddress(addr)}
		}
	} else {
		e.api.host, e.api.port, _ = splitEndpoint(e.p.APIEndpoint) // checked
	}
	if name := e.p.Master.ClusterFIPName; name != "" {
		i := slices.IndexFunc(candidates, func(cp vnflcm.ConnectionPoint) bool { return cp.CPD == name && cp.Floating.IsValid() })
		switch {
		case i >= 0:
			e.api.floating = candidates[i].Floating
		case !e.api.floating.IsValid(): // a template may give the floating address another name than its port
			faults = append(faults, &vnflcm.ParamError{Path: clusterPath + ".master_node.cluster_fip_name", Value: name,
				Reason: "neither it nor cluster_cp_name is a connection point with a floating address"})
		}
	}
	return errors.Join(faults...)
}

// hasAddress reports whether a control-plane node has the address.
func (e *environment) hasAddress(addr netip.Addr) bool {
	return slices.ContainsFunc(e.controlPlane, func(m mgmt.Node) bool {
		return slices.ContainsFunc(m.CPs, func(cp vnflcm.ConnectionPoint) bool { return slices.Contains(cp.Fixed, addr) })
	})
}

// endpoint returns host:port of the API. Without a load balancer, the port belongs to the API server. With a load balancer
// outside of the VNF, api_endpoint has the port. With haproxy in front of the API servers, it is haproxy's port: the driver
// sets up haproxy for a virtual address, and the package's script for several control-plane nodes. Tacker's scripts use port
// 16443, and so does the driver.
func (e *environment) endpoint() string {
	port := cmp.Or(e.api.port, apiPort)
	if e.balanced() || e.p.ScriptPath != "" && len(e.controlPlane) > 1 {
		port = strconv.Itoa(apiaccess.Port)
	}
	return net.JoinHostPort(e.api.host, port)
}

// apiPort is the port of API servers.
const apiPort = "6443"

// certSANs returns the names and addresses that the API's certificate must have, so that every client can verify TLS. The
// host of the endpoint is first.
func (e *environment) certSANs() []string {
	var sans []string
	add := func(addr netip.Addr) {
		if addr.IsValid() {
			sans = append(sans, addr.String())
		}
	}
	add(e.api.floating)
	sans = append(sans, vnfbalancer.Names(e.balancers)...)
	for _, m := range e.controlPlane {
		sans = append(sans, m.HostName)
		for _, cp := range m.CPs {
			add(cp.Floating)
			for _, addr := range cp.Fixed {
				add(addr)
			}
		}
	}
	slices.Sort(sans)
	sans = slices.DeleteFunc(slices.Compact(sans), func(name string) bool { return name == e.api.host })
	return slices.Insert(sans, 0, e.api.host)
}
