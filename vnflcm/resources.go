package vnflcm

import "net/netip"

// Resources are what an InfraDriver made for a VNF.
type Resources struct {
	VNFCs            []VNFC            `json:"vnfcs,omitempty"`
	ConnectionPoints []ConnectionPoint `json:"connectionPoints,omitempty"` // of the VNF as a whole, such as a virtual IP
	VirtualLinks     []VirtualLink     `json:"virtualLinks,omitempty"`
	Storages         []Storage         `json:"storages,omitempty"`
	NodePorts        []NodePort        `json:"nodePorts,omitempty"` // of services of a CNF; filled by infra drivers of Kubernetes
	Metadata         map[string]string `json:"metadata,omitempty"`  // of the VNF as a whole
}

// VNFC is one machine of a VNF.
type VNFC struct {
	ID         string `json:"id,omitempty"`         // for the life of the VNFC, kept when it is healed
	ResourceID string `json:"resourceId,omitempty"` // id of the server on the VIM; it changes with a heal. Host keys are stored under it
	VDU        string `json:"vdu"`
	Aspect     string `json:"aspect,omitempty"` // the scaling aspect that made it
	Name       string `json:"name,omitempty"`   // as on the VIM. It comes from the VNFD or a request: print Label or String
	Zone       string `json:"zone,omitempty"`
	Host       string `json:"host,omitempty"` // compute host, where the VIM shows it
	// HostKey is the SSH host key of the machine in authorized_keys form, if the VIM reports it. Management drivers
	// then accept no other key, not even at the first login; its comment is part of the error.
	HostKey    string            `json:"hostKey,omitempty"`
	CPs        []ConnectionPoint `json:"cps,omitempty"`
	StorageIDs []string          `json:"storageIds,omitempty"`
	Metadata   map[string]string `json:"metadata,omitempty"`
	// VnfdID is the VNFD by which the VNFC runs, "" for that of the instance: it differs while the package is changed, and after a change
	// that has failed (SOL003 v3.3.1 5.5.3.5). The Manager sets it. Operation.VersionOf returns the package.
	VnfdID string `json:"vnfdId,omitempty"`
}

// ConnectionPoint is an interface with its addresses.
type ConnectionPoint struct {
	CPD        string       `json:"cpd"`
	ResourceID string       `json:"resourceId,omitempty"` // the port on the VIM
	MAC        string       `json:"mac,omitempty"`
	Fixed      []netip.Addr `json:"fixed,omitempty"`
	Floating   netip.Addr   `json:"floating,omitzero"`
}

// VirtualLink is a network made for the VNF.
type VirtualLink struct {
	ID         string `json:"id"`
	VLD        string `json:"vld"`
	ResourceID string `json:"resourceId,omitempty"`
}

// Storage is a volume made for the VNF.
type Storage struct {
	ID         string `json:"id"`
	Descriptor string `json:"descriptor"`
	ResourceID string `json:"resourceId,omitempty"`
}

// NodePort is a port of every node of the cluster at which a service of the CNF answers: one of a Service of type NodePort
// or LoadBalancer. With externalTrafficPolicy Local only the nodes answer that have a pod of it.
type NodePort struct {
	Namespace string `json:"namespace"`
	Service   string `json:"service"`
	Port      string `json:"port,omitempty"` // name of the port; a service with one port need not name it
	Protocol  string `json:"protocol"`       // TCP, UDP or SCTP
	NodePort  int    `json:"nodePort"`
}

// CP returns the connection point of that descriptor.
func (v VNFC) CP(cpd string) (ConnectionPoint, bool) {
	for _, cp := range v.CPs {
		if cp.CPD == cpd {
			return cp, true
		}
	}
	return ConnectionPoint{}, false
}

// Address returns the address at which the connection point is reached from outside: its floating address, else its first
// fixed address. The address is invalid if the connection point has no addresses.
func (c ConnectionPoint) Address() netip.Addr {
	if c.Floating.IsValid() || len(c.Fixed) == 0 {
		return c.Floating
	}
	return c.Fixed[0]
}

// Change is what an operation does to the VNFCs.
type Change struct {
	Added    []VNFC `json:"added,omitempty"`    // announced by Plan, replaced by what Resources reports once it is there
	Removed  []VNFC `json:"removed,omitempty"`  // exactly these are removed
	Replaced []VNFC `json:"replaced,omitempty"` // healed: the same ids, other resources afterwards
}

// confirm replaces the VNFCs that Plan announced by the actual ones.
func (c Change) confirm(before, now []VNFC) Change {
	old := map[string]VNFC{}
	for _, v := range before {
		old[v.ID] = v
	}
	replaced := map[string]bool{}
	for _, v := range c.Replaced {
		replaced[v.ID] = true
	}
	out := Change{Removed: c.Removed}
	for _, v := range now {
		_, known := old[v.ID]
		switch {
		case replaced[v.ID]:
			out.Replaced = append(out.Replaced, v)
		case !known:
			out.Added = append(out.Added, v)
		}
	}
	return out
}
