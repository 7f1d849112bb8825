package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// conformanceHead is the head of each table of conformance.md.
const conformanceHead = "| requirement | section | tests | proof | command |"

// requirement is a row of conformance.md.
type requirement struct {
	text     string
	tests    []string // package.TestName
	proof    string
	commands []string
}

// requirements reads all tables of conformance.md.
func requirements(t *testing.T) (out []requirement) {
	t.Helper()
	inTable := false
	for line := range strings.Lines(document(t, "conformance.md")) {
		line = strings.TrimSpace(line)
		switch {
		case line == conformanceHead:
			inTable = true
		case !strings.HasPrefix(line, "|"):
			inTable = false
		case inTable && !strings.HasPrefix(line, "|---"):
			cells := strings.Split(strings.Trim(line, "|"), "|")
			if len(cells) != strings.Count(conformanceHead, "|")-1 {
				t.Fatalf("%d columns: %s", len(cells), line)
			}
			out = append(out, requirement{strings.TrimSpace(cells[0]), quoted(cells[2]), strings.TrimSpace(cells[3]), quoted(cells[4])})
		}
	}
	return out
}

// quoted lists the names in backquotes.
func quoted(cell string) (out []string) {
	for i, code := range strings.Split(cell, "`") {
		if i%2 == 1 {
			out = append(out, code)
		}
	}
	return out
}

// testsIn lists the tests of a package by parsing its files, whatever system they are built for.
func testsIn(t *testing.T, pkg string) (out []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(pkg), "*_test.go"))
	check(t, err)
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		check(t, err)
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Recv == nil && strings.HasPrefix(d.Name.Name, "Test") {
				out = append(out, d.Name.Name)
			}
		}
	}
	return out
}

var (
	// proofs are the beginnings of the column proof.
	proofs      = regexp.MustCompile(`^((real|partly|not proved here): .|simulated only($|: .))`)
	makeCommand = regexp.MustCompile("`make ([^`]+)`")
)

// TestConformance holds the tables of conformance.md against the code: the tests exist in the packages that they are said to be in,
// the commands are targets of the Makefile or parts of .ci/part, and each row says how the requirement is proved.
func TestConformance(t *testing.T) {
	rows := requirements(t)
	if len(rows) < 100 {
		t.Errorf("only %d rows found: has the head of the tables changed?", len(rows))
	}
	declared := map[string][]string{} // tests by package
	for _, r := range rows {
		for _, name := range r.tests {
			dot := strings.LastIndex(name, ".")
			pkg, test := name[:max(dot, 0)], name[dot+1:]
			if _, known := declared[pkg]; !known {
				declared[pkg] = testsIn(t, pkg)
			}
			if !slices.Contains(declared[pkg], test) {
				t.Errorf("%s: package %q has no test %s", r.text, pkg, test)
			}
		}
		for _, fault := range r.faults() {
			t.Errorf("%s: %s", r.text, fault)
		}
	}
	targets := regexp.MustCompile(`(?m)^([a-z0-9-]+):`).FindAllStringSubmatch(document(t, "../Makefile"), -1)
	for _, part := range regexp.MustCompile(`(?m)^([a-z0-9 |-]+)\)$`).FindAllStringSubmatch(document(t, "../.ci/part"), -1) {
		for name := range strings.SplitSeq(part[1], " | ") {
			targets = append(targets, []string{"", "e2e-" + name})
		}
	}
	for _, command := range makeCommand.FindAllStringSubmatch(document(t, "conformance.md"), -1) {
		if !slices.ContainsFunc(targets, func(target []string) bool { return target[1] == command[1] }) {
			t.Errorf("make %s: there is no such target", command[1])
		}
	}
}

// faults are contradictions between the columns of a row.
func (r requirement) faults() (out []string) {
	if !proofs.MatchString(r.proof) {
		out = append(out, "the proof is "+r.proof)
	}
	if (len(r.tests) == 0) != (len(r.commands) == 0) {
		out = append(out, "it has tests without a command, or a command without tests")
	}
	if len(r.tests) == 0 && !strings.HasPrefix(r.proof, "not proved here") {
		out = append(out, "it is said to be proved, without a test")
	}
	if slices.ContainsFunc(r.commands, func(c string) bool { return !strings.HasPrefix(c, "make ") }) {
		out = append(out, "a command is not one of make")
	}
	has := func(list []string, prefix string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return strings.HasPrefix(s, prefix) })
	}
	if has(r.tests, "internal/e2e.") && !has(r.commands, "make e2e-") {
		out = append(out, "make test does not run the tests of internal/e2e")
	}
	return out
}
