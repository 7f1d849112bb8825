// Package apiaccess gives clients of the Kubernetes API one address for all control-plane nodes: an address that the nodes
// share. It works on given machines and does not depend on operations of a cluster.
package apiaccess

import (
	"context"
	"io/fs"
	"net/netip"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/vnfbalancer"
	"github.com/vnfkit/vnfkit/mgmt/loadbalancer"
	"github.com/vnfkit/vnfkit/sshexec"
)

// Port is the port of the API at the virtual address: haproxy listens there on every control-plane node.
const Port = 16443

// VirtualAddress is an address that control-plane nodes share. keepalived assigns it to one node at a time, and haproxy on
// that node forwards connections to the API servers that answer.
type VirtualAddress struct {
	Address netip.Addr
	Agreement
}

// Agreement has the settings of keepalived that must be equal on all nodes of a cluster.
type Agreement struct {
	RouterID int    // 1 to 255; must differ from those of other clusters in the same network
	Password string // protects against misconfigured neighbours only, since VRRP has no real authentication; 8 characters count
}

// The files of keepalived.
const (
	keepalivedFile = "/etc/keepalived/keepalived.conf"
	aliveScript    = "/etc/keepalived/vnfkit-haproxy-alive"
)

// Serve configures haproxy and keepalived on a node to serve the API of the control-plane nodes in servers. Those in peers share the
// address. Serve writes each
// configuration as a whole, lets the program check it before it replaces the old one, and reloads the program, so that
// connections continue.
func (v VirtualAddress) Serve(ctx context.Context, n mgmt.Node, servers, peers []mgmt.Node) error {
	place, err := placeOf(ctx, n, v.Address)
	if err != nil {
		return err
	}
	if err := n.Root().Write(ctx, aliveScript, []byte(alive), 0o755); err != nil {
		return err
	}
	if err := v.writeHaproxy(ctx, n, servers); err != nil {
		return err
	}
	vrrp := vrrpConfig{VirtualAddress: v, node: n, controlPlane: peers, place: place}
	if err := replaceChecked(ctx, n, keepalivedFile, []byte(vrrp.String()), 0o600, "keepalived", "-t", "-f"); err != nil {
		return err
	}
	if err := n.Root().Run(ctx, "systemctl", "enable", "haproxy", "keepalived"); err != nil {
		return err
	}
	if err := n.Root().Unit(ctx, "reload-or-restart", "haproxy"); err != nil {
		return err
	}
	return n.Root().Unit(ctx, "reload-or-restart", "keepalived")
}

// Release stops keepalived of a node, if it has a configuration. keepalived then tells the other nodes, so that one of them takes the
// address at once.
func Release(ctx context.Context, n mgmt.Node) error {
	has, err := n.Root().Succeeds(ctx, "test", "-e", keepalivedFile)
	if !has || err != nil {
		return err
	}
	return n.Root().Unit(ctx, "stop", "keepalived")
}

// Lead makes haproxy of a node forward clients to these control-plane nodes. keepalived stays as it is, and the address where it is.
func (v VirtualAddress) Lead(ctx context.Context, n mgmt.Node, controlPlane []mgmt.Node) error {
	if err := v.writeHaproxy(ctx, n, controlPlane); err != nil {
		return err
	}
	return n.Root().Unit(ctx, "reload-or-restart", "haproxy")
}

// LeadAway is Lead, and ends the connections that haproxy has opened before. A reload leaves them as they are, but an API server whose etcd
// restarts answers nothing, and a client such as a kubelet does not leave a connection that is open.
func (v VirtualAddress) LeadAway(ctx context.Context, n mgmt.Node, controlPlane []mgmt.Node) error {
	if err := v.writeHaproxy(ctx, n, controlPlane); err != nil {
		return err
	}
	return n.Root().Exec(ctx, sshexec.Command{Shell: reload})
}

// reload reloads haproxy and ends the workers before, which have the connections, when there is a new worker. Debian and Ubuntu start haproxy
// in master-worker mode with this file.
const reload sshexec.Shell = `master=$(cat /run/haproxy.pid 2>/dev/null) && before=$(cat "/proc/$master/task/$master/children" 2>/dev/null) || before=
systemctl reload-or-restart haproxy || exit 1
[ -n "$before" ] || exit 0
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	for worker in $(cat "/proc/$master/task/$master/children"); do
		case " $before " in
		*" $worker "*) ;;
		*)
			kill $before 2>/dev/null
			exit 0 ;;
		esac
	done
	sleep 0.2
done`

func (v VirtualAddress) writeHaproxy(ctx context.Context, n mgmt.Node, controlPlane []mgmt.Node) error {
	conf, err := v.haproxy(controlPlane)
	if err != nil {
		return err
	}
	return replaceChecked(ctx, n, loadbalancer.ConfigFile, conf, 0o644, "haproxy", "-c", "-f")
}

// replaceChecked replaces a configuration file after the program that reads it has accepted the new content.
func replaceChecked(ctx context.Context, n mgmt.Node, path string, content []byte, mode fs.FileMode, check ...string) error {
	candidate := path + ".vnfkit-new"
	if err := n.Root().Write(ctx, candidate, content, mode); err != nil {
		return err
	}
	if err := n.Root().Run(ctx, append(check, candidate)...); err != nil {
		return err
	}
	return n.Root().Run(ctx, "mv", "-f", candidate, path)
}

// haproxy returns the configuration of haproxy that forwards clients of the API to these control-plane nodes, as the load
// balancer of a VNF does.
func (v VirtualAddress) haproxy(controlPlane []mgmt.Node) ([]byte, error) {
	return loadbalancer.Config{
		Parts: map[string]loadbalancer.Part{"cluster": loadbalancer.Cluster(Port, vnfbalancer.Servers(controlPlane), nil)},
		IPv6:  v.Address.Is6(), AlivePort: alivePort,
	}.Render()
}

// Render returns the configurations of haproxy and keepalived for a node. addresses is what "ip -o addr show" prints on the
// node.
func (v VirtualAddress) Render(n mgmt.Node, controlPlane []mgmt.Node, addresses string) (haproxy, keepalived string, found bool, err error) {
	device, bits, found := FindPlace(addresses, v.Address)
	conf, err := v.haproxy(controlPlane)
	return string(conf), vrrpConfig{VirtualAddress: v, node: n, controlPlane: controlPlane, place: place{device, bits}}.String(), found, err
}
