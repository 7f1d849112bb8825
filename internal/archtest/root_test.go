package archtest_test

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// becomesRoot finds commands and files of root that do not come from linux.AsRoot.
var becomesRoot = regexp.MustCompile(`\bRoot: +true\b|\.Root = true\b|"sudo"`)

// TestRoot lets drivers become root in one way: by mgmt/linux, which uses sshexec.
func TestRoot(t *testing.T) {
	checked := 0
	for _, room := range []string{"mgmt", "infra", "helmclient", "vnflcm", "examples"} {
		err := fs.WalkDir(os.DirFS(root), room, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "mgmt/linux/") {
				return err
			}
			text, err := fs.ReadFile(os.DirFS(root), path)
			if found := becomesRoot.Find(text); found != nil {
				t.Errorf("%s has %q: use mgmt.Node.Root or linux.AsRoot", path, found)
			}
			checked++
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if checked < 100 {
		t.Errorf("only %d files looked at: is %s the root of the repository?", checked, root)
	}
}
