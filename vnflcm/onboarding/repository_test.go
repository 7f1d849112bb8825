package onboarding_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca"
	archive "github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/onboarding"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// onStores runs a test with each store.
func onStores(t *testing.T, test func(t *testing.T, s site)) {
	t.Helper()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, site{dir: t.TempDir(), store: open(t)})
		})
	}
}

// TestFaults uploads packages that must be refused. All faults must be stored, and another upload must be possible.
func TestFaults(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s site) {
		p := s.start(t, nil)
		good := csar(t, "faults", nil)
		broken := strings.Replace(string(unzipped(t, good)["vnfd.yaml"]), "layer_protocols", "layers", 1)
		cases := map[string]struct {
			content []byte
			codes   []problem.Code
		}{
			"no zip":     {[]byte("hello"), []problem.Code{problem.NotPackage}},
			"empty":      {nil, []problem.Code{problem.NotPackage}},
			"path":       {csar(t, "faults", map[string]string{"../../etc/cron.d/x": "* * * * *"}), []problem.Code{problem.ZipSlip}},
			"descriptor": {csar(t, "faults", map[string]string{"vnfd.yaml": broken}), []problem.Code{problem.RequiredProperty, problem.UnknownProperty}},
			"bomb":       {csar(t, "faults", map[string]string{"zeros": strings.Repeat("\x00", 64<<20)}), []problem.Code{problem.TooLarge}},
			"digest and descriptor": {csar(t, "faults", map[string]string{"vnfd.yaml": broken, "vnfd.mf": "metadata:\n  vnf_product_name: x\n\nSource: vnfd.yaml\nAlgorithm: SHA-256\nHash: " +
				strings.Repeat("0", 64) + "\n"}), []problem.Code{problem.HashMismatch, problem.RequiredProperty, problem.UnknownProperty}},
		}
		id := p.create(t, "north")
		for name, c := range cases {
			must(t, p.Upload(t.Context(), "north", id, bytes.NewReader(c.content), int64(len(c.content))))
			info := p.await(t, id, onboarding.Failed)
			for _, code := range c.codes {
				if d := info.OnboardingFailureDetails; d == nil || d.Status != 422 || !errors.Is(d.Faults, problem.Problem{Code: code}) {
					t.Errorf("%s: %+v, want the fault %s", name, d, code)
				}
			}
			if info.OperationalState != onboarding.Disabled || info.VnfdID != "" {
				t.Errorf("%s: %+v", name, info)
			}
			awaitFiles(t, s.dir, 0)
		}
		must(t, p.Upload(t.Context(), "north", id, bytes.NewReader(good), -1))
		if info := p.await(t, id, onboarding.Onboarded); info.OnboardingFailureDetails != nil {
			t.Errorf("after a good upload: %+v", info.OnboardingFailureDetails)
		}
		wantError(t, "upload to an ONBOARDED package", p.Upload(t.Context(), "north", id, bytes.NewReader(good), -1), vnflcm.ErrState)
	})
}

func unzipped(t *testing.T, content []byte) map[string][]byte {
	t.Helper()
	pkg, err := tosca.OpenReader(t.Context(), bytes.NewReader(content), int64(len(content)))
	must(t, err)
	defer pkg.Close()
	data, err := pkg.Document("vnfd.yaml")
	must(t, err)
	return map[string][]byte{"vnfd.yaml": data}
}

