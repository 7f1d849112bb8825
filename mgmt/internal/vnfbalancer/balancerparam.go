package vnfbalancer

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"

	"github.com/vnfkit/vnfkit/internal/login"
	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusterparam"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// BalancerParam is the parameter "external_lb_param": machines of the VNF that lead to the API and to the services of
// CNFs.
type BalancerParam struct {
	SSHCPName string `json:"ssh_cp_name"`
	NICCPName string `json:"nic_cp_name"` // beyond Tacker; where the API is; default ssh_cp_name
	login.SSH
	HostKeys   mgmt.HostKeys `json:"ssh_host_keys"` // beyond Tacker
	ScriptPath string        `json:"script_path"`   // default: haproxy is installed from packages of the distribution
}

// Role is a kind of machine of the VNF: those with that connection point.
type Role struct {
	Machines string // as they are called in messages
	CP       string
}

// balancerPath is where BalancerParam is.
const balancerPath = "external_lb_param"

// Check checks external_lb_param, if it is given: its machines must have no other role. No operation can scale them.
func (b *BalancerParam) Check(c *clusterparam.Checker, others ...Role) {
	if b == nil {
		return
	}
	c.Place(balancerPath, clusterparam.Place{SSHCPName: b.SSHCPName, NICCPName: b.NICCPName})
	c.Add(vnflcm.AtPath(balancerPath, errors.Join(mgmt.Login(b.SSH).Validate("ssh_"), b.HostKeys.Validate("ssh_host_keys"))))
	c.File(balancerPath+".script_path", b.ScriptPath)
	for _, other := range others {
		if vdu := c.Op.VDUOf(b.SSHCPName); vdu != "" && vdu == c.Op.VDUOf(other.CP) {
			c.Fault(balancerPath+".ssh_cp_name", b.SSHCPName, "is of VDU "+vdu+", whose machines are "+other.Machines)
		}
	}
}

// CheckScaling returns the fault of an operation that scales the load balancer, nil for any other.
func (b *BalancerParam) CheckScaling(c *clusterparam.Checker) error {
	if b == nil || b.SSHCPName == "" || !c.Scales(b.SSHCPName) {
		return nil
	}
	return &vnflcm.ParamError{Path: "aspectId", Value: c.Op.Scale.AspectID, Reason: "the load balancer cannot be scaled"}
}

// Balancers are the machines of external_lb_param by address, none without it: the first one is the same in every operation. logins is
// how a machine is logged in to, but for what the parameter says.
func (b *BalancerParam) Balancers(op *vnflcm.Operation, pool *sshexec.Pool, logins mgmt.Access) ([]mgmt.Node, error) {
	if b == nil {
		return nil, nil
	}
	logins.CP, logins.NIC, logins.Login, logins.HostKeys = b.SSHCPName, b.NICCPName, mgmt.Login(b.SSH), b.HostKeys
	nodes, err := logins.Nodes(op, pool, "lb")
	if err == nil && len(nodes) == 0 {
		err = &vnflcm.ParamError{Path: clusterparam.Path + "." + balancerPath + ".ssh_cp_name", Value: b.SSHCPName, Reason: "the VNF has no machine with this connection point"}
	}
	SortByAddress(nodes)
	return nodes, err
}

// SortByAddress sorts machines by their addresses.
func SortByAddress(nodes []mgmt.Node) {
	slices.SortFunc(nodes, func(a, b mgmt.Node) int { return cmp.Or(a.IP.Compare(b.IP), cmp.Compare(a.ID, b.ID)) })
}

// ClientAddress is where clients outside reach a load balancer: its floating address, if it has one, or else where the
// nodes do.
func (b *BalancerParam) ClientAddress(n mgmt.Node) netip.Addr {
	for _, name := range []string{b.NICCPName, b.SSHCPName} {
		if cp, has := n.CP(name); has && cp.Floating.IsValid() {
			return cp.Floating
		}
	}
	return n.IP
}

// Names are all addresses of machines, for certificates.
func Names(machines []mgmt.Node) (out []string) {
	for _, n := range machines {
		for _, cp := range n.CPs {
			out = append(out, Addresses(cp)...)
		}
	}
	return out
}

// Addresses are those of a connection point.
func Addresses(cp vnflcm.ConnectionPoint) (out []string) {
	for _, a := range append([]netip.Addr{cp.Floating}, cp.Fixed...) {
		if a.IsValid() {
			out = append(out, a.String())
		}
	}
	return out
}
