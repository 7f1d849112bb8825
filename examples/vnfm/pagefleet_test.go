package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/examples/internal/samples"
	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/onboarding"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// The fates of instances of a fleet.
const (
	fateFails   = "fails"   // FAILED_TEMP
	fateFailed  = "failed"  // FAILED
	fateWaits   = "waits"   // until the Manager is closed
	fateWorks   = "works"   // COMPLETED
	fateCreated = "created" // without operations
)

// hostileText is in names, which have at most 255 characters, and in errors of a fleet.
var hostileText = "<script>alert(1)</script>\" onload=\"x " + strings.Repeat("m", 300)

// fakeCloud is an InfraDriver without machines.
type fakeCloud struct{ terminated sync.Map } // ids of instances

func (*fakeCloud) Plan(_ context.Context, op *vnflcm.Operation) (change vnflcm.Change, err error) {
	wanted, err := op.Instances()
	for _, vdu := range slices.Sorted(maps.Keys(wanted)) {
		for range wanted[vdu] {
			change.Added = append(change.Added, vnflcm.VNFC{VDU: vdu})
		}
	}
	return change, err
}
func (*fakeCloud) Instantiate(context.Context, *vnflcm.Operation) error { return nil }
func (*fakeCloud) Scale(context.Context, *vnflcm.Operation) error       { return vnflcm.ErrNotSupported }
func (*fakeCloud) Heal(context.Context, *vnflcm.Operation) error        { return vnflcm.ErrNotSupported }
func (c *fakeCloud) Terminate(_ context.Context, op *vnflcm.Operation) error {
	c.terminated.Store(op.InstanceID, true)
	return nil
}

func (c *fakeCloud) Resources(_ context.Context, op *vnflcm.Operation) (out vnflcm.Resources, err error) {
	if _, terminated := c.terminated.Load(op.InstanceID); terminated {
		return out, nil
	}
	wanted, err := op.Instances()
	for _, vdu := range slices.Sorted(maps.Keys(wanted)) {
		for i := range wanted[vdu] {
			cp := map[string]string{"masterNode": "masterNode_CP1", "workerNode": "workerNode_CP2"}[vdu]
			n := byte(len(out.VNFCs) + 11)
			id := fmt.Sprintf("%s-%d", vdu, i)
			out.VNFCs = append(out.VNFCs, vnflcm.VNFC{ID: id, ResourceID: id, VDU: vdu, Name: id, Zone: "nova", Host: fmt.Sprintf("compute-%d", i+1),
				CPs: []vnflcm.ConnectionPoint{{CPD: cp, ResourceID: id + "-port", Fixed: []netip.Addr{netip.AddrFrom4([4]byte{198, 18, 1, n}), netip.MustParseAddr("2001:db8::" + fmt.Sprint(n))}}}})
		}
	}
	return out, err
}

// fakeSetup is a management driver whose steps do what the description of the instance says.
type fakeSetup struct {
	vnflcm.NoopDriver
	fault string // of the instances that fail
}

func (d fakeSetup) Hooks() vnflcm.Hooks {
	hooks := d.NoopDriver.Hooks()
	hooks[vnflcm.InstantiateEnd] = func(ctx context.Context, op *vnflcm.Operation) error {
		return vnflcm.Each(ctx, 0, op.VNFCs, func(ctx context.Context, v vnflcm.VNFC) error {
			if err := vnflcm.Do(ctx, op, "prepare", v.ID, func(context.Context) error { return nil }); err != nil {
				return err
			}
			return vnflcm.Do(ctx, op, "join", v.ID, func(ctx context.Context) error { return d.join(ctx, op, v) })
		})
	}
	return hooks
}

func (d fakeSetup) join(ctx context.Context, op *vnflcm.Operation, v vnflcm.VNFC) error {
	switch op.Instance().VnfInstanceDescription {
	case fateFails, fateFailed:
		if v.VDU == "workerNode" {
			return errors.New(d.fault)
		}
	case fateWaits:
		return retry.Policy{First: time.Second, Most: time.Minute, For: "SSH of " + v.Name}.Do(ctx, func() error { return errors.New("authentication refused") })
	}
	return nil
}

func (fakeSetup) Certificates(_ context.Context, op *vnflcm.Operation) (out []vnflcm.Certificate, err error) {
	for i, v := range op.VNFCs {
		out = append(out, vnflcm.Certificate{On: v.ID, Machine: v.Name, Name: "pki/apiserver.crt", NotAfter: time.Now().Add(time.Duration(17+i*90) * 24 * time.Hour)})
	}
	return out, nil
}

