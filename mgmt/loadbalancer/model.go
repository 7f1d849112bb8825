package loadbalancer

import (
	"cmp"
	"net/netip"
)

// Server is a target of connections.
type Server struct {
	ID      string     `json:"id"`   // identity, for example the id of the VNFC; never an address
	Name    string     `json:"name"` // name in haproxy.cfg, such as worker-10-10-0-7
	Address netip.Addr `json:"address"`
}

// Frontend is a port of the load balancer, on all its addresses, with its targets.
type Frontend struct {
	Name   string   `json:"name"`   // letters, digits and . _ : -
	Port   int      `json:"port"`   // of the load balancer
	To     []string `json:"to"`     // groups of servers
	Toward int      `json:"toward"` // port of the servers
	Check  Check    `json:"check,omitempty"`
}

// Check says how haproxy checks whether a server is alive. Default: CheckTCP.
type Check string

// The checks.
const (
	CheckTCP Check = "tcp"       // the port accepts connections
	CheckAPI Check = "apiserver" // GET /readyz over TLS answers 200
)

// Part is the configuration of one owner: a cluster has its API, a CNF its services. A part may name groups of another
// owner: the services of a CNF follow the nodes of the cluster.
type Part struct {
	Groups    map[string][]Server `json:"groups,omitempty"` // by name, such as ControlPlane and Workers
	Frontends []Frontend          `json:"frontends,omitempty"`
}

// The groups in the part of a cluster. Configuration files of load balancers have these names.
const (
	ControlPlane = "masters"
	Workers      = "workers"
)

// DefaultPort is the default port of a cluster's API, as in Tacker.
const DefaultPort = 8383

// apiPort is the port of the API servers.
const apiPort = 6443

// Cluster returns the Part that leads clients to a Kubernetes cluster: its API at a port of the load balancer (0: DefaultPort), and the
// groups ControlPlane and Workers.
func Cluster(port int, controlPlane, workers []Server) Part {
	return Part{
		Groups:    map[string][]Server{ControlPlane: controlPlane, Workers: workers},
		Frontends: []Frontend{{Name: "kubernetes", Port: cmp.Or(port, DefaultPort), To: []string{ControlPlane}, Toward: apiPort, Check: CheckAPI}},
	}
}
