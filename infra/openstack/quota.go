package openstack

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/limits"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// ErrQuota says that the project has no room for the machines of an instantiation or a scale-out. A request passes over the check with
// additionalParams.vim_pass_over ["quota"]: then it is a warning.
var ErrQuota = errors.New("the quota of the project has no room")

// quotaCheck is the name of the check.
const quotaCheck = "quota"

// passOverParam are the checks of the VIM whose refusal is a warning.
type passOverParam struct {
	PassOver []string `json:"vim_pass_over"`
}

// checkQuota compares new machines with what is left of the quotas of Nova: instances and, where the VNFD has them, virtual CPUs and memory. Other
// operations are not refused. A Nova that does not show its limits is not asked further.
func (d *Driver) checkQuota(ctx context.Context, op *vnflcm.Operation, change vnflcm.Change) error {
	if op.Kind != vnflcm.OpInstantiate && op.Kind != vnflcm.OpScale || len(change.Added) == 0 {
		return nil
	}
	var given passOverParam
	if _, err := op.RequestParams().Decode(&given); err != nil {
		return vnflcm.AtPath("additionalParams", err)
	}
	for i, name := range given.PassOver {
		if name != quotaCheck {
			return &vnflcm.ParamError{Path: fmt.Sprintf("additionalParams.vim_pass_over[%d]", i), Value: name, Reason: "is no check: there is " + quotaCheck}
		}
	}
	w, err := d.begin(ctx, op)
	if err != nil {
		return err
	}
	known, err := limits.Get(ctx, w.clients.Nova, nil).Extract()
	if err != nil {
		op.Log.InfoContext(ctx, "the quotas of the project are not known", "reason", err)
		return nil
	}
	err = lacking(known.Absolute, op, change.Added)
	if err != nil && slices.Contains(given.PassOver, quotaCheck) {
		op.Log.WarnContext(ctx, "passed over by the request: "+quotaCheck, "reason", err)
		return nil
	}
	return err
}

// lacking returns an error that names the quotas without room for new machines.
func lacking(of limits.Absolute, op *vnflcm.Operation, added []vnflcm.VNFC) error {
	var cores, memory int // memory in MiB
	for _, v := range added {
		for _, vdu := range op.Flavour.VDUs {
			if vdu.ID == v.VDU {
				cores += vdu.Compute.VirtualCPUs
				memory += int(vdu.Compute.Memory >> 20)
			}
		}
	}
	var faults []error
	for _, q := range []struct {
		name            string
		most, used, new int
	}{
		{"instances", of.MaxTotalInstances, of.TotalInstancesUsed, len(added)},
		{"cores", of.MaxTotalCores, of.TotalCoresUsed, cores},
		{"MiB of memory", of.MaxTotalRAMSize, of.TotalRAMUsed, memory},
	} {
		if q.most > 0 && q.used+q.new > q.most && q.new > 0 { // -1: no limit
			faults = append(faults, fmt.Errorf("%w for %d %s more: %d of %d are in use: raise the quota, or remove servers", ErrQuota, q.new, q.name, q.used, q.most))
		}
	}
	return errors.Join(faults...)
}
