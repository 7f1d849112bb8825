package clusterparam

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Checker checks parameters against the package and collects the faults.
type Checker struct {
	Op     *vnflcm.Operation
	faults []error
}

// Fault adds one fault.
func (c *Checker) Fault(path, value, reason string) {
	c.Add(&vnflcm.ParamError{Path: path, Value: value, Reason: reason})
}

// Add adds faults that another check has found. nil adds nothing.
func (c *Checker) Add(err error) { c.faults = append(c.faults, err) }

// Err returns all faults, joined, or nil.
func (c *Checker) Err() error { return errors.Join(c.faults...) }

// Place has the attributes that select the machines of one kind, such as workers.
type Place struct{ AspectID, VDUID, SSHCPName, NICCPName string }

// Place checks that the flavour has machines with these attributes.
func (c *Checker) Place(path string, n Place) {
	if n.SSHCPName == "" {
		c.Fault(path+".ssh_cp_name", "", "is required")
	}
	c.CP(path+".ssh_cp_name", n.SSHCPName)
	c.CP(path+".nic_cp_name", n.NICCPName)
	vdu := c.Op.VDUOf(n.SSHCPName)
	if nic := c.Op.VDUOf(n.NICCPName); vdu != "" && nic != "" && nic != vdu {
		c.Fault(path+".nic_cp_name", n.NICCPName, fmt.Sprintf("is of VDU %s, but ssh_cp_name is of VDU %s", nic, vdu))
	}
	if vdu != "" && n.VDUID != "" && n.VDUID != vdu {
		c.Fault(path+".vdu_id", n.VDUID, fmt.Sprintf("does not have connection point %s, which is of VDU %s", n.SSHCPName, vdu))
	}
	if vdu != "" && n.AspectID != "" && !slices.Contains(c.Op.Flavour.AspectsOf(vdu), n.AspectID) {
		c.Fault(path+".aspect_id", n.AspectID, fmt.Sprintf("does not scale VDU %s, which has connection point %s", vdu, n.SSHCPName))
	}
}

// Workers checks that workers and control-plane nodes are different VDUs.
func (c *Checker) Workers(controlPlaneCP, workerCP string) {
	if vdu := c.Op.VDUOf(controlPlaneCP); vdu != "" && vdu == c.Op.VDUOf(workerCP) {
		c.Fault("worker_node.ssh_cp_name", workerCP, "is of VDU "+vdu+", whose machines are control-plane nodes")
	}
}

// CP checks that a VDU of the flavour has this connection point. "" is accepted.
func (c *Checker) CP(path, cp string) {
	if cp == "" {
		return
	}
	if err := c.Op.CheckConnectionPoint(cp); err != nil {
		c.Fault(path, cp, err.Error())
	}
}

// Networks parses the CIDRs of master_node, and clears host bits, which Tacker's guide has in its examples. For a new
// cluster, a network that contains the address of a machine is a fault.
func (c *Checker) Networks(pod, service *string) {
	var parsed []netip.Prefix
	for _, n := range []struct {
		path  string
		value *string
	}{{"master_node.pod_cidr", pod}, {"master_node.cluster_cidr", service}} {
		prefix, err := netip.ParsePrefix(*n.value)
		if err != nil {
			c.Fault(n.path, *n.value, "must be a network such as 10.244.0.0/16")
			continue
		}
		*n.value = prefix.Masked().String()
		parsed = append(parsed, prefix.Masked())
		if machine, found := machineIn(c.Op, *n.value); found && c.Op.Kind == vnflcm.OpInstantiate {
			c.Fault(n.path, *n.value, fmt.Sprintf("contains the address %s of a machine of the VNF: choose a network that is used nowhere else", machine))
		}
	}
	if len(parsed) == 2 && parsed[0].Overlaps(parsed[1]) {
		c.Fault("master_node.pod_cidr", *pod, "overlaps cluster_cidr "+*service)
	}
}

// PodNetworkSize refuses a network of pods that is too small or too large for the networks of nodes that it is divided into
// (kubeadm, ValidatePodSubnetNodeMask): /24 each, with IPv6 /64.
func (c *Checker) PodNetworkSize(pod string) {
	prefix, err := netip.ParsePrefix(pod)
	if err != nil {
		return // Networks reports it
	}
	node := 24
	if prefix.Addr().Is6() {
		node = 64
	}
	if bits := prefix.Bits(); bits > node || bits < node-16 {
		c.Fault("master_node.pod_cidr", pod, fmt.Sprintf("must be from /%d to /%d: each node gets a /%d of it", node-16, node, node))
	}
}

// ServiceNetworkSize refuses a network of services with fewer than 10 or more than 2^20 addresses (kubeadm,
// ValidateServiceSubnetSize).
func (c *Checker) ServiceNetworkSize(service string) {
	prefix, err := netip.ParsePrefix(service)
	if err != nil {
		return // Networks reports it
	}
	if host := prefix.Addr().BitLen() - prefix.Bits(); host < 4 || host > 20 {
		c.Fault("master_node.cluster_cidr", service, fmt.Sprintf("must be from /%d to /%d", prefix.Addr().BitLen()-20, prefix.Addr().BitLen()-4))
	}
}

// machineIn returns an address of a machine in the network, among those that machines have and those that the request
// assigns.
func machineIn(op *vnflcm.Operation, network string) (machine netip.Addr, found bool) {
	prefix, err := netip.ParsePrefix(network)
	if err != nil {
		return machine, false
	}
	addresses := requested(op.Connectivity)
	for _, v := range op.VNFCs {
		for _, cp := range v.CPs {
			addresses = append(addresses, cp.Fixed...)
		}
	}
	i := slices.IndexFunc(addresses, prefix.Masked().Contains)
	if i < 0 {
		return machine, false
	}
	return addresses[i], true
}

// requested returns the fixed addresses that a request assigns to external connection points.
func requested(links []vnflcm.ExtVirtualLinkData) (out []netip.Addr) {
	for _, link := range links {
		for _, cp := range link.ExtCps {
			for _, config := range cp.CpConfig {
				out = append(out, fixedAddresses(config)...)
			}
		}
	}
	return out
}

func fixedAddresses(config vnflcm.VnfExtCpConfig) (out []netip.Addr) {
	for _, data := range config.CpProtocolData {
		if data.IPOverEthernet == nil {
			continue
		}
		for _, ip := range data.IPOverEthernet.IPAddresses {
			for _, text := range ip.FixedAddresses {
				if addr, err := netip.ParseAddr(text); err == nil {
					out = append(out, addr)
				}
			}
		}
	}
	return out
}

// File checks that the package has this file. "" is accepted.
func (c *Checker) File(path, name string) {
	if name == "" {
		return
	}
	if _, err := c.Op.Package.Artifact(name); err != nil {
		reason := err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			reason = "the package has no such file"
		}
		c.Fault(path, name, reason)
	}
}

// DrainPolicy checks drain_policy.
func (c *Checker) DrainPolicy(policy cluster.DrainPolicy) {
	switch policy {
	case "", cluster.DrainFail, cluster.DrainDelete, cluster.DrainContinue:
	default:
		c.Fault("drain_policy", string(policy), fmt.Sprintf("must be %s, %s or %s", cluster.DrainFail, cluster.DrainDelete, cluster.DrainContinue))
	}
}

// Scales reports whether the operation scales the VDU that has this connection point.
func (c *Checker) Scales(cp string) bool {
	return c.Op.Scale != nil && slices.Contains(c.Op.Flavour.AspectsOf(c.Op.VDUOf(cp)), c.Op.Scale.AspectID)
}
