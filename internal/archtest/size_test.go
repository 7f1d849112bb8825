package archtest_test

import (
	"bytes"
	"go/ast"
	"os"
	"path/filepath"
	"testing"
)

// mostMethods is how many methods a type of mgmt/kubeadm may have. What needs more becomes a package of mgmt/internal that does one thing
// on given machines.
const mostMethods = 40

// mostLinesOfPlans is how long the file may be in which a reader finds what each operation does.
const mostLinesOfPlans = 250

func TestKubeadmStaysReadable(t *testing.T) {
	for _, p := range ours(t) {
		if p.short() != "mgmt/kubeadm" {
			continue
		}
		files, err := parse(p, p.GoFiles)
		if err != nil {
			t.Fatal(err)
		}
		for receiver, n := range methods(files) {
			if n > mostMethods {
				t.Errorf("%s has %d methods, at most %d are allowed", receiver, n, mostMethods)
			}
		}
		plans, err := os.ReadFile(filepath.Join(p.Dir, "plan.go"))
		if n := bytes.Count(plans, []byte("\n")); err != nil || n > mostLinesOfPlans {
			t.Errorf("plan.go has %d lines, at most %d are allowed: %v", n, mostLinesOfPlans, err)
		}
	}
}

// methods counts the methods of each type.
func methods(files []*ast.File) map[string]int {
	count := map[string]int{}
	for _, f := range files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil {
				continue
			}
			receiver := fn.Recv.List[0].Type
			if pointer, ok := receiver.(*ast.StarExpr); ok {
				receiver = pointer.X
			}
			if name, ok := receiver.(*ast.Ident); ok {
				count[name.Name]++
			}
		}
	}
	return count
}
