package problem_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca/problem"
)

var update = flag.Bool("update", false, "write descriptions.go and the list in docs")

// TestDescriptions checks that descriptions.go has the sentences of the comments in codes.go.
func TestDescriptions(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	b.WriteString("package problem\n\n// Written by TestDescriptions with -update.\nvar descriptions = map[Code]string{\n")
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		name, text, found := strings.Cut(strings.Join(strings.Fields(v.Doc.Text()), " "), ": ")
		if !found || name != v.Names[0].Name {
			t.Errorf("the comment of %s does not begin with its name and a colon", v.Names[0].Name)
		}
		fmt.Fprintf(&b, "%s: %s,\n", name, strconv.Quote(strings.ToUpper(text[:1])+text[1:]))
		return true
	})
	b.WriteString("}\n")
	want, err := format.Source(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	compareFile(t, "descriptions.go", string(want))
	if text := problem.ZipSlip.Description(); text != "The name of a member leads out of the package." {
		t.Errorf("%q", text)
	}
	if text := problem.Code("other").Description(); text != "" {
		t.Errorf("a code that does not exist: %q", text)
	}
}

// TestCodesInDocs checks that docs/problem-codes.md has all codes with their descriptions. After a change of codes.go, the test with -update
// must run twice, because it writes what the program has.
func TestCodesInDocs(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("# Codes of problems\n\n`csar-lint`, the onboarding of packages and `tosca.Check` name each problem of a package by one of these codes. " +
		"They do not change\nbetween releases. `csar-lint -ignore CODE` leaves problems out, for example those that a vendor cannot change in a signed package.\n" +
		"Each code is a constant of [tosca/problem](../tosca/problem).\n\n| code | problem |\n|---|---|\n")
	for _, code := range problem.Codes() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", code, code.Description())
	}
	compareFile(t, "../../docs/problem-codes.md", b.String())
}

// compareFile compares a generated file with what it should be, or writes it.
func compareFile(t *testing.T, name, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(name) //nolint:gosec // a file of this repository
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("run the test with -update:\n%s", diff)
	}
}
