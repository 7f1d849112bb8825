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

// BalancerParam is the parameter "external_lb_param": the load balancers of the VNF.
type BalancerParam struct {
	SSHCPName string `json:"ssh_cp_name"`
	NICCPName string `json:"nic_cp_name"` // beyond Tacker; connection point for the API; default ssh_cp_name
	login.SSH
	HostKeys   mgmt.HostKeys `json:"ssh_host_keys"` // beyond Tacker
	ScriptPath string        `json:"script_path"`   // default: haproxy is installed from packages of the distribution
}

// Role is a kind of machine of the VNF, selected by its connection point.
type Role struct {
	Machines string // name in messages, such as "workers"
	CP       string
}

// balancerPath is the path of BalancerParam in the parameters.
const balancerPath = "external_lb_param"

// Check checks external_lb_param if it is given. Its machines must have no other role.
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

// CheckScaling returns an error if the operation scales the load balancer.
func (b *BalancerParam) CheckScaling(c *clusterparam.Checker) error {
	if b == nil || b.SSHCPName == "" || !c.Scales(b.SSHCPName) {
		return nil
	}
	return &vnflcm.ParamError{Path: "aspectId", Value: c.Op.Scale.AspectID, Reason: "the load balancer cannot be scaled"}
}

// Balancers returns the machines of external_lb_param, sorted by address so that the first one is the same in every
// operation. It returns none without the parameter. logins is how to log in, except for what the parameter sets.
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

// ClientAddress returns the address of a load balancer for clients: its floating address or, without one, the address that
// the nodes use.
func (b *BalancerParam) ClientAddress(n mgmt.Node) netip.Addr {
	for _, name := range []string{b.NICCPName, b.SSHCPName} {
		if cp, has := n.CP(name); has && cp.Floating.IsValid() {
			return cp.Floating
		}
	}
	return n.IP
}

// Names returns all addresses of machines, for certificates.
func Names(machines []mgmt.Node) (out []string) {
	for _, n := range machines {
		for _, cp := range n.CPs {
			out = append(out, Addresses(cp)...)
		}
	}
	return out
}

// Addresses returns all addresses of a connection point.
func Addresses(cp vnflcm.ConnectionPoint) (out []string) {
	for _, a := range append([]netip.Addr{cp.Floating}, cp.Fixed...) {
		if a.IsValid() {
			out = append(out, a.String())
		}
	}
	return out
}
