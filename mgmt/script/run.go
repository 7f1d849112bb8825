package script

import (
	"bytes"
	"context"
	_ "embed" // the shim
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

//go:embed shim.py
var shim []byte

const (
	// maxOutput is how much a script may print, and how large its result may be as JSON.
	maxOutput = 4 << 20
	// shimTimeout is how long a conversion may take.
	shimTimeout = time.Minute
)

// run runs the script for a hook and takes over its result.
func (d *Driver) run(ctx context.Context, op *vnflcm.Operation, hook vnflcm.Hook) error {
	dir, err := os.MkdirTemp("", "vnfkit-script-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	pkg, home := filepath.Join(dir, "package"), filepath.Join(dir, "home")
	if err := errors.Join(os.Mkdir(home, 0o700), os.CopyFS(pkg, op.Package)); err != nil {
		return fmt.Errorf("script: unpack the package: %w", err)
	}
	script, err := op.Package.Artifact(op.Flavour.Drivers[d.name].File)
	if err != nil {
		return err
	}
	given, err := newInput(ctx, op, hook, pkg)
	if err != nil {
		return err
	}
	text, err := json.Marshal(given)
	if err != nil {
		return err
	}
	pickle, err := d.shim(ctx, text, "encode")
	if err != nil {
		return err
	}
	printed, failed := d.python(ctx, home, pkg, d.config.Timeout, pickle, filepath.Join(pkg, filepath.FromSlash(script)))
	if ctx.Err() != nil || errors.Is(failed, sshexec.ErrTimeout) {
		return failed // the output is incomplete
	}
	return errors.Join(failed, d.take(ctx, op, given, printed, failed == nil))
}

// take applies the output of the script. If the script has failed, it applies only the data for later hooks of the
// operation.
func (d *Driver) take(ctx context.Context, op *vnflcm.Operation, given *input, printed []byte, succeeded bool) error {
	if len(printed) == 0 {
		return nil
	}
	text, err := d.shim(ctx, printed, "decode", strconv.Itoa(maxOutput))
	if err != nil {
		op.Log.WarnContext(ctx, "the output of the script is ignored", "error", err)
		return nil
	}
	var result output
	if err := json.Unmarshal(text, &result); err != nil {
		op.Log.WarnContext(ctx, "the output of the script is ignored: it is not a dict with the expected entries", "error", err)
		return nil
	}
	if err := given.ErrorData.keep(ctx, op, result.ErrorData); err != nil || !succeeded || result.Instance == nil {
		return err
	}
	return takeInstance(ctx, op, given.Instance, result.Instance)
}

// shim runs a mode of shim.py.
func (d *Driver) shim(ctx context.Context, input []byte, args ...string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "vnfkit-shim-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "shim.py")
	if err := os.WriteFile(file, shim, 0o600); err != nil {
		return nil, err
	}
	return d.python(ctx, dir, dir, shimTimeout, input, append([]string{"-I", file}, args...)...)
}

// python runs Python on this machine in an environment without anything of this process.
func (d *Driver) python(ctx context.Context, home, dir string, timeout time.Duration, input []byte, args ...string) ([]byte, error) {
	out := &limited{most: maxOutput}
	argv := append([]string{"env", "-i", "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "HOME=" + home, "TMPDIR=" + home, d.config.Python}, args...)
	err := d.host.Exec(ctx, sshexec.Command{Argv: argv, Dir: dir, Stdin: bytes.NewReader(input), Stdout: out, Timeout: timeout})
	if err == nil && out.over {
		err = fmt.Errorf("script: more than %d bytes were printed", maxOutput)
	}
	return out.Bytes(), err
}

// limited keeps so many bytes and discards the rest.
type limited struct {
	bytes.Buffer
	most int
	over bool
}

func (l *limited) Write(p []byte) (int, error) {
	if room := l.most - l.Len(); len(p) > room {
		l.over = true
		_, _ = l.Buffer.Write(p[:room])
		return len(p), nil
	}
	return l.Buffer.Write(p)
}
