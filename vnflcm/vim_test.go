package vnflcm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

func params(t *testing.T, text string) vnflcm.Params {
	t.Helper()
	p, err := vnflcm.ParseParams([]byte(text))
	must(t, err)
	return p
}

func TestVIMLookup(t *testing.T) {
	t.Parallel()
	access := params(t, `{"username":"u"}`)
	for name, c := range map[string]struct {
		named  vnflcm.VimConnections
		want   vnflcm.VimConnectionInfo
		faults []string
	}{
		"ids only": {
			named: vnflcm.VimConnections{{ID: "c1", VimID: "vim2", VimType: "toy"}},
			want:  vnflcm.VimConnectionInfo{ID: "c1", VimID: "vim2", VimType: "toy", AccessInfo: params(t, `{"username":"v2","region":"r"}`), FromOperator: true}},
		"registered, with other access": {
			named: vnflcm.VimConnections{{VimID: "vim2", AccessInfo: access}},
			want:  vnflcm.VimConnectionInfo{VimID: "vim2", VimType: "toy", AccessInfo: params(t, `{"username":"u","region":"r"}`), FromOperator: true}},
		"inline": {
			named: vnflcm.VimConnections{{ID: "c1", VimType: "toy", AccessInfo: access}},
			want:  vnflcm.VimConnectionInfo{ID: "c1", VimType: "toy", AccessInfo: access}},
		"inline with an id": {
			named: vnflcm.VimConnections{{VimID: "elsewhere", VimType: "toy", AccessInfo: access}},
			want:  vnflcm.VimConnectionInfo{VimID: "elsewhere", VimType: "toy", AccessInfo: access}},
		"default of the type": {want: vnflcm.VimConnectionInfo{VimID: "vim1", VimType: "toy", FromOperator: true}},
		"unknown":             {named: vnflcm.VimConnections{{VimID: "vim9", VimType: "toy"}}, faults: []string{"vimConnectionInfo[0].vimId"}},
		"wrong type":          {named: vnflcm.VimConnections{{VimID: "vim2", VimType: "other"}}, faults: []string{"vimConnectionInfo[0].vimType"}},
		"charts":              {named: vnflcm.VimConnections{{VimID: "vim4", VimType: "ETSINFV.HELM.V_3"}}, want: vnflcm.VimConnectionInfo{VimID: "vim4", VimType: "ETSINFV.HELM.V_3", Extra: params(t, `{"use_helm":"True"}`), FromOperator: true}},
		"charts without mark": {named: vnflcm.VimConnections{{VimID: "vim6", VimType: "ETSINFV.HELM.V_3"}}, want: vnflcm.VimConnectionInfo{VimID: "vim6", VimType: "ETSINFV.HELM.V_3", FromOperator: true}},
		"no charts":           {named: vnflcm.VimConnections{{VimID: "vim5", VimType: "ETSINFV.HELM.V_3"}}, faults: []string{"vimConnectionInfo[0].vimType"}},
		"charts, other type":  {named: vnflcm.VimConnections{{VimID: "vim4", VimType: "toy"}}, faults: []string{"vimConnectionInfo[0].vimType"}},
		"no driver":           {named: vnflcm.VimConnections{{VimID: "vim3"}}, faults: []string{"vimConnectionInfo[0].vimType"}},
		"nothing said":        {named: vnflcm.VimConnections{{ID: "c1"}}, faults: []string{"vimConnectionInfo[0].vimId"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, func(c *vnflcm.Config) { c.Infra["ETSINFV.HELM.V_3"] = c.Infra["toy"] })
			must(t, x.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "vim4", VimType: "kubernetes", Extra: params(t, `{"use_helm":"True"}`)}))
			must(t, x.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "vim5", VimType: "kubernetes", Extra: params(t, `{"use_helm":false}`)}))
			must(t, x.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "vim6", VimType: "kubernetes"}))
			must(t, x.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "vim2", VimType: "toy", AccessInfo: params(t, `{"username":"v2","region":"r"}`)}))
			must(t, x.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "vim3", VimType: "cloudy"}))
			var got vnflcm.VimConnectionInfo
			x.watch(func(op *vnflcm.Operation) { got = op.VIM })
			opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain", VimConnectionInfo: c.named})
			if diff := cmp.Diff(c.faults, faults(err)); diff != "" {
				t.Fatalf("%v, faults:\n%s", err, diff)
			}
			if c.faults != nil {
				return
			}
			x.wait(opID, err, vnflcm.Completed)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("VIM:\n%s", diff)
			}
		})
	}
}

