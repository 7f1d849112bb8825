package openstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/infra/openstack/internal/heat"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Heal implements vnflcm.InfraDriver. A request that names VNFCs gives these VNFCs new servers. Their ports, and so their
// addresses, stay. Their volumes are replaced as well if additionalParams.tacker_extension_heal_include_block_storage is true or, without it,
// additionalParams.all.
//
// A request without VNFCs heals the whole VNF in one of two ways. If additionalParams.all is true, Heal deletes the stack
// and creates a new one at the current scale levels. If it is false, Heal replaces the servers of all VNFCs. Without
// additionalParams.all the vimType decides, as in Tacker: for VimTypeV1 Heal creates a new stack, for VimTypeV2 it
// replaces the servers.
func (d *Driver) Heal(ctx context.Context, op *vnflcm.Operation) error {
	w, err := d.begin(ctx, op)
	if err != nil {
		return err
	}
	if remakes(op) {
		err = w.remake(ctx)
	} else {
		err = vnflcm.Do(ctx, op, "replace-servers", "", func(ctx context.Context) error {
			return w.update(ctx, change{pending: w.unreplaced, prepare: w.markReplaced})
		})
	}
	if err != nil {
		return err
	}
	return w.readConsoleKeys(ctx)
}

// healParams are the attributes of a heal request that this driver reads.
type healParams struct {
	All *bool `json:"all"`
	// IncludeStorage concerns requests that name VNFCs. It has the default name of Tacker's heal_include_block_storage_key.
	IncludeStorage *bool `json:"tacker_extension_heal_include_block_storage"`
}

func readHeal(op *vnflcm.Operation) healParams {
	var params healParams
	if _, err := op.Heal.AdditionalParams.Decode(&params); err != nil {
		return healParams{} // Plan has reported it
	}
	return params
}

// replacesVolumes reports whether the replaced VNFCs get new volumes.
func replacesVolumes(op *vnflcm.Operation) bool {
	params := readHeal(op)
	if params.IncludeStorage != nil && !op.WholeVNF() {
		return *params.IncludeStorage
	}
	return params.All != nil && *params.All
}

// remakes reports whether the operation deletes the stack and creates a new one.
func remakes(op *vnflcm.Operation) bool {
	if !op.WholeVNF() || isMixed(op) { // a new stack would have all VNFCs by one package
		return false
	}
	if all := readHeal(op).All; all != nil {
		return *all
	}
	return op.VIM.VimType == VimTypeV1
}

// unreplaced returns an error that names the VNFCs to be healed that have no new server yet, or nil.
func (w *work) unreplaced(t tree) error {
	servers := t.servers()
	var faults []error
	for _, v := range w.op.Change.Replaced {
		i := slices.IndexFunc(servers, func(s server) bool { return s.vnfc == v.ID })
		switch {
		case i < 0:
			faults = append(faults, fmt.Errorf("VNFC %s is not in the stack", v))
		case servers[i].PhysicalID == v.ResourceID || servers[i].PhysicalID == "":
			faults = append(faults, fmt.Errorf("VNFC %s still has server %s", v, v.ResourceID))
		}
	}
	return errors.Join(faults...)
}

// markReplaced marks the servers that Heat is to replace, each in the stack that contains it.
func (w *work) markReplaced(ctx context.Context, t tree) error {
	var marked []heat.Resource
	for _, s := range t.servers() {
		i := slices.IndexFunc(w.op.Change.Replaced, func(v vnflcm.VNFC) bool { return v.ID == s.vnfc })
		if i < 0 || s.PhysicalID != w.op.Change.Replaced[i].ResourceID {
			continue
		}
		marked = append(marked, s.Resource)
		if replacesVolumes(w.op) {
			marked = append(marked, t.volumesOf(s)...)
		}
	}
	marked = slices.DeleteFunc(marked, func(r heat.Resource) bool { return r.Status.Failed() })
	return w.mark(ctx, marked, "to be replaced by healing")
}

// parametersKey is the state key of the deleted stack's parameters. remake needs them for the new stack.
const parametersKey = "openstack/parameters"

// remake deletes the stack and creates a new one. The VNFCs keep their ids.
func (w *work) remake(ctx context.Context) error {
	old := w.op.Metadata[metaStack]
	err := vnflcm.Do(ctx, w.op, "delete-stack", "", func(ctx context.Context) error {
		s, err := w.find(ctx)
		if err != nil || s == nil || old != "" && s.ID != old {
			return err // an earlier attempt has deleted the stack, and may have created the new one
		}
		if err := w.op.State().Put(ctx, parametersKey, s.Parameters); err != nil {
			return err
		}
		if err := w.forgetPairs(ctx); err != nil {
			return err
		}
		return w.remove(ctx, s)
	})
	if err != nil {
		return err
	}
	var parameters map[string]string // nil if the stack did not exist: the parameters then come from the request
	if err := w.op.State().Get(ctx, parametersKey, &parameters); err != nil && !errors.Is(err, vnflcm.ErrNotFound) {
		return err
	}
	if err := w.uploadImages(ctx, parameters); err != nil {
		return err
	}
	def, err := w.defineFor(ctx, parameters, nil)
	if err != nil {
		return err
	}
	if err := w.makeStack(ctx, heat.Definition{Template: def.Template.Text(), Files: def.Template.Files(), Parameters: def.Parameters}); err != nil {
		return err
	}
	return vnflcm.Do(ctx, w.op, "adopt-vnfcs", "", w.adopt)
}

// adopt gives the servers of a new stack the ids of the VNFCs that they replace, the oldest server the id of the oldest
// VNFC of the same VDU.
func (w *work) adopt(ctx context.Context) error {
	s, err := w.atRest(ctx)
	if err != nil {
		return err
	}
	list, err := w.heat.Resources(ctx, s)
	if err != nil {
		return err
	}
	now := tree{instance: w.op.InstanceID, flavour: w.op.Flavour, list: list} // without aliases
	servers := now.servers()
	slices.SortFunc(servers, func(a, b server) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(strings.Join(a.Path, "/"), strings.Join(b.Path, "/")))
	})
	wanted := map[string]string{}
	for _, vdu := range w.op.Flavour.VDUs {
		former := slices.DeleteFunc(slices.Clone(w.op.Change.Replaced), func(v vnflcm.VNFC) bool { return v.VDU != vdu.ID })
		slices.SortFunc(former, func(a, b vnflcm.VNFC) int { return newestFirst(b, a) })
		for _, s := range servers {
			if s.vdu == vdu.ID && len(former) > 0 {
				wanted[s.vnfc], former = former[0].ID, former[1:]
			}
		}
	}
	return w.keepAliases(ctx, wanted)
}

// keepAliases stores the aliases, deletes the aliases of earlier stacks, and deletes the parameters of the old stack.
func (w *work) keepAliases(ctx context.Context, wanted map[string]string) error {
	state := w.op.State()
	former, err := w.aliases(ctx)
	if err != nil {
		return err
	}
	for id := range former {
		if wanted[id] == "" {
			if err := state.Delete(ctx, aliasKey+id); err != nil {
				return err
			}
		}
	}
	for id, alias := range wanted {
		if err := state.Put(ctx, aliasKey+id, alias); err != nil {
			return err
		}
	}
	return state.Delete(ctx, parametersKey)
}
