package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// grantedVIM returns the VIM connection of the grant that the resources are to be on, nil if they stay on that of the VNF instance.
func (g *Grant) grantedVIM(current VimConnectionInfo, connection string) (*VimConnectionInfo, error) {
	named := map[string]bool{}
	placed := slices.Concat(g.AddResources, g.TempResources, g.UpdateResources)
	for _, granted := range placed {
		if id := granted.VimConnectionID; id != "" {
			named[id] = true
		}
	}
	if len(placed) == 0 {
		return nil, nil
	}
	if len(named) == 0 && len(g.VimConnectionInfo) == 1 {
		named[g.VimConnectionInfo[0].ID] = true
	}
	switch ids := sortedKeys(named); {
	case len(ids) > 1:
		return nil, fmt.Errorf("vimConnectionId: the resources are on several VIM connections (%s), and a VNF of this VNFM is on one", enumerate(ids, ", "))
	case len(ids) == 0 && len(g.VimConnectionInfo) > 1:
		return nil, errors.New("vimConnectionInfo: names several VIMs, and the resources name none of them")
	case len(ids) == 0:
		return nil, nil
	default:
		i := slices.IndexFunc(g.VimConnectionInfo, func(v VimConnectionInfo) bool { return v.ID == ids[0] })
		switch {
		case i >= 0:
			return &g.VimConnectionInfo[i], nil
		case slices.Contains([]string{current.ID, current.VimID, connection}, ids[0]):
			return nil, nil
		}
		return nil, fmt.Errorf("vimConnectionId: %q is no VIM connection of the grant or of the VNF instance", ids[0])
	}
}

// useGrantedVIM puts the VNF on the VIM that the grant chooses, if it is not instantiated yet. The entry of the grant is used as one of a
// request: stored secrets reach only the stored address.
func (r *run) useGrantedVIM(ctx context.Context, opened openPackages, inst *instanceRecord) error {
	if r.rec.Grant == nil {
		return nil
	}
	s, err := r.m.session(ctx, opened, inst, r.rec, "grant")
	if err != nil {
		return err
	}
	chosen, err := r.rec.Grant.grantedVIM(s.op.VIM, inst.vimConnection())
	if chosen == nil || err != nil {
		return err
	}
	isSame := chosen.VimID == s.op.VIM.VimID && chosen.VimID != "" || chosen.connection() == inst.vimConnection()
	switch {
	case isSame && (r.rec.Occ.Operation != OpInstantiate || chosen.AccessInfo.IsZero() && chosen.InterfaceInfo.IsZero()):
		return nil
	case r.rec.Occ.Operation != OpInstantiate:
		return fmt.Errorf("vimConnectionInfo: %q is another VIM than that of the VNF instance, whose resources cannot move", chosen.connection())
	}
	moved := *inst
	moved.Initial.VimConnectionInfo, moved.Instance.VimConnectionInfo = VimConnections{*chosen}, VimConnections{*chosen}
	moved.DefaultVIM, moved.VIMForm, moved.VIMOwner = "", "", nil
	if s, err = r.m.session(ctx, opened, &moved, r.rec, "grant"); err != nil {
		return err
	}
	r.mask = s.op.mask
	if err := s.pinVIM(ctx, &moved); err != nil {
		return err
	}
	r.rec.VIMType, r.rec.Began.VIM = s.op.VIM.VimType, moved.vimConnection()
	*inst = moved
	return r.save(context.WithoutCancel(ctx), func(ctx context.Context, b *store.Batch) error {
		return errors.Join(r.m.checkRegistered(ctx, b, inst), r.claim.changeInstance(ctx, b, inst.Instance.ID, func(i *instanceRecord) {
			i.Initial, i.Instance.VimConnectionInfo = inst.Initial, inst.Instance.VimConnectionInfo
			i.DefaultVIM, i.VIMForm, i.VIMOwner = inst.DefaultVIM, inst.VIMForm, inst.VIMOwner
		}))
	})
}
