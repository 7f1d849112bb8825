package e2e_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// cnfsOfOthers are packages of the corpus with what their authors' tests ask of them, and how many pods that makes by
// VDU. Their namespace is ours, but for what manifests say themselves.
var cnfsOfOthers = []struct {
	dir, flavour, vimType, params string
	files                         []string // "*": all
	want                          map[string]int
	// changed is the package that the VNF changes to. Default: the same with another VNFD and other images in its manifests. change are
	// additionalParams of the change.
	changed, change string
}{
	{dir: "tacker-ut-test_cnf_helmchart", flavour: "helmchart", vimType: kubernetes.VimTypeV1, params: `{"namespace": %q, "use_helm": "true",
		"helm_replica_values": {"vdu1_aspect": "replicaCount", "vdu2_aspect": "replicaCount"}, "using_helm_install_param": [
		{"exthelmchart": "false", "helmchartfile_path": "Files/kubernetes/localhelm-0.1.0.tgz", "helmreleasename": "vdu1", "helmparameter": ["service.port=8081"]},
		{"exthelmchart": "false", "helmchartfile_path": "Files/kubernetes/localhelm-0.1.0.tgz", "helmreleasename": "vdu2", "helmparameter": ["service.port=8081"]}],
		"vdu_mapping": {"VDU1": {"kind": "Deployment", "name": "vdu1-localhelm", "helmreleasename": "vdu1"},
			"VDU2": {"kind": "Deployment", "name": "vdu2-localhelm", "helmreleasename": "vdu2"}}}`, want: map[string]int{"VDU1": 1, "VDU2": 1}, change: `{"using_helm_install_param": [
		{"exthelmchart": "false", "helmchartfile_path": "Files/kubernetes/localhelm-0.1.0.tgz", "helmreleasename": "vdu1", "helmparameter": ["service.port=8082"]},
		{"exthelmchart": "false", "helmchartfile_path": "Files/kubernetes/localhelm-0.1.0.tgz", "helmreleasename": "vdu2"}]}`},
	{dir: "tacker-ft-sol_kubernetes_v2-test_helm_instantiate", flavour: "simple", vimType: kubernetes.VimTypeHelm, params: `{"namespace": %q,
		"helm_chart_path": "Files/kubernetes/test-chart-0.1.0.tgz", "helm_parameters": {"service.port": 8081},
		"helm_value_names": {"VDU1": {"replica": "replicaCountVdu1"}, "VDU2": {"replica": "replicaCountVdu2"}}}`, want: map[string]int{"VDU1": 1, "VDU2": 1},
		change: `{"helm_parameters": {"service.port": 8082}}`},
	{dir: "oran-cnf_v2", flavour: "helmchart", vimType: kubernetes.VimTypeHelm, params: `{"namespace": %q, "helm_chart_path": "Files/kubernetes/test-chart-0.1.0.tgz",
		"helm_parameters": {"service.port": 8081}, "helm_value_names": {"VDU1": {"replica": "replicaCount"}}}`, want: map[string]int{"VDU1": 1},
		change: `{"helm_parameters": {"service.port": 8082}, "reuse_values": true}`},
	{dir: "tacker-ut-test_cnf_heal", flavour: "simple", vimType: kubernetes.VimTypeV1, files: []string{"deployment_heal_simple.yaml"}, want: map[string]int{"VDU1": 2}},
	{dir: "tacker-ut-test_cnf_heal", flavour: "complex", vimType: kubernetes.VimTypeV1, files: []string{"deployment_heal_complex.yaml", "pod_heal.yaml"},
		want: map[string]int{"VDU1": 2, "VDU2": 1}},
	{dir: "tacker-ut-test_cnf_multi_ns", flavour: "simple", vimType: kubernetes.VimTypeV1, files: []string{"*"}, want: map[string]int{"VDU1": 1, "VDU2": 1}},
	{dir: "tacker-ft-sol_kubernetes_v2-test_change_vnf_pkg_with_deployment", flavour: "simple", vimType: kubernetes.VimTypeV2, files: []string{"*"},
		// By the scale level of its level it would be three; what the level says of the VDU counts.
		want: map[string]int{"VDU2": 2},
		// The body of Tacker's test; the namespace of the first manifests is not among the second ones.
		change: `{"upgrade_type": "RollingUpdate", "lcm-kubernetes-def-files": ["Files/new_kubernetes/new_deployment.yaml"], "vdu_params": [{"vdu_id": "VDU2"}], "prune": ["Namespace/curry"]}`},
	{dir: "tacker-ut-test_cnf_container_update_before", flavour: "simple", vimType: kubernetes.VimTypeV1, files: []string{"*"},
		want:    map[string]int{"VDU1": 1, "VDU2": 1, "VDU3": 1, "VDU4": 1, "VDU5": 3, "VDU6": 1, "VDU7": 1, "VDU8": 1},
		changed: "tacker-ft-sol_kubernetes_v2-test_cnf_container_update_after"},
	{dir: "tacker-ft-sol_kubernetes_v2-test_cnf_container_update_after", flavour: "simple", vimType: kubernetes.VimTypeV1, files: []string{"*"},
		want: map[string]int{"VDU1": 1, "VDU2": 1, "VDU3": 1, "VDU4": 1, "VDU5": 3, "VDU6": 1, "VDU7": 1, "VDU8": 1}},
}

// scriptless plays the scripts that packages bring for Tacker's own process. Whatever hook they name, it does nothing.
type scriptless struct{}

func (scriptless) Validate(context.Context, *vnflcm.Operation) error { return nil }