func TestDefaultVIMIsPinned(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.instantiated("plain")
	must(t, x.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "vim2", VimType: "toy"}))
	must(t, x.VIMs().SetDefault(t.Context(), "", "vim2"))
	var got []string
	x.watch(func(op *vnflcm.Operation) { got = append(got, op.VIM.VimID) })
	opID, err := x.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
	x.wait(opID, err, vnflcm.Completed)
	x.instantiate(id, "plain", vnflcm.Completed)
	if diff := cmp.Diff([]string{"vim1", "vim2"}, got); diff != "" {
		t.Errorf("VIM of terminate, and of instantiate afterwards:\n%s", diff)
	}
	if got := x.get(id).VimConnectionInfo; len(got) != 1 || got[0].VimID != "vim2" {
		t.Errorf("the instance shows the VIMs %v, want vim2", got)
	}
}

func TestDefaultVIMOfSeveralTypes(t *testing.T) {
	t.Parallel()
	x := newToys(t, func(cfg *vnflcm.Config) { cfg.Infra["cloudy"] = cfg.Infra["toy"] })
	x.instantiated("plain") // one type has a default
	must(t, x.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "vim3", VimType: "cloudy"}))
	must(t, x.VIMs().SetDefault(t.Context(), "", "vim3"))
	_, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
	if diff := cmp.Diff([]string{"vimConnectionInfo"}, faults(err)); diff != "" {
		t.Errorf("two defaults: %v\n%s", err, diff)
	}
}

func TestVIMRegistry(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	v := x.VIMs()
	_, err := v.Get(t.Context(), "", "vim9")
	wantIs(t, err, vnflcm.ErrNotFound)
	_, err = v.Default(t.Context(), "", "cloudy")
	wantIs(t, err, vnflcm.ErrNotFound)
	wantIs(t, v.SetDefault(t.Context(), "", "vim9"), vnflcm.ErrNotFound)
	if err := v.Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "vim9"}); err == nil {
		t.Error("a VIM without a type was taken")
	}
	must(t, v.Remove(t.Context(), "", "vim9"))
	must(t, v.Remove(t.Context(), "", "vim1"))
	_, err = v.Default(t.Context(), "", "toy")
	wantIs(t, err, vnflcm.ErrNotFound)
}

// fixedVIMs is a registry outside of the Store.
type fixedVIMs map[string]vnflcm.VimConnectionInfo

func (f fixedVIMs) Get(_ context.Context, tenant, id string) (vnflcm.VimConnectionInfo, error) {
	if v, ok := f[id]; ok && v.UsableBy(tenant) {
		return v, nil
	}
	return vnflcm.VimConnectionInfo{}, fmt.Errorf("own registry: %w", vnflcm.ErrNotFound)
}

func (f fixedVIMs) List(context.Context) (list []vnflcm.VimConnectionInfo, err error) {
	for _, id := range slices.Sorted(maps.Keys(f)) {
		list = append(list, f[id])
	}
	return list, nil
}

func (f fixedVIMs) Put(_ context.Context, v vnflcm.VimConnectionInfo) error {
	known, exists := f[v.VimID]
	if exists && known.Tenant != v.Tenant {
		return fmt.Errorf("own registry: %w", vnflcm.ErrConflict)
	}
	if v.Share == nil {
		v.Share = known.Share
	}
	f[v.VimID] = v
	return nil
}

func (f fixedVIMs) SetShare(_ context.Context, tenant, id string, share vnflcm.Share) error {
	v, exists := f[id]
	if !exists || v.Tenant != tenant {
		return fmt.Errorf("own registry: %w", vnflcm.ErrNotFound)
	}
	v.Share = &share
	f[id] = v
	return nil
}

func (f fixedVIMs) Remove(_ context.Context, tenant, id string) error {
	if f[id].Tenant == tenant {
		delete(f, id)
	}
	return nil
}

func (f fixedVIMs) SetDefault(context.Context, string, string) error { return nil }

func (f fixedVIMs) Default(ctx context.Context, tenant, _ string) (vnflcm.VimConnectionInfo, error) {
	return f.Get(ctx, tenant, "vim1")
}

