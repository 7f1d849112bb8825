package kubeadm_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/crashtest"
)

// newVNFD is the VNFD of the second version of the sample package.
const newVNFD = "6a1c2f0e-1d6e-4f4e-9a3c-0d5b6a7c8ea1"

// secondPackage returns a package like the one in dir, with another VNFD, another image for these VDUs, and replacements.
func secondPackage(t testing.TB, dir string, vdus []string, oldnew ...string) string {
	t.Helper()
	files := map[string]string{}
	paths, err := filepath.Glob(dir + "/Definitions/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	oldnew = append(oldnew, "6a1c2f0e-1d6e-4f4e-9a3c-0d5b6a7c8ea0", newVNFD, "1b7a4b52-4c1f-4f0e-8c43-6f2e1a9d5c70", newVNFD)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		template := "" // in which a line is
		var changed strings.Builder
		for line := range strings.Lines(string(text)) {
			if name := templateLine.FindStringSubmatch(line); name != nil {
				template = name[1]
			}
			if slices.Contains(vdus, template) {
				line = strings.Replace(line, "version: '24.04'", "version: '26.04'", 1)
			}
			changed.WriteString(line)
		}
		files["Definitions/"+filepath.Base(path)] = strings.NewReplacer(oldnew...).Replace(changed.String())
	}
	return mgmttest.Package(t, dir, files)
}

var (
	templateLine = regexp.MustCompile(`^    (\w+):\n`)
	everyNode    = []string{"masterNode", "workerNode", "externalLB"}
)

// changing returns a request to change to the second version, with additionalParams as JSON.
func changing(t testing.TB, additional string) vnflcm.ChangeCurrentVnfPkgRequest {
	t.Helper()
	p, err := vnflcm.ParseParams([]byte(additional))
	if err != nil {
		t.Fatal(err)
	}
	return vnflcm.ChangeCurrentVnfPkgRequest{VnfdID: newVNFD, AdditionalParams: p}
}

// changesPackage returns a request to change every machine to the second version of the package.
func changesPackage(additional string) func(*lab, string) any {
	return func(l *lab, _ string) any {
		l.Onboard(secondPackage(l.t, l.Package, everyNode))
		return changing(l.t, additional)
	}
}

// rebuilding is a world whose machines keep their resource ids.
var rebuilding = sandbox.Config{Takes: takes, Rebuild: true}

// keys returns the host keys of the machines by name.
func (l *lab) keys() map[string]string {
	out := map[string]string{}
	for _, h := range l.World.Hosts() {
		out[h.Name()] = h.PublicKey()
	}
	return out
}

