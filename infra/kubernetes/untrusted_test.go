package kubernetes_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func TestLiteral(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{
		`{'masternode_ip': ['10.0.0.1', "10.0.0.2"], 'p': 'it\'s "x"\\n', u'q': None, 'r': (True, False,)}`: map[string]any{
			"masternode_ip": []any{"10.0.0.1", "10.0.0.2"}, "p": `it's "x"\n`, "q": nil, "r": []any{true, false}},
		`{"masternode_ip": "10.0.0.1"}`: map[string]any{"masternode_ip": "10.0.0.1"},
		`{}`:                            map[string]any{},
	} {
		got, err := kubernetes.ParseLiteral(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
	for _, text := range []string{"", "{", "{'a'}", "{'a': 'b' 'c': 'd'}", "{'a': __import__('os')}", "{'a': 'b'} x", "{1: 'a'}", `{'a': '\x41'}`,
		strings.Repeat("[", 100), `{'a': 'b\`} {
		if got, err := kubernetes.ParseLiteral(text); err == nil {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func FuzzLiteral(f *testing.F) {
	f.Add(`{'masternode_ip': ['10.0.0.1'], 'masternode_password': 'it\'s'}`)
	f.Add(`{"a": ("b", None, True)}`)
	f.Fuzz(func(t *testing.T, text string) {
		tree, err := kubernetes.ParseLiteral(text)
		if err != nil {
			return
		}
		if _, err := json.Marshal(tree); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzChartMeta(f *testing.F) {
	f.Add([]byte("apiVersion: v2\nname: web\nversion: 0.1.0\n"))
	f.Add([]byte("name: ../web\nversion: 1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := kubernetes.ParseMeta(data); err == nil && (m.Version == "" || !fs.ValidPath(m.Name) || strings.Contains(m.Name, "/")) {
			t.Errorf("%+v", m)
		}
	})
}

// TestCorpus instantiates packages that others have written, as they are.
func TestCorpus(t *testing.T) {
	t.Parallel()
	corpus := os.Getenv("VNFKIT_CORPUS")
	if corpus == "" {
		t.Skip("VNFKIT_CORPUS does not name the collection of packages")
	}
	for _, c := range []struct{ name, kind, flavour, params string }{
		{"tacker-ut-test_cnf_helmchart", kubernetes.VimTypeV1, "helmchart", `{"use_helm": "true", "using_helm_install_param": [{"exthelmchart": "false",
			"helmchartfile_path": "Files/kubernetes/localhelm-0.1.0.tgz", "helmreleasename": "vdu1", "helmparameter": ["service.port=8081"]}],
			"helm_replica_values": {"vdu1_aspect": "replicaCount"}, "vdu_mapping": {"VDU1": {"kind": "Deployment", "name": "vdu1-localhelm", "helmreleasename": "vdu1"}}}`},
		{"oran-cnf_v2", kubernetes.VimTypeHelm, "helmchart", ""},
		{"tacker-ft-sol_kubernetes_v2-test_helm_instantiate", kubernetes.VimTypeHelm, "simple", `{"helm_chart_path": "Files/kubernetes/test-chart-0.1.0.tgz",
			"helm_parameters": {"service.port": 8081}, "helm_value_names": {"VDU1": {"replica": "replicaCountVdu1"}, "VDU2": {"replica": "replicaCountVdu2"}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(corpus, "tosca", "pkg", c.name)
			if c.params == "" {
				var request struct{ AdditionalParams json.RawMessage }
				data, err := os.ReadFile(filepath.Join(dir, "input_param.json")) //nolint:gosec // of the corpus
				if err = errors.Join(err, json.Unmarshal(data, &request)); err != nil {
					t.Fatal(err)
				}
				c.params = string(request.AdditionalParams)
			}
			l := newLab(t, c.kind)
			l.packages = vnflcm.DirPackages(dir)
			l.Manager = l.start()
			pkg, err := tosca.Open(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			l.id = l.created(pkg.VNFD().ID)
			if err := pkg.Close(); err != nil {
				t.Error(err)
			}
			l.instantiate(c.flavour, c.params)
			if len(l.vnfcs("VDU1")) != 1 {
				t.Errorf("%+v", l.instance().InstantiatedVnfInfo.VnfcResourceInfo)
			}
			l.scale(vnflcm.ScaleOut, "vdu1_aspect", 1)
			if len(l.vnfcs("VDU1")) != 2 {
				t.Errorf("scaled out: %+v", l.vnfcs("VDU1"))
			}
			l.terminate(vnflcm.TerminateForceful, `{}`)
			if left := l.empty("default"); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
