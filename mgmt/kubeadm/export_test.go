package kubeadm

import (
	"context"
	"encoding/json"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// For the fuzz tests of parsers and quoting.
var (
	WithoutSwap = withoutSwap
	ScriptLine  = scriptLine
	CAHash      = caHash
	HelmVar     = helmVariable
	NewToken    = newToken

	PathForm     = pathForm
	ExportTarget = exportTarget
)

// ParseVolume reads the manifest of a persistent volume.
func ParseVolume(text []byte) (name string, manifest []byte, err error) {
	v, err := parseVolume(text)
	if err != nil {
		return "", nil, err
	}
	manifest, err = json.Marshal(v.object)
	return v.name, manifest, err
}

// RestoreHelm gives the last control-plane node what the first has of Helm.
func (d *Driver) RestoreHelm(ctx context.Context, op *vnflcm.Operation) error {
	dep, err := d.open(ctx, op)
	if err != nil {
		return err
	}
	return dep.restoreHelm(ctx, dep.masters[0], dep.masters[len(dep.masters)-1])
}
