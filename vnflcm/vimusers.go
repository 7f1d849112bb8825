package vnflcm

import (
	"context"
	"log/slog"
	"slices"
)

// usersOf returns the VNF instances on VIMs. Instances whose records cannot be read are left out.
func (r *records) usersOf(ctx context.Context, vimIDs ...string) (users []*instanceRecord, err error) {
	if len(vimIDs) == 0 {
		return nil, nil
	}
	err = r.allOf(ctx, Query{Kind: kindInstance}, func(list []Record) error {
		for _, stored := range list {
			inst := new(instanceRecord)
			if r.open(stored, inst) == nil && slices.Contains(vimIDs, inst.vimID()) {
				users = append(users, inst)
			}
		}
		return nil
	})
	return users, err
}

// vimID returns the id of the VIM that has the resources of the instance, "" if the VIM has none.
func (rec *instanceRecord) vimID() string {
	if named := rec.Initial.VimConnectionInfo; len(named) > 0 {
		return named[0].VimID
	}
	return rec.DefaultVIM
}

// warnOfUsers logs which VNF instances are on a VIM that is removed from the registry.
func (r *records) warnOfUsers(ctx context.Context, log *slog.Logger, vimID string) error {
	users, err := r.usersOf(ctx, vimID)
	if len(users) > 0 {
		log.WarnContext(ctx, "the VIM is removed from the registry while VNF instances are on it", "vim", vimID, "users", idsOf(users))
	}
	return err
}

func idsOf(list []*instanceRecord) (ids []string) {
	for _, inst := range list {
		ids = append(ids, inst.Instance.ID)
	}
	slices.Sort(ids)
	return ids
}
