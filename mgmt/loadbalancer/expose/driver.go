package expose

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/internal/hostkeys"
	"github.com/vnfkit/vnfkit/internal/jumphost"
	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/loadbalancer"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

// Config of a Driver.
type Config struct {
	Pool     *sshexec.Pool // required; the caller closes it
	Timeouts Timeouts
	// Dial makes the connections to the API of VIMs without a jump host. Nil: direct connections.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Allow judges the addresses of VIMs that are not the operator's. Nil: outbound.RefuseLocal.
	Allow outbound.Policy
	// Cluster is as in kubernetes.Config: it returns the connection to a cluster whose credentials cannot be part of a
	// VIM entry.
	Cluster func(ctx context.Context, vim vnflcm.VimConnectionInfo) (*rest.Config, error)
}

// Timeouts bound the waits for machines.
type Timeouts struct {
	Reach  time.Duration // until a login to the load balancer succeeds; default 1 min
	Change time.Duration // for a change of its configuration; default 5 min
}

// Driver exposes services of CNFs. It is safe for concurrent use.
type Driver struct{ config Config }

// New returns a Driver.
func New(c Config) *Driver {
	if c.Timeouts.Reach <= 0 {
		c.Timeouts.Reach = time.Minute
	}
	if c.Timeouts.Change <= 0 {
		c.Timeouts.Change = 5 * time.Minute
	}
	return &Driver{config: c}
}

// Hooks implements vnflcm.MgmtDriver.
func (d *Driver) Hooks() vnflcm.Hooks {
	return vnflcm.Checked(vnflcm.Hooks{
		vnflcm.InstantiateEnd: d.expose, vnflcm.ScaleEnd: d.expose, vnflcm.HealEnd: d.expose,
		vnflcm.HealStart:      d.healStart,
		vnflcm.ScaleStart:     vnflcm.Noop, // Tacker's package names this hook
		vnflcm.TerminateStart: d.conceal, vnflcm.TerminateEnd: d.conceal,
		vnflcm.InstantiateRollbackStart: d.conceal, vnflcm.InstantiateRollbackEnd: d.conceal,
	})
}

// Validate implements vnflcm.MgmtDriver.
func (d *Driver) Validate(ctx context.Context, op *vnflcm.Operation) error {
	if err := op.Check(); err != nil {
		return err
	}
	_, p, unknown, err := read(op)
	for _, name := range unknown {
		op.Log.WarnContext(ctx, "unknown attribute has no effect", "attribute", name)
	}
	if p.ScriptPath != "" {
		op.Log.WarnContext(ctx, "the script is not run: haproxy.cfg is rendered whole, and what the script adds would be lost",
			"attribute", paramPath+".script_path")
	}
	moved := op.CheckMoved([]string{paramName + ".external_lb_param.ssh_ip"}, d.SecretParams())
	return errors.Join(err, moved, mgmt.CheckJumpHost(ctx, op))
}

// expose makes the load balancer serve the current services of the CNF.
func (d *Driver) expose(ctx context.Context, op *vnflcm.Operation) error {
	lb, err := d.reach(ctx, op)
	if err != nil {
		return err
	}
	part, left := partOf(op.NodePorts)
	for _, port := range left {
		op.Log.WarnContext(ctx, "a port cannot be balanced by haproxy: only TCP can", "namespace", port.Namespace, "service", port.Service,
			"port", port.Port, "protocol", port.Protocol)
	}
	if len(part.Frontends) == 0 {
		op.Log.WarnContext(ctx, "the CNF has no service of type NodePort or LoadBalancer whose port could be exposed")
		return d.withdraw(ctx, op, lb)
	}
	return errors.Join(
		d.do(ctx, op, "keep", func(ctx context.Context) error { return d.keep(ctx, op, part) }),
		d.do(ctx, op, "expose", func(ctx context.Context) error { return lb.Put(ctx, loadbalancer.CNFOwner(op.InstanceID), part) }),
	)
}

