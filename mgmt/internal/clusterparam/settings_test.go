package clusterparam_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt/internal/clusterparam"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// recorder is a management driver that reads the settings in each operation, and may record some.
type recorder struct {
	record *clusterparam.Settings
	read   []clusterparam.Settings
}

func (*recorder) Validate(context.Context, *vnflcm.Operation) error { return nil }

func (r *recorder) Hooks() vnflcm.Hooks {
	hooks := vnflcm.Hooks{}
	for _, h := range []vnflcm.Hook{vnflcm.InstantiateEnd, vnflcm.ScaleStart, vnflcm.ScaleEnd, vnflcm.HealStart, vnflcm.HealEnd, vnflcm.TerminateStart, vnflcm.TerminateEnd} {
		hooks[h] = func(context.Context, *vnflcm.Operation) error { return nil }
	}
	read := func(ctx context.Context, op *vnflcm.Operation) error {
		s, err := clusterparam.ReadSettings(ctx, op)
		r.read = append(r.read, s)
		return err
	}
	hooks[vnflcm.InstantiateEnd] = func(ctx context.Context, op *vnflcm.Operation) error {
		if err := read(ctx, op); err != nil || r.record == nil {
			return err
		}
		return r.record.Record(ctx, op)
	}
	hooks[vnflcm.ScaleEnd] = read
	return hooks
}

// TestSettings checks that a new cluster has the defaults, and that later operations use the recorded settings. Releases
// that did not record settings used Tacker's pod network.
func TestSettings(t *testing.T) {
	t.Parallel()
	made := clusterparam.Settings{PodCIDR: "10.1.0.0/16", ClusterCIDR: "10.2.0.0/16", KubernetesVersion: "1.33.1"}
	for _, c := range []struct {
		name   string
		record *clusterparam.Settings
		later  clusterparam.Settings
	}{
		{"recorded", &made, made},
		{"not recorded", nil, clusterparam.Settings{PodCIDR: "192.168.0.0/16", ClusterCIDR: "10.96.0.0/12", KubernetesVersion: "1.34.4"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := &recorder{record: c.record}
			l := mgmttest.Open(t, mgmttest.Setup{Package: "../../../examples/packages/k8s-cluster",
				Drivers: func(*sshexec.Pool) map[string]vnflcm.MgmtDriver {
					return map[string]vnflcm.MgmtDriver{"mgmt-drivers-kubernetes": r}
				}})
			id := l.Instantiated("instantiate_sandbox.json")
			l.Must(l.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}))
			if diff := cmp.Diff([]clusterparam.Settings{clusterparam.Defaults, c.later}, r.read); diff != "" {
				t.Error(diff)
			}
		})
	}
}
