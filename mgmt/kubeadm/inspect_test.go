package kubeadm_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// examined calls do with the machines that the driver logs in to.
func (l *lab) examined(id string, do func(ctx context.Context, machines []mgmt.Node) error) {
	l.t.Helper()
	err := l.Examine(l.t.Context(), id, func(ctx context.Context, op *vnflcm.Operation, drivers []vnflcm.MgmtDriver) error {
		machines, err := drivers[0].(interface {
			Machines(ctx context.Context, op *vnflcm.Operation) ([]mgmt.Node, error)
		}).Machines(ctx, op)
		if err != nil {
			return err
		}
		return do(ctx, machines)
	})
	if err != nil {
		l.t.Fatal(err)
	}
}

// TestInspect finds nodes that are missing, and nodes that are not ready.
func TestInspect(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{})
	id := l.Instantiated("instantiate_sandbox.json")
	found := func() (out []string) {
		t.Helper()
		list, err := l.Diagnose(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range list {
			out = append(out, string(f.Kind)+" "+f.Resource+" "+f.Name)
		}
		return out
	}
	if got := found(); len(got) > 0 {
		t.Fatalf("nothing was changed: %v", got)
	}
	var all []string
	l.examined(id, func(ctx context.Context, machines []mgmt.Node) error {
		for _, m := range machines {
			all = append(all, m.Name)
		}
		out, err := machines[0].SSH.Output(ctx, sshexec.Command{Argv: []string{"hostname"}})
		if strings.TrimSpace(string(out)) != machines[0].HostName {
			t.Errorf("the host name is %q, want %s", out, machines[0].HostName)
		}
		return err
	})
	if len(all) < 2 || all[0] != "masterNode-0" {
		t.Fatalf("machines %v", all)
	}
	worker := all[len(all)-1]
	onNode := func(do func(ctx context.Context, kube *cluster.Cluster[mgmt.Node], n cluster.Node) error) {
		t.Helper()
		l.examined(id, func(ctx context.Context, machines []mgmt.Node) error {
			kube := cluster.New(machines[:1])
			defer kube.Close()
			n, there, err := kube.NodeAt(ctx, machines[len(machines)-1].IP)
			if err != nil || !there {
				return err
			}
			return do(ctx, kube, n)
		})
	}
	onNode(func(ctx context.Context, kube *cluster.Cluster[mgmt.Node], n cluster.Node) error {
		return kube.Drain(ctx, n.Name, cluster.DrainOptions{Force: true, Timeout: time.Minute})
	})
	if diff := cmp.Diff([]string{"differs node " + worker}, found()); diff != "" {
		t.Errorf("a cordoned node:\n%s", diff)
	}
	onNode(func(ctx context.Context, kube *cluster.Cluster[mgmt.Node], n cluster.Node) error {
		return kube.DeleteNode(ctx, n.Name, n.UID)
	})
	if diff := cmp.Diff([]string{"missing node " + worker}, found()); diff != "" {
		t.Errorf("a deleted node:\n%s", diff)
	}
	if err := l.World.Stop("masterNode-0"); err != nil {
		t.Fatal(err)
	}
	if got := found(); len(got) == 0 || !strings.HasPrefix(got[0], "unknown ") {
		t.Errorf("the control plane is down: %v", got)
	}
}
