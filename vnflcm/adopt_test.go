package vnflcm_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// Adopt returns the machines of an instance that is in another store.
func (c *cloud) Adopt(ctx context.Context, op *vnflcm.Operation, resource string) (vnflcm.Adopted, error) {
	if resource != "cluster of toys" {
		return vnflcm.Adopted{}, errors.Join(c.planFault, &vnflcm.ParamError{Path: "resource", Value: resource, Reason: "is not on the VIM"})
	}
	found, err := c.Resources(ctx, op)
	for i := range found.VNFCs {
		if c.podUID != "" {
			found.VNFCs[i].Metadata = map[string]string{"uid": c.podUID}
		}
	}
	return vnflcm.Adopted{Resources: found, Levels: c.adoptedLevels, State: map[string]any{"toy": "adopted"}, Owned: c.owned}, errors.Join(c.planFault, err)
}

// adoption is a VNF that one Manager has instantiated and another Manager, with another store, adopts.
type adoption struct {
	*toys
	known vnflcm.VnfInstance
	req   vnflcm.InstantiateVnfRequest
}

// newAdoption instantiates a VNF with one master and four workers.
func newAdoption(t *testing.T, change func(*vnflcm.Config)) *adoption {
	t.Helper()
	maker := newToys(t, nil)
	id := maker.instantiated("plain")
	opID, err := maker.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "workers", NumberOfSteps: 2})
	maker.wait(opID, err, vnflcm.Completed)
	a := &adoption{known: *maker.get(id), req: vnflcm.InstantiateVnfRequest{FlavourID: "plain"}}
	a.known.Tenant = "tenant"
	a.toys = newToys(t, func(cfg *vnflcm.Config) {
		cfg.Infra, cfg.Mgmt = maker.cfg.Infra, maker.cfg.Mgmt
		if change != nil {
			change(cfg)
		}
	})
	a.world = maker.world
	return a
}

// TestAdopt adopts a VNF that another Manager has instantiated, and then changes and terminates it.
func TestAdopt(t *testing.T) {
	t.Parallel()
	a := newAdoption(t, nil)
	before := a.world.state(a.known.ID)
	adopted, err := a.Adopt(t.Context(), a.known, a.req, "cluster of toys")
	must(t, err)
	if diff := cmp.Diff(before, a.world.state(a.known.ID)); diff != "" {
		t.Errorf("adopting has changed the world: %s", diff)
	}
	want := a.known
	want.Tenant, want.Version = "tenant", adopted.Version
	if diff := cmp.Diff(want, *adopted, cmp.AllowUnexported(vnflcm.Params{})); diff != "" {
		t.Error(diff)
	}
	if _, err := a.Adopt(t.Context(), a.known, a.req, "cluster of toys"); !errors.Is(err, vnflcm.ErrConflict) {
		t.Errorf("adopted twice: %v", err)
	}

	opID, err := a.Scale(t.Context(), a.known.ID, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "workers"})
	a.wait(opID, err, vnflcm.Completed)
	healed := a.get(a.known.ID).InstantiatedVnfInfo.VnfcResourceInfo[0].ID
	opID, err = a.Heal(t.Context(), a.known.ID, vnflcm.HealVnfRequest{VnfcInstanceID: []string{healed}})
	a.wait(opID, err, vnflcm.Completed)
	now := a.world.state(a.known.ID)
	if len(now.Machines) != 4 || len(now.Nodes) != 5 || now.Token != 1 { // one node is the configuration
		t.Errorf("the world after a scaling and a heal: %+v", now)
	}
	opID, err = a.Terminate(t.Context(), a.known.ID, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
	a.wait(opID, err, vnflcm.Completed)
	if left := a.world.state(a.known.ID).Machines; len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestAdoptedLevels checks that Adopt uses the levels of the driver if the caller gives no scale status, and that the driver's data
// are written with the instance.
func TestAdoptedLevels(t *testing.T) {
	t.Parallel()
	a := newAdoption(t, nil)
	toy, _ := a.cfg.Infra["toy"].(*cloud)
	levels := map[string]int{}
	for _, s := range a.known.InstantiatedVnfInfo.ScaleStatus {
		levels[s.AspectID] = s.ScaleLevel
	}
	status := a.known.InstantiatedVnfInfo.ScaleStatus
	a.known.InstantiatedVnfInfo.ScaleStatus = nil
	_, err := a.Adopt(t.Context(), a.known, a.req, "cluster of toys")
	wantIs(t, err, vnflcm.ErrInvalidRequest)
	if keys := a.stateKeys(); len(keys) > 0 {
		t.Errorf("a refused adoption has written %v", keys)
	}
	toy.adoptedLevels = levels
	adopted, err := a.Adopt(t.Context(), a.known, a.req, "cluster of toys")
	must(t, err)
	if diff := cmp.Diff(status, adopted.InstantiatedVnfInfo.ScaleStatus); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{a.known.ID + "/toy"}, a.stateKeys()); diff != "" {
		t.Error(diff)
	}

	b := newAdoption(t, nil)
	toy, _ = b.cfg.Infra["toy"].(*cloud)
	toy.adoptedLevels = map[string]int{"workers": 0}
	_, err = b.Adopt(t.Context(), b.known, b.req, "cluster of toys")
	must(t, err) // the scale status of the caller takes precedence
}

