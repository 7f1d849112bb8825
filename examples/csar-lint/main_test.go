package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/examples/internal/samples"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// csarOf writes a package of one descriptor.
func csarOf(t *testing.T, descriptor string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.Create("vnfd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(descriptor)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "x.csar")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// identified is a VNFD whose provider is not among the valid_values of its type.
const identified = `tosca_definitions_version: tosca_simple_yaml_1_2
imports: [etsi_nfv_sol001_vnfd_types.yaml]
node_types: {my.VNF: {derived_from: tosca.nodes.nfv.VNF, properties: {provider: {constraints: [{valid_values: [Maker]}]}}}}
topology_template:
  node_templates:
    VNF: {type: my.VNF, properties: {descriptor_id: i, descriptor_version: '1', provider: Other, product_name: n, software_version: '1',
      flavour_id: simple, flavour_description: d, vnfm_info: ['0:vnfkit']}}
`

func TestExitCodes(t *testing.T) {
	good, bad, none := samples.Package("cnf"), csarOf(t, "tosca_definitions_version: tosca_2_0\n"), filepath.Join(t.TempDir(), "none")
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	others := csarOf(t, identified)
	withWarnings := csarOf(t, strings.NewReplacer("provider: Other", "provider: Maker", "flavour_description: d, ", "").Replace(identified))
	for _, tt := range []struct {
		name string
		args []string
		code int
		want []string // texts in the output
	}{
		{"clean", []string{good}, exitClean, []string{good + ": clean"}},
		{"problems", []string{good, bad}, exitProblems, []string{"TOSCA 2.0 is not supported", "[tosca.version]", "x.csar/vnfd.yaml:1:28: error:", bad + ": problems"}},
		{"help", []string{"-h"}, exitClean, []string{"usage: csar-lint", "csar-lint vnf.csar", "-require-signature", "Exit codes:"}},
		{"warnings", []string{withWarnings}, exitClean, []string{": warning: ", withWarnings + ": warnings"}},
		{"strict", []string{"-strict", good}, exitClean, []string{good + ": clean"}},
		{"flag after the package", []string{withWarnings, "-strict"}, exitProblems, []string{": error: ", withWarnings + ": problems"}},
		{"no flag after it", []string{good, "-lenient"}, exitUnreadable, []string{"not defined: -lenient", "usage: csar-lint"}},
		{"strict, warnings", []string{"-strict", withWarnings}, exitProblems, []string{": error: ", withWarnings + ": problems"}},
		{"roots, no signature", []string{"-roots", roots, good}, exitProblems, []string{": error: the package is not signed", good + ": problems"}},
		{"no signature", []string{"-require-signature", good}, exitProblems, []string{": error: the package is not signed", good + ": problems"}},
		{"identifiers outside their valid_values", []string{others}, exitProblems, []string{": error: the value Other is not allowed", others + ": problems"}},
		{"strict, no manifest", []string{"-strict", others}, exitProblems, []string{": error: there is no manifest vnfd.mf in the root [csar.missing-file]"}},
		{"ignored", []string{"-strict", "-ignore", "tosca.value-not-allowed", "-ignore=csar.missing-file", others}, exitClean, []string{others + ": clean (2 ignored)"}},
		{"one of two ignored", []string{"-ignore", "tosca.version", "-ignore", "csar.missing-file", "-strict", bad, withWarnings}, exitProblems, []string{bad + ": clean (2 ignored)", ": error: ", withWarnings + ": problems"}},
		{"ignored, no code", []string{"-ignore", "csar.relase-time", good}, exitUnreadable,
			[]string{`"csar.relase-time" for flag -ignore: problems have no such code, the nearest is csar.release-time`, "usage: csar-lint"}},
		{"as a VNFD", []string{"-as", "vnfd", good}, exitClean, []string{good + ": clean"}},
		{"as an NSD", []string{"-as", "nsd", good}, exitProblems, []string{"[tosca.other-descriptor]", good + ": problems"}},
		{"as a PNFD", []string{"-as", "pnfd", good}, exitProblems, []string{"[tosca.other-descriptor]", good + ": problems"}},
		{"as another", []string{"-as", "vnf", good}, exitUnreadable, []string{`-as "vnf": must be vnfd, nsd or pnfd`, "usage: csar-lint"}},
		{"not there", []string{bad, none}, exitUnreadable, []string{none + ": unreadable: "}},
		{"no package", nil, exitUnreadable, []string{"usage: csar-lint"}},
		{"no format", []string{"-format", "xml", good}, exitUnreadable, []string{"usage: csar-lint"}},
		{"no flag", []string{"-lenient", good}, exitUnreadable, []string{"usage: csar-lint"}},
		{"no roots", []string{"-roots", none, good}, exitUnreadable, []string{"none"}},
		{"empty roots", []string{"-roots", bad, good}, exitUnreadable, []string{"holds no certificate"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var said bytes.Buffer
			code, err := run(t.Context(), tt.args, &said)
			if code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if err != nil {
				said.WriteString(err.Error())
			}
			for _, want := range tt.want {
				if !strings.Contains(said.String(), want) {
					t.Errorf("%q is not in:\n%s", want, said.String())
				}
			}
		})
	}
}

func TestJSON(t *testing.T) {
	good, bad := samples.Package("k8s-cluster"), csarOf(t, "tosca_definitions_version: tosca_2_0\n")
	var said bytes.Buffer
	if code, err := run(t.Context(), []string{"-format", "json", good, bad}, &said); code != exitProblems || err != nil {
		t.Fatalf("exit code %d, %v", code, err)
	}
	type found struct{ Path, Verdict, File, Code string }
	var got []found
	for line := range strings.Lines(said.String()) {
		var r struct {
			Path, Verdict string
			Problems      []struct{ File, Code, Severity string }
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		f := found{Path: r.Path, Verdict: r.Verdict}
		for _, p := range r.Problems {
			if p.Severity == "error" {
				f.File, f.Code = p.File, p.Code
			}
		}
		got = append(got, f)
	}
	want := []found{{good, "clean", "", ""}, {bad, "problems", "vnfd.yaml", "tosca.version"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSARIF(t *testing.T) {
	bad, none := csarOf(t, "tosca_definitions_version: tosca_2_0\n"), filepath.Join(t.TempDir(), "none")
	var said bytes.Buffer
	if code, err := run(t.Context(), []string{"-format", "sarif", bad, none}, &said); code != exitUnreadable || err != nil {
		t.Fatalf("exit code %d, %v", code, err)
	}
	var log sarifLog
	if err := json.Unmarshal(said.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || len(log.Runs) != 1 {
		t.Fatalf("%s", said.String())
	}
	r := log.Runs[0]
	if r.Invocations[0].Successful || len(r.Invocations[0].Notifications) != 1 {
		t.Errorf("invocations: %+v", r.Invocations)
	}
	first := r.Results[0]
	if first.RuleID != "tosca.version" || first.Level != "error" || !strings.HasSuffix(first.Locations[0].Physical.Artifact.URI, "/x.csar/vnfd.yaml") ||
		first.Locations[0].Physical.Region.Line != 1 {
		t.Errorf("first result: %+v", first)
	}
	if rule := r.Tool.Driver.Rules[0]; rule.ID != "tosca.version" || rule.Description.Text == "" || rule.HelpURI == "" {
		t.Errorf("rule: %+v", rule)
	}
}