// fleet is a VNFM with VNF instances of every fate, and its pages.
type fleet struct {
	*vnflcm.Manager
	t      *testing.T
	pages  *pages
	server *httptest.Server
	db     store.Store
	fault  string
}

// member is an instance of a fleet.
type member struct{ name, fate string }

// newFleet starts a VNFM with the given instances.
func newFleet(t *testing.T, fault string, members ...member) *fleet {
	t.Helper()
	packages, err := onboarding.New(t.TempDir(), onboarding.Options{Further: vnflcm.DirPackages(samples.Package("k8s-cluster")), Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	db := store.NewMemory()
	m, err := vnflcm.New(t.Context(), vnflcm.Config{Store: db, Key: bytes.Repeat([]byte{1}, 32), Packages: packages,
		KnownVIMs: vnflcm.VimConnections{{VimID: "sandbox", VimType: "sandbox"}}, Infra: map[string]vnflcm.InfraDriver{"sandbox": new(fakeCloud)},
		Mgmt: map[string]vnflcm.MgmtDriver{"mgmt-drivers-kubernetes": fakeSetup{fault: fault}}, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	t.Cleanup(func() { must(t, m.Close(context.WithoutCancel(t.Context()))) })
	options := sol003.Options{Authorize: func(r *http.Request) (sol003.Principal, error) {
		return sol003.Principal{Tenant: r.Header.Get("X-Tenant")}, nil
	}}
	senders, err := sol003.NewAuthorizer(options)
	must(t, err)
	api, err := sol003.NewHandler(m, options)
	must(t, err)
	f := &fleet{Manager: m, t: t, pages: &pages{manager: m, packages: packages, senders: senders}, db: db, fault: fault}
	mux := http.NewServeMux()
	for pattern, page := range f.pages.resources() {
		mux.Handle(pattern, page)
	}
	mux.Handle("/", api)
	f.server = httptest.NewServer(mux)
	t.Cleanup(f.server.Close)
	f.add(members...)
	return f
}

// add makes instances, and returns when each has met its fate.
func (f *fleet) add(members ...member) {
	f.t.Helper()
	request, err := samples.Request(filepath.Join(samples.Package("k8s-cluster"), "requests", "instantiate_sandbox.json"), nil)
	must(f.t, err)
	operations := map[string]string{} // the fates, by operation
	for _, each := range members {
		instance, err := f.Create(f.t.Context(), vnflcm.CreateVnfRequest{VnfdID: sampleVNFD, VnfInstanceName: each.name, VnfInstanceDescription: each.fate, Tenant: "north"})
		must(f.t, err)
		if each.fate == fateCreated {
			continue
		}
		id, err := f.Instantiate(f.t.Context(), instance.ID, request)
		must(f.t, err)
		operations[id] = each.fate
	}
	for id, fate := range operations {
		switch fate {
		case fateWaits:
			continue
		case fateFailed:
			_, _ = f.Wait(f.t.Context(), id)
			must(f.t, f.Fail(f.t.Context(), id))
		default:
			if _, err := f.Wait(f.t.Context(), id); (err == nil) != (fate == fateWorks) {
				f.t.Fatal(err)
			}
		}
	}
}

// all returns the instances.
func (f *fleet) all() []*vnflcm.VnfInstance {
	f.t.Helper()
	list, err := f.Instances(f.t.Context(), vnflcm.InstanceQuery{})
	must(f.t, err)
	return list.Items
}

// members makes n instances of all fates. The names of a few are hostile.
func members(n, failing int) (out []member) {
	for i := range n {
		m := member{fmt.Sprintf("edge-%03d", i), fateCreated}
		switch {
		case i < failing:
			m.fate = []string{fateFails, fateFails, fateFailed}[i%3]
		case i < failing+2:
			m.fate = fateWaits
		case i%4 == 0:
			m.fate = fateWorks
		}
		switch i {
		case 0:
			m.name = hostileText[:255]
		case 1:
			m.name = strings.Repeat("W", 255)
		}
		out = append(out, m)
	}
	return out
}

// get returns a page as a tenant sees it.
func (f *fleet) get(path, tenant string) string {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, f.server.URL+path, nil)
	must(f.t, err)
	r.Header.Set("X-Tenant", tenant)
	response, err := f.server.Client().Do(r)
	must(f.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	must(f.t, err)
	if response.StatusCode != http.StatusOK {
		f.t.Fatalf("%s: %s\n%s", path, response.Status, body)
	}
	return string(body)
}

// links returns the targets of the links of a page.
func links(page string) (out []string) {
	for _, part := range strings.Split(page, `href="`)[1:] {
		target, _, _ := strings.Cut(part, `"`)
		out = append(out, html.UnescapeString(target))
	}
	return out
}
