package archtest_test

import (
	"bytes"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// machinePath finds paths of the machines that the code is written on. Pieces, so that it does not find itself.
var machinePath = regexp.MustCompile(`(^|[^A-Za-z0-9_.])/` + `work/[a-z]|\.\./` + `shared\b|/root/` + `go\b`)

// TestNoMachinePaths keeps paths of a developer's machine out of all files but those that CI runs.
func TestNoMachinePaths(t *testing.T) {
	checked := 0
	tree := os.DirFS(root)
	err := fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "bin") {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 || path == ".git" { // of a worktree
			return err
		}
		data, err := fs.ReadFile(tree, path)
		if err != nil {
			return err
		}
		checked++
		for i, line := range bytes.Split(data, []byte("\n")) {
			if found := machinePath.Find(line); found != nil {
				t.Errorf("%s:%d: %q is a path of one machine", path, i+1, found)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 100 {
		t.Errorf("only %d files looked at: is %s the root of the repository?", checked, root)
	}
}
