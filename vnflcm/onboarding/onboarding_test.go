package onboarding_test

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
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/onboarding"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
)

func TestMain(m *testing.M) {
	if os.Getenv("VNFKIT_PROCESS") != "" { // a process of TestProcesses
		if err := runProcess(os.Getenv("VNFKIT_PROCESS_DIR")); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// patience is the maximum time for events that must happen.
const patience = time.Minute

var testKey = bytes.Repeat([]byte{7}, 32)

// stores are the stores with which tests run.
var stores = map[string]func(t *testing.T) store.Store{
	"memory": func(*testing.T) store.Store { return store.NewMemory() },
	"sqlite": func(t *testing.T) store.Store {
		t.Helper()
		db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "db"))
		must(t, err)
		t.Cleanup(func() { must(t, db.Close()) })
		return db
	},
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// site is a folder and a Store that processes share.
type site struct {
	dir   string
	store store.Store
	ttl   time.Duration // TTL of leases; 0: the default
	infra map[string]vnflcm.InfraDriver
}

// process is a Manager with its Repository.
type process struct {
	*onboarding.Repository
	manager *vnflcm.Manager
	stop    func()
}

// start starts a process that calls Run.
func (s site) start(t *testing.T, change func(*onboarding.Options)) *process {
	t.Helper()
	p := s.idle(t, change)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = p.Run(ctx) }()
	p.stop = func() { cancel(); <-done }
	t.Cleanup(p.stop)
	return p
}

// idle starts a process that does not call Run.
func (s site) idle(t *testing.T, change func(*onboarding.Options)) *process {
	t.Helper()
	o := onboarding.Options{MinFree: 1}
	if change != nil {
		change(&o)
	}
	r, err := onboarding.New(s.dir, o)
	must(t, err)
	m, err := vnflcm.New(t.Context(), vnflcm.Config{Store: s.store, Key: testKey, Packages: r, LeaseTTL: s.ttl, Infra: s.infra})
	must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		must(t, m.Close(ctx))
	})
	return &process{Repository: r, manager: m, stop: func() {}}
}

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
      properties: {descriptor_id: %s, descriptor_version: '1.0', provider: vnfkit, product_name: Small, software_version: '1.0',
        vnfm_info: ['0:vnfkit'], flavour_id: simple, flavour_description: one machine}
    worker:
      type: tosca.nodes.nfv.Vdu.Compute
      properties: {name: worker, description: worker, vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 8}}
    worker_cp:
      type: tosca.nodes.nfv.VduCp
      properties: {layer_protocols: [ipv4]}
      requirements: [virtual_binding: worker]
`, vnfdID)}
	maps.Copy(files, more)
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := z.Create(name)
		must(t, err)
		_, err = io.WriteString(f, files[name])
		must(t, err)
	}
	must(t, z.Close())
	return out.Bytes()
}

// create creates a package of a tenant.
func (p *process) create(t *testing.T, tenant string) string {
	t.Helper()
	info, err := p.Create(t.Context(), tenant, nil)
	must(t, err)
	return info.ID
}

// await waits until a package has a state, and returns the package.
func (p *process) await(t *testing.T, id string, state onboarding.State) *onboarding.VnfPkgInfo {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		info, err := p.Get(ctx, "", id)
		must(t, err)
		if info.OnboardingState == state {
			return info
		}
		select {
		case <-ctx.Done():
			t.Fatalf("package %s is %s (%+v), want %s", id, info.OnboardingState, info.OnboardingFailureDetails, state)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// onboard creates a package of a tenant with this content.
func (p *process) onboard(t *testing.T, tenant string, content []byte) *onboarding.VnfPkgInfo {
	t.Helper()
	id := p.create(t, tenant)
	must(t, p.Upload(t.Context(), tenant, id, bytes.NewReader(content), int64(len(content))))
	return p.await(t, id, onboarding.Onboarded)
}

func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

// TestLife creates, uploads, uses, disables and deletes a package.
func TestLife(t *testing.T) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := site{dir: t.TempDir(), store: open(t)}.start(t, nil)
			info := p.onboard(t, "north", csar(t, "life", nil))
			if info.OperationalState != onboarding.Enabled || info.UsageState != onboarding.NotInUse || info.VnfdID != "life" {
				t.Errorf("after the upload: %+v", info)
			}
			instance, err := p.manager.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: "life", Tenant: "north"})
			must(t, err)
			if instance.VnfPkgID != info.ID {
				t.Errorf("the instance has the package %q, want %q", instance.VnfPkgID, info.ID)
			}
			wantError(t, "delete an ENABLED package", p.Delete(t.Context(), "north", info.ID), vnflcm.ErrState)
			info, err = p.Update(t.Context(), "north", info.ID, onboarding.Modification{OperationalState: onboarding.Disabled})
			must(t, err)
			if info.UsageState != onboarding.InUse {
				t.Errorf("with an instance: %s", info.UsageState)
			}
			wantError(t, "delete a package with an instance", p.Delete(t.Context(), "north", info.ID), vnflcm.ErrState)
			_, err = p.manager.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: "life", Tenant: "north"})
			wantError(t, "an instance of a DISABLED package", err, vnflcm.ErrNoPackage)
			must(t, p.manager.Delete(t.Context(), instance.ID, ""))
			must(t, p.Delete(t.Context(), "north", info.ID))
			_, err = p.Get(t.Context(), "north", info.ID)
			wantError(t, "a deleted package", err, vnflcm.ErrNotFound)
		})
	}
}
