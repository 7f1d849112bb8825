package nfvo_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/fleettest"
	"github.com/vnfkit/vnfkit/internal/nfvotest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/nfvo"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// patience is the maximum time for events that must happen.
const patience = time.Minute

// csar returns a package with this VNFD and further files.
func csar(t *testing.T, vnfdID string, more map[string]string) []byte {
	t.Helper()
	files := map[string]string{"vnfd.yaml": fmt.Sprintf(`tosca_definitions_version: tosca_simple_yaml_1_2
metadata: {template_name: small, template_author: vnfkit, template_version: '1.0'}
node_types:
  small.VNF: {derived_from: tosca.nodes.nfv.VNF}
topology_template:
  substitution_mappings: {node_type: small.VNF, properties: {flavour_id: simple}}
  node_templates:
    VNF:
      type: small.VNF
      properties: {descriptor_id: '%s', descriptor_version: '1.0', provider: vnfkit, product_name: Small, software_version: '1.0',
        vnfm_info: ['0:vnfkit'], flavour_id: simple, flavour_description: one machine}
    worker:
      type: tosca.nodes.nfv.Vdu.Compute
      properties: {name: worker, description: worker, vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 8}}
    worker_cp:
      type: tosca.nodes.nfv.VduCp
      properties: {layer_protocols: [ipv4]}
      requirements: [virtual_binding: worker]
`, strings.ReplaceAll(vnfdID, "'", "''"))}
	maps.Copy(files, more)
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		must(t, err)
		_, err = io.WriteString(f, files[name])
		must(t, err)
	}
	must(t, z.Close())
	return out.Bytes()
}

// filler makes a package large enough for faults in the middle of its content.
var filler = map[string]string{"filler": strings.Repeat("0123456789abcdef", 64<<10/16)}

// world is an NFVO with packages, and a folder and a Store of VNFMs.
type world struct {
	*nfvotest.Packages
	dir   string
	store store.Store
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{nfvotest.Start(t).ServePackages(), t.TempDir(), store.NewMemory()}
}

// put adds a package with an id and this VNFD, and returns it.
func (w *world) put(t *testing.T, id, vnfdID string) nfvotest.Package {
	t.Helper()
	p := nfvotest.Package{ID: id, VnfdID: vnfdID, Content: csar(t, vnfdID, filler)}
	w.Put(p)
	return p
}

// vnfm is a Manager with its packages.
type vnfm struct {
	*vnflcm.Manager
	packages *nfvo.PackageCache
}

// settings of a vnfm.
type settings struct {
	sol003   nfvo.SOL003
	options  nfvo.PackageOptions
	lifetime int // requests that a token is good for; 0: any number
	ttl      time.Duration
}

// start starts a VNFM.
func (w *world) start(t *testing.T, change func(*settings)) *vnfm {
	t.Helper()
	s := settings{options: nfvo.PackageOptions{MinFree: 1, StallTimeout: patience}}
	if change != nil {
		change(&s)
	}
	c := client(t, w.NFVO, func(c *nfvo.Config) { c.SOL003 = s.sol003 })
	w.Lifetime = s.lifetime
	return w.startWith(t, c, s.options, s.ttl)
}

// startWith starts a VNFM with a client of its NFVO. Its leases have the TTL ttl; 0: the default.
func (w *world) startWith(t *testing.T, c *nfvo.Client, o nfvo.PackageOptions, ttl time.Duration) *vnfm {
	t.Helper()
	packages, err := nfvo.NewPackageCache(c, filepath.Join(w.dir, "packages"), o)
	must(t, err)
	packages.SetPause(time.Millisecond)
	cfg := fleettest.Config(w.dir, w.store, "first")
	cfg.Packages, cfg.LeaseTTL = packages, ttl
	m, err := vnflcm.New(t.Context(), cfg)
	must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		must(t, m.Close(ctx))
	})
	return &vnfm{m, packages}
}

// create creates an instance with a VNFD.
func (m *vnfm) create(t *testing.T, vnfdID string) *vnflcm.VnfInstance {
	t.Helper()
	instance, err := m.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: vnfdID})
	must(t, err)
	return instance
}