// changedMachines returns the names of machines whose disks are other ones than in before.
func (l *lab) changedMachines(before map[string]string) (out []string) {
	for name, key := range l.keys() {
		if before[name] != key {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// TestChangePackage gives every machine of a cluster another image while the cluster runs.
func TestChangePackage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		setup   setup
		cluster []mgmttest.Change
		request string
	}{
		{name: "three control-plane nodes at a virtual address", setup: setup{sandbox: rebuilding}, cluster: append(virtual(t), clustertest.Sized("complex", 1)), request: `{}`},
		{name: "replaced machines", setup: setup{sandbox: sandbox.Config{Takes: takes}}, cluster: append(virtual(t), clustertest.Sized("complex", 1)), request: `{"max_unavailable": 2}`},
		{name: "behind a load balancer", setup: setup{sandbox: rebuilding, pkg: balancerPackage}, cluster: behind(t, "complex", 0), request: `{}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, c.setup)
			id := l.Instantiated("instantiate_sandbox.json", c.cluster...)
			l.RunStatefulSet(kubeadm.VIMID(id), 1)
			l.Onboard(secondPackage(t, l.Package, everyNode))
			before, keys := l.outcome(id), l.keys()
			opID, err := l.ChangeVnfPkg(t.Context(), id, changing(t, c.request))
			l.Must(opID, err)
			if diff := cmp.Diff(before, l.outcome(id)); diff != "" {
				t.Errorf("another end than before:\n%s", diff)
			}
			if n := len(l.changedMachines(keys)); n != len(keys) {
				t.Errorf("%d of %d machines have another disk", n, len(keys))
			}
			l.WantStatefulSet(kubeadm.VIMID(id), 1)
			if inst, err := l.Get(t.Context(), id); err != nil || inst.VnfdID != newVNFD {
				t.Errorf("%+v, %v", inst, err)
			}
		})
	}
}

// TestUserOfImage changes to an image with another user: machines of both packages are logged in to during the change, when it is rolled back and
// when a mixed VNF is healed.
func TestUserOfImage(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{sandbox: sandbox.Config{Rebuild: true, Users: map[string]string{newVNFD: "debian"}}})
	id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 1))
	l.Onboard(secondPackage(t, packageDir, []string{"workerNode"}))
	request := func(pause string) vnflcm.ChangeCurrentVnfPkgRequest {
		return changing(t, `{"pause_after": `+pause+`, "`+param+`": {"worker_node": {"username": "debian"}}}`)
	}
	opID, err := l.ChangeVnfPkg(t.Context(), id, request("1"))
	l.Fails(opID, err)
	l.RollBack(opID)
	opID, err = l.ChangeVnfPkg(t.Context(), id, request("1"))
	l.Fails(opID, err)
	if err := l.Fail(t.Context(), opID); err != nil {
		t.Fatal(err)
	}
	for _, worker := range []string{"workerNode-0", "workerNode-1"} {
		l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, worker)}))
	}
	l.Must(l.ChangeVnfPkg(t.Context(), id, request("0")))
	l.want(1, 2, 0)
	l.Must(l.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}))
	l.want(1, 3, 0)
}

// TestChangeOfSize adds, removes and resizes workers by a change of the package: nodes join, leave and are drained as in other operations.
func TestChangeOfSize(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{sandbox: rebuilding})
	id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 1))
	from := l.Snapshot()
	const numbers = "initial_delta:\n            number_of_instances: 1\n        targets: [ workerNode ]"
	for _, c := range []struct {
		name    string
		changed []string
		request string
		workers int
		drained []string
	}{
		{"one more", []string{numbers, strings.Replace(numbers, ": 1", ": 2", 1)}, `{}`, 3, nil},
		{"larger machines", []string{"m1.medium", "m1.large"}, `{}`, 2, []string{"workerNode-0", "workerNode-1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{from: from})
			l.Onboard(secondPackage(t, packageDir, nil, c.changed...))
			keys := l.keys()
			recorded := new(crashtest.Steps)
			m := l.Process(recorded.Record)
			opID, err := m.ChangeVnfPkg(t.Context(), id, changing(t, c.request))
			l.Must(opID, err, m)
			l.want(1, c.workers, 0)
			var drained []string
			for _, s := range recorded.List() {
				if s.Name == "drain" {
					drained = append(drained, l.NameOf(s.On))
				}
			}
			if diff := cmp.Diff(c.drained, drained); diff != "" {
				t.Errorf("drained:\n%s", diff)
			}
			for name, key := range keys {
				if h := l.World.Host(name); h != nil && h.PublicKey() != key {
					t.Errorf("%s has another disk", name)
				}
			}
		})
	}
}

// TestChangeRefused reports before anything is touched what a running cluster would lose, or cannot do.
func TestChangeRefused(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{sandbox: rebuilding})
	one := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 0))
	three := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("complex", 0))
	second := secondPackage(t, packageDir, everyNode)
	workers := secondPackage(t, packageDir, []string{"workerNode"})
	more := secondPackage(t, packageDir, nil, "number_of_instances: 3", "number_of_instances: 4")
	cluster := func(patch string) string { return `{"` + param + `":` + patch + `}` }
	const at = "additionalParams." + param + "."
	for _, c := range []struct{ name, id, pkg, additional, want string }{
		{"the only control-plane node", one, second, `{}`, "additionalParams.allow_data_loss: must name masterNode: the change ends the cluster: its data is on its only control-plane node masterNode-0"},
		{"the address of the API", three, second, `{}`, "masterNode-0 has the address of the API"},
		{"one more control-plane node", three, more, `{}`, "masterNode-3 is ADDED by the change: the numbers of control-plane nodes"},
		{"the version", one, workers, cluster(`{"kubernetes_version":"1.37.2"}`), at + "kubernetes_version: has no effect on a running cluster in a change of the package: request the maintenance task upgrade"},
		{"the pod network", one, workers, cluster(`{"cni_manifest_path":"Files/other.yaml"}`), at + "cni_manifest_path: has no effect"},
		{"the networks", one, workers, cluster(`{"master_node":{"pod_cidr":"10.0.0.0/16"}}`), at + "master_node.pod_cidr: has no effect on a running cluster in a change of the package: instantiate another VNF with it"},
		{"labels", one, workers, cluster(`{"worker_node":{"labels":{"a":"b"}}}`), at + "worker_node.labels: has no effect on a running cluster in a change of the package: use kubectl label"},
		{"packages", one, workers, cluster(`{"packages":{"containerd_version":"1.7"}}`), at + "packages.containerd_version: has no effect"},
	} {
		l.Onboard(c.pkg)
		stored := l.Stored()
		_, err := l.ChangeVnfPkg(t.Context(), c.id, changing(t, c.additional))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
		if l.Stored() != stored {
			t.Errorf("%s: the refusal has stored something", c.name)
		}
	}
	r := changing(t, cluster(`{"drain_policy":"Continue","cni_manifest_path":"Files/kubernetes/cni.yaml"}`))
	l.Onboard(workers)
	if _, err := l.Preview(t.Context(), one, r); err != nil {
		t.Errorf("parameters that have an effect, and the ones of the cluster: %v", err)
	}
	r.VnfConfigurableProperties = params(t, `{}`)
	var err error
	if r.VnfConfigurableProperties, err = vnflcm.ParseParams([]byte(`{"kubernetes_version":"1.37.2"}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Preview(t.Context(), one, r); err == nil || !strings.Contains(err.Error(), "vnfConfigurableProperties.kubernetes_version: \"1.37.2\": starts an upgrade") {
		t.Errorf("the property of an upgrade: error %v", err)
	}
}

// TestLocalVolumes names the persistent volumes on the disk of a worker as data that ends, and those of hostPath on each node: a change of the
// package needs consent, heals and a scale-in have warnings.
func TestLocalVolumes(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{sandbox: rebuilding})
	id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 1))
	entry, _ := l.Entry(kubeadm.VIMID(id))
	host := ""
	for _, n := range l.World.Nodes() {
		if l.World.Host(n.Machine).Name() == "workerNode-1" {
			host = n.Name
		}
	}
	onHost := `"local": {"path": "/data"}, "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["` + host + `"]}]}]}}`
	used := `"claimRef": {"namespace": "default", "name": "db"}`
	for name, spec := range map[string]string{"local-1": onHost + `, ` + used, "host-path": `"hostPath": {"path": "/var/data"}, ` + used,
		"unused": onHost, "nfs": `"nfs": {"server": "198.18.9.9", "path": "/"}, ` + used} {
		code, body, err := l.Ask(entry, http.MethodPost, "/api/v1/persistentvolumes", `{"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "`+name+`"},
			"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], `+spec+`}}`)
		if err != nil || code != http.StatusCreated {
			t.Fatalf("%d %s %v", code, body, err)
		}
	}
	l.Onboard(secondPackage(t, packageDir, []string{"workerNode"}))
	_, err := l.ChangeVnfPkg(t.Context(), id, changing(t, `{}`))
	const want = "must name workerNode: the change ends the local volumes of the node of workerNode-1, with PersistentVolume host-path of the claim default/db, PersistentVolume local-1 of the claim default/db"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	preview, err := l.Preview(t.Context(), id, changing(t, `{"allow_data_loss":["workerNode"]}`))
	if err != nil || len(preview.Package.Losses) != 2 {
		t.Errorf("preview %+v, %v", preview, err)
	}

	const onEach = "the local volumes of the node of %s end with the machine: PersistentVolume host-path of the claim default/db"
	all := fmt.Sprintf(onEach, "masterNode-0") + "\n" + fmt.Sprintf(onEach, "workerNode-0") + "\n" + fmt.Sprintf(onEach, "workerNode-1") + ", PersistentVolume local-1 of the claim default/db"
	for _, c := range []struct {
		request any
		want    string
	}{
		{wholeHeal, all},
		{vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn, AspectID: "worker_instance"}, fmt.Sprintf(onEach, "workerNode-1") + ", PersistentVolume local-1 of the claim default/db"},
		{vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "workerNode-0")}, fmt.Sprintf(onEach, "workerNode-0")},
	} {
		preview, err := l.Preview(t.Context(), id, c.request)
		if err != nil {
			t.Fatalf("%+v: %v", c.request, err)
		}
		if got := strings.Join(preview.Losses, "\n"); got != c.want {
			t.Errorf("%+v: preview %s, want %s", c.request, got, c.want)
		}
		if c.want == all {
			continue // the other operations run
		}
		opID, err := l.Start(l.Manager, id, c.request)
		l.Must(opID, err)
		if got := l.warnings(opID); !strings.Contains(got, c.want) {
			t.Errorf("%+v: warnings %s, want %s", c.request, got, c.want)
		}
	}
}

// TestChangeOnlyControlPlaneNode rebuilds the only control-plane node when the request allows it: a new cluster runs on the machines.
func TestChangeOnlyControlPlaneNode(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 1))
	before, first := l.outcome(id), l.clusterCA(id)
	l.Onboard(secondPackage(t, packageDir, everyNode))
	opID, err := l.ChangeVnfPkg(t.Context(), id, changing(t, `{"allow_data_loss":["masterNode"]}`))
	l.Must(opID, err)
	if diff := cmp.Diff(before, l.outcome(id)); diff != "" {
		t.Errorf("another end than before:\n%s", diff)
	}
	if l.clusterCA(id) == first {
		t.Error("the VIM entry has the CA of the former cluster")
	}
	l.RunStatefulSet(kubeadm.VIMID(id), 2)
}

// clusterCA returns the CA of the VIM entry.
func (l *lab) clusterCA(id string) string {
	l.t.Helper()
	entry, _ := l.Entry(kubeadm.VIMID(id))
	return entry.CA
}
