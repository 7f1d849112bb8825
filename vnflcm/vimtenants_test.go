package vnflcm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/internal/keyring"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// createFor creates an instance of a tenant.
func (x *toys) createFor(tenant string) string {
	x.t.Helper()
	inst, err := x.Create(x.t.Context(), vnflcm.CreateVnfRequest{VnfdID: toyVNFD, Tenant: tenant})
	must(x.t, err)
	return inst.ID
}

// share sets the tenants that may use an entry of the registry.
func (x *toys) share(vimID, owner string, share *vnflcm.Share) {
	x.t.Helper()
	must(x.t, x.VIMs().SetShare(x.t.Context(), owner, vimID, *share))
}

// eachVIMs runs a test with the registry in the Store, and with a registry outside of the Store.
func eachVIMs(t *testing.T, test func(t *testing.T, s *site)) {
	t.Helper()
	for name, change := range map[string]func(*vnflcm.Config){"registry in the store": nil, "registry of the caller": func(cfg *vnflcm.Config) { cfg.VIMs = &guardedVIMs{own: fixedVIMs{}} }} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newSite(t, change))
		})
	}
}

// TestVIMsOfTenants refers to entries of other tenants in every attribute of a request. These entries must not exist for the tenant.
func TestVIMsOfTenants(t *testing.T) {
	t.Parallel()
	eachVIMs(t, func(t *testing.T, s *site) {
		clusters := map[string]string{}
		for _, tenant := range []string{"a", "b", ""} {
			id := s.createFor(tenant)
			_, _ = s.instantiate(id, "plain", vnflcm.Completed)
			clusters[tenant] = vimOf(id)
		}
		must(t, s.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "for-b", VimType: "toy", Share: &vnflcm.Share{Tenants: []string{"b"}}}))
		must(t, s.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "of-a", VimType: "toy", Tenant: "a"}))
		access := params(t, `{"bearer_token":"mine"}`)
		unknown := "cluster-0"
		for _, c := range []struct {
			tenant, vimID string
			visible       bool
		}{
			{"a", clusters["a"], true}, {"b", clusters["b"], true}, {"", clusters[""], true},
			{"a", clusters["b"], false}, {"b", clusters["a"], false}, {"a", clusters[""], false}, {"b", clusters[""], false}, {"", clusters["a"], false},
			{"b", "for-b", true}, {"a", "for-b", false}, {"", "for-b", true},
			{"a", "of-a", true}, {"b", "of-a", false}, {"", "of-a", false},
			{"a", "vim1", true}, {"", "vim1", true},
			{"A", clusters["a"], false}, {"a ", clusters["a"], false}, {"*", clusters["a"], false},
		} {
			id := s.createFor(c.tenant)
			for name, connection := range map[string]vnflcm.VimConnectionInfo{
				"by name":                {VimID: c.vimID},
				"with its type":          {VimID: c.vimID, VimType: "toy"},
				"with a region":          {VimID: c.vimID, AccessInfo: params(t, `{"region":"r"}`)},
				"with a login":           {VimID: c.vimID, AccessInfo: access},
				"with an address":        {VimID: c.vimID, InterfaceInfo: params(t, `{"endpoint":"https://x"}`)},
				"as an entry of its own": {VimID: c.vimID, Tenant: "a", Share: &vnflcm.Share{All: true}},
			} {
				request := func(vimID string) vnflcm.InstantiateVnfRequest {
					connection := connection
					connection.VimID = vimID
					return vnflcm.InstantiateVnfRequest{FlavourID: "bare", VimConnectionInfo: vnflcm.VimConnections{connection}}
				}
				_, got := s.Preview(t.Context(), id, request(c.vimID))
				_, none := s.Preview(t.Context(), id, request(unknown))
				if c.visible {
					if name == "by name" && got != nil {
						t.Errorf("tenant %q, %s %s: %v", c.tenant, c.vimID, name, got)
					}
					continue
				}
				_, started := s.Instantiate(t.Context(), id, request(c.vimID))
				want := strings.ReplaceAll(fmt.Sprint(none), unknown, c.vimID)
				if got == nil || got.Error() != want || fmt.Sprint(started) != want {
					t.Errorf("tenant %q, %s %s:\npreview %v\nrequest %v\nwant %s", c.tenant, c.vimID, name, got, started, want)
				}
			}
			second := vnflcm.InstantiateVnfRequest{FlavourID: "bare", VimConnectionInfo: vnflcm.VimConnections{{VimID: "vim1"}, {ID: "2", VimID: c.vimID}}}
			_, err := s.Preview(t.Context(), id, second)
			if diff := cmp.Diff(map[bool][]string{false: {"vimConnectionInfo[1].vimType"}}[c.visible], faults(err)); diff != "" {
				t.Errorf("tenant %q, %s as a second connection: %v\n%s", c.tenant, c.vimID, err, diff)
			}
		}
	})
}

