package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/e2e/kube"
	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// The versions that clusters are upgraded through, the newest last.
const (
	kube135 = "1.35.4"
	kube136 = "1.36.3"
	kube137 = "1.37.2"
)

// upgrades are built when the first test needs them.
var upgrades = sync.OnceValues(func() (kube.Upgrades, error) {
	return kube.BuildUpgrades(context.Background(), kube135, kube136, kube137)
})

// upgradeYard is a yard whose machines have the images of all versions, and get packages from a repository for each version, as from
// pkgs.k8s.io.
type upgradeYard struct {
	*yard
	virtual      netip.Addr        // of the API of the clusters with several control-plane nodes
	repositories map[string]string // address, by version
}

// newUpgradeYard makes machines with the packages of a version.
func newUpgradeYard(t *testing.T, from string, change func(*yard)) *upgradeYard {
	t.Helper()
	needPart(t, "kubeadm-upgrade")
	built, err := upgrades()
	must(t, err)
	u := &upgradeYard{virtual: site.network.Reserve(), repositories: map[string]string{}}
	for _, version := range []string{kube135, kube136, kube137} {
		u.repositories[version] = serveRepositories(t, built.Parts(version))
	}
	u.yard = yardOf(t, built.Parts(from), func(y *yard, spec *vmhost.Spec) {
		key := read(t, y.parts.Key())
		bare(y.parts, u.repositories[from], key, spec)
		spec.Tree, spec.Data = y.parts.NodeTree(), map[string]string{"/var/lib/containerd": built.Images()}
		y.packages = samplePackage(t, map[string][]byte{repositoryKey: key})
		y.infra.Shared = map[string]netip.Addr{"vip_CP": u.virtual}
		if change != nil {
			change(y)
		}
	})
	return u
}

const repositoryKey = "Files/repository.asc"

// source returns parameters that take packages of Kubernetes from the repository of a version.
func (u *upgradeYard) source(version string) string {
	text, err := json.Marshal(map[string]any{"k8s_cluster_installation_param": map[string]any{"kubernetes_version": version,
		"packages": map[string]any{"source": "repository", "repository_url": u.repositories[version] + "/kubernetes/", "repository_key_path": repositoryKey}}})
	must(u.t, err)
	return string(text)
}

// to returns a request to upgrade to a version.
func (u *upgradeYard) to(version string) vnflcm.MaintainVnfRequest {
	u.t.Helper()
	return vnflcm.MaintainVnfRequest{Task: vnflcm.Upgrade, AdditionalParams: u.laid(vnflcm.Params{}, u.source(version))}
}

// upgradePatience is the longest time of an upgrade, whose nodes share two cores.
const upgradePatience = 25 * time.Minute

// upgraded upgrades a cluster, and logs how long each node took.
func (u *upgradeYard) upgraded(id, version string) {
	u.t.Helper()
	begin := time.Now()
	op, err := u.Maintain(u.t.Context(), id, u.to(version))
	must(u.t, err)
	occ, err := u.Wait(within(u.t, upgradePatience), op)
	if err != nil {
		u.t.Fatalf("upgrade to %s: %v", version, err)
	}
	u.t.Logf("the upgrade to %s took %s, with the warnings %q\n%s", version, time.Since(begin).Round(time.Second), occ.Warnings, u.times(op))
	u.wantVersion(id, version)
}

// times lists the steps of an operation that took more than two seconds, and their sum, by host.
func (u *upgradeYard) times(op string) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	sums, steps := map[string]time.Duration{}, map[string][]string{}
	var hosts []string
	for _, e := range u.events {
		if e.OperationID != op || e.Kind != vnflcm.StepDone {
			continue
		}
		if !slices.Contains(hosts, e.Host) {
			hosts = append(hosts, e.Host)
		}
		sums[e.Host] += e.Duration
		if e.Duration > 2*time.Second {
			steps[e.Host] = append(steps[e.Host], fmt.Sprintf("%s %.0f s", e.Name, e.Duration.Seconds()))
		}
	}
	var out strings.Builder
	for _, host := range hosts {
		fmt.Fprintf(&out, "%s: %s: %s\n", host, sums[host].Round(time.Second), strings.Join(steps[host], ", "))
	}
	return out.String()
}

// etcdOf has the versions of etcd that kubeadm deploys.
var etcdOf = map[string]string{kube135: "3.6.6-0", kube136: "3.6.8-0", kube137: "3.7.0-0"}

// wantVersion checks that everything in the cluster has a version, and that no node is cordoned.
func (u *upgradeYard) wantVersion(id, version string) {
	u.t.Helper()
	for what, c := range map[string]struct{ want, got string }{
		"kubelets": {"v" + version, u.kubectl(id, "get", "nodes", "-o", `jsonpath={.items[*].status.nodeInfo.kubeletVersion}`)},
		"static pods": {"v" + version, u.kubectl(id, "get", "pods", "-n", "kube-system", "-l", "tier=control-plane,component!=etcd", "-o",
			`jsonpath={range .items[*]}{.spec.containers[0].image} {end}`)},
		"members of etcd": {etcdOf[version], u.kubectl(id, "get", "pods", "-n", "kube-system", "-l", "component=etcd", "-o",
			`jsonpath={range .items[*]}{.spec.containers[0].image} {end}`)},
		"kube-proxy":     {"v" + version, u.kubectl(id, "get", "daemonset", "-n", "kube-system", "kube-proxy", "-o", "jsonpath={.spec.template.spec.containers[0].image}")},
		"cordoned nodes": {"", u.kubectl(id, "get", "nodes", "--field-selector=spec.unschedulable=true", "-o", "name")},
	} {
		words := strings.Fields(c.got)
		for i := range words {
			words[i] = words[i][strings.LastIndex(words[i], ":")+1:]
		}
		slices.Sort(words)
		if diff := cmp.Diff(strings.Fields(c.want), slices.Compact(words)); diff != "" {
			u.t.Errorf("%s after the upgrade to %s:\n%s", what, version, diff)
		}
	}
	for _, m := range u.vnfcs(id, masterVDU) {
		if left, err := u.on(m, "find", "/etc/kubernetes/tmp", "-name", "kubeadm-backup-*"); err != nil || left != "" {
			u.t.Errorf("backups are left: %s, %v", left, err)
		}
	}
	u.kubectl(id, "rollout", "status", "-n", "kube-system", "daemonset/kube-proxy", "--timeout=50s")
	u.kubectl(id, "rollout", "status", "-n", "kube-system", "deployment/coredns", "--timeout=50s")
}

// TestKubeadmUpgradeOne upgrades a cluster of one control-plane node and one worker. Afterwards the cluster can be scaled.
func TestKubeadmUpgradeOne(t *testing.T) {
	u := newUpgradeYard(t, kube135, nil)
	ctx := t.Context()
	id, request := u.cluster("simple", u.source(kube135))
	u.must(u.Instantiate(ctx, id, request))
	u.wantNodes(id, 1, 1)
	u.upgraded(id, kube136)
	u.wantNodes(id, 1, 1)
	u.must(u.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}))
	u.wantNodes(id, 1, 2)
	u.wantVersion(id, kube136)
	u.must(u.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	u.gone(id)
}
