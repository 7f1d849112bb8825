package kubeadm_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const storageParams = `{"storage_server":{"ssh_cp_name":"storage_CP","nic_cp_name":"storage_CP","username":"ubuntu","password":"ubuntu",
	"cinder_volume_setup_params":[{"volume_resource_id":"storage_volume","mount_to":"/volume-1"}],
	"nfs_server_setup_params":[{"export_dir":"/volume-1/nfs/pv1","export_to":"198.18.0.7/16"},{"export_dir":"/srv/pv2","export_to":"198.18.0.0/16"}]},
	"pv_registration_params":[{"pv_manifest_file_path":"Files/pv1.yaml","nfs_server_cp":"storage_CP"},{"pv_manifest_file_path":"Files/pv2.yaml","nfs_server_cp":"storage_CP"}]}`

// packageWithStorage returns the sample package with a storage server in each flavour, and with more files.
func packageWithStorage(t testing.TB, files map[string]string) string {
	t.Helper()
	all := map[string]string{"Files/pv1.yaml": clustertest.VolumeManifest("nfs-pv1", "/volume-1/nfs/pv1"), "Files/pv2.yaml": clustertest.VolumeManifest("nfs-pv2", "/srv/pv2/of-it")}
	for _, flavour := range []string{"simple", "complex"} {
		all["Definitions/k8s_cluster_df_"+flavour+".yaml"] = clustertest.StorageFlavour(t, packageDir, flavour)
	}
	for name, text := range files {
		all[name] = text
	}
	return mgmttest.Package(t, packageDir, all)
}

func storageSetup(t testing.TB) setup {
	return setup{sandbox: sandbox.Config{Takes: takes}, pkg: packageWithStorage(t, nil)}
}

// volume returns the only volume of the sandbox.
func (l *lab) volume() sandbox.Volume {
	l.t.Helper()
	all := l.World.Volumes()
	if len(all) != 1 {
		l.t.Fatalf("volumes: %+v", all)
	}
	return all[0]
}

// persistent returns the persistent volumes of the cluster: name, server, path, phase.
func (l *lab) persistent(id string) (out []string) {
	l.t.Helper()
	access, _ := l.Entry(kubeadm.VIMID(id))
	code, body, err := l.Ask(access, http.MethodGet, "/api/v1/persistentvolumes", "")
	if code != http.StatusOK || err != nil {
		l.t.Fatalf("%d %s %v", code, body, err)
	}
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Spec     struct{ NFS struct{ Server, Path string } }
			Status   struct{ Phase string }
		}
	}
	if err := json.Unmarshal(body, &list); err != nil {
		l.t.Fatal(err)
	}
	for _, v := range list.Items {
		out = append(out, strings.Join([]string{v.Metadata.Name, v.Spec.NFS.Server, v.Spec.NFS.Path, v.Status.Phase}, " "))
	}
	return out
}

// exported checks the configuration of the storage server and of all nodes.
func (l *lab) exported() {
	l.t.Helper()
	storage := l.host("storage-0")
	v := l.volume()
	if v.Filesystem != "ext4" || v.MountedAt != "/volume-1" || l.World.Host(v.Machine) != storage {
		l.t.Errorf("%+v", v)
	}
	const want = "# Written by vnfkit: changes are lost.\n/volume-1/nfs/pv1 198.18.0.0/16(rw,sync,no_subtree_check,all_squash,mp=/volume-1)\n" +
		"/srv/pv2 198.18.0.0/16(rw,sync,no_subtree_check,all_squash)\n"
	text, err := afero.ReadFile(storage.FS(), "/etc/exports.d/vnfkit.exports")
	if diff := cmp.Diff(want, string(text)); diff != "" || err != nil {
		l.t.Errorf("%v\n%s", err, diff)
	}
	if diff := cmp.Diff("/volume-1/nfs/pv1 198.18.0.0/16\n/srv/pv2 198.18.0.0/16\n", l.runRoot(storage, "exportfs")); diff != "" {
		l.t.Errorf("exports:\n%s", diff)
	}
	for _, h := range l.World.Hosts() {
		if h != storage && !strings.Contains(l.runRoot(h, "mount.nfs", "-V"), "nfs-utils") {
			l.t.Errorf("%s cannot mount NFS", h.Name())
		}
		text, err := afero.ReadFile(h.FS(), "/etc/hosts")
		_, block, _ := strings.Cut(string(text), "# BEGIN vnfkit\n")
		block, _, _ = strings.Cut(block, "# END")
		known, nodes := map[string]bool{}, map[string]bool{}
		for line := range strings.Lines(block) {
			address, _, _ := strings.Cut(line, " ")
			known[address] = true
		}
		for _, n := range l.World.Nodes() {
			nodes[n.Address.String()] = true
		}
		if diff := cmp.Diff(nodes, known); diff != "" || err != nil {
			l.t.Errorf("%s knows other nodes than there are: %v\n%s", h.Name(), err, diff)
		}
	}
}

