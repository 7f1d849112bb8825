package vnflcm_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// checkedCloud is a cloud that can check logins.
type checkedCloud struct {
	*cloud
	check func(ctx context.Context, vim vnflcm.VimConnectionInfo) error
}

func (c *checkedCloud) CheckVIM(ctx context.Context, vim vnflcm.VimConnectionInfo) error {
	return c.check(ctx, vim)
}

// checkedBy configures a driver with this check.
func checkedBy(check func(ctx context.Context, vim vnflcm.VimConnectionInfo) error) func(*vnflcm.Config) {
	return func(cfg *vnflcm.Config) {
		toy, _ := cfg.Infra["toy"].(*cloud)
		cfg.Infra = map[string]vnflcm.InfraDriver{"toy": &checkedCloud{toy, check}}
	}
}

// vimAt returns a connection of the type toy.
func vimAt(t *testing.T, endpoint, access string) vnflcm.VimConnectionInfo {
	t.Helper()
	return vnflcm.VimConnectionInfo{VimType: "toy", InterfaceInfo: params(t, `{"endpoint":"`+endpoint+`"}`), AccessInfo: params(t, access)}
}

// register registers a VIM of an owner.
func (x *toys) register(owner, name string) *vnflcm.VIM {
	x.t.Helper()
	vim, err := x.VIMRegistry().Register(x.t.Context(), owner, vnflcm.VIMRequest{Name: &name, Connection: vimAt(x.t, "https://k", `{"username":"u","password":"hunter2"}`)})
	must(x.t, err)
	return vim
}

// names returns the names of the VIMs in the list of a tenant.
func (x *toys) names(tenant string) (out []string) {
	x.t.Helper()
	list, err := x.VIMRegistry().List(x.t.Context(), tenant)
	must(x.t, err)
	for _, vim := range list {
		out = append(out, vim.Name)
	}
	slices.Sort(out)
	return out
}

