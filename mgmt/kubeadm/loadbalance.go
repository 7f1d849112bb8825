package kubeadm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/plan"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/apiaccess"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/jointoken"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/nodeprep"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// balanced reports whether the driver's haproxy and keepalived serve the API: if the address is virtual, and the package
// has no script, which would set them up.
func (e *environment) balanced() bool { return e.api.virtual && e.p.ScriptPath == "" }

// balancerKey is the state key of the agreement of keepalived.
const balancerKey = "balancer"

// serve makes a control-plane node serve the API of servers at the virtual address, which the nodes in peers share.
func serve(ctx context.Context, e *environment, n mgmt.Node, servers, peers []mgmt.Node) error {
	agreement, err := e.agreement(ctx)
	if err != nil {
		return err
	}
	address, err := netip.ParseAddr(e.api.host)
	if err != nil {
		return err
	}
	return apiaccess.VirtualAddress{Address: address, Agreement: agreement}.Serve(ctx, n, servers, peers)
}

// lead makes a control-plane node that holds the virtual address lead clients of the API to the nodes of controlPlane.
func lead(ctx context.Context, e *environment, n mgmt.Node, controlPlane []mgmt.Node) error {
	address, err := netip.ParseAddr(e.api.host)
	if err != nil {
		return err
	}
	v := apiaccess.VirtualAddress{Address: address}
	if len(controlPlane) < len(e.controlPlane) {
		return v.LeadAway(ctx, n, controlPlane)
	}
	return v.Lead(ctx, n, controlPlane)
}

// agreement returns the recorded agreement of keepalived. It creates and records one if there is none.
func (e *environment) agreement(ctx context.Context) (b apiaccess.Agreement, err error) {
	e.agreeing.Lock()
	defer e.agreeing.Unlock()
	err = e.op.State().Get(ctx, balancerKey, &b)
	if !errors.Is(err, vnflcm.ErrNotFound) {
		return b, err
	}
	id := sha256.Sum256([]byte(e.op.InstanceID))
	b = apiaccess.Agreement{RouterID: int(id[0])%255 + 1, Password: jointoken.RandomText(8)}
	return b, e.op.State().Put(ctx, balancerKey, b)
}

// runRebalance configures haproxy and keepalived on a control-plane node: before nodes leave, with the nodes that stay;
// after new nodes have joined, with all. It ignores a node that cannot be reached, because the node may be dead, and
// healing it writes its files again.
func runRebalance(ctx context.Context, e *environment, n mgmt.Node) error {
	controlPlane := e.controlPlane
	if e.op.Phase() == string(vnflcm.HealStart) || isBeforeBatch(e.op) || len(e.having(e.controlPlane, plan.IsRemoved)) > 0 {
		controlPlane = e.up
	}
	return balance(ctx, e, n, controlPlane)
}

func balance(ctx context.Context, e *environment, n mgmt.Node, controlPlane []mgmt.Node) error {
	return n.Do(ctx, e.op, "balance-"+fingerprint(controlPlane), e.config.Timeouts.Install, func(ctx context.Context) error {
		return e.despiteDeath(ctx, n, serve(ctx, e, n, controlPlane, controlPlane))
	})
}

// fingerprint returns a short hash of a set of machines, for names of steps.
func fingerprint(nodes []mgmt.Node) string {
	h := sha256.New()
	for _, n := range nodes {
		_, _ = fmt.Fprintln(h, n.ID, n.ResourceID, n.IP)
	}
	return hex.EncodeToString(h.Sum(nil)[:4])
}

// runSetUpVirtualAddress installs and configures haproxy and keepalived on a control-plane node.
func runSetUpVirtualAddress(ctx context.Context, e *environment, n mgmt.Node) error {
	err := e.preparation().Need(ctx, n, nodeprep.Program{Package: "haproxy", Shows: []string{"haproxy", "-v"}},
		nodeprep.Program{Package: "keepalived", Shows: []string{"keepalived", "--version"}})
	if err != nil {
		return err
	}
	return serve(ctx, e, n, e.controlPlane, e.controlPlane)
}
