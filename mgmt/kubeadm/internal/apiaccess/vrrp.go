package apiaccess

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/sshexec"
)

// place is the interface of a machine that gets the virtual address.
type place struct {
	device string
	bits   int // length of the network's prefix
}

// placeOf finds the interface whose network contains the virtual address.
func placeOf(ctx context.Context, n mgmt.Node, vip netip.Addr) (place, error) {
	family := "-4"
	if vip.Is6() {
		family = "-6"
	}
	out, err := n.Root().Output(ctx, sshexec.Command{Argv: []string{"ip", "-o", family, "addr", "show"}})
	if err != nil {
		return place{}, err
	}
	if n.IP.Is6() != vip.Is6() {
		return place{}, fmt.Errorf("kubeadm: the virtual address %s and the address of %s, %s, are not of one family", vip, n.Label(), n.IP)
	}
	device, bits, found := FindPlace(string(out), vip)
	if !found {
		return place{}, fmt.Errorf("kubeadm: %s has no interface in the network of the virtual address %s: take one of a network of the control-plane nodes", n.Label(), vip)
	}
	return place{device, bits}, nil
}

// FindPlace returns the interface whose network contains the virtual address, and the length of the network's prefix. It
// reads lines such as "2: eth0    inet 10.10.0.10/16 brd ..." (ip-address(8), -oneline).
func FindPlace(addresses string, vip netip.Addr) (device string, bits int, found bool) {
	for line := range strings.Lines(addresses) {
		words := strings.Fields(line)
		if len(words) < 4 {
			continue
		}
		network, err := netip.ParsePrefix(words[3])
		if err != nil || network.IsSingleIP() || !network.Masked().Contains(vip) {
			continue // skip the virtual address itself, whose prefix length may differ from the network's
		}
		device, _, _ = strings.Cut(words[1], "@")
		return device, network.Bits(), true
	}
	return "", 0, false
}

// alivePort is a port on loopback at which haproxy answers while it works.
const alivePort = 16442

// alive is the script that keepalived runs before it takes the address. It sends a request that haproxy answers itself:
// connecting to the API's port would open a connection to an API server each time.
var alive = `#!/bin/bash
# Written by vnfkit. Ends with 0 when haproxy answers.
exec 3<>/dev/tcp/127.0.0.1/` + strconv.Itoa(alivePort) + ` || exit 1
printf 'GET /alive HTTP/1.0\r\n\r\n' >&3
read -r -t 2 status <&3
[[ $status == *" 200 "* ]]
`

// vrrpConfig has the values of a keepalived.conf.
type vrrpConfig struct {
	VirtualAddress
	node         mgmt.Node
	controlPlane []mgmt.Node
	place        place
}

// priority differs for each node. If several nodes start at the same time, the one with the highest priority takes the
// address.
func (c vrrpConfig) priority() int {
	for i, m := range c.controlPlane {
		if m.ID == c.node.ID {
			return 200 - i
		}
	}
	return 1
}

// String returns the file keepalived.conf. No node is preferred: the address moves when its holder fails, and does not move
// back. Announcements are sent to the other nodes only. VRRP for IPv6 has no password (RFC 5798, 9). The script runs as
// root, its owner: if it ran as another user, keepalived before 2.2.8 would end its own check by a signal
// (github.com/acassen/keepalived/issues/2617).
func (c vrrpConfig) String() string {
	var peers strings.Builder
	for _, m := range c.controlPlane {
		if m.ID != c.node.ID {
			fmt.Fprintf(&peers, "        %s\n", m.IP)
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, `# Written by vnfkit, which replaces this file when control-plane nodes are added or removed.
global_defs {
    enable_script_security
    script_user root
}

vrrp_script haproxy {
    script "%s"
    interval 2
    timeout 3
    fall 2
    rise 1
}

vrrp_instance kubernetes {
    state BACKUP
    nopreempt
    interface %s
    virtual_router_id %d
    priority %d
    advert_int 1
`, aliveScript, c.place.device, c.RouterID, c.priority())
	if peers.Len() > 0 {
		fmt.Fprintf(&out, "    unicast_src_ip %s\n    unicast_peer {\n%s    }\n", c.node.IP, peers.String())
	}
	if c.Address.Is4() {
		fmt.Fprintf(&out, "    authentication {\n        auth_type PASS\n        auth_pass %s\n    }\n", c.Password)
	}
	fmt.Fprintf(&out, "    virtual_ipaddress {\n        %s/%d\n    }\n    track_script {\n        haproxy\n    }\n}\n", c.Address, c.place.bits)
	return out.String()
}