// runRoot runs a program on a machine and returns its output.
func (l *lab) runRoot(host *sshtest.Host, argv ...string) string {
	l.t.Helper()
	out, err := mgmttest.Run(l.t.Context(), host, sshexec.Command{Argv: argv, Root: true})
	if err != nil {
		l.t.Errorf("%s: %q: %v", host.Name(), argv, err)
	}
	return out
}

// claim creates a claim, which is bound to the first volume.
func (l *lab) claim(id string) {
	l.t.Helper()
	access, _ := l.Entry(kubeadm.VIMID(id))
	code, body, err := l.Ask(access, http.MethodPost, "/api/v1/namespaces/default/persistentvolumeclaims",
		`{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`)
	if code != http.StatusCreated || err != nil {
		l.t.Fatalf("%d %s %v", code, body, err)
	}
}

func (l *lab) unclaim(id string) {
	l.t.Helper()
	access, _ := l.Entry(kubeadm.VIMID(id))
	code, body, err := l.Ask(access, http.MethodDelete, "/api/v1/namespaces/default/persistentvolumeclaims/data", "")
	if code != http.StatusOK || err != nil {
		l.t.Fatalf("%d %s %v", code, body, err)
	}
}

// ran counts the runs of a program on a machine.
func ran(h *sshtest.Host, program string) (n int) {
	for _, r := range h.Commands() {
		if slices.Contains(r.Argv, program) {
			n++
		}
	}
	return n
}

func (l *lab) healed(id string, machines ...string) {
	l.t.Helper()
	l.Must(l.Heal(l.t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, machines...)}))
}

// TestStorage checks that every node can mount the exports of the storage server after every operation.
func TestStorage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ request, flavour string }{{"instantiate_sandbox.json", "complex"}, {"instantiate_script.json", "simple"}} {
		t.Run(c.request, func(t *testing.T) {
			t.Parallel()
			if c.request == "instantiate_script.json" {
				fulltest.SkipVariant(t)
			}
			ctx := t.Context()
			l := openLab(t, storageSetup(t))
			change := []mgmttest.Change{clustertest.Sized(c.flavour, 0), with(t, storageParams)}
			controlPlane := 1
			if c.flavour == "complex" {
				change, controlPlane = append(change, virtual(t)...), 3
			}
			id := l.Instantiated(c.request, change...)
			l.want(controlPlane, 1, 0)
			l.exported()
			server := "198.18.0.0"
			for _, cp := range l.resource(id, "storage-0").VnfcCpInfo {
				server = cp.CpProtocolInfo[0].IPOverEthernet.IPAddresses[0].Addresses[0]
			}
			want := []string{"nfs-pv1 " + server + " /volume-1/nfs/pv1 Available", "nfs-pv2 " + server + " /srv/pv2/of-it Available"}
			registered := func(want []string) {
				t.Helper()
				if diff := cmp.Diff(want, l.persistent(id)); diff != "" {
					t.Errorf("persistent volumes:\n%s", diff)
				}
			}
			registered(want)
			l.Must(l.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}))
			l.exported()
			l.healed(id, "workerNode-0")
			l.exported()
			if controlPlane > 1 {
				l.healed(id, "masterNode-1", "workerNode-1", "storage-0")
				l.exported()
				registered(want)
				// Healing a control-plane node updates the hosts file of the storage server, too.
				if err := afero.WriteFile(l.host("storage-0").FS(), "/etc/hosts", nil, 0o644); err != nil {
					t.Fatal(err)
				}
				l.healed(id, "masterNode-2")
				l.exported()
			}

			made := l.volume().UUID
			if err := l.World.Stop("storage-0"); err != nil {
				t.Fatal(err)
			}
			others := len(l.host("workerNode-0").Commands())
			l.healed(id, "storage-0")
			if len(l.host("workerNode-0").Commands()) != others {
				t.Error("a worker was touched")
			}
			l.exported()
			registered(want)
			if l.volume().UUID != made || ran(l.host("storage-0"), "mkfs.ext4") != 0 {
				t.Error("the volume was formatted again")
			}
			l.Must(l.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance"}))
			l.exported()
			l.claim(id)
			// Volumes in use block healing the storage server, but not healing other machines.
			l.Must(l.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{l.worker(id).ID}}))
			l.Must(l.Heal(ctx, id, wholeHeal))
			l.exported()
			registered(want)
			l.Must(l.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful}))
			if len(l.World.Hosts()) != 0 || len(l.World.Volumes()) != 0 {
				t.Errorf("left: %d machines, %+v", len(l.World.Hosts()), l.World.Volumes())
			}
		})
	}
}

