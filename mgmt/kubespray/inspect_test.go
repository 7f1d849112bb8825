package kubespray_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubespray"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestInspect compares the nodes of a cluster with the machines, and lists the machines that the driver logs in to.
func TestInspect(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	id := l.Instantiated(sample, clustertest.Sized("simple", 0))
	if list, err := l.Diagnose(t.Context(), id); err != nil || len(list) > 0 {
		t.Errorf("nothing was changed: %+v, %v", list, err)
	}
	var names []string
	err := l.Examine(t.Context(), id, func(ctx context.Context, op *vnflcm.Operation, drivers []vnflcm.MgmtDriver) error {
		machines, err := drivers[0].(*kubespray.Driver).Machines(ctx, op)
		for _, m := range machines {
			names = append(names, m.Name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"masterNode-0", "workerNode-0", "externalLB-0"}, names); diff != "" {
		t.Errorf("machines:\n%s", diff)
	}
	if err := l.World.Stop("workerNode-0"); err != nil {
		t.Fatal(err)
	}
	list, err := l.Diagnose(t.Context(), id)
	if err != nil || len(list) != 1 || list[0].Name != "workerNode-0" || !strings.Contains(list[0].Detail, "is not ready") {
		t.Errorf("a worker is down: %+v, %v", list, err)
	}
}
