package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// failure is an entry of operations.md: its heading, and the rows of its table.
type failure struct {
	name string
	rows map[string]string
}

// failureRows are the rows of each entry, in their order. Entries that no test plays have no row tests.
var failureRows = []string{"symptom", "error", "by hand", "then", "tests"}

// failures reads the entries of operations.md: the headings of the third level.
func failures(t *testing.T) (out []failure) {
	t.Helper()
	for _, section := range strings.Split(document(t, "operations.md"), "\n### ")[1:] {
		section, _, _ = strings.Cut(section, "\n## ")
		name, table, _ := strings.Cut(section, "\n")
		f, names := failure{name, map[string]string{}}, []string(nil)
		for line := range strings.Lines(table) {
			cells := strings.SplitN(strings.TrimSpace(line), "|", 4)
			if row := strings.TrimSpace(strings.Join(cells[min(1, len(cells)):min(2, len(cells))], "")); row != "" && !strings.HasPrefix(row, "--") {
				f.rows[row], names = strings.TrimSuffix(strings.TrimSpace(cells[2]), "|"), append(names, row)
			}
		}
		if slices.Equal(names, failureRows[:4]) {
			names = failureRows
		}
		if !slices.Equal(names, failureRows) {
			t.Errorf("%s has the rows %q, want %q", name, names, failureRows)
		}
		out = append(out, f)
	}
	return out
}

// errors are the error texts that an entry quotes. "…" stands for what differs from case to case.
func (f failure) errors() []string { return quoted(f.rows["error"]) }

// pattern matches texts that have a quoted error.
func pattern(quoted string) *regexp.Regexp {
	parts := strings.Split(quoted, "…")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	return regexp.MustCompile("(?s)" + strings.Join(parts, ".*?"))
}

// verb is a verb of a format string.
var verb = regexp.MustCompile(`%[-+# 0-9.\[\]*]*[a-zA-Z]`)

// texts returns the texts of the program: string literals outside of tests, with "…" for verbs and for operands of concatenations
// that are no literals.
func texts(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	for _, root := range []string{"../vnflcm", "../infra", "../mgmt", "../helmclient", "../sshexec", "../internal", "../examples/vnfm"} {
		check(t, filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				e, isExpr := n.(ast.Expr)
				if text, found := literal(e); isExpr && found {
					out.WriteString(verb.ReplaceAllString(text, "…") + "\x00")
					return false
				}
				return true
			})
			return nil
		}))
	}
	return out.String()
}

// literal returns the text of a string literal, or of a concatenation with one.
func literal(e ast.Expr) (text string, found bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		}
	case *ast.BinaryExpr:
		left, found1 := literal(e.X)
		right, found2 := literal(e.Y)
		if e.Op == token.ADD && (found1 || found2) {
			for part, found := range map[*string]bool{&left: found1, &right: found2} {
				if !found {
					*part = "…"
				}
			}
			return left + right, true
		}
	}
	return "", false
}

// TestOperations checks the form of operations.md, that the code has each quoted error, and that the tests exist.
func TestOperations(t *testing.T) {
	t.Parallel()
	all, declared, played := failures(t), map[string][]string{}, map[string]bool{}
	code := texts(t)
	for _, f := range all {
		for _, text := range f.errors() {
			inOne := strings.ReplaceAll(pattern(text).String(), ".*?", `[^\x00]*?`)
			if !regexp.MustCompile(inOne).MatchString(code) {
				t.Errorf("%s: the code has no text %q", f.name, text)
			}
		}
		for _, name := range quoted(f.rows["tests"]) {
			dot := strings.LastIndex(name, ".")
			pkg, test := name[:max(dot, 0)], name[dot+1:]
			if _, known := declared[pkg]; !known {
				declared[pkg] = testsIn(t, pkg)
			}
			if !slices.Contains(declared[pkg], test) {
				t.Errorf("%s: package %q has no test %s", f.name, pkg, test)
			}
			played[f.name] = played[f.name] || name == "docs.TestPlayedFailures"
		}
		if played[f.name] != (plays[f.name] != nil) {
			t.Errorf("%s: TestPlayedFailures plays it: %v", f.name, plays[f.name] != nil)
		}
	}
	for name := range maps.Keys(plays) {
		if !slices.ContainsFunc(all, func(f failure) bool { return f.name == name }) {
			t.Errorf("operations.md has no entry %q, which is played", name)
		}
	}
	if len(all) < 25 || len(plays) < 8 {
		t.Errorf("%d entries, of which %d are played", len(all), len(plays))
	}
}
