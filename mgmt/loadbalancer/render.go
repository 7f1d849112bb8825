package loadbalancer

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
)

// What a client meets when a server dies, as calculated from these figures. One whose port is closed is found after checkFall checks, checkInterval apart:
// within 3 s. One that is silent fails a check only after checkInterval: within 4 s, and within 18 s where its port takes
// connections but its API server says nothing (checkTimeout). The connections of the API are closed then. Until then a new connection
// that is refused goes to another server at once, and one that gets no answer after connectTimeout (option redispatch). The same
// holds after each reload, since the new worker takes all servers for alive at first.
const (
	checkInterval = "1s"
	checkFall     = 3
	checkRise     = 1 // as kubeadm's own: one answer is enough to be led to again
	checkTimeout  = "5s"

	connectTimeout = "2s"
)

// socket is haproxy's own interface, for root alone: its new workers ask the old one for the listening sockets there, where
// they are so old (before 2.2) that the master does not hand them over. It is not in /run/haproxy, where the user haproxy
// could put another one, and which not every package has.
const socket = "/run/haproxy-vnfkit.sock"

// oldWorkers is how long the worker of an earlier configuration goes on with its connections: without end there would be
// one more of them with each change.
const oldWorkers = "12h"

const header = `# Written by vnfkit: changes are lost.
global
    log /dev/log local0
    user haproxy
    group haproxy
    stats socket ` + socket + ` user root group root mode 600 level admin expose-fd listeners
    hard-stop-after ` + oldWorkers + `

defaults
    mode tcp
    log global
    option tcplog
    option dontlognull
    option clitcpka
    option srvtcpka
    option redispatch 1
    retries 3
    timeout connect ` + connectTimeout + `
    timeout check ` + checkTimeout + `
    timeout client 1h
    timeout server 1h
`

// alive has no servers: a check of the port of a service would open a connection to one of the service's servers each time.
const alive = `
frontend alive
    mode http
    timeout client 5s
    bind 127.0.0.1:%d
    monitor-uri /alive
`

// Render returns haproxy.cfg: the same bytes for the same configuration. Connections are balanced as they are: TLS is
// between the client and the server. The checks of API servers do not verify them: they only choose whom to ask. Watches
// are quiet for long: dead clients and servers are noticed by keep-alive packets, and servers by data that they do not
// acknowledge, which counts for connections of old workers too, which check nobody. There is no page of statistics.
func (c Config) Render() ([]byte, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	groups := map[string][]Server{}
	for _, p := range c.Parts {
		maps.Copy(groups, p.Groups)
	}
	var out strings.Builder
	out.WriteString(header)
	for _, owner := range slices.Sorted(maps.Keys(c.Parts)) {
		for _, f := range c.Parts[owner].Frontends {
			c.frontend(&out, owner, f, groups)
		}
	}
	if c.AlivePort > 0 {
		fmt.Fprintf(&out, alive, c.AlivePort)
	}
	return []byte(out.String()), nil
}

// frontend renders a frontend and the backend of the same name, which has the port in it: no other has that.
func (c Config) frontend(out *strings.Builder, owner string, f Frontend, groups map[string][]Server) {
	name := f.Name + "-" + strconv.Itoa(f.Port)
	fmt.Fprintf(out, "\n# %s\nfrontend %s\n    bind 0.0.0.0:%d\n", owner, name, f.Port)
	if c.IPv6 {
		fmt.Fprintf(out, "    bind [::]:%d v6only\n", f.Port)
	}
	fmt.Fprintf(out, "    default_backend %s\n\nbackend %s\n    balance roundrobin\n", name, name)
	// With shutdown-sessions also the connections end that are still being made, instead of going to another server: those of
	// services are left to keep-alive packets and to data that is not acknowledged. Watches of the API are quiet for longer
	// than their clients wait, and have to be begun anew.
	check, closing := "check", ""
	if f.Check == CheckAPI {
		// Other answers than 200 come from an API server that starts, or that has lost its etcd; /readyz is open to
		// everybody, which the probes of kubeadm's own static pods need too.
		out.WriteString("    option httpchk GET /readyz\n    http-check expect status 200\n")
		check, closing = "check check-ssl verify none", " on-marked-down shutdown-sessions"
	}
	fmt.Fprintf(out, "    default-server %s inter %s fall %d rise %d%s tcp-ut 30s\n", check, checkInterval, checkFall, checkRise, closing)
	seen := map[string]bool{}
	for _, group := range f.To {
		for _, s := range groups[group] {
			if !seen[s.ID] && !slices.Contains(c.Drained, s.ID) {
				fmt.Fprintf(out, "    server %s %s\n", s.Name, net.JoinHostPort(s.Address.Unmap().String(), strconv.Itoa(f.Toward)))
			}
			seen[s.ID] = true
		}
	}
}
