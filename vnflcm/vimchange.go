package vnflcm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// Change changes an entry that a tenant sees. ErrState: the entry is in a configuration (VIM.Source), or belongs to another tenant and more
// than IsDefault would change, or the connection of a cluster would change, whose VNF instance makes it. The other errors are those of Register.
func (r VIMRegistry) Change(ctx context.Context, tenant, vimID string, req VIMRequest) (*VIM, error) {
	v, err := r.stored()
	if err == nil {
		err = req.check()
	}
	for range 5 { // each may ask the VIM
		var out *VIM
		if err == nil {
			out, err = r.tryChange(ctx, v, tenant, vimID, req)
		}
		if !errors.Is(err, errEntryChanged) {
			return out, err
		}
		err = nil
	}
	return nil, fmt.Errorf("%w: the VIM %s changes all the time", ErrConflict, vimID)
}

// tryChange makes one attempt. It returns errEntryChanged if another client or a renewal of the credentials was faster.
func (r VIMRegistry) tryChange(ctx context.Context, v *storeVIMs, tenant, vimID string, req VIMRequest) (*VIM, error) {
	was, _, err := v.visible(ctx, tenant, vimID)
	if err != nil {
		return nil, err
	}
	if err := v.mayChange(ctx, tenant, was, req); err != nil { // before the connection is compared: a tenant cannot guess that of another owner
		return nil, err
	}
	next, err := was.changed(req)
	if err != nil {
		return nil, err
	}
	if !next.equal(was.VimConnectionInfo) {
		if err := r.mayConnect(ctx, was, next, req.Unchecked); err != nil {
			return nil, err
		}
	}
	err = v.records.Update(ctx, func(ctx context.Context, b *store.Batch) error {
		now, version, err := v.visible(ctx, tenant, vimID)
		if errors.Is(err, ErrNotFound) || err == nil && (!now.equal(was.VimConnectionInfo) || now.Instance != was.Instance || now.Owner != was.Owner) {
			return errEntryChanged
		}
		if err != nil {
			return err
		}
		if err := v.noteDefault(ctx, b, cmp.Or(tenant, now.Owner), now, req.IsDefault); err != nil || !req.changesEntry() {
			return err
		}
		if req.Share != nil || req.changesConnection() {
			next.Sharing = cmp.Or(req.Share, now.Sharing)
			record, err := v.records.Seal(kindVIM, vimID, version, next)
			if err != nil {
				return err
			}
			b.Put = append(b.Put, record)
		}
		return v.note(ctx, b, next, req, false)
	})
	if err != nil {
		return nil, err
	}
	return r.Get(ctx, tenant, vimID)
}

// changesEntry reports whether the request changes more than a default.
func (req VIMRequest) changesEntry() bool {
	return req.Name != nil || req.Description != nil || req.Share != nil || req.changesConnection()
}

func (req VIMRequest) changesConnection() bool {
	return !req.Connection.InterfaceInfo.IsZero() || !req.Connection.AccessInfo.IsZero() || !req.Connection.Extra.IsZero()
}

// changed returns the record with the connection of a request.
func (rec vimRecord) changed(req VIMRequest) (vimRecord, error) {
	if given := req.Connection.VimType; given != "" && !sameVIMType(given, rec.VimType) {
		return rec, &ParamError{Path: "vimType", Value: given, Reason: "cannot be changed: the VIM is of type " + rec.VimType}
	}
	if !req.changesConnection() {
		return rec, nil
	}
	next, onlyLogin, err := rec.replacing(req.Connection)
	if !onlyLogin && rec.Instance == "" {
		rec.Instance = registeredByAPI
	}
	return rec.holding(next), err
}

// replacing returns a registered connection with the attributes of a request. If an attribute other than the login changes, the login comes from the request
// alone: a stored secret is sent to the stored address under the stored settings only.
func (v VimConnectionInfo) replacing(given VimConnectionInfo) (out VimConnectionInfo, onlyLogin bool, err error) {
	stored, err1 := v.sections()
	asked, err2 := given.sections()
	if err := errors.Join(err1, err2); err != nil {
		return v, false, err
	}
	differing := asked.differing(stored)
	onlyLogin = len(differing[addressAttribute]) == 0 && !slices.ContainsFunc(differing[loginAttribute], func(name string) bool { return !strings.HasPrefix(name, "accessInfo.") })
	stored.removeOtherLogins(asked)
	switch {
	case len(differing[addressAttribute]) == 0:
	case !asked.hasSecret():
		var faults []error
		for _, name := range slices.Sorted(slices.Values(differing[addressAttribute])) {
			faults = append(faults, &ParamError{Path: name, Reason: "changes where or how the VIM is reached: give the whole login too, because the stored one is not used there"})
		}
		return v, false, errors.Join(faults...)
	default:
		stored.remove(func(section, name string) bool { return kindOfAttribute(section, name) == loginAttribute })
	}
	stored.removeSynonyms(asked)
	for _, kind := range []attributeKind{addressAttribute, loginAttribute, regionAttribute} {
		stored.take(asked, kind)
	}
	out, err = stored.into(v)
	return out, onlyLogin, err
}