// TestTenants lets two tenants and the operator use each other's packages.
func TestTenants(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s site) {
		p := s.start(t, nil)
		ctx := t.Context()
		north, south := p.onboard(t, "north", csar(t, "vnf", map[string]string{"a": "north"})), p.onboard(t, "south", csar(t, "vnf", map[string]string{"a": "south"}))
		shared := p.onboard(t, "", csar(t, "vnf", map[string]string{"a": "shared"}))
		other := p.onboard(t, "", csar(t, "other", nil))
		disable := onboarding.Modification{OperationalState: onboarding.Disabled}
		attempts := map[string]func(tenant, id string) error{
			"get":     func(tenant, id string) error { _, err := p.Get(ctx, tenant, id); return err },
			"content": func(tenant, id string) error { return closed(p.Content(ctx, tenant, id)) },
			"package": func(tenant, id string) error { return closed(p.Package(ctx, tenant, id)) },
			"update":  func(tenant, id string) error { _, err := p.Update(ctx, tenant, id, disable); return err },
			"delete":  func(tenant, id string) error { return p.Delete(ctx, tenant, id) },
			"upload":  func(tenant, id string) error { return p.Upload(ctx, tenant, id, strings.NewReader("x"), 1) },
			"uri": func(tenant, id string) error {
				return p.UploadFromURI(ctx, tenant, id, onboarding.Address{URI: "https://example.com/x.csar"})
			},
		}
		for name, try := range attempts {
			foreign, unknown := try("south", north.ID), try("south", "00000000-0000-0000-0000-000000000000")
			wantError(t, name+" of another tenant's package", foreign, vnflcm.ErrNotFound)
			if a, b := strings.ReplaceAll(foreign.Error(), north.ID, ""), strings.ReplaceAll(unknown.Error(), "00000000-0000-0000-0000-000000000000", ""); a != b {
				t.Errorf("%s: the error of a foreign package %q differs from that of an unknown one %q", name, a, b)
			}
			err := try("south", shared.ID)
			if reads := name == "get" || name == "content" || name == "package"; reads && err != nil || !reads && !errors.Is(err, onboarding.ErrShared) {
				t.Errorf("%s of a shared package: %v", name, err)
			}
		}
		for tenant, want := range map[string][]string{"north": {north.ID, shared.ID, other.ID}, "west": {shared.ID, other.ID}, "": {north.ID, south.ID, shared.ID, other.ID}} {
			got := map[string]bool{}
			for after := ""; ; {
				page, err := p.List(ctx, tenant, after, 1)
				must(t, err)
				for _, info := range page.Items {
					got[info.ID] = true
				}
				if after = page.Next; after == "" {
					break
				}
			}
			wanted := map[string]bool{}
			for _, id := range want {
				wanted[id] = true
			}
			if d := cmp.Diff(wanted, got); d != "" {
				t.Errorf("list of %q: %s", tenant, d)
			}
		}
		for tenant, want := range map[string]string{"north": north.ID, "south": south.ID, "west": shared.ID, "": shared.ID} {
			instance, err := p.manager.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: "vnf", Tenant: tenant})
			must(t, err)
			if instance.VnfPkgID != want {
				t.Errorf("an instance of %q has the package %s, want %s", tenant, instance.VnfPkgID, want)
			}
		}
		_, err := p.Update(ctx, "north", north.ID, disable)
		must(t, err)
		_, err = p.manager.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: "vnf", Tenant: "north"})
		wantError(t, "an instance of a DISABLED package beside a shared one", err, vnflcm.ErrNoPackage)
	})
}

func closed(c io.Closer, err error) error {
	if err != nil {
		return err
	}
	return c.Close()
}

// TestSecondVNFD checks that a second package of a tenant with the same VNFD is refused.
func TestSecondVNFD(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s site) {
		p := s.start(t, nil)
		first, id := p.onboard(t, "north", csar(t, "twice", nil)), p.create(t, "north")
		content := csar(t, "twice", map[string]string{"new": "file"})
		must(t, p.Upload(t.Context(), "north", id, bytes.NewReader(content), -1))
		if d := p.await(t, id, onboarding.Failed).OnboardingFailureDetails; d.Status != 409 || !strings.Contains(d.Detail, first.ID) {
			t.Errorf("the second package: %+v", d)
		}
		p.remove(t, "north", first.ID)
		must(t, p.Upload(t.Context(), "north", id, bytes.NewReader(content), -1))
		p.await(t, id, onboarding.Onboarded)
	})
}

// remove disables and deletes a package.
func (p *process) remove(t *testing.T, tenant, id string) {
	t.Helper()
	_, err := p.Update(t.Context(), tenant, id, onboarding.Modification{OperationalState: onboarding.Disabled})
	must(t, err)
	must(t, p.Delete(t.Context(), tenant, id))
}

