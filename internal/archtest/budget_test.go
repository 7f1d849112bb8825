package archtest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// budget is how many packages of other modules a public package may link, directly or indirectly: a program that
// imports only that package pays for them. Measured, plus a little. Raising a figure is a decision: for comparison,
// Helm's action package links about 920, client-go 360, the SSH client of x/crypto 9.
var budget = map[string]int{
	"":                         0,
	"sshexec":                  20,
	"sshexec/sshtest":          30,
	"tosca":                    3,
	"tosca/csar":               3, // yaml, and cryptobyte for signatures
	"tosca/problem":            0,
	"vnflcm":                   5,
	"vnflcm/hookrun":           5,
	"vnflcm/sol003":            5,
	"vnflcm/sol003/bearer":     10, // JSON web tokens and key sets
	"vnflcm/sol003/keystone":   10, // gophercloud's root package
	"vnflcm/sol003/nfvo":       8,  // OAuth 2.0
	"vnflcm/sol003/notify":     8,  // OAuth 2.0, backoff
	"vnflcm/outbound":          0,
	"vnflcm/onboarding":        5,
	"vnflcm/snapshots":         25, // age
	"vnflcm/store":             0,
	"vnflcm/timeline":          5,
	"vnflcm/progress":          8,   // the terminal
	"vnflcm/telemetry":         20,  // OpenTelemetry's API
	"vnflcm/temporal":          220, // Temporal's client links gRPC
	"sshexec/sshotel":          35,  // sshexec, and OpenTelemetry's API
	"vnflcm/store/storetest":   10,
	"vnflcm/crashtest":         10, // storetest
	"vnflcm/store/sqlite":      18,
	"vnflcm/store/postgres":    40, // pgx
	"helmclient":               0,
	"helmclient/readiness":     66,  // apimachinery
	"helmclient/helmsdk":       760, // Helm links kubectl, go-containerregistry links docker/cli
	"helmclient/helm4sdk":      965, // Helm links kubectl, and a WebAssembly runtime for its plugins
	"helmclient/helmtest":      165,
	"infra":                    0,
	"infra/infratest":          12,
	"infra/kubernetes":         275, // client-go's dynamic client
	"infra/openstack":          23,
	"infra/openstack/hot":      1,
	"infra/sandbox":            350, // client-go's types, by which simulated API servers check, merge and own fields
	"helmclient/helmcli":       72,  // apimachinery for readiness, Helm's grammar of values
	"mgmt/kubespray/ansible":   22,
	"mgmt/kubespray/inventory": 5,   // yaml, and vnflcm
	"mgmt/kubespray":           130, // as mgmt/cluster, and YAML
	"mgmt":                     22,
	"mgmt/cluster":             130, // as mgmt/loadbalancer/expose: both reach APIs by internal/kubeaccess
	"mgmt/kubeadm":             280, // bbolt reads the data of etcd
	"mgmt/linux":               22,
	"mgmt/registry":            73, // go-containerregistry links docker/cli and zstd
	"mgmt/registry/client":     26,
	"mgmt/kubeadm/etcd":        160, // etcd's client links gRPC
	"mgmt/loadbalancer":        22,
	"mgmt/script":              22,
	"mgmt/mgmttest":            355, // the sandbox

	"infra/kubernetes/kubetest": 312, // client-go's types, by which the simulated API server checks, merges and owns fields
	"mgmt/loadbalancer/expose":  130, // client-go's dynamic client
}

// slack is how far a figure may be above what is measured: then it no longer says anything.
const slack = 12

func TestDependencyBudget(t *testing.T) {
	standard := standardLibrary(t)
	known := map[string]bool{}
	for _, p := range ours(t) {
		if !p.public() {
			continue
		}
		known[p.short()] = true
		linked := slices.DeleteFunc(slices.Clone(p.Deps), func(path string) bool {
			return standard[path] || within(path, module)
		})
		limit, listed := budget[p.short()]
		switch {
		case !listed:
			t.Errorf("%s has no budget of dependencies; it links %d packages of other modules. Add it to the table in %s.", p.ImportPath, len(linked), "budget_test.go")
		case len(linked) > limit:
			t.Errorf("%s links %d packages of other modules, its budget is %d. Whoever imports only this package pays for all of them:\n%s",
				p.ImportPath, len(linked), limit, byModule(linked))
		case limit > len(linked)+slack:
			t.Errorf("%s links %d packages of other modules; lower its budget of %d", p.ImportPath, len(linked), limit)
		}
	}
	for path := range budget {
		if !known[path] {
			t.Errorf("budget for %q, which is no public package of the module", path)
		}
	}
}

// standardLibrary lists the standard library: what go list counts among dependencies and has no dot in the
// first element of its path, or is vendored there.
func standardLibrary(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{"C": true}
	for _, p := range ours(t) {
		for _, path := range p.Deps {
			first, _, _ := strings.Cut(path, "/")
			out[path] = first == "vendor" || !strings.Contains(first, ".")
		}
	}
	return out
}

// byModule counts packages by the first three elements of their paths.
func byModule(packages []string) string {
	count := map[string]int{}
	for _, path := range packages {
		parts := strings.SplitN(path, "/", 4)
		count[strings.Join(parts[:min(3, len(parts))], "/")]++
	}
	var lines []string
	for name, n := range count {
		lines = append(lines, fmt.Sprintf("%6d %s", n, name))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