// logins are the secrets of each kind of login, in lower case without separators. The kubeconfig is an address too.
var logins = [][]string{{"password"}, {"bearertoken"}, {"token"}, {"applicationcredentialsecret", "applicationcredentialid", "applicationcredentialname"},
	{"clientcertificate", "clientkey"}, {"kubeconfig"}}

// loginOf returns which of logins an attribute belongs to; -1 for none.
func loginOf(section, name string) int {
	if section != "accessInfo" {
		return -1
	}
	name = strings.ToLower(unseparated.Replace(name))
	return slices.IndexFunc(logins, func(names []string) bool { return slices.Contains(names, name) })
}

// removeSynonyms removes the attributes that asked has under another spelling: userDomain and user_domain_name are one attribute.
func (s vimSections) removeSynonyms(asked vimSections) {
	stem := func(name string) string {
		return strings.TrimSuffix(strings.ToLower(unseparated.Replace(name)), "name")
	}
	s.remove(func(section, name string) bool {
		for given := range asked[section] {
			if given != name && stem(given) == stem(name) {
				return true
			}
		}
		return false
	})
}

// hasSecret reports whether there is a secret that logs in.
func (s vimSections) hasSecret() bool {
	for name, value := range s["accessInfo"] {
		if value != nil && value != "" && loginOf("accessInfo", name) >= 0 {
			return true
		}
	}
	return false
}

// removeOtherLogins removes the secrets of other kinds of login than those that asked has.
func (s vimSections) removeOtherLogins(asked vimSections) {
	var given []int
	for name, value := range asked["accessInfo"] {
		if value != nil && loginOf("accessInfo", name) >= 0 {
			given = append(given, loginOf("accessInfo", name))
		}
	}
	s.remove(func(section, name string) bool {
		login := loginOf(section, name)
		return len(given) > 0 && login >= 0 && !slices.Contains(given, login)
	})
}

// mayChange returns why a tenant may not change an entry.
func (v *storeVIMs) mayChange(ctx context.Context, tenant string, rec vimRecord, req VIMRequest) error {
	if err := v.checkConfigured(ctx, rec); err != nil {
		return err
	}
	if tenant != "" && tenant != rec.Owner && req.changesEntry() {
		return fmt.Errorf("%w: the VIM %s belongs to another owner, who shares it: only whether it is the default can be changed", ErrState, rec.VimID)
	}
	return nil
}

// mayConnect returns why an entry cannot have another connection.
func (r VIMRegistry) mayConnect(ctx context.Context, was, next vimRecord, unchecked bool) error {
	cluster, err := r.m.records.clusterOf(ctx, was)
	if err == nil && cluster != "" {
		err = fmt.Errorf("%w: the VIM %s is the cluster of the VNF instance %s, whose operations make its address and credentials", ErrState, was.VimID, cluster)
	}
	if err == nil {
		err = next.checkEntry()
	}
	if err != nil {
		return err
	}
	return r.check(ctx, next.entry(), unchecked)
}

// checkConfigured refuses to change an entry of a configuration: the next start would undo the change.
func (v *storeVIMs) checkConfigured(ctx context.Context, rec vimRecord) error {
	notes, _, err := v.notes(ctx, rec.Owner)
	if err != nil {
		return err
	}
	if source := notes[rec.VimID].Source; source != "" {
		return fmt.Errorf("%w: the VIM %s is in %s, which each start reads: change it there", ErrState, rec.VimID, source)
	}
	return nil
}

// clusterOf returns the VNF instance that is the VIM; "" if the instance was deleted.
func (r *records) clusterOf(ctx context.Context, rec vimRecord) (instanceID string, err error) {
	if rec.Instance == "" || rec.Instance == registeredByAPI {
		return "", nil
	}
	var inst instanceRecord
	if _, err := r.Get(ctx, kindInstance, rec.Instance, &inst); err != nil {
		return "", ignoreNotFound(err)
	}
	if !slices.Contains(inst.RegisteredVIMs, rec.VimID) {
		return "", nil
	}
	return rec.Instance, nil
}