// TestCompleteConnectionWithForeignID checks that a complete connection does not use the entry with the same id.
func TestCompleteConnectionWithForeignID(t *testing.T) {
	t.Parallel()
	eachVIMs(t, func(t *testing.T, s *site) {
		cluster := s.createFor("a")
		_, _ = s.instantiate(cluster, "plain", vnflcm.Completed)
		inline := vnflcm.VimConnectionInfo{ID: "c", VimID: vimOf(cluster), VimType: "toy", AccessInfo: params(t, `{"bearer_token":"mine"}`)}
		var tokens []string
		guest := s.createFor("b")
		s.watch(func(op *vnflcm.Operation) {
			if op.InstanceID == guest {
				tokens = append(tokens, string(op.VIM.AccessInfo.Reveal())+string(op.VIM.InterfaceInfo.Reveal()))
			}
		})
		opID, err := s.Instantiate(t.Context(), guest, vnflcm.InstantiateVnfRequest{FlavourID: "plain", VimConnectionInfo: vnflcm.VimConnections{inline}})
		s.wait(opID, err, vnflcm.Completed)
		// Without its login the connection would be incomplete and refer to the entry.
		patch := vnflcm.VimConnectionInfo{ID: "c", AccessInfo: params(t, `{"bearer_token":null}`)}
		_, err = s.Modify(t.Context(), guest, vnflcm.VnfInfoModificationRequest{VimConnectionInfo: vnflcm.VimConnections{patch}}, "")
		if diff := cmp.Diff([]string{"vimConnectionInfo[0].vimId"}, faults(err)); diff != "" {
			t.Errorf("the patch: %v\n%s", err, diff)
		}
		opID, err = s.Heal(t.Context(), guest, vnflcm.HealVnfRequest{})
		s.wait(opID, err, vnflcm.Completed)
		for _, token := range tokens {
			if token != `{"bearer_token":"mine"}` && token != `{"bearer_token":"mine"}{}` {
				t.Errorf("the driver got the connection %s", token)
			}
		}
		p, err := s.Preview(t.Context(), cluster, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful})
		if err != nil || len(p.CNFs)+p.OtherCNFs != 0 {
			t.Errorf("the cluster is in use: %+v (%v)", p, err)
		}
	})
}

