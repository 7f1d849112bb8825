package registry

import (
	"context"
	"errors"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

// Config of a Driver.
type Config struct {
	Pool     *sshexec.Pool // required; the caller closes it
	Timeouts Timeouts
	// Allow judges IP addresses in parameters that are for programs on the machine: of proxies and package repositories.
	// Default: outbound.RefuseLocal.
	Allow outbound.Policy
}

// Timeouts bound the parts of an operation that wait for a machine.
type Timeouts struct {
	Boot    time.Duration // until a new machine accepts a login and cloud-init has finished; default 15 min
	Login   time.Duration // how long a new machine may refuse the login, since its users are set up last; default 1 min
	Install time.Duration // the installation of Docker, and the download of the image; default 45 min
	Ready   time.Duration // until the registry answers; default 2 min
}

// Driver makes private container registries. It is safe for concurrent use.
type Driver struct{ config Config }

// New returns a Driver.
func New(c Config) *Driver {
	for value, otherwise := range map[*time.Duration]time.Duration{
		&c.Timeouts.Boot: 15 * time.Minute, &c.Timeouts.Login: time.Minute, &c.Timeouts.Install: 45 * time.Minute, &c.Timeouts.Ready: 2 * time.Minute,
	} {
		if *value <= 0 {
			*value = otherwise
		}
	}
	return &Driver{config: c}
}

// Hooks implements vnflcm.MgmtDriver. All of the registry's data is on its machine, so terminating it needs no hook.
func (d *Driver) Hooks() vnflcm.Hooks {
	return vnflcm.Checked(vnflcm.Hooks{vnflcm.InstantiateEnd: d.instantiateEnd, vnflcm.HealEnd: d.healEnd})
}

// Validate implements vnflcm.MgmtDriver.
func (d *Driver) Validate(ctx context.Context, op *vnflcm.Operation) error {
	switch {
	case op.Terminate != nil:
		return nil // a fault in the request must not prevent removing a registry
	case op.Scale != nil:
		return &vnflcm.ParamError{Path: "aspectId", Value: op.Scale.AspectID,
			Reason: "a private registry cannot be scaled: its machines would not share their images"}
	}
	if err := op.Check(); err != nil {
		return err
	}
	p, err := read(op)
	p.warn(ctx, op)
	return errors.Join(err, p.check(op), p.checkPackageChange(op), op.CheckAddresses(addresses, d.config.Allow.CheckHost), mgmt.CheckJumpHost(ctx, op))
}

// addresses are the attributes with addresses that programs on the machine connect to.
var addresses = []string{"private_registry_installation_param.proxy.http_proxy", "private_registry_installation_param.proxy.https_proxy",
	"private_registry_installation_param.packages.repository_url"}

func (d *Driver) instantiateEnd(ctx context.Context, op *vnflcm.Operation) error {
	return d.setUp(ctx, op, op.VNFCs)
}

// healEnd sets up the new machines like the old ones, by the request of the instantiation.
func (d *Driver) healEnd(ctx context.Context, op *vnflcm.Operation) error {
	if op.WholeVNF() {
		return d.setUp(ctx, op, op.VNFCs)
	}
	return d.setUp(ctx, op, op.Change.Replaced)
}

// site is a machine that becomes a registry.
type site struct {
	*Driver
	op *vnflcm.Operation
	p  *installParam
	ca *authority // nil: not a certificate of ours

	node    mgmt.Node
	machine linux.Machine
}

// Machines returns the machines of the VNF that the driver logs in to, with their logins. It connects to none. Programs call it in
// vnflcm.Manager.Examine, for a shell on a machine.
func (d *Driver) Machines(_ context.Context, op *vnflcm.Operation) ([]mgmt.Node, error) {
	params, err := read(op)
	if err != nil {
		return nil, err
	}
	return d.machines(op, &params.Registry)
}

func (d *Driver) machines(op *vnflcm.Operation, p *installParam) ([]mgmt.Node, error) {
	access := mgmt.Access{CP: p.SSHCPName, Login: mgmt.Login(p.SSH), HostKeys: p.HostKeys, LoginGrace: d.config.Timeouts.Login}
	return access.Nodes(op, d.config.Pool, "registry")
}

// setUp sets up a registry on each machine that the request selects.
func (d *Driver) setUp(ctx context.Context, op *vnflcm.Operation, machines []vnflcm.VNFC) error {
	params, err := read(op)
	if err != nil {
		return err
	}
	if err := params.check(op); err != nil {
		return err
	}
	p := &params.Registry
	nodes, err := d.machines(op, p)
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, v := range machines {
		wanted[v.ID] = true
	}
	ca, err := p.authority(ctx, op)
	if err != nil {
		return err
	}
	return vnflcm.Each(ctx, len(nodes), nodes, func(ctx context.Context, n mgmt.Node) error {
		if !wanted[n.ID] {
			return nil
		}
		s := &site{Driver: d, op: op, p: p, ca: ca, node: n, machine: n.Root()}
		return s.build(ctx)
	})
}

// build does all the work on a machine. Results of steps are the same after a crash.
func (s *site) build(ctx context.Context) error {
	limits := s.config.Timeouts
	if err := s.node.Reach(ctx, s.op, limits.Boot); err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{{"platform", s.checkPlatform}, {"packages", s.installDocker}, {"docker", s.startDocker}, {"volume", s.prepareVolume}, {"files", s.writeFiles}} {
		if err := s.do(ctx, step.name, limits.Install, step.do); err != nil {
			return err
		}
	}
	image, err := vnflcm.Run(ctx, s.op, vnflcm.Step[string]{Name: "image", On: s.node.ID, Do: func(ctx context.Context) (id string, err error) {
		err = mgmt.Within(ctx, limits.Install, func(ctx context.Context) error { id, err = s.fetchImage(ctx); return err })
		return id, err
	}})
	if err != nil {
		return err
	}
	if err := s.do(ctx, "container", limits.Ready, func(ctx context.Context) error { return s.runContainer(ctx, image) }); err != nil {
		return err
	}
	if err := s.do(ctx, "ready", limits.Ready+time.Minute, s.awaitReady); err != nil {
		return err
	}
	if s.p.Probe {
		if err := s.do(ctx, "probe", limits.Ready, s.pushAndPull); err != nil {
			return err
		}
	}
	return s.do(ctx, "publish", time.Minute, s.publish)
}

func (s *site) do(ctx context.Context, name string, limit time.Duration, do func(context.Context) error) error {
	return s.node.Do(ctx, s.op, name, limit, do)
}