// resource returns the instance's resource of a machine.
func (l *lab) resource(id, machine string) vnflcm.VnfcResourceInfo {
	l.t.Helper()
	for _, v := range l.VNFCs(id) {
		if l.World.Host(v.ComputeResource.ResourceID) == l.host(machine) {
			return v
		}
	}
	l.t.Fatalf("no %s", machine)
	return vnflcm.VnfcResourceInfo{}
}

// TestStorageInUse: a storage server whose volumes are bound is not healed, and nothing is changed. A retry succeeds after
// the volumes have been released.
func TestStorageInUse(t *testing.T) {
	t.Parallel()
	l := openLab(t, storageSetup(t))
	id := l.Instantiated("instantiate_sandbox.json", with(t, storageParams))
	l.claim(id)
	machine, before := l.host("storage-0"), l.persistent(id)
	op, err := l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "storage-0", "workerNode-0")})
	err = l.Fails(op, err)
	if !errors.Is(err, cluster.ErrVolumeBound) || !strings.Contains(err.Error(), "nfs-pv1 to default/data") || strings.Contains(err.Error(), "nfs-pv2") {
		t.Errorf("%v", err)
	}
	l.want(1, 1, 0)
	if diff := cmp.Diff(before, l.persistent(id)); diff != "" || l.host("storage-0") != machine {
		t.Errorf("it was touched:\n%s", diff)
	}
	l.unclaim(id)
	if err := l.Retry(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	l.Must(op, nil)
	l.exported()
	if diff := cmp.Diff(strings.ReplaceAll(strings.Join(before, "\n"), "Bound", "Available"), strings.Join(l.persistent(id), "\n")); diff != "" {
		t.Error(diff)
	}
}

// TestVolumeIsBoundMeanwhile: a claim that is created between the check and the removal keeps its volume.
func TestVolumeIsBoundMeanwhile(t *testing.T) {
	t.Parallel()
	l := openLab(t, storageSetup(t))
	id := l.Instantiated("instantiate_sandbox.json", with(t, storageParams))
	begun := false
	l.World.OnRequest(func(_, method, path string) {
		if method == http.MethodDelete && strings.Contains(path, "/persistentvolumes/") && !begun {
			begun = true
			l.claim(id)
		}
	})
	op, err := l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "storage-0")})
	if err := l.Fails(op, err); !errors.Is(err, cluster.ErrVolumeBound) {
		t.Errorf("%v", err)
	}
	l.World.OnRequest(nil)
	if got := l.persistent(id); !slices.ContainsFunc(got, func(v string) bool { return strings.HasPrefix(v, "nfs-pv1") && strings.HasSuffix(v, "Bound") }) {
		t.Errorf("%q", got)
	}
}