// stateKeys returns the keys of the records of drivers.
func (a *adoption) stateKeys() (keys []string) {
	a.t.Helper()
	list, err := a.cfg.Store.List(a.t.Context(), store.Query{Kind: "state"})
	must(a.t, err)
	for _, r := range list {
		keys = append(keys, r.ID)
	}
	return keys
}

// TestAdoptPods checks that pods of the same name in two namespaces are two VNFCs, and that a pod, and an adopted resource, belongs to
// one instance.
func TestAdoptPods(t *testing.T) {
	t.Parallel()
	a := newAdoption(t, nil)
	toy, _ := a.cfg.Infra["toy"].(*cloud)
	for i, c := range []struct {
		uid   string
		owned []string
		want  error
	}{{"1", []string{"a", "b"}, nil}, {"2", []string{"c"}, nil}, {"1", nil, vnflcm.ErrConflict}, {"3", []string{"d", "b"}, vnflcm.ErrConflict}} {
		toy.podUID, toy.owned = c.uid, c.owned
		known := a.known
		known.ID = fmt.Sprint("instance-", i)
		a.world.mu.Lock()
		a.world.machines[known.ID] = a.world.machines[a.known.ID]
		a.world.mu.Unlock()
		if _, err := a.Adopt(t.Context(), known, a.req, "cluster of toys"); !errors.Is(err, c.want) {
			t.Errorf("pods %s: %v, want %v", c.uid, err, c.want)
		}
	}
}

// TestAdoptRefused checks that Adopt reports all faults at once and writes nothing.
func TestAdoptRefused(t *testing.T) {
	t.Parallel()
	masked, err := vnflcm.ParseParams([]byte(`{"password": "***"}`))
	must(t, err)
	for _, c := range []struct {
		name     string
		change   func(*adoption)
		config   func(*vnflcm.Config)
		resource string
		want     error
		text     []string
	}{
		{name: "other levels", change: func(a *adoption) { a.known.InstantiatedVnfInfo.ScaleStatus = nil }, want: vnflcm.ErrInvalidRequest,
			text: []string{"instantiatedVnfInfo.scaleStatus: the VNF has 4 VNFCs of VDU worker, not 2 as its scale levels say"}},
		{name: "everything", resource: "nothing", config: func(cfg *vnflcm.Config) {
			cfg.Infra["toy"].(*cloud).planFault = &vnflcm.ParamError{Path: "a", Reason: "of the cloud"}
			cfg.Mgmt["cluster"].(*cluster).validFault = &vnflcm.ParamError{Path: "b", Reason: "of the cluster"}
		}, want: vnflcm.ErrInvalidRequest, text: []string{"a: of the cloud", "b: of the cluster", `resource: "nothing": is not on the VIM`}},
		{name: "levels that do not exist", change: func(a *adoption) {
			a.known.InstantiatedVnfInfo.ScaleStatus = []vnflcm.ScaleInfo{{AspectID: "workers", ScaleLevel: 9}, {AspectID: "others"}}
		}, want: vnflcm.ErrInvalidRequest, text: []string{"scaleStatus.workers", `scaleStatus: "others"`}},
		{name: "not instantiated", change: func(a *adoption) {
			a.known.InstantiationState, a.known.VnfdID, a.known.ID = vnflcm.NotInstantiated, "", "a/b"
		},
			want: vnflcm.ErrInvalidRequest, text: []string{`instantiationState: "NOT_INSTANTIATED"`, "vnfdId: is required", `id: "a/b": has a slash`}},
		{name: "masked values", change: func(a *adoption) { a.known.Extensions, a.req.AdditionalParams = masked, masked },
			want: vnflcm.ErrInvalidRequest, text: []string{"extensions.password", "additionalParams.password"}},
		{name: "unknown package", change: func(a *adoption) { a.known.VnfdID = "another" }, want: vnflcm.ErrNoPackage},
		{name: "a driver that cannot", config: func(cfg *vnflcm.Config) {
			cfg.Infra = map[string]vnflcm.InfraDriver{"toy": fixedCloud{cfg.Infra["toy"]}}
		},
			want: vnflcm.ErrNotSupported, text: []string{"the driver of VIM type toy cannot adopt"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := newAdoption(t, c.config)
			if c.change != nil {
				c.change(a)
			}
			if c.resource == "" {
				c.resource = "cluster of toys"
			}
			_, err := a.Adopt(t.Context(), a.known, a.req, c.resource)
			if !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			for _, text := range c.text {
				if !strings.Contains(fmt.Sprint(err), text) {
					t.Errorf("the error %v does not contain %q", err, text)
				}
			}
			if page, err := a.Instances(t.Context(), vnflcm.InstanceQuery{}); err != nil || len(page.Items) > 0 {
				t.Errorf("instances after refused requests: %v, %v", page.Items, err)
			}
		})
	}
}

