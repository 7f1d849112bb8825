package archtest_test

import (
	"errors"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDocumentation wants of every public package a doc.go with the package comment and, if there is anything
// to call, a runnable example.
func TestDocumentation(t *testing.T) {
	for _, p := range ours(t) {
		if !p.public() {
			continue
		}
		comment, err := packageComment(filepath.Join(p.Dir, "doc.go"))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			t.Errorf("%s has no doc.go", p.ImportPath)
		case err != nil:
			t.Error(err)
		case !strings.HasPrefix(comment, "Package "+p.Name+" "):
			t.Errorf("%s: the comment in doc.go does not begin with %q", p.ImportPath, "Package "+p.Name)
		}
		callable, err := exportsFunctions(p)
		if err != nil {
			t.Error(err)
		}
		runnable, err := runnableExamples(p)
		if err != nil {
			t.Error(err)
		}
		if callable && runnable == 0 {
			t.Errorf("%s has no Example with an // Output comment: people read those first, and they cannot rot", p.ImportPath)
		}
	}
}

func packageComment(name string) (string, error) {
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		return "", err
	}
	return f.Doc.Text(), nil
}

func parse(p pkg, names []string) ([]*ast.File, error) {
	var out []*ast.File
	set := token.NewFileSet()
	for _, name := range names {
		f, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

func exportsFunctions(p pkg) (bool, error) {
	files, err := parse(p, p.GoFiles)
	for _, f := range files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.IsExported() && !needsTest(fn) {
				return true, err
			}
		}
	}
	return false, err
}

// needsTest reports whether a function takes a *testing.T or the like, which an example does not have.
func needsTest(fn *ast.FuncDecl) bool {
	found := false
	ast.Inspect(fn.Type.Params, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			x, isName := sel.X.(*ast.Ident)
			found = found || isName && x.Name == "testing"
		}
		return true
	})
	return found
}

func runnableExamples(p pkg) (int, error) {
	files, err := parse(p, slices.Concat(p.TestGoFiles, p.XTestGoFiles))
	n := 0
	for _, e := range doc.Examples(files...) {
		if e.Output != "" || e.EmptyOutput {
			n++
		}
	}
	return n, err
}

// TestConstantsShowTheirValues: go doc shows the value of an exported constant. One that is taken from an internal package
// shows a name that the reader cannot look up.
func TestConstantsShowTheirValues(t *testing.T) {
	for _, p := range ours(t) {
		if !p.public() {
			continue
		}
		files, err := parse(p, p.GoFiles)
		if err != nil {
			t.Error(err)
		}
		for _, f := range files {
			for _, name := range hiddenConstants(f) {
				t.Errorf("%s.%s: write the value itself instead of a constant of an internal package", p.ImportPath, name)
			}
		}
	}
}

// hiddenConstants lists the exported constants whose value is a name of an internal package.
func hiddenConstants(f *ast.File) (names []string) {
	internal := map[string]bool{}
	for _, i := range f.Imports {
		if path := strings.Trim(i.Path.Value, `"`); strings.Contains(path, "/internal/") {
			internal[path[strings.LastIndex(path, "/")+1:]] = true
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		d, ok := n.(*ast.GenDecl)
		if !ok || d.Tok != token.CONST {
			return true
		}
		for _, s := range d.Specs {
			spec := s.(*ast.ValueSpec) //nolint:forcetypeassert // of a declaration of constants
			for i, value := range spec.Values {
				if sel, ok := value.(*ast.SelectorExpr); ok && spec.Names[i].IsExported() && internal[sel.X.(*ast.Ident).Name] { //nolint:forcetypeassert // a constant of a package
					names = append(names, spec.Names[i].Name)
				}
			}
		}
		return false
	})
	return names
}
