package documents_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca/internal/documents"
	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// files are the documents of a package.
type files map[string]string

func (f files) Locate(dir, file string) (string, bool) {
	name := path.Join(dir, file)
	if _, ok := f[name]; ok {
		return name, true
	}
	return "", !strings.HasPrefix(name, "../")
}

func (f files) Document(name string) ([]byte, error) { return []byte(f[name]), nil }

const head = "tosca_definitions_version: tosca_simple_yaml_1_2\n"

func load(t *testing.T, f files) (*documents.Set, problem.List) {
	t.Helper()
	r := &report.Report{}
	set, err := documents.Load(context.Background(), f, "v.yaml", nil, r)
	list := r.Warnings()
	if errs := r.Err(); errs != nil {
		list = slices.Concat(list, errs.(problem.List)) //nolint:errorlint // Err documents this type
	} else if err != nil {
		t.Fatal(err)
	}
	return set, list
}

// names returns the names of the documents, with bundled documents in parentheses.
func names(set *documents.Set) []string {
	var list []string
	for _, d := range set.All {
		switch {
		case d.Bundled:
			list = append(list, "("+d.File+")")
		default:
			list = append(list, d.File)
		}
	}
	return list
}

func TestLoad(t *testing.T) {
	const profile = "(tosca:simple_profile.yaml)"
	vnfd := func(v string) string { return "(etsi:" + v + "/etsi_nfv_sol001_vnfd_types.yaml)" }
	common := func(v string) string { return "(etsi:" + v + "/etsi_nfv_sol001_common_types.yaml)" }
	tests := []struct {
		name  string
		files files
		want  []string
	}{
		{"nothing imported", files{"v.yaml": head}, []string{"v.yaml", profile}},
		{"every notation", files{
			"v.yaml": head + "imports: [a.yaml, {file: b.yaml}, {x: c.yaml}, {y: {file: d.yaml, namespace_prefix: d}}]\n",
			"a.yaml": head, "b.yaml": head, "c.yaml": head, "d.yaml": head,
		}, []string{"v.yaml", "a.yaml", "b.yaml", "c.yaml", "d.yaml", profile}},
		{"mapping", files{"v.yaml": head + "imports: {x: c.yaml, y: {file: d.yaml}}\n", "c.yaml": head, "d.yaml": head},
			[]string{"v.yaml", "c.yaml", "d.yaml", profile}},
		{"ETSI", files{"v.yaml": head + "imports: [etsi_nfv_sol001_vnfd_types.yaml]\n"},
			[]string{"v.yaml", vnfd("2.6.1"), common("2.6.1"), profile}},
		{"ETSI of 1.3", files{"v.yaml": "tosca_definitions_version: tosca_simple_yaml_1_3\nimports: [etsi_nfv_sol001_vnfd_types.yaml]\n"},
			[]string{"v.yaml", vnfd("4.4.1"), common("4.4.1"), profile}},
		{"ETSI by URL", files{"v.yaml": head + "imports: ['https://forge.etsi.org/rep/nfv/SOL001/raw/v3.5.1/etsi_nfv_sol001_vnfd_types.yaml']\n"},
			[]string{"v.yaml", vnfd("3.5.1"), common("3.5.1"), profile}},
		{"a copy of its own", files{
			"v.yaml":                          head + "imports: [etsi_nfv_sol001_vnfd_types.yaml]\n",
			"etsi_nfv_sol001_vnfd_types.yaml": head + "metadata: {template_name: etsi_nfv_sol001_vnfd_types, template_version: 2.8.1}\nimports: [etsi_nfv_sol001_common_types.yaml]\n",
		}, []string{"v.yaml", "etsi_nfv_sol001_vnfd_types.yaml", common("2.8.1"), profile}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			set, problems := load(t, tt.files)
			if len(problems) > 0 {
				t.Errorf("problems: %v", problems)
			}
			if diff := cmp.Diff(tt.want, names(set)); diff != "" {
				t.Errorf("documents (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoadProblems(t *testing.T) {
	tests := []struct {
		name, imports, want string
	}{
		{"network", "['https://example.org/x.yaml']",
			`v.yaml:2:11: "https://example.org/x.yaml" would have to be fetched from the network; put the file into the package [tosca.import-remote]`},
		{"repository", "[{file: x.yaml, repository: far}]",
			`v.yaml:2:18: "x.yaml" would have to be fetched from the network; put the file into the package [tosca.import-remote]`},
		{"missing", "[x.yaml]", `v.yaml:2:11: the imported file "x.yaml" is not in the package [tosca.import-missing]`},
		{"outside", "[../x.yaml]", `v.yaml:2:11: the import "../x.yaml" leads out of the package [tosca.import-outside-package]`},
		{"release that is not bundled", "[etsi_nfv_sol001_vnfd_9_9_9_types.yaml]",
			`v.yaml:2:11: the type definitions etsi_nfv_sol001_vnfd_9_9_9_types.yaml are neither in the package nor bundled; ` +
				`expected a release of SOL001 among 2.5.1, 2.6.1, 2.7.1, 2.8.1, 3.3.1, 3.5.1, 3.6.1, 3.7.1, 4.2.1, 4.3.1, 4.4.1 [tosca.import-missing]`},
		{"cycle", "[a.yaml]", `b.yaml:2:11: the imports of a.yaml lead back to b.yaml [tosca.import-cycle]`},
		{"2.0", "[two.yaml]", `two.yaml:1:28: TOSCA 2.0 is not supported: SOL001 is written in the TOSCA Simple Profile; expected tosca_simple_yaml_1_0 to tosca_simple_yaml_1_3 [tosca.version]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, problems := load(t, files{
				"v.yaml":   head + "imports: " + tt.imports + "\n",
				"a.yaml":   head + "imports: [b.yaml]\n",
				"b.yaml":   head + "imports: [a.yaml]\n",
				"two.yaml": "tosca_definitions_version: tosca_2_0\n",
			})
			if got := problems.Error(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// counted counts the calls of Document.
type counted struct {
	files
	read int
}

func (c *counted) Document(name string) ([]byte, error) {
	c.read++
	return c.files.Document(name)
}

// TestManyImports checks that the number of documents that Load reads is limited, however many imports a descriptor has.
func TestManyImports(t *testing.T) {
	for name, tt := range map[string]struct {
		text string // of each of 400 imported files
		most int    // expected limit of the documents that are read
	}{
		"many nodes": {head + "x: [" + strings.Repeat("a,", 10_000) + "]\n", 20},
		"long texts": {head + "x: " + strings.Repeat("a", 1<<20) + "\n", 10},
		"comments":   {head + strings.Repeat("#", 1<<20) + "\n", 10},
	} {
		t.Run(name, func(t *testing.T) {
			c := &counted{files: files{}}
			entry := head + "imports:\n"
			for i := range 400 {
				file := fmt.Sprintf("f%d.yaml", i)
				c.files[file] = tt.text
				entry += "- " + file + "\n"
			}
			c.files["v.yaml"] = entry
			r := &report.Report{}
			if _, err := documents.Load(context.Background(), c, "v.yaml", nil, r); err != nil {
				t.Fatal(err)
			}
			if !errors.Is(r.Err(), problem.Problem{Code: problem.TooLarge}) || c.read > tt.most {
				t.Errorf("%d documents are read, want at most %d: %v", c.read, tt.most, r.Err())
			}
		})
	}
}