// run waits for an operation, which must succeed.
func (m *vnfm) run(t *testing.T, begin func() (string, error)) {
	t.Helper()
	id, err := begin()
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	occ, err := m.Wait(ctx, id)
	must(t, err)
	if occ.OperationState != vnflcm.Completed {
		t.Fatalf("%s is %s: %+v", occ.Operation, occ.OperationState, occ.Error)
	}
}

func (m *vnfm) heal(t *testing.T, id string) {
	t.Helper()
	m.run(t, func() (string, error) { return m.Heal(t.Context(), id, vnflcm.HealVnfRequest{}) })
}

func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

// wantFiles compares how many files of contents and of downloads the cache has.
func (w *world) wantFiles(t *testing.T, contents, downloads int) {
	t.Helper()
	w.count(t, "sha256", contents)
	w.wantDownloads(t, downloads)
}

func (w *world) wantDownloads(t *testing.T, want int) { t.Helper(); w.count(t, "downloads", want) }

func (w *world) count(t *testing.T, folder string, want int) {
	t.Helper()
	got := 0
	must(t, filepath.WalkDir(filepath.Join(w.dir, "packages", folder), func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			got++
		}
		return err
	}))
	if got != want {
		t.Errorf("%d files in %s, want %d", got, folder, want)
	}
}

// TestPackageLife creates an instance from a package of the NFVO and takes it through a life, in both versions of the API. The VNFD has
// characters that have a meaning in URIs and in filters.
func TestPackageLife(t *testing.T) {
	t.Parallel()
	for _, version := range []nfvo.SOL003{nfvo.V261, nfvo.V331} {
		t.Run(string(version), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			const vnfd = "a (small), VNF's/50%"
			w.put(t, "package-0", "other")
			w.Put(nfvotest.Package{ID: "package/1", VnfdID: vnfd, Content: csar(t, vnfd, nil)})
			m := w.start(t, func(s *settings) { s.sol003 = version })
			_, err := m.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: "unknown"})
			wantError(t, "an unknown VNFD", err, vnflcm.ErrNoPackage)
			instance := m.create(t, vnfd)
			if instance.VnfPkgID != "package/1" || instance.VnfProductName != "Small" {
				t.Errorf("the instance: %+v", instance)
			}
			m.create(t, vnfd)
			m.run(t, func() (string, error) { return fleettest.Instantiate(t.Context(), m.Manager, instance.ID) })
			m.heal(t, instance.ID)
			list, err := m.packages.List(t.Context())
			must(t, err)
			want := []nfvo.CachedPackage{{ID: "package/1", VnfdID: vnfd, State: nfvo.Enabled, Size: int64(len(csar(t, vnfd, nil))), InUse: true}}
			if diff := cmp.Diff(want, list); diff != "" {
				t.Error(diff)
			}
			if w.Sent() != 1 {
				t.Errorf("the content was sent %d times", w.Sent())
			}
		})
	}
}

// TestPinned: a package that is DISABLED or deleted, and an NFVO that does not answer, stop new instances and instantiating, and nothing
// else. The package stays in the cache until the instance is deleted.
func TestPinned(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		stop func(w *world, p nfvotest.Package)
		want error
	}{
		"disabled":    {func(w *world, p nfvotest.Package) { p.Disabled = true; w.Put(p) }, vnflcm.ErrNoPackage},
		"deleted":     {func(w *world, p nfvotest.Package) { w.Remove(p.ID) }, vnflcm.ErrNoPackage},
		"unreachable": {func(w *world, _ nfvotest.Package) { w.Close() }, vnflcm.ErrNoNFVO},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p := w.put(t, "p", "vnfd")
			m := w.start(t, func(s *settings) { s.options.MaxUnused = 1 })
			first, second := m.create(t, "vnfd"), m.create(t, "vnfd")
			m.run(t, func() (string, error) { return fleettest.Instantiate(t.Context(), m.Manager, first.ID) })
			tt.stop(w, p)
			m = w.start(t, func(s *settings) { s.options.MaxUnused = 1 }) // nothing is open in this process
			_, err := m.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: "vnfd"})
			wantError(t, "create", err, tt.want)
			_, err = fleettest.Instantiate(t.Context(), m.Manager, second.ID)
			wantError(t, "instantiate", err, tt.want)
			m.heal(t, first.ID)
			m.run(t, func() (string, error) {
				return m.Terminate(t.Context(), first.ID, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
			})
			w.wantFiles(t, 1, 0)
		})
	}
}