// TestContent checks that packages share a file until the last of them is deleted.
func TestContent(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s site) {
		p := s.start(t, nil)
		content := csar(t, "shared", nil)
		first, second := p.onboard(t, "north", content), p.onboard(t, "south", content)
		if list := files(t, s.dir); len(list) != 1 {
			t.Errorf("two packages with the same content have the files %q", list)
		}
		p.remove(t, "north", first.ID)
		c, err := p.Content(t.Context(), "south", second.ID)
		must(t, err)
		p.remove(t, "south", second.ID)
		if list := files(t, s.dir); len(list) != 0 {
			t.Errorf("files without packages: %q", list)
		}
		got, err := io.ReadAll(c)
		must(t, errors.Join(err, c.Close()))
		sum := sha256.Sum256(content)
		want := onboarding.Checksum{Algorithm: "SHA-256", Hash: hex.EncodeToString(sum[:])}
		if !bytes.Equal(got, content) || c.Checksum != want || c.Size != int64(len(content)) {
			t.Errorf("read %d bytes of %d, checksum %v, want %v", len(got), c.Size, c.Checksum, want)
		}
		p.onboard(t, "north", content)
	})
}

// TestDamagedContent uploads the content of another package whose file was damaged or removed. The file must be replaced for both
// packages.
func TestDamagedContent(t *testing.T) {
	t.Parallel()
	content := csar(t, "damaged", nil)
	for name, damage := range map[string]func(path string) error{
		"other bytes": func(path string) error { return os.WriteFile(path, make([]byte, len(content)), 0o600) },
		"shorter":     func(path string) error { return os.Truncate(path, 10) },
		"removed":     os.Remove,
	} {
		s := site{dir: t.TempDir(), store: store.NewMemory()}
		p := s.start(t, nil)
		first := p.onboard(t, "north", content)
		must(t, damage(filepath.Join(s.dir, files(t, s.dir)[0])))
		p.onboard(t, "south", content)
		c, err := p.Content(t.Context(), "north", first.ID)
		must(t, err)
		got, err := io.ReadAll(c)
		must(t, errors.Join(err, c.Close()))
		if !bytes.Equal(got, content) {
			t.Errorf("%s: the first package has other content after the second upload", name)
		}
	}
}

// TestDeletedMeanwhile deletes a package during its upload. The upload must fail and leave no file.
func TestDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	s := site{dir: t.TempDir(), store: store.NewMemory()}
	p := s.idle(t, nil)
	id := p.create(t, "north")
	remove := readerFunc(func([]byte) (int, error) { return 0, errors.Join(p.Delete(t.Context(), "north", id), io.EOF) })
	wantError(t, "upload", p.Upload(t.Context(), "north", id, io.MultiReader(strings.NewReader("abc"), remove), -1), vnflcm.ErrNotFound)
	if list := files(t, s.dir); len(list) != 0 {
		t.Errorf("the upload leaves %q", list)
	}
}

// TestPanic lets the check of a manifest's signature panic. The process must continue, and the package must be in the state ERROR.
func TestPanic(t *testing.T) {
	t.Parallel()
	signature, err := os.ReadFile(filepath.Join("..", "..", "tosca", "internal", "cms", "testdata", "rsa.cms"))
	must(t, err)
	signed := map[string]string{"vnfd.mf": "metadata:\n  vnf_product_name: x\n\n" + string(signature)}
	p := site{dir: t.TempDir(), store: store.NewMemory()}.start(t, func(o *onboarding.Options) {
		o.Check = []tosca.Option{tosca.WithIntegrity(archive.Integrity{Now: func() time.Time { panic("boom") }})}
	})
	id := p.create(t, "north")
	must(t, p.Upload(t.Context(), "north", id, bytes.NewReader(csar(t, "panic", signed)), -1))
	if d := p.await(t, id, onboarding.Failed).OnboardingFailureDetails; d.Status != 500 || !strings.Contains(d.Detail, "panic") {
		t.Errorf("%+v", d)
	}
	p.remains(t, id)
}