// TestForeignDisk checks that the driver never deletes data on a volume.
func TestForeignDisk(t *testing.T) {
	t.Parallel()
	for on, want := range map[string]string{"xfs": "holds xfs, no ext4", "gpt": "a table of partitions (gpt)"} {
		t.Run(on, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, storageSetup(t))
			id := l.Instantiated("instantiate_sandbox.json", with(t, storageParams))
			if err := l.World.FormatVolume(l.volume().ID, on); err != nil {
				t.Fatal(err)
			}
			if err := l.World.FormatVolume("none", on); err == nil {
				t.Error("there is no such volume")
			}
			was := l.volume().UUID
			op, err := l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "storage-0")})
			if err := l.Fails(op, err); !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
			if v := l.volume(); v.UUID != was || v.Filesystem != on || v.MountedAt != "" || ran(l.host("storage-0"), "mkfs.ext4") != 0 {
				t.Errorf("%+v", v)
			}
		})
	}
}

// TestStorageTrouble: problems that the parameters do not show are found on the machines.
func TestStorageTrouble(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ patch, want string }{
		"no such volume":     {`{"storage_server":{"cinder_volume_setup_params":[{"volume_resource_id":"other","mount_to":"/volume-1"}]}}`, `"other": the VNF has no volume of that name`},
		"nothing installed":  {`{"packages":{"source":"installed"}}`, "it lacks exportfs"},
		"another disk there": {`{"vim_name":"v"}`, "kubeadm: volume storage_volume: linux: something else than /dev/disk/by-id/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := storageSetup(t)
			if name == "another disk there" {
				s.sandbox.Commands = map[string]sshtest.Command{"findmnt": func(context.Context, *sshtest.Process) int { return 1 }}
			}
			l := openLab(t, s)
			_, op, err := l.Begin("instantiate_sandbox.json", with(t, storageParams), with(t, c.patch))
			if err := l.Fails(op, err); !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestVolumesOfOneName: of several volumes with the same name, the driver uses the one of the machine.
func TestVolumesOfOneName(t *testing.T) {
	t.Parallel()
	flavour := strings.Replace(clustertest.StorageFlavour(t, packageDir, "simple"), "    workerNode:\n      type: tosca.nodes.nfv.Vdu.Compute\n",
		"    workerNode:\n      type: tosca.nodes.nfv.Vdu.Compute\n      requirements:\n        - virtual_storage: storage_volume\n", 1)
	l := openLab(t, setup{pkg: packageWithStorage(t, map[string]string{"Definitions/k8s_cluster_df_simple.yaml": flavour})})
	l.Instantiated("instantiate_sandbox.json", with(t, storageParams))
	all := l.World.Volumes()
	for _, v := range all {
		if on := l.World.Host(v.Machine).Name(); (v.MountedAt == "/volume-1") != (on == "storage-0") {
			t.Errorf("%s: %+v", on, v)
		}
	}
	if len(all) != 2 {
		t.Errorf("%+v", all)
	}
}

// TestStorageCrash kills the process at every point of the steps that set up the storage server.
func TestStorageCrash(t *testing.T) {
	t.Parallel()
	labSetup := storageSetup(t)
	fresh := prepared{setup: &labSetup, check: (*lab).exported}
	l := openLab(t, labSetup)
	running := prepared{setup: &labSetup, check: (*lab).exported,
		instance: l.Instantiated("instantiate_sandbox.json", with(t, storageParams)), from: l.Snapshot()}
	var cases []crashCase
	for _, c := range []struct {
		scenario
		prepared
	}{
		{scenario{name: "instantiate", begin: func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error) {
			return m.Instantiate(ctx, id, l.Request("instantiate_sandbox.json", with(l.t, storageParams)))
		}}, fresh},
		{scenario{name: "heal", begin: func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error) {
			return m.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "storage-0")}) //nolint:contextcheck // reads the world only
		}}, running},
	} {
		steps, want := c.undisturbed(t, c.prepared)
		var cuts []cut
		cutSteps := 0
		for _, step := range steps {
			if !slices.Contains([]string{"nfs-server", "nfs-client", "persistent-volumes", "release-volumes", "replace-vm"}, strings.Split(step, "/")[1]) {
				continue
			}
			cutSteps++
			cuts = append(cuts, cutsAt(step, cutPointsOf(step))...)
		}
		if cutSteps < 4 {
			t.Errorf("%s: only %d steps are cut: %q", c.name, cutSteps, steps)
		}
		cases = append(cases, c.dying(c.prepared, cuts, want)...)
	}
	crash(t, cases)
}
