package e2e_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
)

// stackChildVariable makes this test binary a VNFM that works on a stack, and says what it shall do.
const stackChildVariable = "VNFKIT_E2E_STACK_CHILD"

// stackJob is one operation, to be begun or gone on with.
type stackJob struct {
	Store, Endpoint, Network, Instance, Operation string
}

// TestVNFMIsKilled kills the process with SIGKILL while Heat changes the stack, in every operation. The next process finishes
// the operation. Then there is exactly one stack or, after a termination, no stack.
func TestVNFMIsKilled(t *testing.T) {
	t.Parallel()
	l := newStackLab(t, openstack.VimTypeV1, packageDir)
	ctx := t.Context()
	file := filepath.Join(t.TempDir(), "vnfm.db")
	store, err := sqlite.Open(ctx, file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	vim, err := l.cloud.VIM("cloud", openstack.VimTypeV1)
	if err != nil {
		t.Fatal(err)
	}
	m, err := stackManager(ctx, store, packageDir, l.driver, idle{}, vim, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close(context.Background()) })
	inst, err := m.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: vnfdID})
	if err != nil {
		t.Fatal(err)
	}
	l.Manager, l.id = m, inst.ID
	must(t, m.Close(ctx)) // it would take the operations over
	for _, c := range []struct {
		operation, dies string
		vnfcs           int
	}{
		{"instantiate", "CREATE_IN_PROGRESS", 2}, {"scale out", "UPDATE_IN_PROGRESS", 4}, {"scale in", "UPDATE_IN_PROGRESS", 3},
		{"heal one", "UPDATE_IN_PROGRESS", 3}, {"heal all, deleting", "DELETE_IN_PROGRESS", 3}, {"heal all, creating", "CREATE_IN_PROGRESS", 3},
		{"terminate", "DELETE_IN_PROGRESS", 0},
	} {
		j := stackJob{Store: file, Endpoint: l.cloud.AuthURL(), Network: l.networks[1], Instance: l.id, Operation: c.operation}
		before := l.vnfcs()
		child := startChild(t, stackChildVariable, j)
		l.awaitStack(c.dies)
		if err := child.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := child.Wait(); err == nil {
			t.Fatalf("%s: the child ended by itself", c.operation)
		}
		if err := startChild(t, stackChildVariable, j).Wait(); err != nil {
			t.Fatalf("%s: the second child: %v", c.operation, err)
		}
		now := l.vnfcs()
		if len(now) != c.vnfcs {
			t.Fatalf("%s: %d VNFCs, not %d", c.operation, len(now), c.vnfcs)
		}
		if strings.HasPrefix(c.operation, "scale") {
			for id, v := range before {
				if after, stays := now[id]; stays && server(after) != server(v) {
					t.Errorf("%s: VNFC %s had server %s, has %s", c.operation, id, server(v), server(after))
				}
			}
		}
		left, err := l.cloud.Left(ctx)
		stacks := 0
		for _, item := range left {
			if strings.HasPrefix(item, "stacks ") {
				stacks++
			}
		}
		if err != nil || stacks != min(c.vnfcs, 1) || strings.Count(strings.Join(left, "\n"), "servers ") != c.vnfcs {
			t.Errorf("%s: there are %q, %v", c.operation, left, err)
		}
	}
	l.wantNothingLeft()
}

func (j stackJob) run(ctx context.Context) (err error) {
	store, err := openAlone(ctx, j.Store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	driver := openstack.New(openstack.Config{Allow: outbound.AllowAny, Poll: 300 * time.Millisecond})
	defer driver.Close()
	return resumeOr(ctx, vnflcm.Config{Store: store, Key: key, Packages: packagesIn(packageDir),
		Infra: map[string]vnflcm.InfraDriver{openstack.VimTypeV1: driver}, Mgmt: map[string]vnflcm.MgmtDriver{driverName: idle{}}}, j.begin)
}

func (j stackJob) begin(ctx context.Context, m *vnflcm.Manager) (string, error) {
	switch {
	case j.Operation == "instantiate":
		request, err := stackRequest("instantiate_complex.json", "simple", j.Network, 1)
		if err != nil {
			return "", err
		}
		return m.Instantiate(ctx, j.Instance, request)
	case j.Operation == "scale out":
		return m.Scale(ctx, j.Instance, scale(vnflcm.ScaleOut, 2))
	case j.Operation == "scale in":
		return m.Scale(ctx, j.Instance, scale(vnflcm.ScaleIn, 1))
	case j.Operation == "heal one":
		inst, err := m.Get(ctx, j.Instance)
		if err != nil {
			return "", err
		}
		return m.Heal(ctx, j.Instance, vnflcm.HealVnfRequest{VnfcInstanceID: []string{inst.InstantiatedVnfInfo.VnfcResourceInfo[0].ID}})
	case strings.HasPrefix(j.Operation, "heal all"):
		return m.Heal(ctx, j.Instance, vnflcm.HealVnfRequest{})
	}
	return m.Terminate(ctx, j.Instance, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
}