// TestReader uploads contents that cannot be read or stored. The reason must be stored, and no file may be left.
func TestReader(t *testing.T) {
	t.Parallel()
	s := site{dir: t.TempDir(), store: store.NewMemory()}
	p := s.start(t, func(o *onboarding.Options) { o.MaxSize = 1 << 20 })
	full := s.start(t, func(o *onboarding.Options) { o.MinFree = 1 << 62 })
	ctx, cancel := context.WithCancel(t.Context())
	cases := map[string]struct {
		ctx     context.Context //nolint:containedctx // context of the case
		on      *process
		content io.Reader
		size    int64
		want    error
		status  int
	}{
		"broken":          {t.Context(), p, iotest.ErrReader(io.ErrClosedPipe), -1, io.ErrClosedPipe, 500},
		"short":           {t.Context(), p, strings.NewReader("abc"), 4, io.ErrUnexpectedEOF, 500},
		"long":            {t.Context(), p, strings.NewReader("abc"), 2, io.ErrUnexpectedEOF, 500},
		"too large":       {t.Context(), p, endless{}, -1, onboarding.ErrTooLarge, 413},
		"announced large": {t.Context(), p, endless{}, 2 << 20, onboarding.ErrTooLarge, 413},
		"full":            {t.Context(), full, strings.NewReader("abc"), 3, onboarding.ErrNoSpace, 507},
		"cancelled":       {ctx, p, readerFunc(func(b []byte) (int, error) { cancel(); return len(b), nil }), -1, context.Canceled, 500},
	}
	for name, c := range cases {
		id := p.create(t, "")
		wantError(t, name, c.on.Upload(c.ctx, "", id, c.content, c.size), c.want)
		info, err := p.Get(t.Context(), "", id)
		must(t, err)
		if d := info.OnboardingFailureDetails; info.OnboardingState != onboarding.Failed || d == nil || d.Status != c.status || strings.Contains(d.Detail, s.dir) {
			t.Errorf("%s: %s %+v", name, info.OnboardingState, d)
		}
		if list := files(t, s.dir); len(list) > 0 {
			t.Errorf("%s leaves %q", name, list)
		}
		p.remains(t, id)
	}
}

// remains deletes a package that is not ONBOARDED.
func (p *process) remains(t *testing.T, id string) {
	t.Helper()
	must(t, p.Delete(t.Context(), "", id))
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// endless is an endless content.
type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

// TestUse creates instances while a package is disabled and deleted. No instance may lose its package.
func TestUse(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s site) {
		p := s.start(t, nil)
		content := csar(t, "use", nil)
		for round := range 10 {
			info := p.onboard(t, "", content)
			made := make(chan struct{}, 4)
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for {
						_, err := p.manager.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: "use"})
						if err != nil {
							if !errors.Is(err, vnflcm.ErrNoPackage) {
								t.Errorf("create: %v", err)
							}
							return
						}
						select {
						case made <- struct{}{}:
						default:
						}
					}
				})
			}
			for range round % 3 {
				<-made
			}
			_, err := p.Update(t.Context(), "", info.ID, onboarding.Modification{OperationalState: onboarding.Disabled})
			must(t, err)
			err = p.Delete(t.Context(), "", info.ID)
			wg.Wait()
			page, listErr := p.manager.Instances(t.Context(), vnflcm.InstanceQuery{})
			must(t, listErr)
			switch {
			case len(page.Items) == 0:
				must(t, err)
				continue
			case !errors.Is(err, vnflcm.ErrState):
				t.Fatalf("round %d: %d instances, and the deletion of their package: %v", round, len(page.Items), err)
			}
			for _, instance := range page.Items {
				must(t, p.manager.Delete(t.Context(), instance.ID, ""))
			}
			must(t, p.Delete(t.Context(), "", info.ID))
		}
	})
}

// TestInstance opens the package of an instance while the package is DISABLED, and the package of an instance that was created with a
// folder of packages.
func TestInstance(t *testing.T) {
	t.Parallel()
	s := site{dir: t.TempDir(), store: store.NewMemory()}
	folder := fstestPackages{"old": csar(t, "old", nil)}
	p := s.start(t, func(o *onboarding.Options) { o.Further = folder })
	old, err := p.manager.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: "old", Tenant: "north"})
	must(t, err)
	if old.VnfPkgID != "" {
		t.Errorf("an instance of the folder has the package %s", old.VnfPkgID)
	}
	_, err = p.manager.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: "none"})
	wantError(t, "an unknown VNFD", err, vnflcm.ErrNoPackage)
	info := p.onboard(t, "north", folder["old"])
	if info.UsageState != onboarding.InUse {
		t.Error("an instance that is not instantiated yet needs the onboarded package with its VNFD")
	}
	if info := p.onboard(t, "south", folder["old"]); info.UsageState != onboarding.NotInUse {
		t.Error("an instance of another tenant does not need a package")
	}
	if again, err := p.manager.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: "old", Tenant: "north"}); err != nil || again.VnfPkgID != info.ID {
		t.Errorf("the onboarded package comes before the folder: %+v, %v", again, err)
	}
}

