package script

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/internal/bounded"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Config of a Driver.
type Config struct {
	Pool    *sshexec.Pool // required; the caller closes it
	Python  string        // program that runs scripts; default "python3"
	Timeout time.Duration // of one script; default 1 hour
}

// Driver runs the script that VNFDs name by its name. It is safe for concurrent use.
type Driver struct {
	name   string
	config Config
	host   *sshexec.Host
}

var _ vnflcm.MgmtDriver = (*Driver)(nil)

// New returns a Driver that runs a script of the package. name is what VNFDs call it: the key of the artifact whose file is the
// script, and the implementation of a hook.
func New(name string, c Config) *Driver {
	c.Python = cmp.Or(c.Python, "python3")
	if c.Timeout <= 0 {
		c.Timeout = time.Hour
	}
	return &Driver{name: name, config: c, host: c.Pool.Local(sshexec.Sudo{})}
}

// Hooks implements vnflcm.MgmtDriver. The driver has every hook.
func (d *Driver) Hooks() vnflcm.Hooks {
	out := vnflcm.Hooks{}
	for hook := range (vnflcm.NoopDriver{}).Hooks() {
		out[hook] = func(ctx context.Context, op *vnflcm.Operation) error {
			return vnflcm.Do(ctx, op, "script", "", func(ctx context.Context) error { return d.run(ctx, op, hook) })
		}
	}
	return vnflcm.Checked(out)
}

// maxSource is how large a script may be.
const maxSource = 1 << 20

// source is a script for the shim to check. Local are the names of the modules beside it.
type source struct {
	Text  string   `json:"text"`
	Local []string `json:"local"`
}

// Validate implements vnflcm.MgmtDriver. It reads the script and does not run it.
func (d *Driver) Validate(ctx context.Context, op *vnflcm.Operation) error {
	if err := op.Check(); err != nil {
		return err
	}
	if op.Terminate != nil {
		return nil // a fault of the package must not prevent removing a VNF
	}
	file := op.Flavour.Drivers[d.name].File
	reasons, err := d.check(ctx, op, file)
	if err != nil {
		return err
	}
	var faults []error
	for _, reason := range reasons {
		faults = append(faults, d.fault(file, reason))
	}
	return errors.Join(faults...)
}

// check returns the faults of a script of the package.
func (d *Driver) check(ctx context.Context, op *vnflcm.Operation, file string) ([]string, error) {
	script, err := readSource(op, file)
	if err != nil {
		return []string{err.Error()}, nil
	}
	input, err := json.Marshal(map[string]source{file: script})
	if err != nil {
		return nil, err
	}
	answer, err := d.shim(ctx, input, "check")
	if err != nil {
		return nil, fmt.Errorf("script: %s cannot check scripts: %w", d.config.Python, err)
	}
	var found map[string][]string
	err = json.Unmarshal(answer, &found)
	return found[file], err
}

func (d *Driver) fault(file, reason string) error {
	return &vnflcm.ParamError{Path: "VNFD artifacts." + d.name, Value: file, Reason: reason}
}

// readSource reads a script of the package.
func readSource(op *vnflcm.Operation, file string) (source, error) {
	name, err := op.Package.Artifact(file)
	if err != nil {
		return source{}, err
	}
	f, err := op.Package.Open(name)
	if err != nil {
		return source{}, err
	}
	defer f.Close()
	text, err := bounded.Read(f, maxSource)
	if err != nil {
		return source{}, err
	}
	beside, err := fs.ReadDir(op.Package, path.Dir(name))
	local := map[string]bool{}
	for _, entry := range beside {
		if entry.IsDir() || path.Ext(entry.Name()) == ".py" {
			local[strings.TrimSuffix(entry.Name(), ".py")] = true
		}
	}
	return source{Text: string(text), Local: slices.Sorted(maps.Keys(local))}, err
}
