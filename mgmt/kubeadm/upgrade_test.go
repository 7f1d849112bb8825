package kubeadm_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/etcd"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// upgrading returns a request to upgrade the cluster.
func upgrading(t testing.TB, patch string) vnflcm.MaintainVnfRequest {
	t.Helper()
	return vnflcm.MaintainVnfRequest{Task: vnflcm.Upgrade, AdditionalParams: params(t, patch)}
}

// oldVersion lets a cluster begin with the minor version before the default.
func oldVersion(t testing.TB) mgmttest.Change {
	t.Helper()
	return with(t, `{"kubernetes_version":"1.35.4"}`)
}

func upgradesTo(patch string) func(*lab, string) any {
	return func(l *lab, _ string) any { return upgrading(l.t, patch) }
}

// upgrade upgrades the cluster and returns the operation.
func (l *lab) upgrade(id, patch string) *vnflcm.VnfLcmOpOcc {
	l.t.Helper()
	opID, err := l.Maintain(l.t.Context(), id, upgrading(l.t, patch))
	occ, err := l.End(opID, err)
	if err != nil {
		l.t.Fatal(err)
	}
	return occ
}

// versions returns the versions on the nodes, "machine: kubelet, API server, etcd", by the names of the machines.
func (l *lab) versions() (out []string) {
	l.t.Helper()
	etcd := map[string]string{}
	for _, m := range l.World.EtcdMembers() {
		etcd[m.Machine] = m.Version
	}
	for _, n := range l.World.Nodes() {
		text := l.World.Host(n.Machine).Name() + ": " + n.Kubelet
		if n.ControlPlane {
			text += ", " + n.APIServer + ", " + etcd[n.Machine]
		}
		if n.Unschedulable {
			text += ", cordoned"
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}

// all returns what versions returns if every machine has the same versions.
func all(controlPlane, workers int, kubernetes, etcd string) (out []string) {
	for i := range controlPlane {
		out = append(out, fmt.Sprintf("masterNode-%d: %s, %s, %s", i, kubernetes, kubernetes, etcd))
	}
	for i := range workers {
		out = append(out, fmt.Sprintf("workerNode-%d: %s", i, kubernetes))
	}
	slices.Sort(out)
	return out
}

func (l *lab) wantVersions(want []string) {
	l.t.Helper()
	if diff := cmp.Diff(want, l.versions()); diff != "" {
		l.t.Errorf("versions:\n%s", diff)
	}
}

// TestUpgrade: an upgrade over two minor versions leads through the one in between, and the next node has the version.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		setup        setup
		cluster      []mgmttest.Change
		controlPlane int
	}{
		"virtual address": {setup{}, append(virtual(t), clustertest.Sized("complex", 1)), 3},
		"load balancer":   {setup{pkg: balancerPackage}, behind(t, "complex", 1), 3},
		"one node":        {setup{}, []mgmttest.Change{clustertest.Sized("simple", 1)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, c.setup)
			id := l.Instantiated("instantiate_sandbox.json", append(c.cluster, oldVersion(t))...)
			l.wantVersions(all(c.controlPlane, 2, "1.35.4", "3.6.6"))
			occ := l.upgrade(id, `{"kubernetes_version":"1.37.2"}`)
			if occ.Operation != vnflcm.OpModifyInfo || occ.OperationState != vnflcm.Completed {
				t.Errorf("the operation is %+v", occ)
			}
			l.wantVersions(all(c.controlPlane, 2, "1.37.2", "3.7.0"))
			l.wantCount(occ.ID, vnflcm.MachineCount{Done: c.controlPlane + 2})
			l.Must(l.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}))
			l.wantVersions(all(c.controlPlane, 3, "1.37.2", "3.7.0"))
			if _, err := etcd.TestRestore(t.Context(), strings.NewReader(l.file("masterNode-0", "/var/lib/vnfkit/etcd-before-1.36.3.db")), t.TempDir()); err != nil {
				t.Errorf("the snapshot of etcd: %v", err)
			}
			if !strings.Contains(l.Log(), "has containerd 1, which is supported up to Kubernetes 1.35") {
				t.Error("the log does not warn of containerd 1")
			}
		})
	}
}

