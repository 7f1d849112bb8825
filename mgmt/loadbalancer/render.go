package loadbalancer

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
)

// These figures determine how long clients notice the death of a server. If its port is closed, haproxy finds out after
// checkFall checks, checkInterval apart: within 3 s. If the server is silent, a check fails after checkInterval: within
// 4 s, and within 18 s if its port accepts connections but its API server does not answer (checkTimeout). Then haproxy
// closes the connections of the API. Until then a refused new connection is retried on another server at once, and an
// unanswered one after connectTimeout (option redispatch). The same times apply after each reload, since the new worker
// initially considers all servers alive.
const (
	checkInterval = "1s"
	checkFall     = 3
	checkRise     = 1 // as in kubeadm's own configuration: after one answer the server gets connections again
	checkTimeout  = "5s"

	connectTimeout = "2s"
)

// socket is haproxy's control socket, for root alone. Before 2.2 a new worker gets the listening sockets from the old
// one through it. It is not in /run/haproxy: there the user haproxy could replace it, and not every package has that
// folder.
const socket = "/run/haproxy-vnfkit.sock"

// oldWorkers bounds how long the worker of an earlier configuration keeps its connections: without a limit every change
// would leave one more worker.
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

// alive has no servers: a check of a service's port would open a connection to one of the service's servers each time.
const alive = `
frontend alive
    mode http
    timeout client 5s
    bind 127.0.0.1:%d
    monitor-uri /alive
`

// Render returns haproxy.cfg: the same bytes for the same configuration. Connections are balanced at TCP level: TLS is
// between client and server. The checks of API servers do not verify certificates: they only choose a server. Watches
// are idle for long times: keep-alive packets detect dead clients and servers, and unacknowledged data detects dead
// servers also for connections of old workers, which run no checks. There is no statistics page.
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

// frontend renders a frontend and its backend of the same name. The name contains the port, so it is unique.
func (c Config) frontend(out *strings.Builder, owner string, f Frontend, groups map[string][]Server) {
	name := f.Name + "-" + strconv.Itoa(f.Port)
	fmt.Fprintf(out, "\n# %s\nfrontend %s\n    bind 0.0.0.0:%d\n", owner, name, f.Port)
	if c.IPv6 {
		fmt.Fprintf(out, "    bind [::]:%d v6only\n", f.Port)
	}
	fmt.Fprintf(out, "    default_backend %s\n\nbackend %s\n    balance roundrobin\n", name, name)
	// shutdown-sessions also ends connections that are still being set up, which would otherwise be retried on another
	// server. So services do not use it: keep-alive packets and unacknowledged data end their connections. Watches of
	// the API are idle for longer than their clients wait, and have to be started again.
	check, closing := "check", ""
	if f.Check == CheckAPI {
		// Answers other than 200 come from an API server that starts, or that has lost its etcd. /readyz needs no
		// authentication; the probes of kubeadm's static pods rely on that too.
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
