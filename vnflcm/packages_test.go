package vnflcm_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// otherToy returns the toy package with another VNFD id.
func otherToy(id string) fstest.MapFS {
	files := toyFS("cluster")
	const top = "Definitions/top.yaml"
	files[top] = &fstest.MapFile{Data: bytes.ReplaceAll(files[top].Data, []byte(toyVNFD), []byte(id))}
	return files
}

// changedToy returns the toy package with another script.
func changedToy() fstest.MapFS {
	files := toyFS("cluster")
	files["Definitions/driver.py"] = &fstest.MapFile{Data: []byte("# another\n")}
	return files
}

func zipped(t *testing.T, files fs.FS) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	must(t, w.AddFS(files))
	must(t, w.Close())
	return b.Bytes()
}

// place writes a package to a folder: a CSAR, or a directory if the name has no suffix. It replaces an existing package by renaming.
func place(t *testing.T, dir, name string, files fstest.MapFS) {
	t.Helper()
	temporary := filepath.Join(t.TempDir(), "new")
	if filepath.Ext(name) == "" {
		must(t, os.CopyFS(temporary, files))
		must(t, os.RemoveAll(filepath.Join(dir, name)))
	} else {
		must(t, os.WriteFile(temporary, zipped(t, files), 0o600))
	}
	must(t, os.Rename(temporary, filepath.Join(dir, name)))
}

func onPackages(p vnflcm.Packages) func(*vnflcm.Config) {
	return func(c *vnflcm.Config) { c.Packages = p }
}

func wantText(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v, want one that names %q", err, part)
		}
	}
}

// operate runs every operation of an instantiated instance, and terminates it.
func (x *toys) operate(id string) {
	x.t.Helper()
	ctx := x.t.Context()
	for _, start := range []func() (string, error){
		func() (string, error) { return x.Scale(ctx, id, scale(vnflcm.ScaleOut, 1)) },
		func() (string, error) { return x.Heal(ctx, id, vnflcm.HealVnfRequest{}) },
		func() (string, error) { return x.Scale(ctx, id, scale(vnflcm.ScaleIn, 1)) },
		func() (string, error) {
			return x.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
		},
	} {
		opID, err := start()
		x.wait(opID, err, vnflcm.Completed)
	}
}

// TestExpiredSigner lets the certificate of a package's signer expire while an instance runs.
func TestExpiredSigner(t *testing.T) {
	t.Parallel()
	now := time.Now()
	signer := newVendor(t, now.Add(time.Hour))
	for name, restart := range map[string]bool{"same process": false, "next process": true} {
		for _, form := range []string{"toy.csar", "toy"} {
			t.Run(name+" "+form, func(t *testing.T) {
				t.Parallel()
				var later atomic.Int64
				clock := func() time.Time { return now.Add(time.Duration(later.Load())) }
				dir := t.TempDir()
				place(t, dir, form, signer.sign(t, toyFS("cluster")))
				source := func() vnflcm.Packages {
					return vnflcm.DirPackages(dir, tosca.WithIntegrity(csar.Integrity{Policy: csar.Require, Roots: signer.roots(), Now: clock}))
				}
				x := newToys(t, onPackages(source()))
				created, id := x.create(), x.instantiated("plain")
				later.Store(int64(2 * time.Hour))
				if restart {
					x.cfg.Packages = source()
					x.start()
				}
				_, err := x.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: toyVNFD})
				wantText(t, err, string(problem.Expired))
				_, err = x.Instantiate(t.Context(), created, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
				wantText(t, err, string(problem.Expired))

				// An operation that fails can be rolled back too.
				x.world.failAt("scale_end/join/worker-2", errCut)
				opID, err := x.Scale(t.Context(), id, scale(vnflcm.ScaleOut, 1))
				x.wait(opID, err, vnflcm.FailedTemp)
				x.world.failAt("scale_end/join/worker-2", nil)
				x.wait(opID, x.Rollback(t.Context(), opID), vnflcm.RolledBack)

				// After the certificate has expired, the digest still protects the content.
				place(t, dir, form, changedToy())
				_, err = x.Heal(t.Context(), id, vnflcm.HealVnfRequest{})
				wantIs(t, err, vnflcm.ErrPackageChanged)
				wantText(t, err, toyVNFD, "digest of the package is sha256:", "wanted is sha256:")
				place(t, dir, form, signer.sign(t, toyFS("cluster")))
				_, err = x.Heal(t.Context(), id, vnflcm.HealVnfRequest{}) // signatures are random, so the package has other bytes
				wantIs(t, err, vnflcm.ErrPackageChanged)
			})
		}
	}
}