// withdraw removes the part of the CNF from the load balancer and from the cluster.
func (d *Driver) withdraw(ctx context.Context, op *vnflcm.Operation, lb *loadbalancer.Balancer) error {
	return errors.Join(
		d.forget(ctx, op),
		d.do(ctx, op, "conceal", func(ctx context.Context) error { return lb.Remove(ctx, loadbalancer.CNFOwner(op.InstanceID)) }),
	)
}

// healStart removes the ports before the whole CNF is installed again: the cluster may give them to other services
// meanwhile.
func (d *Driver) healStart(ctx context.Context, op *vnflcm.Operation) error {
	if !op.WholeVNF() {
		return nil
	}
	return d.conceal(ctx, op)
}

// conceal removes the CNF from the load balancer. It succeeds if the load balancer no longer exists.
func (d *Driver) conceal(ctx context.Context, op *vnflcm.Operation) error {
	forceful := op.Terminate != nil && op.Terminate.TerminationType == vnflcm.TerminateForceful
	lb, err := d.reach(ctx, op)
	if gone := errors.Is(err, sshexec.ErrConnect) || errors.Is(err, sshexec.ErrHostKey); gone && op.Heal == nil && ctx.Err() == nil {
		op.Log.WarnContext(ctx, "the load balancer cannot be reached: its configuration for the CNF is not removed", "owner", loadbalancer.CNFOwner(op.InstanceID), "error", err)
		err = d.forget(ctx, op)
	} else if err == nil {
		err = d.withdraw(ctx, op, lb)
	}
	if err != nil && forceful && ctx.Err() == nil {
		op.Log.WarnContext(ctx, "the configuration that exposes the CNF could not be removed completely", "owner", loadbalancer.CNFOwner(op.InstanceID), "error", err)
		err = nil
	}
	return err
}

// reach logs in to the load balancer. A changed host key is trusted if the driver of its cluster has stored that key in
// the cluster: that driver has set up the machine.
func (d *Driver) reach(ctx context.Context, op *vnflcm.Operation) (*loadbalancer.Balancer, error) {
	target, p, _, err := read(op)
	if err != nil {
		return nil, err
	}
	if target.Via, _, err = jumphost.Target(op.VIM, hostkeys.Of(op)); err != nil {
		return nil, err
	}
	lb, err := d.login(ctx, target)
	if !errors.Is(err, sshexec.ErrHostKey) || p.Param.HostKey != "" {
		return lb, err
	}
	for _, key := range d.announced(ctx, op) {
		policy, invalid := sshexec.PinnedHostKeys(key)
		if invalid != nil {
			err = errors.Join(err, fmt.Errorf("the host key that is stored in the cluster: %w", invalid))
			continue
		}
		target.HostKeys = policy
		lb, failed := d.login(ctx, target)
		if failed == nil {
			failed = hostkeys.Keep(ctx, op, target.ID, key)
		}
		if !errors.Is(failed, sshexec.ErrHostKey) {
			return lb, failed
		}
	}
	return nil, err
}

func (d *Driver) login(ctx context.Context, target sshexec.Target) (*loadbalancer.Balancer, error) {
	host := d.config.Pool.Host(target)
	if err := mgmt.Within(ctx, d.config.Timeouts.Reach, host.Wait); err != nil {
		return nil, err
	}
	return loadbalancer.On(host), nil
}

func (d *Driver) do(ctx context.Context, op *vnflcm.Operation, name string, do func(context.Context) error) error {
	return vnflcm.Do(ctx, op, name, "", func(ctx context.Context) error { return mgmt.Within(ctx, d.config.Timeouts.Change, do) })
}

// partOf makes a frontend for each port that haproxy can balance, and returns the remaining ports.
func partOf(ports []vnflcm.NodePort) (part loadbalancer.Part, left []vnflcm.NodePort) {
	for _, p := range ports {
		if p.Protocol != "TCP" && p.Protocol != "" {
			left = append(left, p)
			continue
		}
		name := p.Namespace + "." + p.Service
		if p.Port != "" {
			name += "." + p.Port
		}
		part.Frontends = append(part.Frontends, loadbalancer.Frontend{
			Name: name, Port: p.NodePort, To: []string{loadbalancer.ControlPlane, loadbalancer.Workers}, Toward: p.NodePort, Check: loadbalancer.CheckTCP,
		})
	}
	return part, left
}