func TestOwnVIMRegistryAndRegisterVIM(t *testing.T) {
	t.Parallel()
	registry := fixedVIMs{}
	x := newToys(t, func(cfg *vnflcm.Config) { cfg.VIMs = registry })
	must(t, registry.Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "vim1", VimType: "toy"}))
	x.watch(func(op *vnflcm.Operation) {
		info := vnflcm.VimConnectionInfo{ID: "k8s", VimID: "k8s", VimType: "kubernetes"}
		var err error
		if op.Kind == vnflcm.OpTerminate {
			err = op.RemoveVIM(t.Context(), "k8s")
		} else {
			err = op.RegisterVIM(t.Context(), info)
		}
		if err != nil {
			t.Error(err)
		}
	})
	id := x.instantiated("plain")
	if _, ok := registry["k8s"]; !ok || len(x.get(id).VimConnectionInfo) != 2 {
		t.Errorf("not registered: %v, %v", registry, x.get(id).VimConnectionInfo)
	}
	opID, err := x.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful})
	x.wait(opID, err, vnflcm.Completed)
	if _, ok := registry["k8s"]; ok || len(x.get(id).VimConnectionInfo) != 0 {
		t.Errorf("still registered: %v, %v", registry, x.get(id).VimConnectionInfo)
	}
}

// TestPublish checks that metadata published for a machine is in its document, and is removed with the machine.
func TestPublish(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	x.watch(func(op *vnflcm.Operation) {
		for _, v := range op.VNFCs {
			if op.Kind == vnflcm.OpInstantiate {
				must(t, op.Publish(t.Context(), v, map[string]string{"offers": v.ID}))
			}
		}
	})
	id := x.instantiated("plain")
	shown := func() map[string]string {
		out := map[string]string{}
		for _, v := range x.get(id).InstantiatedVnfInfo.VnfcResourceInfo {
			out[v.ID] = v.Metadata["offers"]
		}
		return out
	}
	want := shown()
	for vnfc, offers := range want {
		if offers != vnfc {
			t.Errorf("%s offers %q", vnfc, offers)
		}
	}
	var healed string
	for vnfc := range want {
		healed = vnfc
	}
	opID, err := x.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{healed}})
	x.wait(opID, err, vnflcm.Completed)
	want[healed] = ""
	if diff := cmp.Diff(want, shown()); diff != "" {
		t.Errorf("after the heal:\n%s", diff)
	}
}

// stoppingCloud is a cloud that can stop machines.
type stoppingCloud struct {
	vnflcm.InfraDriver
	stopped []string // resource ids
}

func (c *stoppingCloud) StopMachine(_ context.Context, _ *vnflcm.Operation, v vnflcm.VNFC) error {
	c.stopped = append(c.stopped, v.ResourceID)
	return nil
}

// TestStopMachine checks that a management driver can stop machines through the operation if the InfraDriver supports it.
func TestStopMachine(t *testing.T) {
	t.Parallel()
	stopping := new(stoppingCloud)
	for _, c := range []struct {
		name   string
		driver func(vnflcm.InfraDriver) vnflcm.InfraDriver
		want   error
	}{
		{"able", func(d vnflcm.InfraDriver) vnflcm.InfraDriver { stopping.InfraDriver = d; return stopping }, nil},
		{"not able", func(d vnflcm.InfraDriver) vnflcm.InfraDriver { return fixedCloud{d} }, vnflcm.ErrNotSupported},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, func(cfg *vnflcm.Config) { cfg.Infra["toy"] = c.driver(cfg.Infra["toy"]) })
			var stopped error
			var asked []string
			x.watch(func(op *vnflcm.Operation) {
				if op.Phase() == "heal_start" {
					asked = append(asked, op.Change.Replaced[0].ResourceID)
					stopped = op.StopMachine(t.Context(), op.Change.Replaced[0])
				}
			})
			id := x.instantiated("plain")
			healed := x.get(id).InstantiatedVnfInfo.VnfcResourceInfo[0].ID
			opID, err := x.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{healed}})
			x.wait(opID, err, vnflcm.Completed)
			if !errors.Is(stopped, c.want) {
				t.Errorf("%v", stopped)
			}
			if c.want != nil {
				return
			}
			if diff := cmp.Diff(asked, stopping.stopped); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRemovedVIMInUse removes a VIM with VNF instances on it, first by its cluster and then by the caller.