// TestClientsManageVIMs registers, shows, changes and deletes entries of two tenants and entries without a tenant.
func TestClientsManageVIMs(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	r, ctx := x.VIMRegistry(), t.Context()
	a, b, all := x.register("a", "mine"), x.register("b", "mine"), x.register("", "of all")
	for tenant, want := range map[string][]string{"a": {"mine", "of all", "vim1"}, "b": {"mine", "of all", "vim1"}, "c": {"of all", "vim1"}, "": {"mine", "mine", "of all", "vim1"}} {
		if diff := cmp.Diff(want, x.names(tenant)); diff != "" {
			t.Errorf("tenant %q sees:\n%s", tenant, diff)
		}
	}
	if a.CreatedAt.IsZero() || !a.UpdatedAt.IsZero() || a.FromOperator || all.FromOperator || a.Tenant != "a" {
		t.Errorf("the entry is %+v", a)
	}
	_, unknown := r.Get(ctx, "b", "none")
	_, foreign := r.Get(ctx, "b", a.VimID)
	if wantIs(t, unknown, vnflcm.ErrNotFound); fmt.Sprint(foreign) != strings.ReplaceAll(fmt.Sprint(unknown), "none", a.VimID) {
		t.Errorf("%v, %v", unknown, foreign)
	}
	_, err := r.Change(ctx, "b", a.VimID, vnflcm.VIMRequest{Name: pointer("stolen")})
	wantIs(t, errors.Join(err), vnflcm.ErrNotFound)
	wantIs(t, r.Delete(ctx, "b", a.VimID), vnflcm.ErrNotFound)
	_, err = r.Change(ctx, "b", all.VimID, vnflcm.VIMRequest{Description: pointer("stolen")})
	wantIs(t, err, vnflcm.ErrState)
	wantIs(t, r.Delete(ctx, "b", all.VimID), vnflcm.ErrState)

	changed, err := r.Change(ctx, "a", a.VimID, vnflcm.VIMRequest{Name: pointer("new"), Description: pointer("text"), Connection: vnflcm.VimConnectionInfo{AccessInfo: params(t, `{"password":"hunter3"}`)}})
	must(t, err)
	want := *a
	want.Name, want.Description, want.AccessInfo, want.UpdatedAt = "new", "text", params(t, `{"username":"u","password":"hunter3"}`), changed.UpdatedAt
	if diff := cmp.Diff(&want, changed); diff != "" || changed.UpdatedAt.IsZero() {
		t.Errorf("after the change:\n%s", diff)
	}
	if again := x.register("a", "mine"); again.VimID == a.VimID {
		t.Error("two VIMs have one id")
	}
	for name, err := range map[string]error{
		"name taken":        registration(x, "a", vnflcm.VIMRequest{Name: pointer("new")}),
		"name is an id":     registration(x, "", vnflcm.VIMRequest{Name: pointer("vim1")}),
		"change to a taken": change(x, "a", a.VimID, vnflcm.VIMRequest{Name: pointer("mine")}),
	} {
		if !errors.Is(err, vnflcm.ErrConflict) {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, r.Delete(ctx, "a", a.VimID))
	must(t, r.Delete(ctx, "", b.VimID))
	_, err = r.Get(ctx, "", a.VimID)
	wantIs(t, err, vnflcm.ErrNotFound)
	_ = x.register("b", "mine")
	_ = x.register("a", "new")
}

func registration(x *toys, owner string, req vnflcm.VIMRequest) error {
	req.Connection = vimAt(x.t, "https://k", `{"username":"u"}`)
	_, err := x.VIMRegistry().Register(x.t.Context(), owner, req)
	return err
}

func change(x *toys, tenant, vimID string, req vnflcm.VIMRequest) error {
	_, err := x.VIMRegistry().Change(x.t.Context(), tenant, vimID, req)
	return err
}

// TestVIMRegistryFaults sends requests that must be refused.
func TestVIMRegistryFaults(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	long := strings.Repeat("x", 2000)
	masked := vimAt(t, "https://k", `{"username":"u"}`)
	masked.AccessInfo = params(t, `{"password":"***"}`)
	for name, c := range map[string]struct {
		req  vnflcm.VIMRequest
		want []string
	}{
		"texts":     {vnflcm.VIMRequest{Name: &long, Description: &long, Connection: vimAt(t, "https://k", `{}`)}, []string{"name", "description"}},
		"type":      {vnflcm.VIMRequest{Connection: vnflcm.VimConnectionInfo{VimType: "cloudy"}}, []string{"vimType"}},
		"no type":   {vnflcm.VIMRequest{}, []string{"vimType"}},
		"masked":    {vnflcm.VIMRequest{Connection: masked}, []string{"accessInfo.password"}},
		"of others": {vnflcm.VIMRequest{Connection: vnflcm.VimConnectionInfo{VimID: "vim1", VimType: "cloudy", Tenant: "", FromOperator: true}}, []string{"vimType"}},
	} {
		_, err := x.VIMRegistry().Register(t.Context(), "a", c.req)
		if diff := cmp.Diff(c.want, faults(err)); diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	vim := x.register("a", "mine")
	err := change(x, "a", vim.VimID, vnflcm.VIMRequest{Connection: vnflcm.VimConnectionInfo{VimType: "other"}})
	if diff := cmp.Diff([]string{"vimType"}, faults(err)); diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	own := newToys(t, func(cfg *vnflcm.Config) { cfg.VIMs = fixedVIMs{} })
	_, err = own.VIMRegistry().List(t.Context(), "")
	wantIs(t, err, vnflcm.ErrNotSupported)
}

// TestLimitOfVIMs checks that a tenant can register only a limited number of VIMs.
func TestLimitOfVIMs(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	for range 200 {
		must(t, registration(x, "a", vnflcm.VIMRequest{}))
	}
	wantIs(t, registration(x, "a", vnflcm.VIMRequest{}), vnflcm.ErrState)
	must(t, registration(x, "b", vnflcm.VIMRequest{}))
	// Removed entries do not count.
	list, err := x.VIMRegistry().List(t.Context(), "a")
	must(t, err)
	for _, vim := range list[:2] {
		must(t, x.VIMs().Remove(t.Context(), vim.Tenant, vim.VimID))
	}
	must(t, registration(x, "a", vnflcm.VIMRequest{}))
}

// TestNamesOfClusters checks that a cluster has the name from its operation until a client renames it, and that a client can use neither
// name for another VIM.
func TestNamesOfClusters(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.watch(func(op *vnflcm.Operation) {
		id := vimOf(op.InstanceID)
		if op.Phase() == "instantiate_end" {
			must(t, op.RegisterVIM(t.Context(), vnflcm.VimConnectionInfo{ID: id, VimID: id, VimType: "toy", Extra: params(t, `{"vim_name":"fleet"}`)}))
		}
	})
	id := s.createFor("a")
	_, _ = s.instantiate(id, "plain", vnflcm.Completed)
	vim, err := s.VIMRegistry().Get(t.Context(), "a", vimOf(id))
	must(t, err)
	if vim.Name != "fleet" {
		t.Errorf("the cluster has the name %q", vim.Name)
	}
	wantIs(t, registration(s.toys, "a", vnflcm.VIMRequest{Name: pointer("fleet")}), vnflcm.ErrConflict)
	must(t, registration(s.toys, "b", vnflcm.VIMRequest{Name: pointer("fleet")}))
	must(t, change(s.toys, "a", vimOf(id), vnflcm.VIMRequest{Name: pointer("mine")}))
	wantIs(t, registration(s.toys, "a", vnflcm.VIMRequest{Name: pointer("mine")}), vnflcm.ErrConflict)
	must(t, registration(s.toys, "a", vnflcm.VIMRequest{Name: pointer("fleet")}))
	if diff := cmp.Diff([]string{"fleet", "mine", "vim1"}, s.names("a")); diff != "" {
		t.Error(diff)
	}
}

// TestClusterOfEarlierVersion checks that the entry of a cluster is protected even if its record does not name the VNF instance.
func TestClusterOfEarlierVersion(t *testing.T) {
	t.Parallel()
	for _, tenant := range []string{"", "a"} {
		s := newSite(t, nil)
		id := s.createFor(tenant)
		_, _ = s.instantiate(id, "plain", vnflcm.Completed)
		s.forgetAttributes("vim", "tenant", "share", "instance")
		s.start()
		vim, err := s.VIMRegistry().Get(t.Context(), tenant, vimOf(id))
		must(t, err)
		if vim.Cluster != id || vim.FromOperator {
			t.Errorf("the entry is %+v", vim)
		}
		wantIs(t, s.VIMRegistry().Delete(t.Context(), tenant, vim.VimID), vnflcm.ErrState)
		wantIs(t, change(s.toys, tenant, vim.VimID, vnflcm.VIMRequest{Connection: vnflcm.VimConnectionInfo{AccessInfo: params(t, `{"bearer_token":"other"}`)}}), vnflcm.ErrState)
		must(t, change(s.toys, tenant, vim.VimID, vnflcm.VIMRequest{Share: &vnflcm.Share{All: true}}))
		s.terminate(id, vnflcm.TerminateGraceful, vnflcm.Completed)
	}
}

// TestReplacedKubeconfig checks that another login replaces a kubeconfig, which contains an address and a login.
func TestReplacedKubeconfig(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	vim, err := x.VIMRegistry().Register(t.Context(), "a", vnflcm.VIMRequest{Connection: vnflcm.VimConnectionInfo{VimType: "toy", AccessInfo: params(t, `{"kubeconfig":"secret"}`)}})
	must(t, err)
	changed, err := x.VIMRegistry().Change(t.Context(), "a", vim.VimID, vnflcm.VIMRequest{Connection: vnflcm.VimConnectionInfo{
		InterfaceInfo: params(t, `{"endpoint":"https://k"}`), AccessInfo: params(t, `{"bearer_token":"t"}`)}})
	must(t, err)
	if diff := cmp.Diff(`{"bearer_token":"t"}`, string(changed.AccessInfo.Reveal())); diff != "" {
		t.Error(diff)
	}
}

// TestDefaultOfVIMRegistry checks that a second default VIM of a tenant and type is refused.
func TestDefaultOfVIMRegistry(t *testing.T) {
	t.Parallel()
	x := newToys(t, func(cfg *vnflcm.Config) {
		cfg.Infra = map[string]vnflcm.InfraDriver{"toy": cfg.Infra["toy"], "kubernetes": cfg.Infra["toy"]}
	})
	yes, no := pointer(true), pointer(false)
	register := func(tenant, vimType string) string {
		vim, err := x.VIMRegistry().Register(t.Context(), tenant, vnflcm.VIMRequest{IsDefault: yes, Connection: vnflcm.VimConnectionInfo{VimType: vimType}})
		must(t, err)
		if !vim.IsDefault {
			t.Error("the VIM is no default")
		}
		return vim.VimID
	}
	first := register("a", "toy")
	_ = register("b", "toy")
	_ = register("a", "kubernetes")
	for _, req := range []vnflcm.VIMRequest{{IsDefault: yes, Connection: vnflcm.VimConnectionInfo{VimType: "toy"}}, {IsDefault: yes, Connection: vnflcm.VimConnectionInfo{VimType: "ETSINFV.KUBERNETES.V_1"}}} {
		_, err := x.VIMRegistry().Register(t.Context(), "a", req)
		wantIs(t, err, vnflcm.ErrConflict)
	}
	// A tenant may make a shared VIM its default, and must not change other attributes of the VIM.
	wantIs(t, change(x, "a", "vim1", vnflcm.VIMRequest{IsDefault: yes}), vnflcm.ErrConflict)
	must(t, change(x, "a", first, vnflcm.VIMRequest{IsDefault: no}))
	must(t, change(x, "a", "vim1", vnflcm.VIMRequest{IsDefault: yes}))
	for tenant, want := range map[string]bool{"a": true, "b": false, "": true} {
		vim, err := x.VIMRegistry().Get(t.Context(), tenant, "vim1")
		must(t, err)
		if vim.IsDefault != want {
			t.Errorf("vim1 is the default of %q: %v", tenant, vim.IsDefault)
		}
	}
	must(t, x.VIMRegistry().Delete(t.Context(), "a", first))
	second := register("c", "toy")
	must(t, x.VIMRegistry().Delete(t.Context(), "c", second))
	if found, err := x.VIMs().Default(t.Context(), "c", "toy"); err != nil || found.VimID != "vim1" {
		t.Errorf("after the deletion of its default the tenant has %q, %v", found.VimID, err)
	}
}

// TestConfiguredVIMs checks that entries of the configuration cannot be changed by requests until they are removed from the configuration.
func TestConfiguredVIMs(t *testing.T) {
	t.Parallel()
	x := newToys(t, func(cfg *vnflcm.Config) {
		cfg.KnownVIMsSource = "/etc/vnfm.yaml"
		cfg.KnownVIMs = vnflcm.VimConnections{{VimID: "lab", VimType: "toy"}, {VimID: "old", VimType: "toy"}, {VimID: "of-a", VimType: "toy", Tenant: "a"}}
	})
	refused := func(tenant, vimID string) {
		t.Helper()
		for _, err := range []error{change(x, tenant, vimID, vnflcm.VIMRequest{Description: pointer("text")}), x.VIMRegistry().Delete(t.Context(), tenant, vimID)} {
			if !errors.Is(err, vnflcm.ErrState) || !strings.Contains(fmt.Sprint(err), "/etc/vnfm.yaml") {
				t.Errorf("%s: %v", vimID, err)
			}
		}
	}
	refused("", "lab")
	refused("", "old")
	refused("a", "of-a")
	registered := x.register("", "registered")
	before := x.cfg.KnownVIMs
	x.cfg.KnownVIMs = vnflcm.VimConnections{before[0], registered.VimConnectionInfo}
	x.start()
	refused("", "lab")
	refused("", registered.VimID)
	if vim, err := x.VIMs().Get(t.Context(), "", registered.VimID); err != nil || !vim.FromOperator {
		t.Errorf("an entry that the configuration has taken over is not the operator's (%v)", err)
	}
	must(t, change(x, "", "old", vnflcm.VIMRequest{Description: pointer("text")}))
	must(t, x.VIMRegistry().Delete(t.Context(), "a", "of-a"))
	x.cfg.KnownVIMs, x.cfg.KnownVIMsSource = nil, "" // like a tool that uses the same store
	x.start()
	refused("", "lab")
}

// TestDeleteVIMInUse checks that the error names the VNF instances of the client's tenant on the VIM, and counts the remaining instances.
func TestDeleteVIMInUse(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	vim, err := x.VIMRegistry().Register(t.Context(), "a", vnflcm.VIMRequest{Share: &vnflcm.Share{All: true}, Connection: vimAt(t, "https://k", `{}`)})
	must(t, err)
	users := map[string]string{}
	for _, tenant := range []string{"a", "b"} {
		id := x.createFor(tenant)
		opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "bare", VimConnectionInfo: vnflcm.VimConnections{{VimID: vim.VimID}}})
		x.wait(opID, err, vnflcm.Completed)
		users[tenant] = id
	}
	for tenant, want := range map[string]int{"a": 2, "b": 1, "": 2, "c": 0} {
		if used, err := x.VIMRegistry().InUse(t.Context(), tenant, []*vnflcm.VIM{vim}); err != nil || used[vim.VimID] != want {
			t.Errorf("tenant %q sees %d VNF instances on the VIM, %v", tenant, used[vim.VimID], err)
		}
	}
	err = x.VIMRegistry().Delete(t.Context(), "a", vim.VimID)
	wantIs(t, err, vnflcm.ErrState)
	if text := fmt.Sprint(err); !strings.Contains(text, users["a"]) || strings.Contains(text, users["b"]) || !strings.Contains(text, "1 VNF instances of other tenants") {
		t.Error(err)
	}
	err = x.VIMRegistry().Delete(t.Context(), "", vim.VimID)
	if text := fmt.Sprint(err); !strings.Contains(text, users["a"]) || !strings.Contains(text, users["b"]) {
		t.Error(err)
	}
	for _, id := range users {
		opID, err := x.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
		x.wait(opID, err, vnflcm.Completed)
	}
	must(t, x.VIMRegistry().Delete(t.Context(), "a", vim.VimID))
	if list, err := x.cfg.Store.List(t.Context(), store.Query{Kind: "vim-removed"}); err != nil || len(list) > 0 {
		t.Errorf("%d records are left, %v", len(list), err)
	}
}