func (scriptless) Hooks() vnflcm.Hooks {
	hooks := vnflcm.Hooks{"modify_information_start": nil, "modify_information_end": nil}
	for _, operation := range []string{"instantiate", "scale", "heal", "terminate", "change_current_package"} {
		hooks[vnflcm.Hook(operation+"_start")], hooks[vnflcm.Hook(operation+"_end")] = nil, nil
	}
	for hook := range hooks {
		hooks[hook] = func(context.Context, *vnflcm.Operation) error { return nil }
	}
	return hooks
}

// TestCNFsOfOthers instantiates packages of others, as they are, changes them to other versions, and terminates them.
func TestCNFsOfOthers(t *testing.T) {
	cluster := needCluster(t)
	corpus := os.Getenv("VNFKIT_CORPUS")
	if corpus == "" {
		t.Skip("VNFKIT_CORPUS is not set: no corpus of packages to read")
	}
	for _, p := range cnfsOfOthers {
		t.Run(p.dir+"/"+p.flavour, func(t *testing.T) {
			dir := presentPart(t, filepath.Join(corpus, "tosca", "pkg", p.dir))
			vnfd := vnfdOf(t, dir)
			if len(p.files) > 0 {
				p.params = `{"namespace": %q, "lcm-kubernetes-def-files": ["` + strings.Join(definitionFiles(t, dir, p.files), `", "`) + `"]}`
			}
			changed, to := "", "0b8d2f6e-5a77-4d0e-8f4b-3c1a9e6d7b20"
			if p.changed != "" {
				changed = presentPart(t, filepath.Join(corpus, "tosca", "pkg", p.changed))
				to = vnfdOf(t, changed)
				p.change = `{"allow_other_product": true, "lcm-kubernetes-def-files": ["` + strings.Join(definitionFiles(t, changed, p.files), `", "`) + `"]}`
			} else {
				changed = anotherVersion(t, dir, vnfd, to)
			}
			c := newCNF(t, store.NewMemory(), cnfSite{Dir: t.TempDir(), Packages: map[string]string{vnfd: dir, to: changed}},
				cnfVIM(t, p.vimType, cluster.Client(), nil), vnfd, p.flavour, p.params)
			op, err := c.Instantiate(t.Context(), c.id, c.request)
			c.must(op, err)
			if diff := gocmp.Diff(p.want, c.vnfcsByVDU()); diff != "" {
				t.Errorf("VNFCs by VDU (-want +got):\n%s", diff)
			}
			asks, err := vnflcm.ParseParams([]byte(cmp.Or(p.change, "{}")))
			must(t, err)
			preview, err := c.Preview(t.Context(), c.id, vnflcm.ChangeCurrentVnfPkgRequest{VnfdID: to, AdditionalParams: asks})
			must(t, err)
			t.Log(preview)
			op, err = c.ChangeVnfPkg(t.Context(), c.id, vnflcm.ChangeCurrentVnfPkgRequest{VnfdID: to, AdditionalParams: asks})
			c.must(op, err)
			if diff := gocmp.Diff(p.want, c.vnfcsByVDU()); diff != "" {
				t.Errorf("VNFCs by VDU after the change (-want +got):\n%s", diff)
			}
			c.must(c.Terminate(t.Context(), c.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
			c.wantNothing()
		})
	}
}

// vnfdOf returns the VNFD of a package.
func vnfdOf(t *testing.T, dir string) string {
	t.Helper()
	pkg, err := tosca.Open(t.Context(), dir)
	must(t, err)
	defer func() { must(t, pkg.Close()) }()
	return pkg.VNFD().ID
}

var imageLine = regexp.MustCompile(`(?m)^(\s*(?:- )?image: *"?[^\s"]+)`)

// anotherVersion copies a package, with another VNFD and with other images in its manifests.
func anotherVersion(t *testing.T, of, from, to string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(of)))
	must(t, filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(name) //nolint:gosec // of the corpus
		must(t, err)
		switch filepath.Ext(name) {
		case ".meta":
			first, _, _ := strings.Cut(string(text), "\n\n") // without digests
			text = []byte(first + "\n")
		case ".yaml":
			text = bytes.ReplaceAll(text, []byte(from), []byte(to))
			if strings.Contains(filepath.ToSlash(name), "/Files/") {
				text = imageLine.ReplaceAll(text, []byte("${1}-new"))
			}
		}
		return os.WriteFile(name, text, 0o600) //nolint:gosec // as above
	}))
	return dir
}

// presentPart copies a package without the digests of files that the corpus leaves out: program code of others.
func presentPart(t *testing.T, of string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(of)))
	name := filepath.Join(dir, "TOSCA-Metadata", "TOSCA.meta")
	meta, err := os.ReadFile(name)
	must(t, err)
	blocks := slices.DeleteFunc(strings.Split(string(meta), "\n\n"), func(block string) bool {
		file, named := strings.CutPrefix(strings.TrimSpace(block), "Name: ")
		file, _, _ = strings.Cut(file, "\n")
		_, err := os.Stat(filepath.Join(dir, file))
		return named && errors.Is(err, fs.ErrNotExist)
	})
	must(t, os.WriteFile(name, []byte(strings.Join(blocks, "\n\n")), 0o600))
	return dir
}

// definitionFiles are the paths of manifests in a package.
func definitionFiles(t *testing.T, dir string, names []string) (out []string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "Files", "kubernetes", "*.yaml"))
	must(t, err)
	for _, path := range found {
		if name := filepath.Base(path); names[0] == "*" || slices.Contains(names, name) {
			out = append(out, "Files/kubernetes/"+name)
		}
	}
	return out
}