// fstestPackages are packages by VNFD id.
type fstestPackages map[string][]byte

func (f fstestPackages) Open(ctx context.Context, _, vnfdID, _ string) (*tosca.Package, error) {
	content, ok := f[vnfdID]
	if !ok {
		return nil, vnflcm.ErrNotFound
	}
	return tosca.OpenReader(ctx, bytes.NewReader(content), int64(len(content)))
}

// TestData checks merging of userDefinedData.
func TestData(t *testing.T) {
	t.Parallel()
	p := site{dir: t.TempDir(), store: store.NewMemory()}.start(t, nil)
	info, err := p.Create(t.Context(), "", vnflcm.KeyValuePairs{"a": "1", "b": map[string]any{"c": "2", "d": true}})
	must(t, err)
	info, err = p.Update(t.Context(), "", info.ID, onboarding.Modification{UserDefinedData: vnflcm.KeyValuePairs{"a": nil, "b": map[string]any{"c": "3"}, "e": []any{"4"}}})
	must(t, err)
	want := vnflcm.KeyValuePairs{"b": map[string]any{"c": "3", "d": true}, "e": []any{"4"}}
	if d := cmp.Diff(want, info.UserDefinedData); d != "" {
		t.Error(d)
	}
	_, err = p.Update(t.Context(), "", info.ID, onboarding.Modification{UserDefinedData: vnflcm.KeyValuePairs{"f": strings.Repeat("x", 64<<10)}})
	wantError(t, "large data", err, vnflcm.ErrInvalidRequest)
	_, err = p.Update(t.Context(), "", info.ID, onboarding.Modification{OperationalState: onboarding.Enabled})
	wantError(t, "enable a CREATED package", err, vnflcm.ErrState)
	_, err = p.Update(t.Context(), "", info.ID, onboarding.Modification{OperationalState: "BROKEN"})
	wantError(t, "an unknown state", err, vnflcm.ErrInvalidRequest)
}