// TestDeleteVIMWhileInstantiating checks that either the instantiation or the deletion is refused.
func TestDeleteVIMWhileInstantiating(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	for range 30 {
		vim, id := x.register("", ""), x.create()
		var opID string
		var started, deleted error
		var both sync.WaitGroup
		both.Go(func() {
			opID, started = x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "bare", VimConnectionInfo: vnflcm.VimConnections{{VimID: vim.VimID}}})
		})
		both.Go(func() { deleted = x.VIMRegistry().Delete(t.Context(), "", vim.VimID) })
		both.Wait()
		switch {
		case started == nil:
			x.wait(opID, nil, vnflcm.Completed)
			wantIs(t, deleted, vnflcm.ErrState)
		case deleted == nil:
			wantIs(t, started, vnflcm.ErrInvalidRequest)
		default:
			t.Errorf("both were refused: %v, %v", started, deleted)
		}
	}
}

// TestChangeCluster checks that the names in a cluster's entry can be changed and its connection cannot. The entry can be deleted when the
// cluster no longer exists.
func TestChangeCluster(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	id := s.createFor("a")
	_, _ = s.instantiate(id, "plain", vnflcm.Completed)
	vimID := vimOf(id)
	must(t, change(s.toys, "a", vimID, vnflcm.VIMRequest{Name: pointer("mine"), Description: pointer("text"), Share: &vnflcm.Share{Tenants: []string{"b"}}, IsDefault: pointer(true)}))
	err := change(s.toys, "a", vimID, vnflcm.VIMRequest{Connection: vnflcm.VimConnectionInfo{AccessInfo: params(t, `{"bearer_token":"other"}`)}})
	if wantIs(t, err, vnflcm.ErrState); !strings.Contains(fmt.Sprint(err), id) {
		t.Error(err)
	}
	err = s.VIMRegistry().Delete(t.Context(), "a", vimID)
	if wantIs(t, err, vnflcm.ErrState); !strings.Contains(fmt.Sprint(err), id) {
		t.Error(err)
	}
	_, err = s.VIMRegistry().Get(t.Context(), "b", vimID)
	must(t, err)
	opID, err := s.Heal(t.Context(), id, vnflcm.HealVnfRequest{})
	s.wait(opID, err, vnflcm.Completed)
	vim, err := s.VIMRegistry().Get(t.Context(), "a", vimID)
	must(t, err)
	if diff := cmp.Diff([]any{"mine", "text", id}, []any{vim.Name, vim.Description, vim.Cluster}); diff != "" {
		t.Errorf("after the heal:\n%s", diff)
	}
}

