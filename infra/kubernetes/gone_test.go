package kubernetes_test

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// founder is an infra driver whose VNFs become the cluster of the lab.
type founder struct{ made vnflcm.VimConnectionInfo }

func (*founder) Plan(context.Context, *vnflcm.Operation) (vnflcm.Change, error) {
	return vnflcm.Change{}, nil
}
func (f *founder) Instantiate(ctx context.Context, op *vnflcm.Operation) error {
	return op.RegisterVIM(ctx, f.made)
}
func (*founder) Scale(context.Context, *vnflcm.Operation) error     { return nil }
func (*founder) Heal(context.Context, *vnflcm.Operation) error      { return nil }
func (*founder) Terminate(context.Context, *vnflcm.Operation) error { return nil }

// ElasticVDUs implements vnflcm.ElasticVDUs: the cluster of the lab has no VNFCs.
func (*founder) ElasticVDUs(_ context.Context, op *vnflcm.Operation) (vdus []string, err error) {
	for _, v := range op.Flavour.VDUs {
		vdus = append(vdus, v.ID)
	}
	return vdus, nil
}

func (*founder) Resources(context.Context, *vnflcm.Operation) (vnflcm.Resources, error) {
	return vnflcm.Resources{}, nil
}

// TestClusterGone terminates a CNF after its cluster: what the driver keeps outside of the cluster is removed.
func TestClusterGone(t *testing.T) {
	t.Parallel()
	l, charts := newLab(t, kubernetes.VimTypeV1), serve(t)
	random := make([]byte, 3<<20)
	if _, err := rand.Read(random); err != nil {
		t.Fatal(err)
	}
	charts.publish(t, "0.1.0", string(random))
	made, err := l.VIMs().Get(t.Context(), "", "vim")
	if err != nil {
		t.Fatal(err)
	}
	made.ID, made.VimID = "made", "made"
	kept, cfg := &shelf{charts: map[string][]byte{}}, l.config()
	cfg.Charts = kept
	l.Manager = l.compose(kubernetes.New(cfg), func(c *vnflcm.Config) { c.Infra["founder"] = &founder{made} })
	if err := l.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "cloud", VimType: "founder"}); err != nil {
		t.Fatal(err)
	}
	cluster := l.created(vnfdID)
	request := l.request("simple", `{}`)
	request.VimConnectionInfo[0].VimID = "cloud"
	l.must(l.Instantiate(t.Context(), cluster, request))
	request = l.request("simple", charts.params())
	request.VimConnectionInfo[0].VimID = "made"
	l.must(l.Instantiate(t.Context(), l.id, request))
	files := filepath.Join(l.dir, l.id)
	if _, err := os.Stat(files); err != nil || len(kept.charts) != 1 {
		t.Fatalf("%v, %d charts are kept", err, len(kept.charts))
	}

	l.must(l.Terminate(t.Context(), cluster, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	l.cluster.Stop()
	l.terminate(vnflcm.TerminateGraceful, `{}`)
	if _, err := os.Stat(files); !os.IsNotExist(err) || len(kept.charts) > 0 {
		t.Errorf("%v, %d charts are kept", err, len(kept.charts))
	}
	states, err := l.store.List(t.Context(), store.Query{Kind: "state"})
	if err != nil || len(states) > 0 {
		t.Errorf("states that are left: %v, %v", states, err)
	}
	if err := l.Delete(t.Context(), l.id, ""); err != nil {
		t.Error(err)
	}
}
