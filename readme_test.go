package vnfkit_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestReadmeProgram compares the program in the README with Example, which is compiled and run.
func TestReadmeProgram(t *testing.T) {
	program := between(t, "README.md", "```go\n", "```")
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	text, rest, _ := strings.Cut(string(example), "\n\t// Output:")
	_, helpers, _ := strings.Cut(rest, "\n}\n")
	want := strings.NewReplacer("package vnfkit_test\n", "package main\n", "func Example() {", "func main() {",
		"// A VNF package and a request become a Kubernetes cluster, on machines that live in this process.\n", "").Replace(text + "\n}\n" + helpers)
	if diff := cmp.Diff(want, program); diff != "" {
		t.Errorf("the program in README.md is not the one in example_test.go:\n%s", diff)
	}
}

func between(t *testing.T, file, begin, end string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(data), begin)
	text, _, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s: nothing between %q and %q", file, begin, end)
	}
	return text
}

var (
	link         = regexp.MustCompile(`\]\(([^)#:]*)(#[^)]*)?\)`)
	codeBlock    = regexp.MustCompile("(?s)\n```.*?\n```")
	heading      = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notInAnchors = regexp.MustCompile(`[^\pL\pN _-]`)
)

// TestLinks follows the relative links of the documents, to files and to headings in them.
func TestLinks(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.md", "docs/*.md", "examples/*/*.md", "examples/packages/*/*.md"} {
		files = append(files, must(filepath.Glob(pattern))...)
	}
	for _, file := range files {
		text := codeBlock.ReplaceAllString(string(must(os.ReadFile(file))), "")
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target := file
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(file), m[1])
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", file, m[1], err)
				continue
			}
			if m[2] != "" && !slices.Contains(anchors(target), m[2]) {
				t.Errorf("%s links to %s%s: there is no such heading", file, m[1], m[2])
			}
		}
	}
}

// anchors returns the links to the headings of a document, as GitHub makes them.
func anchors(file string) (out []string) {
	for _, m := range heading.FindAllStringSubmatch(string(must(os.ReadFile(file))), -1) {
		out = append(out, "#"+strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return out
}

// TestPackageMaps wants every public package in the table of docs and in the map of godoc.
func TestPackageMaps(t *testing.T) {
	table, err := os.ReadFile("docs/go-packages.md")
	if err != nil {
		t.Fatal(err)
	}
	godoc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(d.Name(), ".") && path != "."
		if d.IsDir() && (hidden || d.Name() == "internal" || path == "examples" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.Name() != "doc.go" || path == "doc.go" {
			return nil
		}
		pkg := filepath.ToSlash(filepath.Dir(path))
		if !strings.Contains(string(table), "| ["+pkg+"](../"+pkg+") |") {
			t.Errorf("docs/go-packages.md lacks %s", pkg)
		}
		if !strings.Contains(string(godoc), "[github.com/vnfkit/vnfkit/"+pkg+"]") {
			t.Errorf("the map in doc.go lacks %s", pkg)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestOperations wants every method of Manager that takes a request in docs/tasks.md, and no name there that Manager lacks.
func TestOperations(t *testing.T) {
	manager := reflect.TypeFor[*vnflcm.Manager]()
	named := regexp.MustCompile(`\b[A-Z]\w+`).FindAllString(between(t, "docs/tasks.md", "`Manager` with ", ", in the states of"), -1)
	for _, name := range named {
		if _, exists := manager.MethodByName(name); !exists {
			t.Errorf("docs/tasks.md names Manager.%s, which does not exist", name)
		}
	}
	for m := range manager.Methods() {
		last := m.Type.In(m.Type.NumIn() - 1)
		if takesRequest := strings.HasSuffix(last.Name(), "Request"); takesRequest && !slices.Contains(named, m.Name) {
			t.Errorf("docs/tasks.md does not name Manager.%s", m.Name)
		}
	}
}