// TestReplacedAttributes checks that a changed connection uses a stored secret only with the stored address and settings.
func TestReplacedAttributes(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	for name, c := range map[string]struct {
		inter, access, extra string
		want                 string // accessInfo and extra; "": refused
		faults               []string
	}{
		"password":          {access: `{"password":"new"}`, want: `{"password":"new","username":"u"} {"helm_info":{"password":"hunter2"}}`},
		"user":              {access: `{"username":"v"}`, want: `{"password":"hunter2","username":"v"} {"helm_info":{"password":"hunter2"}}`},
		"other login":       {access: `{"bearer_token":"t"}`, want: `{"bearer_token":"t","username":"u"} {"helm_info":{"password":"hunter2"}}`},
		"other spelling":    {access: `{"user_name":"v"}`, want: `{"password":"hunter2","user_name":"v"} {"helm_info":{"password":"hunter2"}}`},
		"region":            {access: `{"region":"r"}`, want: `{"password":"hunter2","region":"r","username":"u"} {"helm_info":{"password":"hunter2"}}`},
		"same address":      {inter: `{"endpoint":"https://k"}`, want: `{"password":"hunter2","username":"u"} {"helm_info":{"password":"hunter2"}}`},
		"helm info":         {extra: `{"helm_info":{"address":"h"}}`, want: `{"password":"hunter2","username":"u"} {"helm_info":{"address":"h"}}`},
		"address":           {inter: `{"endpoint":"https://evil"}`, faults: []string{"interfaceInfo.endpoint"}},
		"address, password": {inter: `{"endpoint":"https://evil"}`, access: `{"password":"new"}`, want: `{"password":"new"} {}`},
		"address, user":     {inter: `{"endpoint":"https://evil"}`, access: `{"username":"new"}`, faults: []string{"interfaceInfo.endpoint"}},
		"address, empty":    {inter: `{"endpoint":"https://evil"}`, access: `{"password":""}`, faults: []string{"interfaceInfo.endpoint"}},
		"trust":             {access: `{"cert_verify":false}`, faults: []string{"accessInfo.cert_verify"}},
		"authority":         {inter: `{"ssl_ca_cert":"PEM"}`, faults: []string{"interfaceInfo.ssl_ca_cert"}},
		"no address":        {inter: `{"endpoint":null}`, faults: []string{"interfaceInfo.endpoint"}},
		"jump host":         {extra: `{"jump_host":{"address":"evil"}}`, faults: []string{"extra.jump_host"}},
	} {
		stored := vimAt(t, "https://k", `{"username":"u","password":"hunter2"}`)
		stored.Extra = params(t, `{"helm_info":{"password":"hunter2"}}`)
		vim, err := x.VIMRegistry().Register(t.Context(), "a", vnflcm.VIMRequest{Connection: stored})
		must(t, err)
		var given vnflcm.VimConnectionInfo
		for into, text := range map[*vnflcm.Params]string{&given.InterfaceInfo: c.inter, &given.AccessInfo: c.access, &given.Extra: c.extra} {
			if text != "" {
				*into = params(t, text)
			}
		}
		changed, err := x.VIMRegistry().Change(t.Context(), "a", vim.VimID, vnflcm.VIMRequest{Connection: given})
		if diff := cmp.Diff(c.faults, faults(err)); diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
		if err != nil {
			continue
		}
		if diff := cmp.Diff(c.want, string(changed.AccessInfo.Reveal())+" "+string(changed.Extra.Reveal())); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// TestFromOperatorOfRegistered checks that an address from a client never counts as the operator's, also after a later version or another
// call has written the entry again.
func TestFromOperatorOfRegistered(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	isOperators := func(vimID string) bool {
		vim, err := x.VIMs().Get(t.Context(), "", vimID)
		must(t, err)
		return vim.FromOperator
	}
	vim := x.register("", "mine")
	must(t, x.VIMs().SetShare(t.Context(), "", vim.VimID, vnflcm.Share{}))
	known, err := x.VIMs().Get(t.Context(), "", vim.VimID)
	must(t, err)
	must(t, x.VIMs().Put(t.Context(), known))
	if isOperators(vim.VimID) {
		t.Error("an entry of a client is the operator's")
	}
	put := vimAt(t, "https://k", `{"username":"u","password":"p"}`)
	put.VimID = "put"
	must(t, x.VIMs().Put(t.Context(), put))
	must(t, change(x, "", "put", vnflcm.VIMRequest{Name: pointer("n"), Connection: vnflcm.VimConnectionInfo{AccessInfo: params(t, `{"password":"q"}`)}}))
	if !isOperators("put") {
		t.Error("after the change of its password an entry is no longer the operator's")
	}
	must(t, change(x, "", "put", vnflcm.VIMRequest{Connection: vnflcm.VimConnectionInfo{InterfaceInfo: params(t, `{"endpoint":"https://l"}`), AccessInfo: params(t, `{"password":"q"}`)}}))
	if isOperators("put") {
		t.Error("an address of a client is the operator's")
	}
	put.VimID = "helm"
	must(t, x.VIMs().Put(t.Context(), put))
	must(t, change(x, "", "helm", vnflcm.VIMRequest{Connection: vnflcm.VimConnectionInfo{Extra: params(t, `{"helm_info":{"masternode_ip":["127.0.0.1"]}}`)}}))
	if isOperators("helm") {
		t.Error("addresses in helm_info of a client are the operator's")
	}
}

// TestCheckOfVIM checks that the driver checks new and changed connections within a time limit, and that its errors contain no secrets.
func TestCheckOfVIM(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		var asked []vnflcm.VimConnectionInfo
		var answer error
		hang := false
		x := newToys(t, checkedBy(func(ctx context.Context, vim vnflcm.VimConnectionInfo) error {
			asked = append(asked, vim)
			if hang {
				<-ctx.Done()
				return context.Cause(ctx)
			}
			return answer
		}))
		request := vnflcm.VIMRequest{Connection: vimAt(t, "https://k", `{"username":"u","password":"hunter2"}`)}
		request.Connection.FromOperator = true
		for name, c := range map[string]struct {
			answer error
			hang   bool
			want   []string
			text   string
		}{
			"refused": {answer: &vnflcm.ParamError{Path: "accessInfo", Reason: "refused: hunter2 " + strings.Repeat("x", 1<<20)}, want: []string{"accessInfo"}, text: "refused: ***"},
			"failed":  {answer: errors.New("connection reset after hunter2"), want: []string{"vimConnectionInfo.interfaceInfo.endpoint"}, text: "connection reset after ***"},
			"silent":  {hang: true, want: []string{"vimConnectionInfo.interfaceInfo.endpoint"}, text: "no answer within 30s"},
		} {
			answer, hang = c.answer, c.hang
			_, err := x.VIMRegistry().Register(t.Context(), "", request)
			if diff := cmp.Diff(c.want, faults(err)); diff != "" || !strings.Contains(fmt.Sprint(err), c.text) || len(err.Error()) > 64<<10 || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: %.200v\n%s", name, err, diff)
			}
		}
		if list := x.names("x"); len(list) != 1 {
			t.Errorf("refused VIMs are registered: %v", list)
		}
		hang, answer = false, errors.New("down")
		unchecked := request
		unchecked.Unchecked = true
		asked = nil
		vim, err := x.VIMRegistry().Register(t.Context(), "", unchecked)
		must(t, err)
		must(t, change(x, "", vim.VimID, vnflcm.VIMRequest{Name: pointer("other")}))
		if len(asked) > 0 {
			t.Error("the driver was asked in vain")
		}
		rotated := vnflcm.VIMRequest{Connection: vnflcm.VimConnectionInfo{AccessInfo: params(t, `{"password":"new"}`)}}
		if err := change(x, "", vim.VimID, rotated); err == nil {
			t.Error("a password that was not accepted is stored")
		}
		answer = nil
		must(t, change(x, "", vim.VimID, rotated))
		masked := vnflcm.VIMRequest{Connection: vnflcm.VimConnectionInfo{AccessInfo: params(t, `{"password":"***"}`)}}
		if diff := cmp.Diff([]string{"accessInfo.password"}, faults(change(x, "", vim.VimID, masked))); diff != "" {
			t.Errorf("a masked password:\n%s", diff)
		}
		for _, vim := range asked {
			if vim.FromOperator || string(vim.AccessInfo.Reveal()) != `{"password":"new","username":"u"}` {
				t.Errorf("the driver was asked to check %+v %s", vim, vim.AccessInfo.Reveal())
			}
		}
	})
}

