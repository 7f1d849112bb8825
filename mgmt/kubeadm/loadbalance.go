package kubeadm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/vnfbalancer"
	"github.com/vnfkit/vnfkit/mgmt/loadbalancer"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// balanced reports whether our own haproxy and keepalived serve the API: at a virtual address, unless the
// package's script sets that up.
func (d *deployment) balanced() bool { return d.api.virtual && d.p.ScriptPath == "" }

// balancerKey is where the state of the instance has what keepalived on all its machines must agree on.
const balancerKey = "balancer"

type balancer struct {
	RouterID int    // 1 to 255: other clusters in the same network should have others
	Password string // against a mistaken neighbour, since VRRP has nothing better; 8 characters count
}

// balancer reads what keepalived agrees on, and makes it when it is first asked for.
func (d *deployment) balancer(ctx context.Context) (b balancer, err error) {
	d.balancing.Lock()
	defer d.balancing.Unlock()
	err = d.op.State().Get(ctx, balancerKey, &b)
	if !errors.Is(err, vnflcm.ErrNotFound) {
		return b, err
	}
	id := sha256.Sum256([]byte(d.op.InstanceID))
	b = balancer{RouterID: int(id[0])%255 + 1, Password: randomText(8)}
	return b, d.op.State().Put(ctx, balancerKey, b)
}

// balance lets haproxy and keepalived on these control-plane nodes know them as all there are: before one is
// taken out of the cluster those that stay, and all again when another one has come. It does nothing where the
// API is reached otherwise. A node that cannot be reached is passed over: it may be dead, and its heal writes
// its files anew. Within a phase it is called once for the same nodes.
func (d *deployment) balance(ctx context.Context, masters []mgmt.Node) error {
	if !d.balanced() {
		return nil
	}
	name := "balance-" + fingerprint(masters)
	return vnflcm.Each(ctx, d.config.Parallel, masters, func(ctx context.Context, n mgmt.Node) error {
		return d.do(ctx, name, n, d.config.Timeouts.Install, func(ctx context.Context) error {
			err := d.writeBalancer(ctx, n, masters)
			if errors.Is(err, sshexec.ErrConnect) && !errors.Is(err, sshexec.ErrHostKey) && ctx.Err() == nil {
				d.op.Log.WarnContext(ctx, "the load balancer of a node could not be brought up to date", "host", n.HostName, "error", err)
				return nil
			}
			return err
		})
	})
}

// fingerprint tells one set of machines from another in the names of steps.
func fingerprint(nodes []mgmt.Node) string {
	h := sha256.New()
	for _, n := range nodes {
		_, _ = fmt.Fprintln(h, n.ID, n.ResourceID, n.IP)
	}
	return hex.EncodeToString(h.Sum(nil)[:4])
}

// setUpBalancer puts haproxy and keepalived on a control-plane node.
func (d *deployment) setUpBalancer(ctx context.Context, n mgmt.Node) error {
	var err error
	if d.p.Packages.source() == fromNowhere {
		err = d.expect(ctx, n, []program{{[]string{"haproxy", "-v"}, ""}, {[]string{"keepalived", "--version"}, ""}})
	} else {
		err = d.install(ctx, n, "haproxy", "keepalived")
	}
	if err != nil {
		return err
	}
	return d.writeBalancer(ctx, n, d.masters)
}

// The files of keepalived.
const (
	keepalivedFile = "/etc/keepalived/keepalived.conf"
	aliveScript    = "/etc/keepalived/vnfkit-haproxy-alive"
)

// writeBalancer renders both configurations whole, has each program check its own before it replaces the old
// one, and reloads: connections stay.
func (d *deployment) writeBalancer(ctx context.Context, n mgmt.Node, masters []mgmt.Node) error {
	b, err := d.balancer(ctx)
	if err != nil {
		return err
	}
	vip, err := netip.ParseAddr(d.api.host)
	if err != nil {
		return err
	}
	place, err := placeOf(ctx, n, vip)
	if err != nil {
		return err
	}
	vrrp := vrrpConfig{balancer: b, node: n, masters: masters, place: place, vip: vip}
	if err := put(ctx, n, aliveScript, alive, 0o755); err != nil {
		return err
	}
	conf, err := haproxyConfig(vip, masters)
	if err != nil {
		return err
	}
	if err := replaceChecked(ctx, n, loadbalancer.ConfigFile, string(conf), 0o644, "haproxy", "-c", "-f"); err != nil {
		return err
	}
	if err := replaceChecked(ctx, n, keepalivedFile, vrrp.String(), 0o600, "keepalived", "-t", "-f"); err != nil {
		return err
	}
	if err := n.RunRoot(ctx, []string{"systemctl", "enable", "haproxy", "keepalived"}, nil, nil, nil); err != nil {
		return err
	}
	if err := startUnit(ctx, n, "reload-or-restart", "haproxy"); err != nil {
		return err
	}
	return startUnit(ctx, n, "reload-or-restart", "keepalived")
}

// replaceChecked replaces a file when the program that reads it has nothing against the new one.
func replaceChecked(ctx context.Context, n mgmt.Node, path, content string, mode fs.FileMode, check ...string) error {
	candidate := path + ".vnfkit-new"
	if err := put(ctx, n, candidate, content, mode); err != nil {
		return err
	}
	if err := n.RunRoot(ctx, append(check, candidate), nil, nil, nil); err != nil {
		return err
	}
	return n.RunRoot(ctx, []string{"mv", "-f", candidate, path}, nil, nil, nil)
}

// haproxyConfig leads the clients of the API to these control-plane nodes, as the load balancer of a VNF does.
func haproxyConfig(vip netip.Addr, masters []mgmt.Node) ([]byte, error) {
	return loadbalancer.Config{
		Parts: map[string]loadbalancer.Part{"cluster": loadbalancer.Cluster(balancedPort, vnfbalancer.Servers(masters), nil)},
		IPv6:  vip.Is6(), AlivePort: alivePort,
	}.Render()
}
