package archtest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rule says what of this module the packages below some folders may import.
type rule struct {
	of     []string // folders the rule is for
	except []string // folders below them that it is not for
	only   []string // nothing of ours but what is here; nil: anything but never
	never  []string
	tests  bool // holds for tests as well
	why    string
}

var rules = []rule{
	{of: []string{"tosca"}, only: []string{"tosca"}, tests: true, why: "tosca is useful alone"},
	{of: []string{"sshexec"}, only: []string{"sshexec"}, tests: true, why: "sshexec is useful alone"},
	{of: []string{"helmclient"}, only: []string{"helmclient"}, tests: true, why: "helmclient is useful alone"},
	{of: []string{"vnflcm"}, only: []string{"vnflcm", "tosca", "internal/sol003v2", "internal/pgtest", "internal/fleettest", "internal/temporaltest"}, tests: true, why: "the lifecycle knows drivers by their interfaces"},
	{of: []string{""}, except: []string{"internal/e2e", "internal/temporaltest"}, never: []string{"internal/pgtest", "internal/etcdtest", "internal/fleettest", "internal/temporaltest"}, why: "it starts servers for tests"},
	{of: []string{""}, except: []string{"examples"}, never: []string{"vnflcm/temporal"}, why: "it links the client of a workflow engine"},
	{of: []string{"vnflcm/sol003"}, only: []string{"vnflcm", "internal/sol003v2", "internal/pgtest"}, tests: true, why: "the HTTP interface is about types of vnflcm"},
	{of: []string{""}, except: []string{"examples"}, never: []string{"examples"}, why: "examples are programs and no library"},
	{of: []string{""}, except: []string{"examples", "internal", "helmclient"}, never: []string{"helmclient/helmsdk", "helmclient/helm4sdk"},
		why: "it links all of Helm: take a factory of helmclient.Client"},
	{of: []string{"infra/kubernetes"}, never: []string{"helmclient/helmsdk", "helmclient/helm4sdk"}, why: "it links all of Helm: take a factory of helmclient.Client"},
	{of: []string{"mgmt/internal/nodeprep", "mgmt/internal/storage", "mgmt/internal/apiaccess", "mgmt/internal/addons"}, never: []string{"vnflcm", "mgmt/kubeadm"},
		why: "it knows of machines, not of operations"},
	{of: []string{"mgmt/internal/controlplane", "mgmt/internal/plan"}, never: []string{"mgmt/kubeadm"}, why: "the driver runs its tasks, not the other way round"},
	{of: []string{"mgmt"}, except: []string{"mgmt/mgmttest"}, never: []string{"infra"}, why: "management drivers know the VIM only through vnflcm.Operation"},
	{of: []string{"infra"}, never: []string{"mgmt"}, why: "infra drivers know nothing of what runs on their machines"},
	{of: []string{""}, except: []string{"infra/sandbox", "internal"}, never: []string{"internal/kubesim"}, why: "the simulation stays behind the sandbox"},
	{of: rooms, except: []string{"internal/kubesim/program"}, only: rooms, tests: true, why: "it simulates one thing, and knows no machines"},
	{of: []string{"internal/kubesim/program"}, only: []string{"sshexec/sshtest"}, tests: true, why: "it is what programs have in common"},
	{of: []string{"internal/kubesim/kubespraysim"}, only: []string{"internal/kubesim/ansiblesim", "sshexec/sshtest"}, why: "playbooks reach the machines over SSH"},
}

// rooms are what internal/kubesim is made of.
var rooms = []string{"internal/kubesim/kubeapi", "internal/kubesim/etcd", "internal/kubesim/distribution", "internal/kubesim/docker", "internal/kubesim/dockercli", "internal/kubesim/containerd", "internal/kubesim/pull",
	"internal/kubesim/balancer", "internal/kubesim/kubeadm", "internal/kubesim/kubeadmconf", "internal/kubesim/kubectl", "internal/kubesim/helm", "internal/kubesim/pki", "internal/kubesim/typed", "internal/kubesim/program"}