// TestExpiredSignerFullLife runs each operation after the certificate has expired.
func TestExpiredSignerFullLife(t *testing.T) {
	t.Parallel()
	now := time.Now()
	signer := newVendor(t, now.Add(time.Hour))
	var expired atomic.Bool
	policy := tosca.WithIntegrity(csar.Integrity{Policy: csar.Require, Roots: signer.roots(), Now: func() time.Time {
		if expired.Load() {
			return now.Add(2 * time.Hour)
		}
		return now
	}})
	files := signer.sign(t, toyFS("cluster"))
	x := newToys(t, onPackages(vnflcm.PackagesFunc(func(context.Context, string, string) (tosca.Source, error) { return tosca.FS(files), nil }, policy)))
	id := x.instantiated("plain")
	expired.Store(true)
	x.operate(id)
}

// TestSharedParse runs operations of many instances concurrently in two Managers, and counts the parsed descriptors.
func TestSharedParse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	place(t, dir, "toy.csar", toyFS("cluster"))
	x := newToys(t, onPackages(vnflcm.DirPackages(dir)))
	var mu sync.Mutex
	models, archives := map[*tosca.VNFD]bool{}, map[*csar.Archive]bool{}
	x.cfg.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": &spying{cluster: &cluster{world: x.world}, see: func(op *vnflcm.Operation) {
		mu.Lock()
		defer mu.Unlock()
		models[op.Package.VNFD()], archives[op.Package.Archive] = true, true
	}}}
	x.start()
	second := x.other(nil)
	var all sync.WaitGroup
	for i := range 10 {
		m := x.Manager
		if i%2 == 0 {
			m = second.Manager
		}
		all.Go(func() {
			inst, err := m.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: toyVNFD})
			if err != nil {
				t.Error(err)
				return
			}
			for _, start := range []func() (string, error){
				func() (string, error) {
					return m.Instantiate(t.Context(), inst.ID, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
				},
				func() (string, error) { return m.Heal(t.Context(), inst.ID, vnflcm.HealVnfRequest{}) },
				func() (string, error) {
					return m.Terminate(t.Context(), inst.ID, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
				},
			} {
				opID, err := start()
				if err == nil {
					_, err = m.Wait(t.Context(), opID)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	mu.Lock()
	defer mu.Unlock()
	if len(models) != 1 || len(archives) != 1 {
		t.Errorf("30 operations parsed the package %d times and opened the archive %d times, want once each", len(models), len(archives))
	}
}

// spying is a cluster that passes the Operation of each check to the test.
type spying struct {
	*cluster
	see func(*vnflcm.Operation)
}

func (d *spying) Validate(ctx context.Context, op *vnflcm.Operation) error {
	d.see(op)
	return d.cluster.Validate(ctx, op)
}

// TestCreateChecksVNFD uses sources that return another package than requested.
func TestCreateChecksVNFD(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	place(t, dir, "toy.csar", toyFS("cluster"))
	any := vnflcm.PackagesFunc(func(context.Context, string, string) (tosca.Source, error) {
		return tosca.File(filepath.Join(dir, "toy.csar")), nil
	})
	x := newToys(t, onPackages(any))
	_, err := x.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: "nope"})
	wantIs(t, err, vnflcm.ErrNoPackage)
	wantText(t, err, "nope", toyVNFD)
	id := x.create()
	place(t, dir, "toy.csar", otherToy("another"))
	_, err = x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
	wantIs(t, err, vnflcm.ErrNoPackage)
	wantText(t, err, toyVNFD, "another")
	nsd := vnflcm.PackagesFunc(func(context.Context, string, string) (tosca.Source, error) {
		return tosca.FS(fstest.MapFS{"nsd.yaml": {Data: []byte("tosca_definitions_version: tosca_simple_yaml_1_2\n")}}), nil
	}, tosca.AnyDescriptor())
	x.cfg.Packages = nsd
	x.start()
	_, err = x.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: toyVNFD})
	wantIs(t, err, vnflcm.ErrNoPackage)
}