// TestMaxPackages concurrently creates as many packages as a tenant can have.
func TestMaxPackages(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s site) {
		p := s.idle(t, func(o *onboarding.Options) { o.MaxPackages = 5 })
		var wg sync.WaitGroup
		var created, refused atomic.Int32
		for range 10 {
			wg.Go(func() {
				switch _, err := p.Create(t.Context(), "north", nil); {
				case err == nil:
					created.Add(1)
				case errors.Is(err, vnflcm.ErrState):
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		page, err := p.List(t.Context(), "north", "", 0)
		must(t, err)
		if created.Load() != 5 || refused.Load() != 5 || len(page.Items) != 5 {
			t.Fatalf("%d packages were created, %d were refused, %d exist, want 5", created.Load(), refused.Load(), len(page.Items))
		}
		p.create(t, "south")
		p.create(t, "")
		must(t, p.Delete(t.Context(), "north", page.Items[0].ID))
		p.create(t, "north")
		// An operator removes a damaged record.
		must(t, p.manager.Documents("vnf-package").Delete(t.Context(), page.Items[1].ID, 1))
		p.create(t, "north")
		_, err = p.Create(t.Context(), "north", nil)
		wantError(t, "a sixth package", err, vnflcm.ErrState)
	})
}

// readStore records the ids of the packages that are read.
type readStore struct {
	store.Store
	mu   sync.Mutex
	read map[string]bool
}

func (s *readStore) note(list ...store.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range list {
		s.read[strings.TrimPrefix(r.ID, "vnf-package/")] = true
	}
}

func (s *readStore) Get(ctx context.Context, kind, id string) (store.Record, error) {
	r, err := s.Store.Get(ctx, kind, id)
	s.note(r)
	return r, err
}

func (s *readStore) List(ctx context.Context, q store.Query) ([]store.Record, error) {
	list, err := s.Store.List(ctx, q)
	s.note(list...)
	return list, err
}

// TestListOfTenant checks that listing the packages of a tenant reads no packages of other tenants, so that its time does not depend on
// them.
func TestListOfTenant(t *testing.T) {
	t.Parallel()
	reads := &readStore{Store: store.NewMemory(), read: map[string]bool{}}
	p := site{dir: t.TempDir(), store: reads}.idle(t, nil)
	want := map[string]bool{}
	var others []string
	for range 3 {
		want[p.create(t, "north")], want[p.create(t, "")] = true, true
		others = append(others, p.create(t, "south"))
	}
	clear(reads.read)
	got, after := map[string]bool{}, ""
	for {
		page, err := p.List(t.Context(), "north", after, 2)
		must(t, err)
		if len(page.Items) > 2 {
			t.Errorf("a page has %d packages", len(page.Items))
		}
		for _, info := range page.Items {
			got[info.ID] = true
		}
		if after = page.Next; after == "" {
			break
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, id := range others {
		if reads.read[id] {
			t.Errorf("the list reads package %s of another tenant", id)
		}
	}
}

// TestFolder checks that the folder of another Store, and a folder without its mark, are refused.
func TestFolder(t *testing.T) {
	t.Parallel()
	s := site{dir: t.TempDir(), store: store.NewMemory()}
	s.start(t, nil).onboard(t, "", csar(t, "folder", nil))
	for name, s := range map[string]site{"another Store": {dir: s.dir, store: store.NewMemory()}, "another folder": {dir: t.TempDir(), store: s.store}} {
		r, err := onboarding.New(s.dir, onboarding.Options{})
		must(t, err)
		if _, err := vnflcm.New(t.Context(), vnflcm.Config{Store: s.store, Key: testKey, Packages: r, LeaseTTL: 1e9}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	s.idle(t, nil)
}

// TestFeed checks the changes of a package in the feed.
func TestFeed(t *testing.T) {
	t.Parallel()
	p := site{dir: t.TempDir(), store: store.NewMemory()}.start(t, nil)
	info := p.onboard(t, "north", csar(t, "feed", nil))
	p.remove(t, "north", info.ID)
	list, _, err := p.manager.Changes(t.Context(), "", 100)
	must(t, err)
	var got []string
	for _, c := range list {
		got = append(got, fmt.Sprint(c.Kind, " ", c.VNF.VnfdID, " ", c.VNF.Tenant, " ", c.Package.ID == info.ID, " ", c.Package.OperationalState))
	}
	want := []string{"package-onboarded feed north true ENABLED", "package-state feed north true DISABLED", "package-deleted feed north true DISABLED"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestMany uploads packages with 20 concurrent clients to two processes.
func TestMany(t *testing.T) {
	t.Parallel()
	each := 10
	if testing.Short() {
		each = 2
	}
	onStores(t, func(t *testing.T, s site) {
		processes := []*process{s.start(t, nil), s.start(t, nil)}
		var wg sync.WaitGroup
		for client := range 20 {
			wg.Go(func() {
				p, tenant := processes[client%2], fmt.Sprint("tenant", client)
				for i := range each {
					vnfd := fmt.Sprint("vnf", i)
					info, err := p.Create(t.Context(), tenant, nil)
					if err == nil {
						err = p.Upload(t.Context(), tenant, info.ID, bytes.NewReader(csar(t, vnfd, nil)), -1)
					}
					if err == nil {
						_, err = p.manager.Operations(t.Context(), vnflcm.OperationQuery{})
					}
					if err != nil {
						t.Errorf("%s of %s: %v", vnfd, tenant, err)
					}
				}
			})
		}
		wg.Wait()
		page, err := processes[0].List(t.Context(), "", "", 0)
		must(t, err)
		if len(page.Items) != 20*each {
			t.Fatalf("%d packages, want %d", len(page.Items), 20*each)
		}
		for _, info := range page.Items {
			processes[0].await(t, info.ID, onboarding.Onboarded)
		}
		if list := files(t, s.dir); len(list) != each {
			t.Errorf("%d files for %d different contents", len(list), each)
		}
	})
}
