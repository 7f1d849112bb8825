package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/vnflcm"
)

var (
	_ vnflcm.PackageBatcher = (*Driver)(nil)
	_ vnflcm.HealthChecker  = (*Driver)(nil)
)

// checkPackageChange refuses parameters of a change of the package that clients of the registry would have to follow.
func (p *parameters) checkPackageChange(op *vnflcm.Operation) error {
	if op.ChangeVnfPkg == nil || op.Former == nil {
		return nil
	}
	before := parameters{Registry: installParam{Port: defaultPort}}
	_, _ = op.Former.Initial.AdditionalParams.Decode(&before) // the request was checked when the registry was instantiated
	was, now := &before.Registry, &p.Registry
	was.Volume.Path = cmp.Or(was.Volume.Path, defaultVolume)
	var faults []error
	for _, attribute := range []struct {
		name     string
		was, now any
	}{{"port_no", was.Port, now.Port}, {"server_name", was.ServerName, now.ServerName}, {"tls", was.TLS, now.TLS}, {"volume", was.Volume, now.Volume}} {
		if !reflect.DeepEqual(attribute.was, attribute.now) {
			faults = append(faults, &vnflcm.ParamError{Path: paramPath + "." + attribute.name,
				Reason: "cannot be changed by a change of the package: clients of the registry and its images depend on it. Instantiate another registry with it"})
		}
	}
	return errors.Join(faults...)
}

// ArrangeUnits implements vnflcm.PackageBatcher. The images of a registry on the disk of a machine that ends are a loss. The number of
// registries stays.
func (d *Driver) ArrangeUnits(_ context.Context, op *vnflcm.Operation, plan vnflcm.PackagePlan) (vnflcm.PackagePlan, error) {
	params, err := read(op)
	if err != nil {
		return plan, err
	}
	p := &params.Registry
	plan.Losses = slices.Clone(plan.Losses)
	var faults []error
	for _, u := range plan.Units {
		v, exists := p.machineOf(op, u)
		switch {
		case !exists && (u.Kind != vnflcm.UnitVNFC || !slices.Contains(u.VDUs, op.VDUOf(p.SSHCPName))):
		case u.Change != vnflcm.VnfcModified:
			faults = append(faults, &vnflcm.ParamError{Path: "vnfdId", Value: op.Package.VNFD().ID,
				Reason: fmt.Sprintf("%s is %s by the change, and the number of registries cannot change: they would not share their images", cmp.Or(u.Name, u.ID), u.Change)})
		case u.EndsDisk() && !p.Volume.outlives():
			plan.Losses = append(plan.Losses, vnflcm.DataLoss{Resource: "the images of the registry on " + v.Label() + ", which are on no volume",
				Consent: vnflcm.AllowDataLoss, Name: v.VDU})
		}
	}
	return plan, errors.Join(faults...)
}

// machineOf returns the machine of a unit if it has a registry.
func (p *installParam) machineOf(op *vnflcm.Operation, u vnflcm.PackageUnit) (vnflcm.VNFC, bool) {
	for _, v := range op.VNFCs {
		if _, has := v.CP(p.SSHCPName); has && v.ID == u.ID {
			return v, true
		}
	}
	return vnflcm.VNFC{}, false
}

// BeforeBatch implements vnflcm.PackageBatcher: it forgets the host keys of machines whose disks end. Docker writes images to the volume as they are
// pushed, so a registry needs no preparation.
func (d *Driver) BeforeBatch(ctx context.Context, op *vnflcm.Operation) error {
	if err := op.Check(); err != nil {
		return err
	}
	var errs []error
	for _, v := range endingWith(op) {
		if op.VersionOf(v).Package == op.Package {
			continue // rolling back, and the machine was not changed
		}
		d.config.Pool.Forget(v.ResourceID)
		errs = append(errs, mgmt.ForgetHostKey(ctx, op, v.ResourceID))
	}
	return errors.Join(errs...)
}

// AfterBatch implements vnflcm.PackageBatcher: a machine with a new disk becomes a registry as after a heal, with the volume and the certificate
// authority of the registry before.
func (d *Driver) AfterBatch(ctx context.Context, op *vnflcm.Operation) error {
	if err := op.Check(); err != nil {
		return err
	}
	return d.setUp(ctx, op, endingWith(op))
}

// endingWith returns the machines of a batch that get a new disk.
func endingWith(op *vnflcm.Operation) (out []vnflcm.VNFC) {
	for _, v := range op.Change.Replaced {
		if slices.ContainsFunc(op.Batch.Units, func(u vnflcm.PackageUnit) bool { return u.ID == v.ID && u.EndsDisk() }) {
			out = append(out, v)
		}
	}
	return out
}

// CheckHealth implements vnflcm.HealthChecker: the registries of the batch answer, with their users and certificates.
func (d *Driver) CheckHealth(ctx context.Context, op *vnflcm.Operation) error {
	params, err := read(op)
	if err != nil {
		return err
	}
	p := &params.Registry
	nodes, err := d.machines(op, p)
	if err != nil {
		return err
	}
	ca, err := p.authority(ctx, op)
	if err != nil {
		return err
	}
	var faults []error
	for _, n := range nodes {
		if slices.ContainsFunc(op.Batch.Units, func(u vnflcm.PackageUnit) bool { return u.ID == n.ID }) {
			s := &site{Driver: d, op: op, p: p, ca: ca, node: n, machine: n.Root()}
			faults = append(faults, s.isHealthy(ctx))
		}
	}
	return errors.Join(faults...)
}

// isHealthy asks the registry once.
func (s *site) isHealthy(ctx context.Context) error {
	transport, err := s.transport()
	if err != nil {
		return err
	}
	client := &http.Client{Transport: transport, Timeout: 10 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if err := s.answers(ctx, client); err != nil {
		return fmt.Errorf("registry: %s does not answer as it should: %w", s.server(), err)
	}
	return nil
}