// shifting is a hostile fs.FS whose files change when the test chooses.
type shifting struct {
	shifted atomic.Bool
	name    string // name of the file that changes
	opens   atomic.Int64
	before  int64 // number of openings that still return the first content
	first   fstest.MapFS
	then    fstest.MapFS
}

func (s *shifting) Open(name string) (fs.File, error) {
	if s.shifted.Load() && name == s.name && s.opens.Add(1) > s.before {
		return s.then.Open(name)
	}
	return s.first.Open(name)
}

// TestHostileSource uses a source that returns the correct content for the comparison of the digest, and other content to readers before
// and after the comparison.
func TestHostileSource(t *testing.T) {
	t.Parallel()
	const flavour = "Definitions/plain.yaml"
	evil := toyFS("cluster")
	evil[flavour] = &fstest.MapFile{Data: bytes.Replace(evil[flavour].Data, []byte("max_number_of_instances: 5"), []byte("max_number_of_instances: 9"), 1)}
	for before := range int64(4) {
		hostile := &shifting{name: flavour, before: before, first: toyFS("cluster"), then: evil}
		for name, packages := range map[string]vnflcm.Packages{
			"by the SDK":     vnflcm.PackagesFunc(func(context.Context, string, string) (tosca.Source, error) { return tosca.FS(hostile), nil }),
			"by the program": opening(func(ctx context.Context) (*tosca.Package, error) { return tosca.OpenFS(ctx, hostile) }),
		} {
			hostile.shifted.Store(false)
			hostile.opens.Store(0)
			x := newToys(t, onPackages(packages))
			id := x.instantiated("plain")
			var seen atomic.Bool
			x.cfg.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": &spying{cluster: &cluster{world: x.world}, see: func(op *vnflcm.Operation) {
				if slices.ContainsFunc(op.Flavour.VDUs, func(v tosca.VDU) bool { return v.Max == 9 }) {
					seen.Store(true)
				}
			}}}
			x.start()
			hostile.shifted.Store(true)
			opID, err := x.Heal(t.Context(), id, vnflcm.HealVnfRequest{})
			if err == nil {
				_, err = x.Wait(t.Context(), opID)
			}
			if seen.Load() {
				t.Errorf("%s, %d good openings: another content than that of the digest was used", name, before)
			}
			if err != nil {
				wantIs(t, err, vnflcm.ErrPackageChanged)
			} else if before == 0 {
				t.Errorf("%s: the changed content was not noticed", name)
			}
		}
	}
}

// opening implements Packages for a program that opens its package itself for each call.
type opening func(context.Context) (*tosca.Package, error)

func (f opening) Open(ctx context.Context, _, _, _ string) (*tosca.Package, error) { return f(ctx) }

// TestArtifactChangesDuringOperation changes a package after its digest was compared.
func TestArtifactChangesDuringOperation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	place(t, dir, "toy", toyFS("cluster"))
	const script = "Definitions/driver.py"
	x := newToys(t, onPackages(vnflcm.DirPackages(dir)))
	id := x.instantiated("plain")
	var read error
	x.cfg.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": &spying{cluster: &cluster{world: x.world}, see: func(op *vnflcm.Operation) {
		if op.Heal != nil {
			_ = os.WriteFile(filepath.Join(dir, "toy", script), []byte("# evil\n"), 0o600)
			_, read = fs.ReadFile(op.Package, script)
		}
	}}}
	x.start()
	opID, err := x.Heal(t.Context(), id, vnflcm.HealVnfRequest{})
	if !errors.Is(read, problem.Problem{Code: problem.Changed}) {
		t.Errorf("error %v, want %s", read, problem.Changed)
	}
	// The run opens the package after the request was accepted.
	_, err = x.wait(opID, err, vnflcm.RolledBack)
	wantIs(t, err, vnflcm.ErrPackageChanged)
}

