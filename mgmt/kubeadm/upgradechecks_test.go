package kubeadm_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// finding is something wrong in a cluster before an upgrade.
type finding struct {
	check   string
	setup   setup
	cluster []mgmttest.Change
	breaks  func(l *lab, id string)
	patch   string // of the request; default toNext
	want    string // part of the error
	not     string // no part of the error
	fatal   bool   // the upgrade fails also if the request passes over the check
	after   func(l *lab)
}

const toNewest = `{"kubernetes_version":"1.37.2"}`

func findings(t testing.TB) map[string]finding {
	t.Helper()
	ahead := func(_ context.Context, p *sshtest.Process) int { // the clocks of workers are ten minutes fast
		now := time.Now()
		if strings.HasPrefix(p.Host, "worker") {
			now = now.Add(10 * time.Minute)
		}
		_, _ = fmt.Fprintln(p.Stdout, now.Unix())
		return 0
	}
	full := func(_ context.Context, p *sshtest.Process) int {
		_, _ = fmt.Fprintln(p.Stdout, "Avail\n1048576")
		return 0
	}
	commands := func(name string, run sshtest.Command) setup {
		return setup{sandbox: sandbox.Config{Commands: map[string]sshtest.Command{name: run}}}
	}
	return map[string]finding{
		"version of an API": {check: "deprecated-apis", patch: toNewest, breaks: func(l *lab, id string) {
			l.send(id, http.MethodPost, "/apis/storage.k8s.io/v1beta1/volumeattributesclasses",
				`{"apiVersion":"storage.k8s.io/v1beta1","kind":"VolumeAttributesClass","metadata":{"name":"fast"},"driverName":"example.org"}`)
		}, want: "clients have used volumeattributesclasses.v1beta1.storage.k8s.io, which Kubernetes 1.37 does not serve"},
		"gate of the API server": {check: "settings", breaks: func(l *lab, id string) {
			l.configure(id, "apiServer: {extraArgs: [{name: feature-gates, value: 'SidecarContainers=true,MemoryManager=true'}]}")
		}, want: "the ConfigMap kubeadm-config: apiServer.extraArgs: --feature-gates: the feature gate MemoryManager does not exist since 1.36"},
		"gate of kubelets": {check: "settings", patch: toNewest, breaks: func(l *lab, id string) {
			l.send(id, http.MethodPost, configMaps, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"kubelet-config","namespace":"kube-system"},"data":{"kubelet":"featureGates: {SidecarContainers: true}"}}`)
		}, want: "the ConfigMap kubelet-config: featureGates: the feature gate SidecarContainers does not exist since 1.37"},
		"settings that cannot be read": {check: "settings", breaks: func(l *lab, id string) {
			l.send(id, http.MethodPost, configMaps, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"kube-proxy","namespace":"kube-system"},"data":{"config.conf":"featureGates: none"}}`)
		}, want: "the ConfigMap kube-proxy: yaml: "},
		"flag of a kubelet": {check: "settings", patch: toNewest, breaks: func(l *lab, _ string) {
			l.write(l.host("workerNode-0"), flagsFile, `KUBELET_KUBEADM_ARGS="--node-ip=1.2.3.4 --boot_id_file=/etc/id --v=2"`+"\n")
		}, want: flagsFile + " of workerNode-0", after: func(l *lab) {
			if got, want := l.file("workerNode-0", flagsFile), `KUBELET_KUBEADM_ARGS="--node-ip=1.2.3.4 --v=2"`+"\n"; got != want {
				l.t.Errorf("flags are %q, want %q", got, want)
			}
		}},
		"flag of an administrator": {check: "settings", patch: toNewest, breaks: func(l *lab, _ string) {
			l.write(l.host("masterNode-0"), "/etc/default/kubelet", "# of the administrator\n#A=--boot-id-file=/x\nKUBELET_EXTRA_ARGS=--v=2 --feature-gates RetryGenerateName=true --containerd=/run/c.sock\n")
		}, want: "/etc/default/kubelet of masterNode-0: --feature-gates: the feature gate RetryGenerateName does not exist since 1.37", not: "boot-id-file"},
		"clocks":       {check: "clocks", setup: commands("date", ahead), want: "s ahead of the clock of masterNode-0, at most 1m0s are accepted"},
		"certificates": {check: "certificates", setup: setup{driver: kubeadm.Config{ShortCertificates: true}}, cluster: []mgmttest.Change{with(t, `{"certificate_validity":"100h"}`)}, want: "renew the certificates first"},
		"containerd":   {check: "runtime", patch: `{"kubernetes_version":"1.38.0"}`, fatal: true, want: "containerd of workerNode-0: is too old for Kubernetes 1.38"},
		"packages":     {check: "packages", patch: `{"kubernetes_version":"1.38.0"}`, fatal: true, want: "Version '1.38.0-*' for 'kubelet' was not found"},
		"snapshot":     {check: "snapshot", setup: setup{snapshots: fullStorage(t, make(chan time.Time, 10))}, want: "no space left"},
		"disk":         {check: "disk", setup: commands("df", full), want: "masterNode-0 has 1 MiB free in /etc/kubernetes/, and /var/lib/etcd has 1 MiB: an upgrade copies it twice"},
		"gate of kubeadm": {check: "configuration", breaks: func(l *lab, id string) {
			l.configure(id, "featureGates: {ControlPlaneKubeletLocalMode: true}")
		}, want: "ControlPlaneKubeletLocalMode is not a valid feature name", fatal: true},
		"dry run": {check: "dry-run", breaks: func(l *lab, _ string) {
			if err := l.host("masterNode-0").FS().Remove(kubernetesDir + "manifests/kube-scheduler.yaml"); err != nil {
				l.t.Fatal(err)
			}
		}, want: "the manifest of kube-scheduler is missing", fatal: true},
		"image": {check: "images", setup: setup{sandbox: sandbox.Config{Missing: []string{"registry.k8s.io/kube-proxy:v1.36.3"}}}, want: "image registry.k8s.io/kube-proxy:v1.36.3: registry registry.k8s.io: "},
		"kubelets": {check: "skew", patch: `{"kubernetes_version":"1.39.0","upgrade":{"scope":"control-plane","through":["1.38.0"]}}`, fatal: true,
			want: "has 1.35.4, and may be at most 3 minor versions older than the API servers"},
		"API server": {check: "api-servers", breaks: func(l *lab, _ string) { l.stop("masterNode-1") }, cluster: append(virtual(t), clustertest.Sized("complex", 0)), fatal: true, want: "is not ready"},
		"member":     {check: "members", breaks: func(l *lab, _ string) { l.stop("masterNode-1") }, cluster: append(virtual(t), clustertest.Sized("complex", 0)), fatal: true, want: "is not healthy"},
		"node":       {check: "nodes", breaks: func(l *lab, _ string) { l.stop("workerNode-0") }, want: "is not Ready"},
	}
}