// TestBound: packages without instances leave the cache when they have more bytes than allowed, the longest unused one first. Packages with
// instances do not count.
func TestBound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	size := len(w.put(t, "p0", "vnfd0").Content)
	m := w.start(t, func(s *settings) { s.options.MaxUnused = int64(2 * size) })
	var instances []string
	for i := range 5 {
		vnfd := fmt.Sprint("vnfd", i)
		w.put(t, fmt.Sprint("p", i), vnfd)
		instance := m.create(t, vnfd)
		if i == 4 {
			instances = append(instances, instance.ID)
			continue
		}
		must(t, m.Delete(t.Context(), instance.ID, ""))
	}
	var ids []string
	list, err := m.packages.List(t.Context())
	must(t, err)
	for _, p := range list {
		ids = append(ids, p.ID)
	}
	if diff := cmp.Diff([]string{"p2", "p3", "p4"}, ids); diff != "" {
		t.Error(diff)
	}
	w.wantFiles(t, 3, 0)
	must(t, m.Delete(t.Context(), instances[0], ""))
}

// TestOneDownload: callers at the same time, and packages with the same checksum, download their content once.
func TestOneDownload(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.put(t, "p", "vnfd")
	m := w.start(t, nil)
	var creators sync.WaitGroup
	for range 5 {
		creators.Go(func() { m.create(t, "vnfd") })
	}
	creators.Wait()
	w.Remove(p.ID)
	p.ID = "again"
	w.Put(p)
	if instance := m.create(t, "vnfd"); instance.VnfPkgID != "again" {
		t.Errorf("the package of the instance is %s", instance.VnfPkgID)
	}
	if w.Sent() != 1 {
		t.Errorf("the content was sent %d times", w.Sent())
	}
}

// TestReplaced: a package with another content under the same id is seen, by its checksum or by its entity tag. An instance keeps the content
// that it was made from.
func TestReplaced(t *testing.T) {
	t.Parallel()
	for name, checksum := range map[string]any{"checksum": nil, "entity tag": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p := w.put(t, "p", "vnfd")
			p.Checksum = checksum
			w.Put(p)
			m := w.start(t, nil)
			first := m.create(t, "vnfd")
			m.run(t, func() (string, error) { return fleettest.Instantiate(t.Context(), m.Manager, first.ID) })
			p.Content = csar(t, "vnfd", map[string]string{"more": "more"})
			w.Put(p)
			second := m.create(t, "vnfd")
			m.run(t, func() (string, error) { return fleettest.Instantiate(t.Context(), m.Manager, second.ID) })
			w.wantFiles(t, 2, 0)
			for _, id := range []string{first.ID, second.ID} {
				m.heal(t, id)
			}
		})
	}
}

// TestLostFile: a file that is lost is downloaded again for its instances.
func TestLostFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(t, "p", "vnfd")
	m := w.start(t, nil)
	instance := m.create(t, "vnfd")
	m.run(t, func() (string, error) { return fleettest.Instantiate(t.Context(), m.Manager, instance.ID) })
	must(t, os.RemoveAll(filepath.Join(w.dir, "packages", "sha256")))
	m = w.start(t, nil)
	m.heal(t, instance.ID)
	if w.Sent() != 2 {
		t.Errorf("the content was sent %d times", w.Sent())
	}
	w.Close()
	m = w.start(t, nil)
	m.heal(t, instance.ID)
}

// TestFurther: packages of a folder come first, and instances with such packages stay with them.
func TestFurther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	folder := t.TempDir()
	must(t, os.WriteFile(filepath.Join(folder, "small.csar"), csar(t, "small", nil), 0o600))
	w.put(t, "p", "vnfd")
	m := w.start(t, func(s *settings) { s.options.Further = vnflcm.DirPackages(folder) })
	own, other := m.create(t, "small"), m.create(t, "vnfd")
	if own.VnfPkgID != "" || other.VnfPkgID != "p" {
		t.Errorf("the packages are %q and %q", own.VnfPkgID, other.VnfPkgID)
	}
	w.Close()
	m.run(t, func() (string, error) { return fleettest.Instantiate(t.Context(), m.Manager, own.ID) })
}
