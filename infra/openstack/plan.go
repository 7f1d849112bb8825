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

// FollowsGrants implements vnflcm.GrantFollower. Of additionalParams the standard user data read nfv.
func (d *Driver) FollowsGrants() []vnflcm.GrantDecision {
	return []vnflcm.GrantDecision{vnflcm.GrantedZone, vnflcm.GrantedFlavour, vnflcm.GrantedImage, vnflcm.GrantedParams}
}

// Plan implements vnflcm.InfraDriver. It checks the package and the request, and logs in to the VIM. For operations other
// than an instantiation it also reads the stack. For a termination it only checks the VIM's entry. If the VIM of an
// instantiation cannot be asked, Plan reports the faults of the request together with that error.
func (d *Driver) Plan(ctx context.Context, op *vnflcm.Operation) (vnflcm.Change, error) {
	for _, name := range access.Unknown(op.VIM) {
		op.Log.WarnContext(ctx, "an attribute of vimConnectionInfo is not known", "attribute", name)
	}
	change, err := plannedChange(op)
	if err != nil || op.Kind == vnflcm.OpTerminate { // a termination does not need the package
		return change, errors.Join(access.Validate(op.VIM), err)
	}
	if op.Kind == vnflcm.OpChangeExtConn && isMixed(op) {
		return change, errMixed
	}
	current, err := d.present(ctx, op)
	if err != nil && op.Kind != vnflcm.OpInstantiate || op.Kind == vnflcm.OpOperate {
		return change, err
	}
	planned := *op // user data needs the change, which the Manager sets only after Plan has returned it
	planned.Change = change
	_, fault := d.define(ctx, &planned, current)
	_, source := readsConsole(op.VIM)
	if err != nil {
		return change, errors.Join(err, fault, source, d.planImages(ctx, op, current, err))
	}
	return change, errors.Join(fault, source, d.planImages(ctx, op, current, nil), d.checkQuota(ctx, op, change))
}

// present returns the current parameters of the stack, or nil if the operation will create the stack.
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
	case vnflcm.OpChangeExtConn, vnflcm.OpOperate:
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

// newestFirst orders VNFCs by the time of their creation, the newest first, and then by their index, the highest first.
// Groups with numbered members remove them in this order.
func newestFirst(a, b vnflcm.VNFC) int {
	return cmp.Or(cmp.Compare(b.Metadata[metaCreated], a.Metadata[metaCreated]), cmp.Compare(index(b), index(a)), cmp.Compare(b.ID, a.ID))
}

// index returns the number in the name of the VNFC's resource, or -1 if the name has none.
func index(v vnflcm.VNFC) int {
	for _, key := range []string{metaIndex, metaMember} {
		if n, err := strconv.Atoi(v.Metadata[key]); err == nil {
			return n
		}
	}
	return -1
}

// announced returns n new VNFCs of a VDU, with names and without ids. Resources sets the ids once the stack has the
// servers.
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
