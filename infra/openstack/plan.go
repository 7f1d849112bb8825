package openstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/vnfkit/vnfkit/infra/openstack/internal/access"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Plan implements vnflcm.InfraDriver. It reads the package and the request, logs in to the VIM and, for all but an
// instantiation, reads the stack. An instantiation shows the faults of its request also when those of the VIM
// keep it from being asked.
func (d *Driver) Plan(ctx context.Context, op *vnflcm.Operation) (vnflcm.Change, error) {
	for _, name := range access.Unknown(op.VIM) {
		op.Log.WarnContext(ctx, "an attribute of vimConnectionInfo is not known", "attribute", name)
	}
	change, err := plannedChange(op)
	if err != nil || op.Kind == vnflcm.OpTerminate { // that asks nothing of the package
		return change, errors.Join(access.Validate(op.VIM), err)
	}
	current, err := d.present(ctx, op)
	if err != nil && op.Kind != vnflcm.OpInstantiate {
		return change, err
	}
	planned := *op // user data counts with the change, which the Manager only knows afterwards
	planned.Change = change
	_, fault := d.define(ctx, &planned, current)
	_, source := readsConsole(op.VIM)
	return change, errors.Join(err, fault, source, d.planImages(ctx, op, current, err))
}

// present are the parameters of the stack as it is, nil when one will be made.
func (d *Driver) present(ctx context.Context, op *vnflcm.Operation) (map[string]string, error) {
	w, err := d.begin(ctx, op)
	if err != nil {
		return nil, err
	}
	if w.clients.Insecure {
		op.Log.WarnContext(ctx, "the certificates of the VIM, or their names, are not verified", "vim", op.VIM.VimID)
	}
	if op.Kind == vnflcm.OpInstantiate {
		return nil, nil
	}
	s, err := w.find(ctx)
	switch {
	case err != nil:
		return nil, err
	case s != nil:
		return s.Parameters, nil
	case remakes(op):
		return nil, nil
	}
	return nil, fmt.Errorf("%w: %s; heal the whole VNF to create the stack again", ErrNoStack, StackName(op.InstanceID))
}

func plannedChange(op *vnflcm.Operation) (vnflcm.Change, error) {
	switch op.Kind {
	case vnflcm.OpHeal:
		_, err := op.Heal.AdditionalParams.Decode(new(healParams))
		return vnflcm.Change{Replaced: op.HealTargets()}, vnflcm.AtPath("additionalParams", err)
	case vnflcm.OpTerminate:
		return vnflcm.Change{Removed: op.VNFCs}, nil
	case vnflcm.OpChangeExtConn:
		return vnflcm.Change{}, nil
	}
	want, err := op.Instances()
	if err != nil {
		return vnflcm.Change{}, err
	}
	var change vnflcm.Change
	for _, vdu := range op.Flavour.VDUs {
		have := slices.DeleteFunc(slices.Clone(op.VNFCs), func(v vnflcm.VNFC) bool { return v.VDU != vdu.ID })
		slices.SortFunc(have, newestFirst)
		if n := len(have) - want[vdu.ID]; n > 0 {
			change.Removed = append(change.Removed, have[:n]...)
		}
		change.Added = append(change.Added, announced(op, vdu.ID, have, want[vdu.ID]-len(have))...)
	}
	return change, nil
}

// newestFirst orders VNFCs by the time they were made, then by their index, in which groups with numbered
// members remove them.
func newestFirst(a, b vnflcm.VNFC) int {
	return cmp.Or(cmp.Compare(b.Metadata[metaCreated], a.Metadata[metaCreated]), cmp.Compare(index(b), index(a)), cmp.Compare(b.ID, a.ID))
}

// index is the number in the name of the resource that the VNFC is made by, -1 when it has none.
func index(v vnflcm.VNFC) int {
	for _, key := range []string{metaIndex, metaMember} {
		if n, err := strconv.Atoi(v.Metadata[key]); err == nil {
			return n
		}
	}
	return -1
}

// announced names n new VNFCs of a VDU. They get ids when their resources have names.
func announced(op *vnflcm.Operation, vdu string, have []vnflcm.VNFC, n int) []vnflcm.VNFC {
	taken := map[int]bool{}
	for _, v := range have {
		taken[index(v)] = true
	}
	var out []vnflcm.VNFC
	for i := 0; len(out) < n; i++ {
		if !taken[i] {
			out = append(out, vnflcm.VNFC{VDU: vdu, Name: fmt.Sprintf("%s-%d", vdu, i), Aspect: aspectOf(op.Flavour, vdu)})
		}
	}
	return out
}