const (
	flagsFile  = "/var/lib/kubelet/kubeadm-flags.env"
	configMaps = "/api/v1/namespaces/kube-system/configmaps"
)

// TestUpgradeFindings breaks a cluster in each way that a check finds. The upgrade names the cause and changes nothing; a request that passes
// over the check warns of the same.
func TestUpgradeFindings(t *testing.T) {
	t.Parallel()
	for name, f := range findings(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, f.setup)
			id := l.Instantiated("instantiate_sandbox.json", append(slices.Clone(f.cluster), oldVersion(t), with(t, `{"preflight":{"pass_over":["clocks","disk"]}}`))...)
			if f.breaks != nil {
				f.breaks(l, id)
			}
			before, versions := l.changes(), l.versions()
			patch := cmp.Or(f.patch, toNext)
			opID, err := l.Maintain(t.Context(), id, upgrading(t, patch))
			err = l.Fails(opID, err)
			for _, want := range []string{"the check " + f.check + ": ", f.want} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in %v", want, err)
				}
			}
			if f.not != "" && strings.Contains(err.Error(), f.not) {
				t.Errorf("%q is in %v", f.not, err)
			}
			if diff := gocmp.Diff(before, slices.DeleteFunc(l.changes(), func(line string) bool {
				return strings.Contains(line, "--dry-run") || strings.Contains(line, "kubeadm=") && !strings.Contains(line, "kubelet=")
			})); diff != "" {
				t.Errorf("the machines have changed:\n%s", diff)
			}
			if diff := gocmp.Diff(versions, l.versions()); diff != "" {
				t.Errorf("versions have changed:\n%s", diff)
			}
			l.fails(opID)
			opID, err = l.Maintain(t.Context(), id, upgrading(t, passingOver(t, patch, f.check)))
			if _, err = l.End(opID, err); err != nil && !f.fatal {
				t.Fatal(err)
			}
			if !strings.Contains(l.Log(), "passed over by the request: "+f.check+": ") {
				t.Error("the log does not warn of the check")
			}
			if err == nil && f.after != nil {
				f.after(l)
			}
		})
	}
}

// TestUnreadableConfiguration: kubeadm cannot list images with a configuration that it refuses, which the check images reports.
func TestUnreadableConfiguration(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{})
	id := l.Instantiated("instantiate_sandbox.json", oldVersion(t))
	l.configure(id, "featureGates: {ControlPlaneKubeletLocalMode: true}")
	opID, err := l.Maintain(t.Context(), id, upgrading(t, `{"kubernetes_version":"1.36.3","upgrade":{"pass_over":["configuration","dry-run"]}}`))
	if err := l.Fails(opID, err); !strings.Contains(err.Error(), "the check images: ") {
		t.Errorf("%v", err)
	}
}