// TestChecksAtOnce checks that a process checks a limited number of VIMs concurrently, fewer for a single owner, and immediately refuses
// further registrations.
func TestChecksAtOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		running, end := 0, make(chan struct{})
		var mu sync.Mutex
		x := newToys(t, checkedBy(func(context.Context, vnflcm.VimConnectionInfo) error {
			mu.Lock()
			running++
			mu.Unlock()
			<-end
			return nil
		}))
		errs := make(chan error, 60)
		for _, c := range []struct {
			owner string
			want  int
		}{{"a", 8}, {"b", 16}, {"c", 16}} {
			for range 20 {
				go func() { errs <- registration(x, c.owner, vnflcm.VIMRequest{}) }()
			}
			synctest.Wait()
			mu.Lock()
			if running != c.want {
				t.Errorf("%d checks run after the requests of %s, want %d", running, c.owner, c.want)
			}
			mu.Unlock()
		}
		refused := len(errs)
		for range refused {
			wantIs(t, <-errs, vnflcm.ErrBusy)
		}
		if refused != 44 {
			t.Errorf("%d registrations are refused", refused)
		}
		must(t, registration(x, "c", vnflcm.VIMRequest{Unchecked: true}))
		close(end)
		for range 16 {
			must(t, <-errs)
		}
		must(t, registration(x, "c", vnflcm.VIMRequest{}))
	})
}

