package archtest_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSnippets compiles the Go code in package comments and in the guides. "..." and "…" stand for what the reader fills in. The names
// that a snippet uses and does not declare have the types of placeholders.
func TestSnippets(t *testing.T) {
	c, all := newCompiler(t), snippets(t)
	for _, s := range all {
		if strings.Contains(s.code, "\n\t\"mycloud/") {
			continue // the package of a tutorial: the tests of docs run the whole tutorial
		}
		for _, err := range c.check(s) {
			t.Errorf("%v: %v", s, err)
		}
	}
	if len(all) < 90 {
		t.Errorf("only %d snippets found", len(all))
	}
}

// snippet is Go code in a comment or a guide.
type snippet struct {
	file string // below the root
	line int    // where the code begins
	code string
}

// otherText is the beginning of code in package comments that is not Go: commands, tables, JSON, names of files.
var otherText = regexp.MustCompile(`^(go run |make |csar-lint |k8s-cluster |tacker-mgmt-driver |ansible-playbook |"additionalParams"|BaseHOT/|openstack   |operation   |attribute   |ssh   |ssh\.|Output, |image begins with |vnfkit\.)`)

func (s snippet) String() string { return fmt.Sprintf("%s:%d", s.file, s.line) }

func snippets(t *testing.T) (out []snippet) {
	t.Helper()
	var guides []string
	for _, pattern := range []string{"*.md", "docs/*.md", "examples/*/*.md"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		check(t, err)
		guides = append(guides, names...)
	}
	for _, name := range guides {
		text, err := os.ReadFile(name)
		check(t, err)
		out = append(out, fenced(name, string(text))...)
	}
	for _, p := range ours(t) {
		for _, name := range p.GoFiles {
			found, err := commented(filepath.Join(p.Dir, name))
			check(t, err)
			out = append(out, found...)
		}
	}
	base, err := filepath.Abs(root)
	check(t, err)
	for i := range out {
		name, err := filepath.Abs(out[i].file)
		check(t, err)
		name, err = filepath.Rel(base, name)
		check(t, err)
		out[i].file = filepath.ToSlash(name)
	}
	return out
}

var fence = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

// fenced returns the Go code in a guide.
func fenced(name, text string) (out []snippet) {
	for _, at := range fence.FindAllStringSubmatchIndex(text, -1) {
		out = append(out, snippet{name, 1 + strings.Count(text[:at[2]], "\n"), text[at[2]:at[3]]})
	}
	return out
}

// commented returns the Go code in the package comment of a file: its indented lines.
func commented(name string) (out []snippet, err error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil || f.Doc == nil {
		return nil, err
	}
	var code []string
	first := 0
	flush := func() {
		if text := strings.TrimSpace(strings.Join(code, "\n")); text != "" && !otherText.MatchString(text) {
			out = append(out, snippet{name, first, text})
		}
		code = nil
	}
	for _, c := range f.Doc.List {
		line, indented := strings.CutPrefix(c.Text, "//\t")
		switch {
		case indented && len(code) == 0:
			first = set.Position(c.Pos()).Line
			fallthrough
		case indented:
			code = append(code, line)
		case c.Text == "//" && len(code) > 0:
			code = append(code, "")
		default:
			flush()
		}
	}
	flush()
	return out, nil
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
