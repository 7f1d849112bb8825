package archtest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestMakeFails: make test and make test-full fail if any of their go commands does, also if that ends long before the rest.
func TestMakeFails(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("no make")
	}
	programs := t.TempDir()
	for name, script := range map[string]string{
		"gotestsum": "#!/bin/bash\nwhile [[ $1 != -- ]]; do shift; done\nshift\nexec \"$@\"\n",
		// The command whose arguments have the words of FAILS, and none of PASSES, fails at once.
		"go": `#!/bin/bash
[[ $1 == test ]] || exit 0
echo '{"Action":"output"}'
for word in $FAILS; do [[ " $* " == *" $word "* ]] || { sleep 0.3; exit 0; }; done
for word in $PASSES; do [[ " $* " != *" $word "* ]] || { sleep 0.3; exit 0; }; done
exit 1
`,
	} {
		if err := os.WriteFile(filepath.Join(programs, name), []byte(script), 0o700); err != nil { //nolint:gosec // programs
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct{ target, fails, passes string }{
		"test":                     {"test", "none", ""},
		"test, without detector":   {"test", "-short", "-race"},
		"test, with detector":      {"test", "-race", ""},
		"test-full, matrices":      {"test-full", "-p 2", "-race"},
		"test-full, with detector": {"test-full", "-race", "-short"},
		"test-full, simulated":     {"test-full", "-race -short", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			make := exec.CommandContext(t.Context(), "make", c.target, "GO="+filepath.Join(programs, "go"), "GOTESTSUM="+filepath.Join(programs, "gotestsum"))
			make.Dir = filepath.Join("..", "..")
			make.Env = append(os.Environ(), "FAILS="+c.fails, "PASSES="+c.passes, "MAKEFLAGS=", "MAKELEVEL=")
			out, err := make.CombinedOutput()
			if (err != nil) != (c.fails != "none") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