// TestDefaultVIMOfTenants checks that a tenant uses its own default VIM or, without one, the shared default.
func TestDefaultVIMOfTenants(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	v, ctx := x.VIMs(), t.Context()
	must(t, v.Put(ctx, vnflcm.VimConnectionInfo{VimID: "of-a", VimType: "toy", Tenant: "a"}))
	must(t, v.SetDefault(ctx, "a", "of-a"))
	wantIs(t, v.SetDefault(ctx, "b", "of-a"), vnflcm.ErrNotFound)
	wantIs(t, v.SetDefault(ctx, "", "of-a"), vnflcm.ErrNotFound)
	byDefault := func(tenant string) string {
		x.watch(func(*vnflcm.Operation) {})
		id := x.createFor(tenant)
		_, _ = x.instantiate(id, "plain", vnflcm.Completed)
		return x.get(id).VimConnectionInfo[0].VimID
	}
	want := map[string]string{"a": "of-a", "b": "vim1", "": "vim1", "a/toy": "vim1", "../a": "vim1"}
	for tenant, vim := range want {
		if got := byDefault(tenant); got != vim {
			t.Errorf("tenant %q: %s, want %s", tenant, got, vim)
		}
	}
	x.share("vim1", "", &vnflcm.Share{Tenants: []string{"c"}})
	for tenant, vim := range map[string]string{"a": "of-a", "b": "", "": "vim1", "c": "vim1"} {
		got, err := v.Default(ctx, tenant, "toy")
		if got.VimID != vim || (err != nil) != (vim == "") {
			t.Errorf("tenant %q: %+v (%v)", tenant, got, err)
		}
	}
	_, err := x.Instantiate(ctx, x.createFor("b"), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
	if diff := cmp.Diff([]string{"vimConnectionInfo"}, faults(err)); diff != "" {
		t.Errorf("without a default: %v\n%s", err, diff)
	}
	must(t, v.Remove(ctx, "a", "of-a"))
	x.share("vim1", "", &vnflcm.Share{All: true})
	if got := byDefault("a"); got != "vim1" {
		t.Errorf("after its default was removed, tenant a gets %s", got)
	}
}

// TestSharingWithdrawn checks that instances keep their VIM after the end of sharing, and that no new instances can use it.
func TestSharingWithdrawn(t *testing.T) {
	t.Parallel()
	eachVIMs(t, func(t *testing.T, s *site) {
		cluster := s.createFor("a")
		_, _ = s.instantiate(cluster, "plain", vnflcm.Completed)
		id := vimOf(cluster)
		s.share(id, "a", &vnflcm.Share{Tenants: []string{"b"}})
		on := func(connection vnflcm.VimConnectionInfo) string {
			guest := s.createFor("b")
			opID, err := s.Instantiate(t.Context(), guest, vnflcm.InstantiateVnfRequest{FlavourID: "bare", VimConnectionInfo: vnflcm.VimConnections{connection}})
			s.wait(opID, err, vnflcm.Completed)
			return guest
		}
		byName, withLogin := on(vnflcm.VimConnectionInfo{ID: "c", VimID: id}), on(vnflcm.VimConnectionInfo{ID: "c", VimID: id, AccessInfo: params(t, `{"bearer_token":"mine"}`)})
		opID, err := s.Heal(t.Context(), cluster, vnflcm.HealVnfRequest{}) // removes and registers the entry
		s.wait(opID, err, vnflcm.Completed)
		s.share(id, "a", &vnflcm.Share{})
		_, err = s.Instantiate(t.Context(), s.createFor("b"), vnflcm.InstantiateVnfRequest{FlavourID: "bare", VimConnectionInfo: vnflcm.VimConnections{{VimID: id}}})
		if diff := cmp.Diff([]string{"vimConnectionInfo[0].vimId"}, faults(err)); diff != "" {
			t.Errorf("a new instance: %v\n%s", err, diff)
		}
		for _, guest := range []string{byName, withLogin} {
			opID, err := s.Heal(t.Context(), guest, vnflcm.HealVnfRequest{})
			s.wait(opID, err, vnflcm.Completed)
			for _, kind := range []vnflcm.ScaleType{vnflcm.ScaleOut, vnflcm.ScaleIn} {
				opID, err := s.Scale(t.Context(), guest, scale(kind, 1))
				s.wait(opID, err, vnflcm.Completed)
			}
			patch := vnflcm.VimConnectionInfo{ID: "c", AccessInfo: params(t, `{"region":"r"}`)}
			opID, err = s.Modify(t.Context(), guest, vnflcm.VnfInfoModificationRequest{VimConnectionInfo: vnflcm.VimConnections{patch}}, "")
			s.wait(opID, err, vnflcm.Completed)
			opID, err = s.Heal(t.Context(), guest, vnflcm.HealVnfRequest{})
			s.wait(opID, err, vnflcm.Completed)
			s.terminate(guest, vnflcm.TerminateGraceful, vnflcm.Completed)
			_, err = s.Instantiate(t.Context(), guest, vnflcm.InstantiateVnfRequest{FlavourID: "bare", VimConnectionInfo: vnflcm.VimConnections{{VimID: id}}})
			if diff := cmp.Diff([]string{"vimConnectionInfo[0].vimId"}, faults(err)); diff != "" {
				t.Errorf("the same instance after it was terminated: %v\n%s", err, diff)
			}
		}
	})
}

// TestReplacedVIM checks that an instance does not use an entry that another tenant has put under the id of the instance's VIM.
func TestReplacedVIM(t *testing.T) {
	t.Parallel()
	eachVIMs(t, func(t *testing.T, s *site) {
		ctx := t.Context()
		put := func(tenant string, tenants ...string) {
			t.Helper()
			must(t, s.VIMs().Put(ctx, vnflcm.VimConnectionInfo{VimID: "shared", VimType: "toy", Tenant: tenant, Share: &vnflcm.Share{Tenants: tenants}}))
		}
		put("a", "b")
		guest := s.createFor("b")
		opID, err := s.Instantiate(ctx, guest, vnflcm.InstantiateVnfRequest{FlavourID: "bare", VimConnectionInfo: vnflcm.VimConnections{{VimID: "shared"}}})
		s.wait(opID, err, vnflcm.Completed)
		must(t, s.VIMs().Remove(ctx, "a", "shared"))
		put("c", "a") // not shared with b
		_, err = s.Scale(ctx, guest, scale(vnflcm.ScaleOut, 1))
		if diff := cmp.Diff([]string{"vimConnectionInfo[0].vimId"}, faults(err)); diff != "" {
			t.Errorf("on the VIM of tenant c: %v\n%s", err, diff)
		}
		must(t, s.VIMs().Remove(ctx, "c", "shared"))
		put("a")
		s.operate(guest)
	})
}

// TestOwnersOfVIMs checks that neither an operation nor Put can take over the entry of another owner, and that a new registration keeps
// the sharing.
func TestOwnersOfVIMs(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	v, ctx := x.VIMs(), t.Context()
	must(t, v.Put(ctx, vnflcm.VimConnectionInfo{VimID: "operators", VimType: "toy"}))
	must(t, v.Put(ctx, vnflcm.VimConnectionInfo{VimID: "of-b", VimType: "toy", Tenant: "b"}))
	register := ""
	x.watch(func(op *vnflcm.Operation) {
		switch op.Phase() {
		case "instantiate_end", "heal_end":
			err := op.RegisterVIM(ctx, vnflcm.VimConnectionInfo{VimID: register, VimType: "toy", Tenant: "b", Share: &vnflcm.Share{All: true}})
			if register == "operators" || register == "of-b" {
				wantIs(t, err, vnflcm.ErrConflict)
				must(t, op.RemoveVIM(ctx, register))
			} else {
				must(t, err)
			}
		}
	})
	instantiate := func(id string) string {
		register = id
		instance := x.createFor("a")
		_, _ = x.instantiate(instance, "plain", vnflcm.Completed)
		return instance
	}
	instantiate("operators")
	instantiate("of-b")
	id := instantiate("new")
	wantIs(t, v.Put(ctx, vnflcm.VimConnectionInfo{VimID: "new", VimType: "toy"}), vnflcm.ErrConflict)
	wantIs(t, v.Put(ctx, vnflcm.VimConnectionInfo{VimID: "new", VimType: "toy", Tenant: "b"}), vnflcm.ErrConflict)
	must(t, v.Remove(ctx, "b", "new"))
	must(t, v.Remove(ctx, "", "new"))
	x.share("new", "a", &vnflcm.Share{Tenants: []string{"c", ""}})
	opID, err := x.Heal(ctx, id, vnflcm.HealVnfRequest{})
	x.wait(opID, err, vnflcm.Completed)
	must(t, v.Put(ctx, vnflcm.VimConnectionInfo{VimID: "operators", VimType: "toy", Extra: params(t, `{"x":"y"}`)})) // remains shared
	got, err := v.List(ctx)
	must(t, err)
	want := []vnflcm.VimConnectionInfo{
		{VimID: "new", VimType: "toy", Tenant: "a", Share: &vnflcm.Share{Tenants: []string{"c", ""}}},
		{VimID: "of-b", VimType: "toy", Tenant: "b", Share: &vnflcm.Share{}},
		{VimID: "operators", VimType: "toy", Share: &vnflcm.Share{All: true}, FromOperator: true},
		{VimID: "vim1", VimType: "toy", Share: &vnflcm.Share{All: true}, FromOperator: true},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(vnflcm.VimConnectionInfo{}, "Extra")); diff != "" {
		t.Error(diff)
	}
	x.share("operators", "", &vnflcm.Share{})
	wantEmpty, err := v.Get(ctx, "a", "operators")
	wantIs(t, err, vnflcm.ErrNotFound)
	if wantEmpty.VimID != "" {
		t.Errorf("the error comes with %+v", wantEmpty)
	}
}

// forgetAttributes removes attributes from all records of a kind, as if an earlier version had written the records.
func (x *toys) forgetAttributes(kind string, attributes ...string) {
	x.t.Helper()
	ring, err := keyring.New(testKey)
	must(x.t, err)
	list, err := x.cfg.Store.List(x.t.Context(), store.Query{Kind: kind})
	must(x.t, err)
	for _, r := range list {
		clear, err := ring.Open(r.Body, identityOf(r))
		must(x.t, err)
		var value map[string]json.RawMessage
		must(x.t, json.Unmarshal(clear, &value))
		for _, name := range attributes {
			delete(value, name)
		}
		text, err := json.Marshal(value)
		must(x.t, err)
		r.Body = sealed(x.t, r, string(text))
		must(x.t, x.cfg.Store.Apply(x.t.Context(), store.Batch{Put: []store.Record{r}}))
	}
}

// TestVIMsBeforeTenants opens a registry of an earlier version. The entry of a cluster must belong to the tenant of its instance, also
// without a migration, and instances on clusters of other tenants must keep their VIM.
func TestVIMsBeforeTenants(t *testing.T) {
	t.Parallel()
	for name, attributes := range map[string][]string{"no owner": {"tenant", "share"}, "neither owner nor instance": {"tenant", "share", "instance"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			clusters := map[string]string{} // by tenant
			for _, tenant := range []string{"a", "", "abandoned"} {
				clusters[tenant] = s.createFor(tenant)
				_, _ = s.instantiate(clusters[tenant], "plain", vnflcm.Completed)
				s.share(vimOf(clusters[tenant]), tenant, &vnflcm.Share{All: true})
			}
			guests := map[string]string{} // by tenant of the cluster
			for tenant, cluster := range clusters {
				guests[tenant] = s.createFor("b")
				opID, err := s.Instantiate(t.Context(), guests[tenant], vnflcm.InstantiateVnfRequest{FlavourID: "bare", VimConnectionInfo: vnflcm.VimConnections{{VimID: vimOf(cluster)}}})
				s.wait(opID, err, vnflcm.Completed)
			}
			_, err := s.Abandon(t.Context(), clusters["abandoned"])
			must(t, err)
			s.forgetAttributes("vim", attributes...)
			s.forgetAttributes("instance", "vimOwner")
			s.start()

			got, want := map[string]string{}, map[string]string{"vim1": "a, abandoned, b, "}
			list, err := s.VIMs().List(t.Context())
			must(t, err)
			for _, vim := range list {
				var usable []string
				for _, tenant := range []string{"a", "abandoned", "b", ""} {
					found, err := s.VIMs().Get(t.Context(), tenant, vim.VimID)
					if err == nil {
						usable = append(usable, tenant)
					} else {
						wantIs(t, err, vnflcm.ErrNotFound)
					}
					if visible := vim.UsableBy(tenant); visible != (err == nil) || visible && found.Tenant != vim.Tenant {
						t.Errorf("tenant %q: Get has %+v (%v), List has %+v", tenant, found, err, vim)
					}
				}
				got[vim.VimID] = strings.Join(usable, ", ")
			}
			for tenant, cluster := range clusters {
				want[vimOf(cluster)] = tenant
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("tenants of the entries:\n%s", diff)
			}

			for tenant, cluster := range clusters {
				_, err := s.Instantiate(t.Context(), s.createFor("b"), vnflcm.InstantiateVnfRequest{FlavourID: "bare", VimConnectionInfo: vnflcm.VimConnections{{VimID: vimOf(cluster)}}})
				if diff := cmp.Diff([]string{"vimConnectionInfo[0].vimId"}, faults(err)); diff != "" {
					t.Errorf("a new instance on the cluster of %q: %v\n%s", tenant, err, diff)
				}
				s.operate(guests[tenant])
			}
			opID, err := s.Heal(t.Context(), clusters["a"], vnflcm.HealVnfRequest{}) // registers the entry again
			s.wait(opID, err, vnflcm.Completed)
			s.terminate(clusters["a"], vnflcm.TerminateGraceful, vnflcm.Completed)
			_, err = s.VIMs().Get(t.Context(), "a", vimOf(clusters["a"]))
			wantIs(t, err, vnflcm.ErrNotFound)
		})
	}
}

