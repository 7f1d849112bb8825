package archtest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

const (
	module = "github.com/vnfkit/vnfkit"
	root   = "../.."
)

// pkg is what go list says of a package.
type pkg struct {
	ImportPath   string
	Name         string
	Dir          string
	Standard     bool
	Imports      []string // direct ones
	TestImports  []string
	XTestImports []string
	Deps         []string // all, without those of the tests
	GoFiles      []string
	TestGoFiles  []string
	XTestGoFiles []string
}

// short is the path within the module, "" for its root.
func (p pkg) short() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

// public reports whether other modules can import the package.
func (p pkg) public() bool {
	return len(p.GoFiles) > 0 && p.Name != "main" && !within(p.short(), "examples") && !strings.Contains("/"+p.ImportPath+"/", "/internal/")
}

// within reports whether path is dir or below it.
func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// goList runs go list once for all tests.
var goList = sync.OnceValues(func() ([]byte, error) {
	c := exec.Command("go", "list", "-json=ImportPath,Name,Dir,Standard,Imports,TestImports,XTestImports,Deps,GoFiles,TestGoFiles,XTestGoFiles", "./...")
	c.Dir = root
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		err = errors.Join(err, errors.New(stderr.String()))
	}
	return out, err
})

// ours lists the packages of this module.
func ours(t *testing.T) []pkg {
	t.Helper()
	out, err := goList()
	if err != nil {
		t.Fatal(err)
	}
	var all []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}