// TestFolder serves several packages, among them some that cannot be read.
func TestFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	place(t, dir, "toy.csar", toyFS("cluster"))
	place(t, dir, "Second.ZIP", otherToy("second"))
	place(t, dir, "third", otherToy("third"))
	place(t, dir, "spaces and \n\x1b[31m.csar", otherToy("fourth"))
	place(t, dir, ".toy.csar.upload", toyFS("cluster"))
	for name, content := range map[string]string{"README.md": "#", "empty.csar": "", "torn.csar": string(zipped(t, toyFS("cluster"))[:700])} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	must(t, os.Mkdir(filepath.Join(dir, "lost+found"), 0o700))
	x := newToys(t, onPackages(vnflcm.DirPackages(dir)))
	for _, vnfd := range []string{toyVNFD, "second", "third", "fourth"} {
		inst, err := x.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: vnfd})
		must(t, err)
		x.instantiate(inst.ID, "plain", vnflcm.Completed)
		x.operate(inst.ID)
	}
	for _, unknown := range []string{"fifth", "../toy.csar", ""} {
		_, err := vnflcm.DirPackages(dir).Open(t.Context(), "", unknown, "")
		wantIs(t, err, vnflcm.ErrNotFound)
		wantText(t, err, "empty.csar", "torn.csar", "lost+found")
		if strings.Contains(err.Error(), "README") || strings.Contains(err.Error(), dir) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%q", err)
		}
	}
	place(t, dir, "fifth.csar", otherToy("fifth")) // added while the program runs
	inst, err := x.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: "fifth"})
	must(t, err)
	must(t, os.Remove(filepath.Join(dir, "fifth.csar")))
	_, err = x.Instantiate(t.Context(), inst.ID, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
	wantIs(t, err, vnflcm.ErrNoPackage)

	for _, single := range []string{"toy.csar", "third"} {
		p := vnflcm.DirPackages(filepath.Join(dir, single))
		if _, err := p.Open(t.Context(), "", "second", ""); !errors.Is(err, vnflcm.ErrNotFound) {
			t.Errorf("%s: error %v, want ErrNotFound", single, err)
		}
		vnfd := map[string]string{"toy.csar": toyVNFD, "third": "third"}[single]
		pkg, err := p.Open(t.Context(), "", vnfd, "")
		must(t, err)
		must(t, pkg.Close())
	}
	_, err = vnflcm.DirPackages(filepath.Join(dir, "missing")).Open(t.Context(), "", toyVNFD, "")
	wantIs(t, err, fs.ErrNotExist)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = vnflcm.DirPackages(dir).Open(cancelled, "", toyVNFD, "")
	wantIs(t, err, context.Canceled)
}

// template is a package of one file, without TOSCA.meta (SOL004 4.1.2.3).
const template = `# The license of the author is here.
tosca_definitions_version: tosca_simple_yaml_1_2
metadata: {template_name: web, template_author: toys, template_version: '1.0'}
node_types:
  toy.Web: {derived_from: tosca.nodes.nfv.VNF}
topology_template:
  substitution_mappings: {node_type: toy.Web, properties: {flavour_id: plain}}
  node_templates:
    VNF:
      type: toy.Web
      properties: {descriptor_id: web, descriptor_version: '1.0', provider: Toys, product_name: Web, software_version: '1.0',
        vnfm_info: ['0:vnfkit'], flavour_id: plain, flavour_description: a toy}
`

// TestFolderOfOneTemplate checks that a folder with one template is a package without TOSCA.meta, also with files and folders beside the
// template.
func TestFolderOfOneTemplate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	place(t, dir, "web", fstest.MapFS{"Web.YAML": {Data: []byte(template)}, "requests/instantiate.json": {Data: []byte("{}")}})
	for _, folder := range []string{dir, filepath.Join(dir, "web")} {
		pkg, err := vnflcm.DirPackages(folder).Open(t.Context(), "", "web", "")
		must(t, err)
		must(t, pkg.Close())
	}
	must(t, os.WriteFile(filepath.Join(dir, "compose.yaml"), []byte("services: {}\n"), 0o600)) // this file does not make the folder a package
	pkg, err := vnflcm.DirPackages(dir).Open(t.Context(), "", "web", "")
	must(t, err)
	must(t, pkg.Close())
}

