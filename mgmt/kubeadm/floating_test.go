package kubeadm_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/mgmttest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// floating is a sandbox whose machines have floating addresses under names of their own, as Tacker's guides give them in Heat
// templates.
type floating struct{ *sandbox.World }

var floatingNames = map[string]string{"masterNode_FloatingIP": "masterNode_CP1", "workerNode_FloatingIP": "workerNode_CP2"}

func (floating) ConnectionPoints(*vnflcm.Operation) (map[string]string, error) { return floatingNames, nil }

func (f floating) Resources(ctx context.Context, op *vnflcm.Operation) (vnflcm.Resources, error) {
	r, err := f.World.Resources(ctx, op)
	for i := range r.VNFCs {
		for name, of := range floatingNames {
			if cp, ok := r.VNFCs[i].CP(of); ok {
				cp.CPD, cp.Floating = name, cp.Fixed[0]
				r.VNFCs[i].CPs = append(slices.Clone(r.VNFCs[i].CPs), cp)
			}
		}
	}
	return r, err
}

// TestFloatingNames: the machines of a cluster are logged in to at floating addresses that the VNFD does not name.
func TestFloatingNames(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	m := l.Process(func(c *vnflcm.Config) { c.Infra = map[string]vnflcm.InfraDriver{"sandbox": floating{l.World}} })
	opID, err := l.instantiateBy(m, mgmttest.Sized("simple", 1), with(t, `{
		"master_node":{"ssh_cp_name":"masterNode_FloatingIP","nic_cp_name":"masterNode_CP1"},
		"worker_node":{"ssh_cp_name":"workerNode_FloatingIP","nic_cp_name":"workerNode_CP2"}}`))
	l.Must(opID, err, m)
	l.want(1, 2, 0)

	_, err = l.instantiateBy(m, with(t, `{
		"master_node":{"ssh_cp_name":"masterNode_FloatingIP","nic_cp_name":"workerNode_CP2"},
		"worker_node":{"ssh_cp_name":"unknown_FloatingIP"}}`))
	want := []string{
		"additionalParams." + param + ".master_node.nic_cp_name: \"workerNode_CP2\": is of VDU workerNode, but ssh_cp_name is of VDU masterNode",
		"additionalParams." + param + ".worker_node.ssh_cp_name: \"unknown_FloatingIP\": the flavour has no such connection point",
	}
	if diff := cmp.Diff(want, mgmttest.Faults(err)); diff != "" {
		t.Error(diff)
	}
}