// TestClockOfHungMachine: a machine that does not finish a command does not keep an upgrade from comparing the other clocks.
func TestClockOfHungMachine(t *testing.T) {
	t.Parallel()
	hangs := func(ctx context.Context, p *sshtest.Process) int {
		if strings.HasPrefix(p.Host, "worker") {
			<-ctx.Done()
		}
		_, _ = fmt.Fprintln(p.Stdout, time.Now().Unix())
		return 0
	}
	l := openLab(t, setup{sandbox: sandbox.Config{Commands: map[string]sshtest.Command{"date": hangs}}})
	id := l.Instantiated("instantiate_sandbox.json", oldVersion(t))
	l.upgrade(id, toNext)
}

// TestAfterRefusedUpgrade: an upgrade that kubeadm of the new version has refused leaves a cluster that can be scaled and healed in its version.
func TestAfterRefusedUpgrade(t *testing.T) {
	t.Parallel()
	l, id := ofThree(t, setup{sandbox: sandbox.Config{Missing: []string{"registry.k8s.io/etcd:3.6.8-0"}}})
	opID, err := l.Maintain(t.Context(), id, upgrading(t, toNext))
	if err := l.Fails(opID, err); strings.Count(err.Error(), "the check images: image registry.k8s.io/etcd:3.6.8-0") != 3 {
		t.Errorf("not one finding for each control-plane node: %v", err)
	}
	l.fails(opID)
	l.Must(l.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}))
	l.stop("masterNode-1")
	l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "masterNode-1")}))
	l.wantVersions(all(3, 3, "1.35.4", "3.6.6"))
}

// passingOver adds a check to the request of an upgrade.
func passingOver(t testing.TB, patch, check string) string {
	t.Helper()
	var request map[string]any
	if err := json.Unmarshal([]byte(patch), &request); err != nil {
		t.Fatal(err)
	}
	how, _ := request["upgrade"].(map[string]any)
	if how == nil {
		how = map[string]any{}
	}
	how["pass_over"] = []string{check}
	request["upgrade"] = how
	text, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// wantDocumented compares the names of checks with the first column of the table in a section of the guide, and returns the names in order.
func wantDocumented(t *testing.T, section string, checks []string) []string {
	t.Helper()
	guide, err := os.ReadFile("../../docs/kubeadm.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(guide), "\n"+section+"\n")
	text, _, _ = strings.Cut(text, "\n#")
	var documented []string
	for _, match := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllStringSubmatch(text, -1) {
		documented = append(documented, match[1])
	}
	want := slices.Sorted(slices.Values(checks))
	slices.Sort(documented)
	if diff := gocmp.Diff(want, documented); diff != "" {
		t.Errorf("the guide:\n%s", diff)
	}
	return want
}

// TestUpgradeChecksNamed: the guide has exactly the checks that exist, and each has a finding in the test above.
func TestUpgradeChecksNamed(t *testing.T) {
	t.Parallel()
	want := wantDocumented(t, "### Checks before an upgrade", kubeadm.UpgradeChecks)
	broken := map[string]bool{}
	for _, f := range findings(t) {
		broken[f.check] = true
	}
	if diff := gocmp.Diff(want, slices.Sorted(maps.Keys(broken))); diff != "" {
		t.Errorf("findings:\n%s", diff)
	}
}

// send sends a request to the API of the cluster of a VNF instance.
func (l *lab) send(id, method, path, body string) []byte {
	l.t.Helper()
	entry, _ := l.Entry(kubeadm.VIMID(id))
	code, answer, err := l.Ask(entry, method, path, body)
	if err != nil || code >= http.StatusMultipleChoices {
		l.t.Fatalf("%s %s: %d %s, %v", method, path, code, answer, err)
	}
	return answer
}

// configure sets fields of the ClusterConfiguration of a cluster.
func (l *lab) configure(id, fields string) {
	l.t.Helper()
	const path = configMaps + "/kubeadm-config"
	var object map[string]any
	if err := json.Unmarshal(l.send(id, http.MethodGet, path, ""), &object); err != nil {
		l.t.Fatal(err)
	}
	data, _ := object["data"].(map[string]any)
	var configuration map[string]any
	err := errors.Join(yaml.Unmarshal([]byte(fmt.Sprint(data["ClusterConfiguration"])), &configuration), yaml.Unmarshal([]byte(fields), &configuration))
	if err != nil {
		l.t.Fatal(err)
	}
	text, err := yaml.Marshal(configuration)
	if err != nil {
		l.t.Fatal(err)
	}
	data["ClusterConfiguration"] = string(text)
	if text, err = json.Marshal(object); err != nil {
		l.t.Fatal(err)
	}
	l.send(id, http.MethodPut, path, string(text))
}