// breaches lists what breaks the rules, sorted.
func breaches(packages []pkg) []string {
	var out []string
	for _, p := range packages {
		for _, r := range rules {
			imports := p.Imports
			if r.tests {
				imports = slices.Concat(imports, p.TestImports, p.XTestImports)
			}
			for _, path := range imports {
				target, isOurs := strings.CutPrefix(path+"/", module+"/")
				target = strings.TrimSuffix(target, "/")
				if isOurs && r.covers(p.short()) && r.forbids(target) {
					out = append(out, fmt.Sprintf("%s imports %s: %s", p.short(), target, r.why))
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (r rule) covers(path string) bool { return r.amongst(r.of, path) && !r.amongst(r.except, path) }

func (r rule) forbids(path string) bool {
	return r.only != nil && !r.amongst(r.only, path) || r.amongst(r.never, path)
}

func (rule) amongst(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return dir == "" || within(path, dir) })
}

func TestImports(t *testing.T) {
	for _, b := range breaches(ours(t)) {
		t.Error(b)
	}
}

// TestRules holds the rules against packages that break them, so that a rule that finds nothing is noticed.
func TestRules(t *testing.T) {
	imports := func(from string, to ...string) pkg {
		p := pkg{ImportPath: module + "/" + from}
		for _, path := range to {
			p.Imports = append(p.Imports, module+"/"+path)
		}
		return p
	}
	shared := imports("vnflcm", "tosca")
	shared.XTestImports = []string{module + "/internal/pgtest"}
	tested := imports("vnflcm")
	tested.XTestImports = []string{module + "/mgmt/kubeadm"}
	doubles := imports("mgmt/kubeadm")
	doubles.XTestImports = []string{module + "/infra/sandbox", module + "/internal/kubesim"}
	charts := imports("infra/kubernetes", "helmclient")
	charts.XTestImports = []string{module + "/helmclient/helmsdk", module + "/internal/cnftest"}
	good := []pkg{
		charts, shared,
		imports("sshexec", "sshexec/sshtest"), imports("vnflcm/sqlstore/sqlite", "vnflcm", "tosca"), imports("mgmt/kubeadm", "vnflcm", "sshexec"),
		imports("infra/sandbox", "internal/kubesim", "vnflcm"), imports("examples/cnf", "helmclient/helmsdk", "examples/internal/progress"),
		doubles, imports("toscalike", "sshexec"), {ImportPath: module, Imports: []string{module + "/vnflcm", "fmt"}},
	}
	if diff := cmp.Diff([]string(nil), breaches(good)); diff != "" {
		t.Errorf("what is allowed:\n%s", diff)
	}
	bad := []pkg{
		imports("tosca", "vnflcm"), imports("sshexec/sshtest", "internal/kubesim"), imports("helmclient/helmcli", "sshexec"), tested,
		imports("mgmt", "examples/packages"), imports("infra/kubernetes", "helmclient/helmsdk", "mgmt/cluster"), imports("mgmt/kubeadm", "infra"),
		{ImportPath: module, Imports: []string{module + "/internal/kubesim"}}, imports("vnflcm/sqlstore/postgres", "internal/pgtest"),
		imports("mgmt/registry", "helmclient/helm4sdk"), imports("internal/kubesim/kubeapi", "internal/kubesim"),
	}
	if got := breaches(bad); len(got) != 13 {
		t.Errorf("%d breaches, not 13:\n%s", len(got), strings.Join(got, "\n"))
	}
}

// grammar is the package for the grammar of --set, the only package of Helm that helmclient/helmcli links.
const grammar = "helm.sh/helm/v3/pkg/strvals"

// helmVersions lists the versions of Helm that a package links, beside the grammar.
func helmVersions(p pkg) []string {
	var out []string
	for _, path := range p.Deps {
		for _, version := range []string{"helm.sh/helm/v3", "helm.sh/helm/v4"} {
			if within(path, version) && path != grammar && !slices.Contains(out, version) {
				out = append(out, version)
			}
		}
	}
	slices.Sort(out)
	return out
}

// TestOneHelm: a program links one version of Helm, that of the package that it takes.
func TestOneHelm(t *testing.T) {
	want := map[string][]string{"helmclient/helmsdk": {"helm.sh/helm/v3"}, "helmclient/helm4sdk": {"helm.sh/helm/v4"}, "helmclient/helmcli": nil, "infra/kubernetes": nil}
	got := map[string][]string{}
	for _, p := range ours(t) {
		versions := helmVersions(p)
		if _, listed := want[p.short()]; listed {
			got[p.short()] = versions
		}
		if len(versions) > 1 {
			t.Errorf("%s links %q", p.short(), versions)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("versions of Helm: %s", diff)
	}
}