// TestUpgradeOfParts: the control plane alone, then one node, then the rest.
func TestUpgradeOfParts(t *testing.T) {
	t.Parallel()
	l, id := ofThree(t, setup{})
	occ := l.upgrade(id, `{"kubernetes_version":"1.36.3","upgrade":{"scope":"control-plane"}}`)
	l.wantCount(occ.ID, vnflcm.MachineCount{Done: 3})
	var want []string
	for i := range 3 {
		want = append(want, fmt.Sprintf("masterNode-%d: 1.35.4, 1.36.3, 3.6.8", i))
	}
	l.wantVersions(append(want, "workerNode-0: 1.35.4", "workerNode-1: 1.35.4"))
	l.upgrade(id, `{"kubernetes_version":"1.36.3","upgrade":{"nodes":["workerNode-1"]}}`)
	l.wantVersions(append(want, "workerNode-0: 1.35.4", "workerNode-1: 1.36.3"))
	l.upgrade(id, fmt.Sprintf(`{"kubernetes_version":"1.36.3","upgrade":{"nodes":[%q,%q]}}`, l.vnfcs(id, "masterNode-1")[0], l.nodeOn("masterNode-2")))
	l.wantVersions([]string{want[0], "masterNode-1: 1.36.3, 1.36.3, 3.6.8", "masterNode-2: 1.36.3, 1.36.3, 3.6.8", "workerNode-0: 1.35.4", "workerNode-1: 1.36.3"})
	l.upgrade(id, `{"kubernetes_version":"1.36.3","upgrade":{"scope":"nodes"}}`)
	l.wantVersions(all(3, 2, "1.36.3", "3.6.8"))
}

// nodeOn returns the name of the node on a machine.
func (l *lab) nodeOn(machine string) string {
	l.t.Helper()
	for _, n := range l.World.Nodes() {
		if l.World.Host(n.Machine).Name() == machine {
			return n.Name
		}
	}
	l.t.Fatalf("%s is no node", machine)
	return ""
}