// maxDeletions is how often a deletion is tried again after an instantiation that was accepted meanwhile.
const maxDeletions = 20

// Delete removes an entry that a tenant owns; any entry for "". ErrState: VNF instances are on the VIM, or the entry is in a configuration, or is
// a cluster that exists, or belongs to another tenant.
func (r VIMRegistry) Delete(ctx context.Context, tenant, vimID string) error {
	v, err := r.stored()
	if err != nil {
		return err
	}
	for tries := 0; ; tries++ {
		if err = r.tryDelete(ctx, v, tenant, vimID); !errors.Is(err, ErrConflict) || tries == maxDeletions {
			return err
		}
	}
}

// tryDelete makes one attempt. An instantiation that is accepted meanwhile writes the removedVIM too, so one of the two has an ErrConflict and
// looks again.
func (r VIMRegistry) tryDelete(ctx context.Context, v *storeVIMs, tenant, vimID string) error {
	rec, version, err := v.visible(ctx, tenant, vimID)
	if err == nil {
		err = r.mayDelete(ctx, v, tenant, rec)
	}
	if err != nil {
		return err
	}
	var b store.Batch
	if err := v.touchRemoved(ctx, vimID, &b); err != nil {
		return err
	}
	if err := r.checkUnused(ctx, tenant, rec); err != nil {
		return errors.Join(err, ignoreConflict(v.records.Store.Apply(ctx, b)))
	}
	notes, notesVersion, err := v.notes(ctx, rec.Owner)
	if err != nil {
		return err
	}
	b.Delete = append(b.Delete, store.Record{Kind: kindVIM, ID: vimID, Version: version})
	if _, noted := notes[vimID]; noted {
		delete(notes, vimID)
		if err := v.putNotes(&b, rec.Owner, notesVersion, notes); err != nil {
			return err
		}
	}
	no := false
	if err := errors.Join(v.records.Drop(ctx, &b, kindRenewal, vimID), v.noteDefault(ctx, &b, rec.Owner, rec, &no)); err != nil {
		return err
	}
	return v.records.Store.Apply(ctx, b)
}

// touchRemoved writes the removedVIM of a registered VIM, which means nothing while the VIM is registered, and adds to b that the record is
// as it was before.
func (v *storeVIMs) touchRemoved(ctx context.Context, vimID string, b *store.Batch) error {
	var removed removedVIM
	version, err := v.records.Get(ctx, kindRemovedVIM, vimID, &removed)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	touched, err := v.records.Seal(kindRemovedVIM, vimID, version, removed)
	if err != nil {
		return err
	}
	if err := v.records.Store.Apply(ctx, store.Batch{Put: []store.Record{touched}}); err != nil {
		return err
	}
	if now := (store.Record{Kind: kindRemovedVIM, ID: vimID, Version: version + 1}); removed.Instance == "" {
		b.Delete = append(b.Delete, now)
	} else {
		b.Assert = append(b.Assert, now)
	}
	return nil
}

func (r VIMRegistry) mayDelete(ctx context.Context, v *storeVIMs, tenant string, rec vimRecord) error {
	if err := v.checkConfigured(ctx, rec); err != nil {
		return err
	}
	if tenant != "" && tenant != rec.Owner {
		return fmt.Errorf("%w: the VIM %s belongs to another owner, who shares it", ErrState, rec.VimID)
	}
	cluster, err := r.m.records.clusterOf(ctx, rec)
	if cluster != "" {
		return fmt.Errorf("%w: the VIM %s is the cluster of the VNF instance %s: terminate that", ErrState, rec.VimID, cluster)
	}
	return errors.Join(err, r.checkUnused(ctx, tenant, rec))
}

// checkUnused refuses to delete a VIM that VNF instances are on. It names those that the tenant may see.
func (r VIMRegistry) checkUnused(ctx context.Context, tenant string, rec vimRecord) error {
	all, err := r.m.records.usersOf(ctx, rec.Owner, rec.VimID)
	if err != nil || len(all) == 0 {
		return err
	}
	return fmt.Errorf("%w: VNF instances are on the VIM %s: %v. Terminate them first", ErrState, rec.VimID, usersSeenBy(tenant, all))
}
