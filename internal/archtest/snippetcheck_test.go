package archtest_test

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// compiler type-checks snippets against the compiled packages.
type compiler struct {
	set      *token.FileSet
	compiled types.Importer
	paths    map[string][]string       // of packages, by name
	guides   map[string]*types.Package // that guides write, by path
}

// newCompiler compiles all packages of the module that are not in Go's build cache.
func newCompiler(t *testing.T) *compiler {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Name}} {{.Export}}", "./...", "go.opentelemetry.io/otel/sdk/trace")
	command.Dir = root
	var stderr bytes.Buffer
	command.Stderr = &stderr
	list, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	c := &compiler{set: token.NewFileSet(), paths: map[string][]string{}, guides: map[string]*types.Package{}}
	files := map[string]string{}
	for line := range strings.Lines(string(list)) {
		if fields := strings.Fields(line); len(fields) == 3 {
			c.paths[fields[1]] = append(c.paths[fields[1]], fields[0])
			files[fields[0]] = fields[2]
		}
	}
	c.compiled = importer.ForCompiler(c.set, "gc", func(path string) (io.ReadCloser, error) {
		if files[path] == "" {
			return nil, errors.New("no such package")
		}
		return os.Open(files[path])
	})
	return c
}

// Import implements types.Importer.
func (c *compiler) Import(path string) (*types.Package, error) {
	if p := c.guides[path]; p != nil {
		return p, nil
	}
	return c.compiled.Import(path)
}

// errUnused are complaints about a program that a snippet is only a part of.
var errUnused = regexp.MustCompile(`declared and not used|is not used$`)

// check returns the errors of a snippet: a whole file, declarations, or the inside of a function that returns an error.
func (c *compiler) check(s snippet) []error {
	if packageClause.MatchString(s.code) {
		return c.checkFile(s)
	}
	at := fmt.Sprintf("//line %s:%d\n", s.file, s.line)
	code := s.code
	for _, e := range elisions {
		code = e.text.ReplaceAllString(code, e.by)
	}
	begin, end := "", ""
	if _, err := c.parse(at + "package p\n" + code); err != nil {
		begin, end = "func _() error {\n", "\npanic(0)\n}\n"
	}
	f, err := c.parse("package p\n" + begin + at + code + end)
	if err != nil {
		return []error{err}
	}
	imports, placeholders, errs := c.missing(s, f)
	f, err = c.parse("package p\n" + imports + begin + at + code + end)
	if err != nil {
		return append(errs, err)
	}
	declared, err := c.parse(placeholders)
	if err != nil {
		return append(errs, err)
	}
	_, found := c.types("p", f, declared)
	return append(errs, slices.DeleteFunc(found, func(err error) bool { return errUnused.MatchString(err.Error()) })...)
}

var packageClause = regexp.MustCompile(`(?m)^package \w+$`)

// elisions are "..." and "…": on a line, first or alone in a literal or a block, last in a literal.
var elisions = []struct {
	text *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`(?m)^\s*(\.\.\.|…)$`), ""},
	{regexp.MustCompile(`\{ ?(\.\.\.|…)(, | ?)`), "{"},
	{regexp.MustCompile(`, (\.\.\.|…)\}`), "}"},
}

func (c *compiler) parse(text string) (*ast.File, error) {
	return parser.ParseFile(c.set, "", text, parser.ParseComments)
}

// checkFile checks a file that a guide writes. Files of other guides and blocks may import it below the module "web".
func (c *compiler) checkFile(s snippet) []error {
	f, err := c.parse(fmt.Sprintf("//line %s:%d\n%s", s.file, s.line, s.code))
	if err != nil {
		return []error{err}
	}
	p, errs := c.types(path.Join("web", f.Name.Name), f)
	if f.Name.Name != "main" && !strings.HasSuffix(f.Name.Name, "_test") {
		c.guides[p.Path()] = p
	}
	return errs
}

func (c *compiler) types(path string, files ...*ast.File) (p *types.Package, errs []error) {
	config := types.Config{Importer: c, Error: func(err error) { errs = append(errs, err) }}
	p, _ = config.Check(path, c.set, files, nil) // its error is the first of errs
	return p, errs
}

// missing returns the imports that a snippet needs, and a file with the declarations of its placeholders.
func (c *compiler) missing(s snippet, f *ast.File) (imports, declarations string, errs []error) {
	packages := selected(f)
	aliases, variables := map[string]bool{}, ""
	seen := map[string]bool{}
	for _, name := range f.Unresolved {
		if seen[name.Name] || types.Universe.Lookup(name.Name) != nil {
			continue
		}
		seen[name.Name] = true
		kind := placeholder(s.file, name.Name)
		if kind == "" && packages[name.Name] && len(c.paths[name.Name])+len(imported[s.file+" "+name.Name]) > 0 {
			path, err := c.path(s.file, name.Name)
			imports += fmt.Sprintf("import %s %q\n", name.Name, path)
			errs = append(errs, err)
			continue
		}
		if kind == "" {
			errs = append(errs, fmt.Errorf("%s is not declared: declare it, or add it to the placeholders of this test", name.Name))
			continue
		}
		for _, m := range qualifier.FindAllStringSubmatch(kind, -1) {
			aliases[m[1]] = true
		}
		variables += "var " + name.Name + " " + qualifier.ReplaceAllString(kind, "of_$1.$2") + "\n"
	}
	declarations = "package p\n"
	for name := range aliases {
		path, err := c.path(s.file, name)
		declarations += fmt.Sprintf("import of_%s %q\n", name, path)
		errs = append(errs, err)
	}
	return imports, declarations + variables, slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// qualifier is the name of a package before an exported name.
var qualifier = regexp.MustCompile(`\b([a-z]\w*)\.([A-Z])`)

// selected returns the names before exported names.
func selected(f *ast.File) map[string]bool {
	out := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if x, isName := selector.X.(*ast.Ident); isName && selector.Sel.IsExported() {
				out[x.Name] = true
			}
		}
		return true
	})
	return out
}

// path returns the import path for the name of a package in a file: that of the file itself, of the module, or of the standard library.
func (c *compiler) path(file, name string) (string, error) {
	if chosen := imported[file+" "+name]; chosen != "" {
		return chosen, nil
	}
	own := path.Join(module, path.Dir(file))
	public := func(p string) bool { return within(p, module) && !strings.Contains(p, "/internal/") }
	standard := func(p string) bool {
		return !strings.Contains(p, ".") && !strings.Contains("/"+p, "/internal/") && !within(p, "vendor")
	}
	for _, fits := range []func(string) bool{func(p string) bool { return p == own }, public, standard, func(string) bool { return true }} {
		found := slices.DeleteFunc(slices.Clone(c.paths[name]), func(p string) bool { return !fits(p) })
		if len(found) == 1 {
			return found[0], nil
		}
		if len(found) > 1 {
			return "", fmt.Errorf("%s is the name of %q: choose one in this test", name, found)
		}
	}
	return "", fmt.Errorf("no package has the name %s", name)
}
