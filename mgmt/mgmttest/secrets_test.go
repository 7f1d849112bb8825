package mgmttest_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// leaking runs a program with the secret of its request as an argument, and logs the secret.
type leaking struct{ pool *sshexec.Pool }

func (leaking) Validate(context.Context, *vnflcm.Operation) error { return nil }

func (d leaking) Hooks() vnflcm.Hooks {
	return vnflcm.Hooks{vnflcm.HealEnd: vnflcm.Noop, vnflcm.InstantiateEnd: func(ctx context.Context, op *vnflcm.Operation) error {
		login := mgmt.Login{Username: "ubuntu", Password: vnflcm.NewSecret("ubuntu")}
		nodes, err := mgmt.Access{CP: "CP1", Login: login}.Nodes(op, d.pool, "node")
		if err != nil {
			return err
		}
		op.Log.InfoContext(ctx, "configuring", "value", mgmttest.Canary)
		return vnflcm.Each(ctx, 1, nodes, func(ctx context.Context, n mgmt.Node) error {
			return n.Do(ctx, op, "configure", time.Minute, func(ctx context.Context) error {
				return n.SSH.Run(ctx, []string{"echo", mgmttest.Canary}, nil, nil, nil)
			})
		})
	}}
}

// TestSecrets: a driver that shows a secret fails the test when the lab ends.
func TestSecrets(t *testing.T) {
	t.Parallel()
	var failed *recorder
	t.Run("lab", func(t *testing.T) {
		failed = &recorder{TB: t}
		l := mgmttest.Open(failed, mgmttest.Setup{Package: "../../examples/packages/private-registry", Drivers: func(pool *sshexec.Pool) map[string]vnflcm.MgmtDriver {
			return map[string]vnflcm.MgmtDriver{"mgmt-drivers-private-registry": leaking{pool}}
		}})
		id := l.Instantiated("instantiate_sandbox.json")
		opID, err := l.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
		l.Must(opID, err)
	})
	want := []string{
		"PrivateRegistryVDU-0: an argument of /bin/sh has a secret, and every user of a machine can read arguments: Stdin and Env are not shown",
		"PrivateRegistryVDU-0: an argument of echo has a secret, and every user of a machine can read arguments: Stdin and Env are not shown",
		"the log has a secret",
	}
	if diff := cmp.Diff(want, failed.errors); diff != "" {
		t.Error(diff)
	}
}