// TestFolderLinks uses symbolic links to packages inside and outside of the folder.
func TestFolderLinks(t *testing.T) {
	t.Parallel()
	outside, dir := t.TempDir(), t.TempDir()
	place(t, outside, "secret.csar", otherToy("secret"))
	place(t, outside, "directory", otherToy("directory"))
	must(t, os.Mkdir(filepath.Join(dir, "..data"), 0o700)) // as Kubernetes mounts a ConfigMap
	place(t, filepath.Join(dir, "..data"), "toy.csar", toyFS("cluster"))
	for name, target := range map[string]string{"toy.csar": "..data/toy.csar", "again.csar": "..data/toy.csar", "secret.csar": filepath.Join(outside, "secret.csar"),
		"up.csar": "../" + filepath.Base(outside) + "/secret.csar", "directory": filepath.Join(outside, "directory"), "dangling.csar": "nothing"} {
		must(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	p := vnflcm.DirPackages(dir)
	pkg, err := p.Open(t.Context(), "", toyVNFD, "") // two links to the same package are no duplicate
	must(t, err)
	must(t, pkg.Close())
	for _, vnfd := range []string{"secret", "directory"} {
		_, err = p.Open(t.Context(), "", vnfd, "")
		wantIs(t, err, vnflcm.ErrNotFound)
		wantText(t, err, vnfd, "a symbolic link out of the folder")
	}
}

// TestFolderDuplicates puts the same VNFD into a folder twice.
func TestFolderDuplicates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	place(t, dir, "b.csar", toyFS("cluster"))
	x := newToys(t, onPackages(vnflcm.DirPackages(dir)))
	id := x.instantiated("plain")
	place(t, dir, "a.csar", changedToy())
	for range 2 {
		_, err := x.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: toyVNFD})
		wantText(t, err, "a.csar", "b.csar")
		x.cfg.Packages = vnflcm.DirPackages(dir)
		x.start()
	}
	x.operate(id) // the digest selects one of the two
}

// TestFolderReplaced replaces a package while an instance runs.
func TestFolderReplaced(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"toy.csar", "toy"} {
		dir := t.TempDir()
		place(t, dir, form, toyFS("cluster"))
		x := newToys(t, onPackages(vnflcm.DirPackages(dir)))
		id := x.instantiated("plain")
		place(t, dir, form, changedToy())
		_, err := x.Scale(t.Context(), id, scale(vnflcm.ScaleOut, 1))
		wantIs(t, err, vnflcm.ErrPackageChanged)
		fresh := x.create()
		x.instantiate(fresh, "plain", vnflcm.Completed)
		place(t, dir, form, otherToy("another"))
		_, err = x.Scale(t.Context(), id, scale(vnflcm.ScaleOut, 1))
		wantIs(t, err, vnflcm.ErrNoPackage)
		place(t, dir, "moved.csar", toyFS("cluster")) // the content counts, not the name
		x.operate(id)
		must(t, os.RemoveAll(filepath.Join(dir, form)))
		place(t, dir, form, changedToy())
		must(t, os.Remove(filepath.Join(dir, "moved.csar")))
		x.operate(fresh)
	}
}

// TestFolderUnderLoad replaces a package repeatedly while instances are created. Each instance must get one of the two complete contents.
func TestFolderUnderLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	contents := []fstest.MapFS{toyFS("cluster"), changedToy()}
	place(t, dir, "toy.csar", contents[0])
	p := vnflcm.DirPackages(dir)
	scripts := map[string]bool{"# a toy\n": true, "# another\n": true}
	var users sync.WaitGroup
	var done atomic.Bool
	for range 4 {
		users.Go(func() {
			for !done.Load() {
				pkg, err := p.Open(t.Context(), "", toyVNFD, "")
				if err != nil {
					t.Error(err)
					return
				}
				script, err := fs.ReadFile(pkg, "Definitions/driver.py")
				if err != nil || !scripts[string(script)] {
					t.Errorf("%q, %v", script, err)
				}
				if err := pkg.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 30 {
		place(t, dir, "toy.csar", contents[i%2])
	}
	done.Store(true)
	users.Wait()
}

// TestRevokedSigner wraps a source to refuse a signer, as in the guide.
func TestRevokedSigner(t *testing.T) {
	t.Parallel()
	signer := newVendor(t, time.Now().Add(time.Hour))
	dir := t.TempDir()
	place(t, dir, "toy.csar", signer.sign(t, toyFS("cluster")))
	source := withoutRevoked{vnflcm.DirPackages(dir, tosca.WithIntegrity(csar.Integrity{Policy: csar.Require, Roots: signer.roots()})), map[string]bool{}}
	x := newToys(t, onPackages(source))
	id := x.instantiated("plain")
	source.revoked[signer.certificate.SerialNumber.String()] = true
	_, err := x.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: toyVNFD})
	wantText(t, err, "is revoked")
	x.operate(id)
}