// TestAdoptOnce adopts a VNF concurrently under many ids. Only one call succeeds.
func TestAdoptOnce(t *testing.T) {
	t.Parallel()
	a := newAdoption(t, nil)
	var all sync.WaitGroup
	results := make([]error, 8)
	for i := range results {
		all.Go(func() {
			known := a.known
			known.ID = fmt.Sprint("instance-", i)
			a.world.mu.Lock()
			a.world.machines[known.ID] = a.world.machines[a.known.ID]
			a.world.mu.Unlock()
			_, results[i] = a.Adopt(t.Context(), known, a.req, "cluster of toys")
		})
	}
	all.Wait()
	adopted := 0
	for _, err := range results {
		if err == nil {
			adopted++
		} else if !errors.Is(err, vnflcm.ErrConflict) {
			t.Error(err)
		}
	}
	if adopted != 1 {
		t.Errorf("%d instances have adopted the machines: %v", adopted, results)
	}
}

// slowAdopter calls a function while it reads the machines.
type slowAdopter struct {
	*cloud
	during func()
}

func (s *slowAdopter) Adopt(ctx context.Context, op *vnflcm.Operation, resource string) (vnflcm.Adopted, error) {
	s.during()
	return s.cloud.Adopt(ctx, op, resource)
}

// TestAdoptWhileVIMIsDeleted checks that an instance is not adopted on a VIM that a client deletes meanwhile.
func TestAdoptWhileVIMIsDeleted(t *testing.T) {
	t.Parallel()
	var driver *slowAdopter
	a := newAdoption(t, func(cfg *vnflcm.Config) {
		toy, _ := cfg.Infra["toy"].(*cloud)
		driver = &slowAdopter{toy, func() {}}
		cfg.Infra = map[string]vnflcm.InfraDriver{"toy": driver}
	})
	vim := a.register("tenant", "mine")
	a.req.VimConnectionInfo = vnflcm.VimConnections{{VimID: vim.VimID}}
	driver.during = func() { must(t, a.VIMRegistry().Delete(t.Context(), "tenant", vim.VimID)) }
	_, err := a.Adopt(t.Context(), a.known, a.req, "cluster of toys")
	wantIs(t, err, vnflcm.ErrConflict)
	_, err = a.Get(t.Context(), a.known.ID)
	wantIs(t, err, vnflcm.ErrNotFound)

	driver.during = func() {}
	vim = a.register("tenant", "mine")
	a.req.VimConnectionInfo = vnflcm.VimConnections{{VimID: vim.VimID}}
	_, err = a.Adopt(t.Context(), a.known, a.req, "cluster of toys")
	must(t, err)
	wantIs(t, a.VIMRegistry().Delete(t.Context(), "tenant", vim.VimID), vnflcm.ErrState)
}
