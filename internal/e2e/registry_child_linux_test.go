package e2e_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
)

// TestRegistryKilled kills the process with SIGKILL while dpkg, Docker and the registry are running. The next process
// finishes the operation. The registry is in the same state as after an undisturbed run.
func TestRegistryKilled(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "vnfm.db")
	y := newRegistryYard(t, func(y *yard, spec *vmhost.Spec) {
		store, err := sqlite.Open(t.Context(), file)
		must(t, err)
		t.Cleanup(func() { _ = store.Close() })
		y.store = store
		disk, err := site.network.Disk(t.Context(), 256<<20)
		must(t, err)
		spec.Devices = map[string]string{"/dev/vdb": disk}
	})
	socket := filepath.Join(t.TempDir(), "cloud")
	serveCloud(t, socket, y.machines)
	id, request := y.registry(protected(t, registryName, registryPassword), onDisk)
	job := yardJob{Store: file, Socket: socket, Packages: y.others, Instance: id}

	instantiate := job
	instantiate.Instantiate = revealed(t, request)
	y.killed(instantiate, "packages", 2*time.Second)
	y.killed(instantiate, "volume", 30*time.Millisecond)
	y.killed(instantiate, "image", 100*time.Millisecond)
	y.killed(instantiate, "container", 100*time.Millisecond)
	y.killed(instantiate, "probe", 50*time.Millisecond)
	y.finished(instantiate)
	first := y.connection(id, "", "")
	must(t, y.from(y.connection(id, registryUser, registryPassword)).push(t.Context(), y.parts.Image("pause"), "team/web:1"))

	heal := job
	machine := y.machine(id)
	heal.Heal = &vnflcm.HealVnfRequest{VnfcInstanceID: []string{machine.ID}}
	y.kill(machine)
	y.killed(heal, "volume", 30*time.Millisecond)
	y.killed(heal, "publish", 0)
	y.finished(heal)
	if diff := cmp.Diff(first, y.connection(id, "", "")); diff != "" {
		t.Errorf("the connection is another one:\n%s", diff)
	}
	y.holds(y.from(y.connection(id, registryUser, registryPassword)), "team/web:1", true)
	names, err := asRoot(y.there(id), "docker", "container", "ls", "--all", "--format", "{{.Names}}")
	if names != "private_registry\n" || err != nil {
		t.Errorf("containers %q, %v", names, err)
	}
	y.keptSecret()
}