// TestUpgradeOfRuntime: a request for a version of containerd replaces it on one drained node after the other, also without another version of
// Kubernetes.
func TestUpgradeOfRuntime(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{})
	id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 1), oldVersion(t))
	l.upgrade(id, `{"kubernetes_version":"1.35.4","packages":{"containerd_version":"1.6.*"}}`)
	l.wantVersions(all(1, 2, "1.35.4", "3.6.6"))
	for _, name := range []string{"masterNode-0", "workerNode-0", "workerNode-1"} {
		var installed []string
		for _, argv := range l.ran(name, "apt-get") {
			if slices.Contains(argv, "containerd=1.6.*") && !slices.Contains(argv, "--simulate") {
				installed = append(installed, strings.Join(argv[slices.Index(argv, "--allow-downgrades")+1:], " "))
			}
		}
		if diff := cmp.Diff([]string{"kubelet=1.35.4-* containerd=1.6.*"}, installed); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// TestUpgradeOfPatch: a newer patch release takes the same way, and etcd stays.
func TestUpgradeOfPatch(t *testing.T) {
	t.Parallel()
	l, id := ofThree(t, setup{})
	l.upgrade(id, `{"kubernetes_version":"1.35.6"}`)
	l.wantVersions(all(3, 2, "1.35.6", "3.6.6"))
	opID, err := l.Maintain(t.Context(), id, upgrading(t, `{"kubernetes_version":"1.35.4"}`))
	if err == nil || !strings.Contains(err.Error(), "is older than 1.35.6, which the cluster has") {
		t.Errorf("operation %q, %v", opID, err)
	}
}

// TestUpgradeForeignNetwork: a pod network of the package stays, with a warning, unless the request gives a manifest.
func TestUpgradeForeignNetwork(t *testing.T) {
	t.Parallel()
	const manifest, warning = `{"cni_manifest_path":"Files/kubernetes/cni.yaml","kubernetes_version":"1.35.4"}`, "the pod network of Files/kubernetes/cni.yaml stays as it is"
	cni := "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: cni, namespace: kube-system}\n" +
		"spec: {selector: {matchLabels: {app: cni}}, template: {metadata: {labels: {app: cni}}, spec: {containers: [{name: cni, image: cni}]}}}\n"
	l := openLab(t, setup{pkg: mgmttest.Package(t, packageDir, map[string]string{"Files/kubernetes/cni.yaml": cni})})
	id := l.Instantiated("instantiate_sandbox.json", with(t, manifest))
	occ := l.upgrade(id, `{"kubernetes_version":"1.35.6","cni_manifest_path":"Files/kubernetes/cni.yaml"}`)
	if strings.Contains(strings.Join(occ.Warnings, "\n"), warning) {
		t.Errorf("warnings of an upgrade with a manifest: %q", occ.Warnings)
	}
	occ = l.upgrade(id, toNext)
	if !strings.Contains(strings.Join(occ.Warnings, "\n"), warning) {
		t.Errorf("warnings: %q", occ.Warnings)
	}
}

// TestUpgradeByProperty: a modification of the property kubernetes_version upgrades the cluster.
func TestUpgradeByProperty(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{})
	id := l.Instantiated("instantiate_sandbox.json", oldVersion(t))
	version := func(text string) vnflcm.VnfInfoModificationRequest {
		properties, err := vnflcm.ParseParams([]byte(`{"kubernetes_version":` + text + `}`))
		if err != nil {
			t.Fatal(err)
		}
		return vnflcm.VnfInfoModificationRequest{VnfConfigurableProperties: properties}
	}
	for text, want := range map[string]string{`"1.34.4"`: "is older than 1.35.4", `["1.36.3"]`: "vnfConfigurableProperties.kubernetes_version"} {
		if _, err := l.Modify(t.Context(), id, version(text), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	modification, err := l.Preview(t.Context(), id, version(`"1.36.3"`))
	task, errTask := l.Preview(t.Context(), id, upgrading(t, toNext))
	if err := errors.Join(err, errTask); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(task.String(), modification.String()); diff != "" || !strings.Contains(task.String(), "uncordon-1.36.3") {
		t.Errorf("the preview of the modification:\n%s", diff)
	}
	l.Must(l.Modify(t.Context(), id, version(`"1.36.3"`), ""))
	l.wantVersions(all(1, 1, "1.36.3", "3.6.8"))
	inst, err := l.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := vnflcm.RevealJSON(inst.VnfConfigurableProperties); err != nil || !strings.Contains(string(text), "kubernetes_version") {
		t.Errorf("properties %s, %v", text, err)
	}
}

// TestUpgradedByHand: a cluster that an administrator has upgraded keeps its version, and the next upgrade begins with it.
func TestUpgradedByHand(t *testing.T) {
	t.Parallel()
	l, id := ofThree(t, setup{})
	l.upgrade(id, toNext)
	for _, r := range l.Records("state") { // as if the driver had not done it
		if r.ID == id+"/upgraded" {
			if err := l.Store.Apply(t.Context(), store.Batch{Delete: []store.Record{r}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	opID, err := l.Maintain(t.Context(), id, upgrading(t, `{"kubernetes_version":"1.35.6"}`))
	if err := l.Fails(opID, err); !strings.Contains(err.Error(), "the cluster has Kubernetes 1.36.3, which cannot be downgraded to 1.35.6") {
		t.Errorf("%v", err)
	}
	l.fails(opID)
	l.Must(l.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}))
	l.wantVersions(all(3, 3, "1.36.3", "3.6.8"))
	l.stop("masterNode-1", "workerNode-0")
	l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "masterNode-1", "workerNode-0")}))
	l.wantVersions(all(3, 3, "1.36.3", "3.6.8"))
	l.upgrade(id, `{"kubernetes_version":"1.37.2"}`)
	l.wantVersions(all(3, 3, "1.37.2", "3.7.0"))
}
