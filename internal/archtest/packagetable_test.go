package archtest_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// packageRow is a row of the table in docs/go-packages.md: name, link, description, imports.
var packageRow = regexp.MustCompile(`(?m)^\| \[([^]]+)\]\([^)]*\) \| [^|]* \| ([^|]*) \|$`)

// TestPackageTable compares the column "imports of ours" of docs/go-packages.md with the public packages that the code imports, itself or
// by internal packages.
func TestPackageTable(t *testing.T) {
	table, err := os.ReadFile(filepath.Join(root, "docs", "go-packages.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string][]string{}
	for _, row := range packageRow.FindAllStringSubmatch(string(table), -1) {
		shown[row[1]] = slices.Sorted(slices.Values(strings.Split(row[2], ", ")))
	}
	packages := map[string]pkg{}
	for _, p := range ours(t) {
		packages[p.ImportPath] = p
	}
	imports := map[string][]string{}
	for _, p := range packages {
		if name := p.short(); p.public() && name != "" {
			imports[name] = slices.Sorted(maps.Keys(publicImports(packages, p)))
			if len(imports[name]) == 0 {
				imports[name] = []string{"none"}
			}
		}
	}
	if diff := cmp.Diff(imports, shown); diff != "" {
		t.Errorf("imports of ours (-code +table):\n%s", diff)
	}
}

// publicImports are the public packages of this module that a package imports, itself or by packages that are not public.
func publicImports(packages map[string]pkg, p pkg) map[string]bool {
	out := map[string]bool{}
	for _, path := range p.Imports {
		imported, isOurs := packages[path]
		switch {
		case !isOurs:
		case imported.public():
			out[imported.short()] = true
		default:
			maps.Copy(out, publicImports(packages, imported))
		}
	}
	delete(out, p.short())
	return out
}
