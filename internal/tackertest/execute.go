package tackertest

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
)

//go:embed executor.py
var executor string

// TackerEnv names the variable with the root of a checkout of OpenStack Tacker, whose code then runs scripts. Its
// libraries are those of Debian's OpenStack packages.
const TackerEnv = "VNFKIT_TACKER"

// Python returns the interpreter that runs scripts, empty on a machine without Python.
func Python() string {
	if os.Getenv(TackerEnv) != "" {
		return "/usr/bin/python3"
	}
	name, _ := exec.LookPath("python3")
	return name
}

// Execute runs a script, whose name is relative to Definitions/ of the package, as the conductor does. It returns the
// resulting VNF instance.
func Execute(ctx context.Context, said []byte, script string, env ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, Python(), "-c", executor, script) //nolint:gosec // of the tests
	var out, failure bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = bytes.NewReader(said), &out, &failure, append(os.Environ(), env...)
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("the conductor: %w: %s", err, failure.String())
	}
	return out.Bytes(), nil
}
