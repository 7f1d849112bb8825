package kubernetes_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

const canary = "canary-password"

// nowhere is a driver that must not come to make a client.
func nowhere(t *testing.T) kubernetes.Config {
	return kubernetes.Config{Dir: t.TempDir(), Helm: func(*rest.Config, string) (helmclient.Client, error) {
		t.Error("a client was made for a request that has faults")
		return nil, errors.New("no")
	}}
}

func parse(t testing.TB, text string) vnflcm.Params {
	t.Helper()
	p, err := vnflcm.ParseParams([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// faultsOf is what is wrong with a request: paths of attributes.
func faultsOf(t *testing.T, cfg kubernetes.Config, kind, flavour, extra, additional string) (paths []string, err error) {
	t.Helper()
	return faultsIn(t, shop(t), cfg, kind, flavour, extra, additional)
}

// faultsIn is faultsOf for another package.
func faultsIn(t *testing.T, files fstest.MapFS, cfg kubernetes.Config, kind, flavour, extra, additional string) (paths []string, err error) {
	t.Helper()
	d := kubernetes.New(cfg)
	m, err := vnflcm.New(t.Context(), vnflcm.Config{Store: store.NewMemory(), Key: bytes.Repeat([]byte{1}, 32), Packages: packages(files, nil),
		Infra: map[string]vnflcm.InfraDriver{kind: d}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close(context.Background()) }()
	inst, err := m.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: vnfdID})
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Instantiate(t.Context(), inst.ID, vnflcm.InstantiateVnfRequest{FlavourID: flavour, AdditionalParams: parse(t, additional),
		VimConnectionInfo: vnflcm.VimConnections{{VimType: kind, InterfaceInfo: parse(t, `{"endpoint": "https://127.0.0.1:1"}`),
			AccessInfo: parse(t, `{"bearer_token": "x"}`), Extra: parse(t, extra)}}})
	if err == nil || strings.Contains(err.Error(), canary) {
		t.Errorf("%s: %v", additional, err)
	}
	return pathsOf(err), err
}

func pathsOf(err error) (out []string) {
	switch e := err.(type) { //nolint:errorlint // walks the tree itself
	case *vnflcm.ParamError:
		out = append(out, strings.TrimPrefix(e.Path, "additionalParams."))
	case interface{ Unwrap() []error }:
		for _, each := range e.Unwrap() {
			out = append(out, pathsOf(each)...)
		}
	case interface{ Unwrap() error }:
		out = pathsOf(e.Unwrap())
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// entry is one of using_helm_install_param.
func entry(attributes string) string {
	return `{"use_helm": true, "using_helm_install_param": [{` + attributes + `}]}`
}

// lists are settings of that many lists, each as long as Helm makes them.
func lists(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("l%d[65536]=%s", i, canary)
	}
	return strings.Join(out, ",")
}

const list0 = "using_helm_install_param[0]"

func TestFaultsOfParameters(t *testing.T) {
	t.Parallel()
	local := `"exthelmchart": false, "helmreleasename": "r", "helmchartfile_path": `
	for _, c := range []struct {
		name, kind, params string
		want               []string
	}{
		{"nothing", "kubernetes", `{}`, []string{"lcm-kubernetes-def-files"}},
		{"no releases", "kubernetes", `{"use_helm": "true"}`, []string{"using_helm_install_param"}},
		{"charts without use_helm", "kubernetes", `{"using_helm_install_param": [{}]}`, []string{"use_helm"}},
		{"an empty entry", "kubernetes", entry(``), []string{list0 + ".exthelmchart", list0 + ".helmreleasename"}},
		{"a local chart without a file", "kubernetes", entry(`"exthelmchart": "false", "helmreleasename": "r"`), []string{list0 + ".helmchartfile_path"}},
		{"a chart that is not there", "kubernetes", entry(local + `"Files/x.tgz"`), []string{list0 + ".helmchartfile_path"}},
		{"a chart outside", "kubernetes", entry(local + `"../x.tgz"`), []string{list0 + ".helmchartfile_path"}},
		{"an archive that slips", "kubernetes", entry(local + `"Files/slip.tgz"`), []string{list0 + ".helmchartfile_path"}},
		{"an archive whose Chart.yaml is a link", "kubernetes", entry(local + `"Files/link.tgz"`), []string{list0 + ".helmchartfile_path"}},
		{"an archive without a directory", "kubernetes", entry(local + `"Files/bare.tgz"`), []string{list0 + ".helmchartfile_path"}},
		{"an archive without Chart.yaml", "kubernetes", entry(local + `"Files/none.tgz"`), []string{list0 + ".helmchartfile_path"}},
		{"a chart without a version", "kubernetes", entry(local + `"Files/noversion.tgz"`), []string{list0 + ".helmchartfile_path"}},
		{"no archive", "kubernetes", entry(local + `"Files/plain.yaml"`), []string{list0 + ".helmchartfile_path"}},
		{"a release name that is a command", "kubernetes", entry(`"exthelmchart": false, "helmchartfile_path": "Files/both.tgz", "helmreleasename": "x; touch y; :"`),
			[]string{list0 + ".helmreleasename"}},
		{"parameters without a value", "kubernetes", entry(local + `"Files/both.tgz", "helmparameter": ["a=b", "` + canary + `", "=x"]`),
			[]string{list0 + ".helmparameter[1]", list0 + ".helmparameter[2]"}},
		{"parameters that fill the memory", "kubernetes", entry(local + `"Files/both.tgz", "helmparameter": ["a=b", "` + lists(10) + `", "` + lists(10) + `"]`),
			[]string{list0 + ".helmparameter[2]"}},
		{"a values file that is not there", "kubernetes", entry(local + `"Files/both.tgz", "helmvaluesfile_path": ["Files/values.yaml", "Files/no.yaml"]`),
			[]string{list0 + ".helmvaluesfile_path[1]"}},
		{"an external chart without anything", "kubernetes", entry(`"exthelmchart": true, "helmreleasename": "r"`),
			[]string{list0 + ".exthelmrepo_url", list0 + ".helmchartname", list0 + ".helmrepositoryname"}},
		{"a repository with bad values", "kubernetes", entry(`"exthelmchart": "true", "helmreleasename": "r", "helmchartname": "../x", "helmrepositoryname": "a/b",
			"exthelmrepo_url": "file://x/etc", "exthelmrepo_password": "` + canary + `", "exthelmrepo_ca_cert": "no"`),
			[]string{list0 + ".exthelmrepo_ca_cert", list0 + ".exthelmrepo_password", list0 + ".exthelmrepo_url", list0 + ".helmchartname", list0 + ".helmrepositoryname"}},
		{"credentials in the URL", "kubernetes", entry(`"exthelmchart": true, "helmreleasename": "r", "helmchartname": "x", "helmrepostitoryname": "a",
			"exthelmrepo_url": "https://u:` + canary + `@charts.example/x"`), []string{list0 + ".exthelmrepo_url"}},
		{"a repository on this machine", "kubernetes", entry(`"exthelmchart": true, "helmreleasename": "r", "helmchartname": "x", "helmrepositoryname": "a",
			"exthelmrepo_url": "http://127.0.0.1:8879/charts"`), []string{list0 + ".exthelmrepo_url"}},
		{"a registry at the metadata service", "kubernetes", entry(`"exthelmchart": true, "helmreleasename": "r", "helmchartname": "x",
			"exthelmrepo_url": "oci://169.254.169.254/charts"`), []string{list0 + ".exthelmrepo_url"}},
		{"two names of the repository", "kubernetes", entry(`"exthelmchart": true, "helmreleasename": "r", "helmchartname": "x", "helmrepostitoryname": "a",
			"helmrepositoryname": "b", "exthelmrepo_url": "https://charts.example/x"`), []string{list0 + ".helmrepostitoryname"}},
		{"the namespace of a specification's sample", "kubernetes", `{"namespace": "namespaceA", "lcm-kubernetes-def-files": ["Files/plain.yaml"]}`, []string{"namespace"}},
		{"a namespace that is none", "kubernetes", `{"namespace": "a/b", "lcm-kubernetes-def-files": ["Files/plain.yaml"]}`, []string{"namespace"}},
		{"manifests that are none", "kubernetes", `{"lcm-kubernetes-def-files": ["Files/plain.yaml", "Files/broken.yaml", "Files/no.yaml", "Files"]}`,
			[]string{"lcm-kubernetes-def-files[1]", "lcm-kubernetes-def-files[2]", "lcm-kubernetes-def-files[3]"}},
		{"charts and manifests", "kubernetes", `{"use_helm": true, "lcm-kubernetes-def-files": ["Files/plain.yaml"], "using_helm_install_param":
			[{"exthelmchart": false, "helmreleasename": "r", "helmchartfile_path": "Files/both.tgz"}]}`, []string{"lcm-kubernetes-def-files"}},
		{"a release twice, a repository in two ways", "kubernetes", `{"use_helm": true, "using_helm_install_param": [
			{"exthelmchart": true, "helmreleasename": "r", "helmchartname": "x", "helmrepositoryname": "a", "exthelmrepo_url": "https://charts.example/x"},
			{"exthelmchart": true, "helmreleasename": "r", "helmchartname": "x", "helmrepositoryname": "a", "exthelmrepo_url": "https://charts.example/y"}]}`,
			[]string{"using_helm_install_param[1].helmreleasename", "using_helm_install_param[1].helmrepositoryname"}},
		{"mappings of nothing", "kubernetes", `{"use_helm": true, "using_helm_install_param": [
			{"exthelmchart": false, "helmreleasename": "r", "helmchartfile_path": "Files/both.tgz"}, {"exthelmchart": false, "helmreleasename": "s", "helmchartfile_path": "Files/both.tgz"}],
			"helm_replica_values": {"none": "x", "webs": "a b", "dbs": "n"}, "vdu_mapping": {"NONE": {}, "WEB": {"kind": "Deployment", "name": "w", "helmreleasename": "q"}, "DB": {}}}`,
			[]string{"helm_replica_values.none", "helm_replica_values.webs", "vdu_mapping.DB.helmreleasename", "vdu_mapping.DB.kind", "vdu_mapping.DB.name",
				"vdu_mapping.NONE", "vdu_mapping.WEB.helmreleasename"}},
		{"types", "kubernetes", `{"use_helm": "perhaps", "namespace": {}, "eviction": 3}`, []string{"eviction", "namespace", "use_helm"}},
		{"settings that Helm cannot read", "kubernetes", entry(local + `"Files/both.tgz", "helmparameter": ["a=b", "greeting=a,b", "c=d\\,e", "l[x]=1", "l={a,b"]`),
			[]string{list0 + ".helmparameter[1]", list0 + ".helmparameter[3]", list0 + ".helmparameter[4]"}},
		{"version 2: settings that Helm cannot read", "ETSINFV.HELM.V_3", `{"helm_chart_path": "Files/both.tgz", "helm_parameters": {"a": "x,y", "b[x]": 1}}`,
			[]string{"helm_parameters.b[x]"}},
		{"version 2: nothing", "ETSINFV.HELM.V_3", `{}`, []string{"helm_chart_path"}},
		{"version 2: parameters that fill the memory", "ETSINFV.HELM.V_3", `{"helm_chart_path": "Files/both.tgz", "helm_parameters": {"a": "x", "b[99999999]": 1, "c": {}}}`,
			[]string{"helm_parameters.b[99999999]"}},
		{"version 2: JSON that fills the memory", "ETSINFV.HELM.V_3", `{"helm_chart_path": "Files/both.tgz", "helm_parameters": {"a": "x", "c": {}, "d[99999999]": {}}}`,
			[]string{"helm_parameters.d[99999999]"}},
		{"version 2: all wrong", "ETSINFV.HELM.V_3", `{"helm_chart_path": "Files", "helm_parameters": {"a,b": 1}, "helm_value_names": {"NONE": {"replica": "x"}, "WEB": {}},
			"using_helm_install_param": [{}]}`,
			[]string{"helm_chart_path", "helm_parameters.a,b", "helm_value_names.NONE", "helm_value_names.WEB.replica", "using_helm_install_param"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := faultsOf(t, nowhere(t), c.kind, "simple", `{}`, c.params)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s\n%v", diff, err)
			}
		})
	}
}

func TestWhoRunsHelm(t *testing.T) {
	t.Parallel()
	const info = `"masternode_ip": ["10.0.0.1", "10.0.0.2"], "masternode_username": "u", "masternode_password": "` + canary + `"`
	const path = "vimConnectionInfo.extra.helm_info"
	for _, c := range []struct {
		name, extra string
		cfg         func(*kubernetes.Config)
		want        []string
	}{
		{"neither", `{}`, func(c *kubernetes.Config) { c.Helm = nil }, []string{path}},
		{"no machines, and forced", `{}`, func(c *kubernetes.Config) { c.HelmBy = kubernetes.CLI }, []string{path}},
		{"no SSH", `{"helm_info": {` + info + `}}`, func(*kubernetes.Config) {}, []string{path}},
		{"no client, and forced", `{}`, func(c *kubernetes.Config) { c.HelmBy, c.Helm = kubernetes.SDK, nil }, []string{path}},
		{"incomplete", `{"helm_info": {"masternode_ip": ["10.0.0.1", "-oProxyCommand=x"]}}`, func(*kubernetes.Config) {},
			[]string{path + ".masternode_ip[1]", path + ".masternode_password", path + ".masternode_username"}},
		{"text that is nothing", `{"helm_info": "{'masternode_password': '` + canary + `'"}`, func(*kubernetes.Config) {}, []string{path}},
		{"bad host keys", `{"helm_info": {` + info + `, "masternode_host_keys": ["10.0.0.1 nonsense"], "masternode_private_key": "` + canary + `"}}`, func(*kubernetes.Config) {},
			[]string{path + ".masternode_host_keys[0]", path + ".masternode_private_key"}},
		{"Python", `{"helm_info": "{'masternode_ip': ['10.0.0.1'], 'masternode_username': 'u', 'masternode_password': '` + canary + `'}"}`, func(*kubernetes.Config) {}, []string{path}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := nowhere(t)
			c.cfg(&cfg)
			got, err := faultsOf(t, cfg, "kubernetes", "simple", c.extra, entry(`"exthelmchart": false, "helmreleasename": "r", "helmchartfile_path": "Files/both.tgz"`))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s\n%v", diff, err)
			}
			if c.name == "Python" && !strings.Contains(err.Error(), "Config.SSH") {
				t.Error(err)
			}
		})
	}
}

// TestRemedy: the fault of a comma in a value has its remedy, and nothing is made.
func TestRemedy(t *testing.T) {
	t.Parallel()
	_, err := faultsOf(t, nowhere(t), "kubernetes", "simple", `{}`, entry(`"exthelmchart": false, "helmreleasename": "r", "helmchartfile_path": "Files/both.tgz", "helmparameter": ["greeting=a,`+canary+`"]`))
	if want := `additionalParams.` + list0 + `.helmparameter[0]: has a comma that is not followed by name=value: write "\,"`; !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}