func TestRemovedVIMInUse(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]bool{"registry in the store": false, "registry of the caller": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			x := newToys(t, func(cfg *vnflcm.Config) {
				cfg.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
				if own {
					cfg.VIMs = fixedVIMs{}
				}
			})
			x.watch(func(op *vnflcm.Operation) {
				if op.Kind == vnflcm.OpTerminate {
					must(t, op.RemoveVIM(t.Context(), "vim2"))
				}
			})
			vim := vnflcm.VimConnectionInfo{VimID: "vim2", VimType: "toy"}
			must(t, x.VIMs().Put(t.Context(), vim))
			cluster, user := x.instantiated("plain"), x.create()
			opID, err := x.Instantiate(t.Context(), user, vnflcm.InstantiateVnfRequest{FlavourID: "plain", VimConnectionInfo: vnflcm.VimConnections{{VimID: "vim2"}}})
			x.wait(opID, err, vnflcm.Completed)
			opID, err = x.Terminate(t.Context(), cluster, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
			x.wait(opID, err, vnflcm.Completed)
			want := fmt.Sprintf(`level=WARN msg="the VIM is removed from the registry while VNF instances are on it" operation=%s instance=%s vim=vim2 users=[%s]`,
				opID, cluster, user)
			if got := log.String(); !strings.Contains(got, want) || strings.Count(got, "\n") != 1 {
				t.Errorf("log:\n%swant %s", got, want)
			}
			_, err = x.VIMs().Get(t.Context(), "", "vim2")
			wantIs(t, err, vnflcm.ErrNotFound)
			if own {
				return
			}
			must(t, x.VIMs().Put(t.Context(), vim))
			must(t, x.VIMs().Remove(t.Context(), "", "vim2"))
			if got := log.String(); strings.Count(got, "users=["+user+"]") != 2 {
				t.Errorf("log of VIMs.Remove:\n%s", got)
			}
		})
	}
}

// TestFromOperator checks that only an address in the operator's entry counts as the operator's, whatever the request contains.
func TestFromOperator(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		named vnflcm.VimConnectionInfo
		want  bool
	}{
		"the operator's entry":           {vnflcm.VimConnectionInfo{VimID: "vim1"}, true},
		"its address, another login":     {vnflcm.VimConnectionInfo{VimID: "vim1", AccessInfo: params(t, `{"username":"u"}`)}, true},
		"complete":                       {vnflcm.VimConnectionInfo{VimType: "toy", AccessInfo: params(t, `{"username":"u"}`), FromOperator: true}, false},
		"complete, with a registered id": {vnflcm.VimConnectionInfo{VimID: "vim1", VimType: "toy", InterfaceInfo: params(t, `{"endpoint":"https://other"}`), AccessInfo: params(t, `{"username":"u"}`)}, false},
		"a cluster of an operation":      {vnflcm.VimConnectionInfo{VimID: madeVIM}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, nil)
			var got []bool
			x.watch(func(op *vnflcm.Operation) {
				got = append(got, op.VIM.FromOperator)
				must(t, op.RegisterVIM(t.Context(), vnflcm.VimConnectionInfo{VimID: madeVIM, VimType: "toy"}))
			})
			x.instantiated("plain")
			got = nil
			id := x.create()
			opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain", VimConnectionInfo: vnflcm.VimConnections{c.named}})
			x.wait(opID, err, vnflcm.Completed)
			opID, err = x.Heal(t.Context(), id, vnflcm.HealVnfRequest{})
			x.wait(opID, err, vnflcm.Completed)
			if len(got) == 0 || slices.Contains(got, !c.want) {
				t.Errorf("FromOperator is %v, want %t", got, c.want)
			}
		})
	}
}

// TestKnownVIMs checks that an operation can use the VIMs of Config.KnownVIMs. The first VIM is the default.
func TestKnownVIMs(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	g := x.holdAt("instantiate/create/worker-0")
	opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
	must(t, err)
	<-g.reached
	closeManager(t, x.Manager)
	var used string
	x.cfg.Intercept = nil
	x.cfg.Infra = map[string]vnflcm.InfraDriver{"toy": &noting{cloud{world: x.world}, nil, func(op *vnflcm.Operation) { used = tokenOf(op.VIM) }}}
	x.cfg.KnownVIMs = vnflcm.VimConnections{{VimID: "vim1", VimType: "toy", AccessInfo: params(t, `{"bearer_token":"new"}`)}, {VimID: "vim2", VimType: "toy"}}
	x.start()
	x.wait(opID, nil, vnflcm.Completed)
	if used != "new" {
		t.Errorf("the operation used the token %q", used)
	}
	if vim, err := x.VIMs().Default(t.Context(), "", "toy"); err != nil || vim.VimID != "vim1" {
		t.Errorf("the default is %q, %v", vim.VimID, err)
	}
	x.cfg.KnownVIMs = vnflcm.VimConnections{{VimID: "vim1", VimType: "toy"}, {VimType: "toy"}}
	if _, err := vnflcm.New(t.Context(), x.cfg); err == nil || !strings.Contains(err.Error(), "KnownVIMs[1]") {
		t.Errorf("New: %v", err)
	}
}