// TestChangeDoesNotUndoOthers changes the entry while the driver checks another change. The result must have both changes.
func TestChangeDoesNotUndoOthers(t *testing.T) {
	t.Parallel()
	var x *toys
	var vimID string
	var during []func()
	x = newToys(t, checkedBy(func(context.Context, vnflcm.VimConnectionInfo) error {
		if len(during) > 0 {
			next := during[0]
			during = during[1:]
			next()
		}
		return nil
	}))
	vim := x.register("a", "mine")
	vimID = vim.VimID
	during = []func(){func() {
		must(t, change(x, "a", vimID, vnflcm.VIMRequest{Connection: vnflcm.VimConnectionInfo{AccessInfo: params(t, `{"password":"rotated"}`)}}))
	}}
	must(t, change(x, "a", vimID, vnflcm.VIMRequest{Connection: vnflcm.VimConnectionInfo{AccessInfo: params(t, `{"username":"v"}`)}}))
	now, err := x.VIMRegistry().Get(t.Context(), "a", vimID)
	must(t, err)
	if diff := cmp.Diff(`{"password":"rotated","username":"v"}`, string(now.AccessInfo.Reveal())); diff != "" {
		t.Error(diff)
	}
}

// batches records the kinds of VIM records that each batch writes.
type batches struct {
	store.Store
	mu  sync.Mutex
	put [][]string // kinds
}

