package kubeadm

import (
	"context"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// For the fuzz tests of parsers and quoting.
var (
	WithoutSwap = withoutSwap
	ProxyDropIn = proxyDropIn
	ScriptLine  = scriptLine
	CAHash      = caHash
	HelmVar     = helmVariable
	NewToken    = newToken
)

// RestoreHelm gives the last control-plane node what the first has of Helm.
func (d *Driver) RestoreHelm(ctx context.Context, op *vnflcm.Operation) error {
	dep, err := d.open(op)
	if err != nil {
		return err
	}
	return dep.restoreHelm(ctx, dep.masters[0], dep.masters[len(dep.masters)-1])
}