// TestVIMsBesideDamagedRecord opens a registry of an earlier version in a store with a damaged record. Entries whose owner is known from
// other records work as before. Until the record is restored, the remaining entries can be used only without a tenant and by instances
// that already use them.
func TestVIMsBesideDamagedRecord(t *testing.T) {
	t.Parallel()
	for name, attributes := range map[string][]string{"instances in the entries": {"tenant", "share"}, "no instances in the entries": {"tenant", "share", "instance"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			ctx := t.Context()
			clusters, guests := map[string]string{}, map[string]string{"vim1": s.createFor("b")}
			for _, tenant := range []string{"a", "damaged"} {
				id := s.createFor(tenant)
				_, _ = s.instantiate(id, "plain", vnflcm.Completed)
				must(t, s.VIMs().Put(ctx, vnflcm.VimConnectionInfo{VimID: vimOf(id), VimType: "toy", Tenant: tenant, Share: &vnflcm.Share{All: true}}))
				clusters[tenant], guests[vimOf(id)] = id, s.createFor("b")
			}
			for vimID, guest := range guests {
				opID, err := s.Instantiate(ctx, guest, vnflcm.InstantiateVnfRequest{FlavourID: "bare", VimConnectionInfo: vnflcm.VimConnections{{VimID: vimID}}})
				s.wait(opID, err, vnflcm.Completed)
			}
			s.share("vim1", "", &vnflcm.Share{All: true})
			s.forgetAttributes("vim", attributes...)
			s.forgetAttributes("instance", "vimOwner")
			whole, err := s.cfg.Store.Get(ctx, "instance", clusters["damaged"])
			must(t, err)
			damaged := whole
			damaged.Body = []byte("damaged")
			must(t, s.cfg.Store.Apply(ctx, store.Batch{Put: []store.Record{damaged}}))
			s.start()

			usable := func() map[string]string {
				got := map[string]string{}
				list, err := s.VIMs().List(ctx)
				must(t, err)
				for _, vim := range list {
					for _, tenant := range []string{"a", "b", "damaged", ""} {
						_, err := s.VIMs().Get(ctx, tenant, vim.VimID)
						if err == nil != vim.UsableBy(tenant) || err != nil && !errors.Is(err, vnflcm.ErrNotFound) {
							t.Errorf("tenant %q: Get has the error %v, List has %+v", tenant, err, vim)
						}
						if err == nil {
							got[vim.VimID] += "(" + tenant + ")"
						}
					}
				}
				return got
			}
			want := map[string]string{vimOf(clusters["a"]): "(a)", vimOf(clusters["damaged"]): "()", "vim1": "()"}
			if diff := cmp.Diff(want, usable()); diff != "" {
				t.Errorf("tenants of the entries:\n%s", diff)
			}
			if !strings.Contains(s.log.String(), clusters["damaged"]) {
				t.Errorf("the log does not name the damaged record:\n%s", s.log)
			}
			for vimID := range want {
				wantIs(t, s.VIMs().Put(ctx, vnflcm.VimConnectionInfo{VimID: vimID, VimType: "toy", Tenant: "evil"}), vnflcm.ErrConflict)
				must(t, s.VIMs().Remove(ctx, "evil", vimID))
			}
			must(t, s.VIMs().Put(ctx, vnflcm.VimConnectionInfo{VimID: "vim1", VimType: "toy"})) // like KnownVIMs without Share
			if diff := cmp.Diff(want, usable()); diff != "" {
				t.Errorf("tenants of the entries after other tenants have tried to take them over:\n%s", diff)
			}
			for _, guest := range guests {
				s.operate(guest)
			}

			restored := whole
			restored.Version++
			plain := reseal(t, whole, restored)
			must(t, s.cfg.Store.Apply(ctx, store.Batch{Put: []store.Record{plain}}))
			want = map[string]string{vimOf(clusters["a"]): "(a)", vimOf(clusters["damaged"]): "(damaged)", "vim1": "(a)(b)(damaged)()"}
			if diff := cmp.Diff(want, usable()); diff != "" {
				t.Errorf("tenants of the entries after the record was restored:\n%s", diff)
			}
		})
	}
}

