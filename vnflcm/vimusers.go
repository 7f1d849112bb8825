package vnflcm

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// vimUsers are the VNF instances on a VIM, as the tenant of one instance may see them.
type vimUsers struct {
	ids    []string // in order
	hidden int      // how many are of other tenants
}

// String names the instances. A long list is cut.
func (u vimUsers) String() string {
	const most = 20
	parts := slices.Clone(u.ids)
	if more := len(parts) - most; more > 0 {
		parts = append(parts[:most], fmt.Sprintf("%d more", more))
	}
	if u.hidden > 0 {
		parts = append(parts, fmt.Sprintf("%d VNF instances of other tenants", u.hidden))
	}
	return strings.Join(parts, ", ")
}

// usersOf returns the VNF instances on registered VIMs of an owner. Instances whose records cannot be read are left out.
func (r *records) usersOf(ctx context.Context, owner string, vimIDs ...string) (users []*instanceRecord, err error) {
	if len(vimIDs) == 0 {
		return nil, nil
	}
	err = r.EachPage(ctx, store.Query{Kind: kindInstance}, func(list []store.Record) error {
		for _, stored := range list {
			inst := new(instanceRecord)
			if r.Open(stored, inst) == nil && slices.Contains(vimIDs, inst.vimID()) && inst.isOnEntryOf(owner) {
				users = append(users, inst)
			}
		}
		return nil
	})
	return users, err
}

// isOnEntryOf reports whether the VIM of the instance is a registered one of an owner: a request may give the id of a registered VIM to
// a connection that does not use it.
func (rec *instanceRecord) isOnEntryOf(owner string) bool {
	return rec.VIMForm != vimComplete && (rec.VIMOwner == nil || *rec.VIMOwner == owner)
}

// vimID returns the id of the VIM that has the resources of the instance, "" if the VIM has none.
func (rec *instanceRecord) vimID() string {
	if named := rec.Initial.VimConnectionInfo; len(named) > 0 {
		return named[0].VimID
	}
	return rec.DefaultVIM
}

// warnOfUsers logs which VNF instances are on a VIM that is removed from the registry.
func (r *records) warnOfUsers(ctx context.Context, log *slog.Logger, owner, vimID string) error {
	users, err := r.usersOf(ctx, owner, vimID)
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

// usersOn returns the VNF instances on the VIMs that an instance has become.
func (r *records) usersOn(ctx context.Context, cluster *instanceRecord) (vimUsers, error) {
	all, err := r.usersOf(ctx, cluster.Tenant, cluster.RegisteredVIMs...)
	return usersSeenBy(cluster.Tenant, all), err
}

// usersSeenBy returns VNF instances on a VIM as a tenant may see them; "" sees all.
func usersSeenBy(tenant string, all []*instanceRecord) vimUsers {
	seen := slices.DeleteFunc(slices.Clone(all), func(user *instanceRecord) bool { return tenant != "" && user.Tenant != tenant })
	return vimUsers{ids: idsOf(seen), hidden: len(all) - len(seen)}
}

// withCNFs is the attribute of additionalParams that agrees to terminate or stop a cluster with the VNF instances on it. The Manager reads
// it: Operation.Params does not have it.
const withCNFs = "with_cnfs"

// checkUsers refuses a graceful termination or stop of a VNF that VNF instances are on, unless the request has withCNFs.
func (s *session) checkUsers(ctx context.Context, inst *instanceRecord) error {
	graceful := s.op.Terminate != nil && s.op.Terminate.TerminationType != TerminateForceful ||
		s.op.Operate != nil && s.op.Operate.StopType == StopGraceful
	var given struct {
		WithCNFs bool `json:"with_cnfs"`
	}
	if s.op.endsUsers() {
		if _, err := s.op.RequestParams().Decode(&given); err != nil {
			return AtPath("additionalParams", err)
		}
	}
	if !graceful || given.WithCNFs {
		return nil
	}
	users, err := s.m.records.usersOn(ctx, inst)
	if err != nil || len(users.ids)+users.hidden == 0 {
		return err
	}
	return &ParamError{Path: "additionalParams." + withCNFs, Reason: fmt.Sprintf(
		"must be true, because VNF instances on the cluster end with it: %v. Or terminate them first", users)}
}

// endsUsers reports whether withCNFs is an attribute of the request.
func (op *Operation) endsUsers() bool {
	return op.Terminate != nil || op.Operate != nil && op.Operate.ChangeStateTo == VnfStopped
}
