package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/internal/e2e/kube"
	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/internal/e2e/vminfra"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

// TestAllInOne is the scenario with machines that the tests' own infrastructure driver makes.
func TestAllInOne(t *testing.T) {
	y := allYard(t, needParts(t, "all"), nil)
	y.allInOne(ownVMs{y})
}

// allYard is a yard for a registry, a cluster and a CNF. There may be more infrastructure drivers, by vimType.
func allYard(t *testing.T, parts kube.Parts, more map[string]vnflcm.InfraDriver) *yard {
	t.Helper()
	y := registryYardOf(t, parts, func(y *yard, spec *vmhost.Spec) {
		spec.Tree, spec.Files = y.parts.NodeTree(), nil
		y.others[cnfVNFD] = cnfDir(t)
		driver := kubernetes.New(kubernetes.Config{Allow: outbound.AllowAny, Dir: t.TempDir(), Helm: helmInProcess, Ready: 5 * time.Minute, Gone: 5 * time.Minute})
		y.drivers = map[string]vnflcm.InfraDriver{kubernetes.VimTypeV1: driver, kubernetes.VimTypeV2: driver, kubernetes.VimTypeHelm: driver}
		maps.Copy(y.drivers, more)
	})
	y.machines.Change = func(m vminfra.Machine, spec *vmhost.Spec) {
		if !strings.Contains(strings.ToLower(m.VDU), "registry") { // OpenStack tells no VDU, but the name of the server
			spec.Data = map[string]string{"/var/lib/containerd": y.parts.Images()}
		}
	}
	return y
}

// vms is where the machines of VNFs come from.
type vms interface {
	// place changes a request so that the machines are made there.
	place(r *vnflcm.InstantiateVnfRequest)
	// count is how many machines these instances have, or all that there are.
	count(instances ...string) int
}

// ownVMs are those of package vminfra.
type ownVMs struct{ *yard }

func (ownVMs) place(*vnflcm.InstantiateVnfRequest) {}

func (y ownVMs) count(instances ...string) (n int) {
	y.t.Helper()
	for _, id := range instances {
		list, err := y.machines.Machines(y.t.Context(), id)
		must(y.t, err)
		n += len(list)
	}
	return n
}

// allInOne: three VNFs of one Manager. A registry VNF has an image, a cluster VNF is connected to it, and a CNF from
// a chart runs on that cluster, which the Manager knows by the VIM entry that the cluster VNF has made. Its pods are
// real: made, scaled, healed, gone.
func (y *yard) allInOne(on vms) {
	t := y.t
	ctx := t.Context()
	registry, request := y.registry(protected(t, registryName, registryPassword), `{"private_registry_installation_param": {"packages": {"source": "installed"}}}`)
	on.place(&request)
	y.must(y.Instantiate(ctx, registry, request))
	y.fill(registry)
	cluster, request := y.cluster("simple", y.toldBy(registry))
	on.place(&request)
	y.must(y.Instantiate(ctx, cluster, request))
	y.wantNodes(cluster, 1, 1)
	if n := on.count(registry, cluster); n != 3 {
		t.Errorf("%d machines, want 3", n)
	}

	vim, err := y.VIMs().Get(ctx, "", kubeadm.VIMID(cluster))
	must(t, err)
	cnf, err := y.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: cnfVNFD})
	must(t, err)
	request = vnflcm.InstantiateVnfRequest{FlavourID: "simple", VimConnectionInfo: vnflcm.VimConnections{{ID: "1", VimID: vim.VimID, VimType: vim.VimType}}}
	request.AdditionalParams = y.laid(request.AdditionalParams, fmt.Sprintf(chartParams, "shop"),
		`{"using_helm_install_param": [{"exthelmchart": "false", "helmchartfile_path": "Files/web.tgz", "helmreleasename": "web", "helmparameter": ["image=`+registryServer+`/team/web:1"]}]}`)
	y.must(y.Instantiate(ctx, cnf.ID, request))
	y.running(cluster, cnf.ID, 1)
	y.must(y.Scale(ctx, cnf.ID, webScale(vnflcm.ScaleOut, 2)))
	three := y.running(cluster, cnf.ID, 3)

	sick := slices.Sorted(maps.Keys(three))[0]
	y.must(y.Heal(ctx, cnf.ID, vnflcm.HealVnfRequest{VnfcInstanceID: []string{sick}}))
	if healed := y.running(cluster, cnf.ID, 3); healed[sick] == three[sick] {
		t.Errorf("pod %s is healed, and as before", three[sick])
	}
	y.must(y.Heal(ctx, cnf.ID, vnflcm.HealVnfRequest{}))
	y.running(cluster, cnf.ID, 3)
	y.must(y.Scale(ctx, cnf.ID, webScale(vnflcm.ScaleIn, 1)))
	y.running(cluster, cnf.ID, 2)
	y.must(y.Terminate(ctx, cnf.ID, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful, GracefulTerminationTimeout: 2}))
	if left := strings.TrimSpace(y.kubectl(cluster, "get", "pods,deployments,secrets", "-n", "shop", "-o", "name")); left != "" {
		t.Errorf("left in the namespace: %s", left)
	}
	for _, id := range []string{cluster, registry} {
		y.must(y.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
		y.gone(id)
	}
	awaitFor(t, 3*time.Minute, "the machines to go", func() bool { return on.count(registry, cluster) == 0 })
}

// toldBy are the parameters that connect a cluster to a registry: what its instance tells, and the login.
func (y *yard) toldBy(registry string) string {
	y.t.Helper()
	told := map[string]string{}
	must(y.t, json.Unmarshal([]byte(y.machine(registry).Metadata["private_registry_connection_info"]), &told))
	maps.Copy(told, map[string]string{"username": registryUser, "password": registryPassword, "probe_image": "team/probe:1"})
	text, err := json.Marshal(map[string]any{"k8s_cluster_installation_param": map[string]any{"private_registry_connection_info": []any{told}}})
	must(y.t, err)
	return string(text)
}

// running checks that the VNFCs of a CNF are pods which run on workers of a cluster, from the image of the registry. It
// returns the pods by VNFC.
func (y *yard) running(cluster, cnf string, want int) map[string]string {
	y.t.Helper()
	told := map[string]string{}
	for _, v := range y.vnfcs(cnf, "WEB") {
		told[v.ID] = v.ComputeResource.ResourceID
	}
	var there []string
	for line := range strings.Lines(y.kubectl(cluster, "get", "pods", "-n", "shop", "-o",
		`jsonpath={range .items[?(@.status.phase=="Running")]}{.metadata.name} {.metadata.deletionTimestamp} {.status.containerStatuses[*].imageID}{"\n"}{end}`)) {
		fields := strings.Fields(line)
		if len(fields) == 2 && strings.HasPrefix(fields[1], registryServer+"/team/web@") {
			there = append(there, fields[0])
		}
	}
	slices.Sort(there)
	if names := slices.Sorted(maps.Values(told)); !slices.Equal(names, there) || len(there) != want {
		y.t.Fatalf("VNFCs %v, running %v, want %d", names, there, want)
	}
	return told
}