// reseal returns the content of a record sealed for another version of the record.
func reseal(t *testing.T, from, to store.Record) store.Record {
	t.Helper()
	ring, err := keyring.New(testKey)
	must(t, err)
	text, err := ring.Open(from.Body, identityOf(from))
	must(t, err)
	to.Body = sealed(t, to, string(text))
	return to
}

// TestVIMsInRollingUpdate checks that a cluster belongs to its tenant if a process of the previous version registers it while this process
// runs.
func TestVIMsInRollingUpdate(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(cfg *vnflcm.Config) { vnflcm.KnowFormat(cfg, 1) })
	asBefore := func() { s.forgetAttributes("vim", "tenant", "share", "instance") }
	asBefore()
	y := s.other(func(cfg *vnflcm.Config) { vnflcm.KnowFormat(cfg, vnflcm.NewestFormat); cfg.AcceptOnly = true })
	usable := func(vimID string) (out []string) {
		for _, tenant := range []string{"a", "b", ""} {
			if _, err := y.VIMs().Get(t.Context(), tenant, vimID); err == nil {
				out = append(out, tenant)
			} else {
				wantIs(t, err, vnflcm.ErrNotFound)
			}
		}
		return out
	}
	if diff := cmp.Diff([]string{"a", "b", ""}, usable("vim1")); diff != "" {
		t.Errorf("tenants of the VIM of the operator:\n%s", diff)
	}
	cluster := s.createFor("a")
	_, _ = s.instantiate(cluster, "plain", vnflcm.Completed)
	asBefore()
	if diff := cmp.Diff([]string{"a"}, usable(vimOf(cluster))); diff != "" {
		t.Errorf("tenants of the cluster:\n%s", diff)
	}
}
