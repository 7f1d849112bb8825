package hookrun_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/hookrun"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cluster is a toy driver: its hooks prepare every machine, then register a VIM and publish an address of the first machine.
type cluster struct {
	mu       sync.Mutex
	prepared []string           // machines, in order; a machine that is prepared twice is here twice
	ops      []vnflcm.Operation // as hooks have seen them
	fault    error              // what Validate finds
	fail     error              // what the step "register" answers with
	entered  chan struct{}      // is sent to when "register" begins, if not nil
	resume   chan struct{}      // "register" waits for it, if not nil
}

func (c *cluster) Validate(context.Context, *vnflcm.Operation) error { return c.fault }

func (*cluster) SecretParams() []string { return []string{"password"} }

func (c *cluster) Hooks() vnflcm.Hooks {
	return vnflcm.Checked(vnflcm.Hooks{vnflcm.InstantiateEnd: c.setUp, vnflcm.ScaleEnd: c.setUp, vnflcm.HealEnd: c.setUp,
		vnflcm.ScaleStart: c.see, vnflcm.InstantiateRollbackEnd: c.see, vnflcm.TerminateEnd: c.see})
}

func (c *cluster) see(_ context.Context, op *vnflcm.Operation) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ops = append(c.ops, *op)
	return nil
}

func (c *cluster) setUp(ctx context.Context, op *vnflcm.Operation) error {
	if err := c.see(ctx, op); err != nil {
		return err
	}
	for _, v := range op.VNFCs {
		err := vnflcm.Do(ctx, op, "prepare", v.ID, func(ctx context.Context) error {
			c.mu.Lock()
			c.prepared = append(c.prepared, v.ID)
			c.mu.Unlock()
			return op.State().Put(ctx, "password/"+v.ID, vnflcm.NewSecret(canary))
		})
		if err != nil {
			return err
		}
	}
	return vnflcm.Do(ctx, op, "register", "", func(ctx context.Context) error { return c.register(ctx, op) })
}

func (c *cluster) register(ctx context.Context, op *vnflcm.Operation) error {
	c.mu.Lock()
	fail, entered, resume := c.fail, c.entered, c.resume
	c.mu.Unlock()
	if entered != nil {
		entered <- struct{}{}
	}
	if resume != nil {
		select {
		case <-resume:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if fail != nil {
		return fail
	}
	access, err := vnflcm.ParseParams([]byte(`{"bearer_token": "` + canary + `"}`))
	return errors.Join(err, op.RegisterVIMUntil(ctx, vnflcm.VimConnectionInfo{VimID: "cluster-" + op.InstanceID, VimType: "kubernetes", AccessInfo: access},
		vnflcm.Validity{Until: time.Now(), For: time.Hour}),
		op.Publish(ctx, op.VNFCs[0], map[string]string{"address": "192.0.2.1"}))
}

// steps are the machines that were prepared so far.
func (c *cluster) steps() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.prepared)
}

// canary is a secret in the request, in the state and in the VIM entry.
const canary = "Canary-4711-secret"

var key = bytes.Repeat([]byte{7}, 32)

var sample = sync.OnceValues(func() (*tosca.Package, error) {
	return tosca.Open(context.Background(), "../../examples/packages/k8s-cluster")
})

// call is an instantiation with two machines.
func call(t testing.TB, change ...func(*hookrun.Call)) hookrun.Call {
	t.Helper()
	pkg, err := sample()
	if err != nil {
		t.Fatal(err)
	}
	params, err := vnflcm.ParseParams([]byte(`{"password": "` + canary + `"}`))
	if err != nil {
		t.Fatal(err)
	}
	c := hookrun.Call{OperationID: "op-1", InstanceID: "vnf-1", Hook: vnflcm.InstantiateEnd, Package: pkg,
		Request: vnflcm.InstantiateVnfRequest{FlavourID: "simple", AdditionalParams: params}, Resources: machines(2)}
	for _, do := range change {
		do(&c)
	}
	return c
}

// machines are VNFCs, the first of which is a control-plane node.
func machines(n int) (r vnflcm.Resources) {
	for i := range n {
		r.VNFCs = append(r.VNFCs, vnflcm.VNFC{ID: fmt.Sprint("m", i), ResourceID: fmt.Sprint("vm", i), VDU: map[bool]string{true: "masterNode", false: "workerNode"}[i == 0]})
	}
	return r
}

// ttl is long: a hook that a busy machine delays keeps its lease. Tests that wait for its end run in a bubble of synctest.
const ttl = time.Minute

func runner(store store.Store, driver vnflcm.MgmtDriver) hookrun.Runner {
	return hookrun.Runner{Store: store, Key: key, Driver: driver, LeaseTTL: ttl}
}