func (s *batches) Apply(ctx context.Context, b store.Batch) error {
	var kinds []string
	for _, r := range b.Put {
		if strings.HasPrefix(r.Kind, "vim") {
			kinds = append(kinds, r.Kind)
		}
	}
	if len(kinds) > 0 {
		s.mu.Lock()
		s.put = append(s.put, kinds)
		s.mu.Unlock()
	}
	return s.Store.Apply(ctx, b)
}

// TestRegisterIsOneBatch checks that an entry is written in one batch, so that a killed process cannot leave a part of it.
func TestRegisterIsOneBatch(t *testing.T) {
	t.Parallel()
	s := &batches{Store: store.NewMemory()}
	x := newToys(t, func(cfg *vnflcm.Config) { cfg.Store = s })
	s.put = nil
	_, err := x.VIMRegistry().Register(t.Context(), "a", vnflcm.VIMRequest{Name: pointer("n"), IsDefault: pointer(true), Connection: vimAt(t, "https://k", `{}`)})
	must(t, err)
	if diff := cmp.Diff([][]string{{"vim", "vim-notes", "vim-default"}}, s.put); diff != "" {
		t.Error(diff)
	}
}

// TestNamesSurviveRenewal checks that a renewal keeps a concurrent change of names, and that the change keeps the renewed credentials.
func TestNamesSurviveRenewal(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		life := vnflcm.Validity{Until: time.Now().Add(4 * time.Minute).Round(0), For: 4 * time.Minute}
		v := newVIMs(t, nil, life)
		id := v.create()
		opID, err := v.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
		v.wait(opID, err, vnflcm.Completed)
		v.driver.mu.Lock()
		v.driver.during = func(*vnflcm.Operation) {
			must(t, change(v.toys, "", madeVIM, vnflcm.VIMRequest{Name: pointer("named")}))
		}
		v.driver.mu.Unlock()
		time.Sleep(life.For / 2)
		v.awaitToken(2)
		must(t, change(v.toys, "", madeVIM, vnflcm.VIMRequest{Description: pointer("text")}))
		vim, err := v.VIMRegistry().Get(t.Context(), "", madeVIM)
		must(t, err)
		if diff := cmp.Diff([]any{"named", "text", "hunter2-2"}, []any{vim.Name, vim.Description, tokenOf(vim.VimConnectionInfo)}); diff != "" {
			t.Error(diff)
		}
	})
}
