package kubeadm_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/kubeaccess"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestJumpHost creates a cluster whose machines can be reached only through the jump host of their VIM. Drivers of CNFs
// connect to the cluster as its entry in the VIM registry says.
func TestJumpHost(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	var led atomic.Int32
	jump := sshtest.Start(t, sshtest.Config{Name: "jump", User: "jumper", Password: "overTheWall",
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			led.Add(1)
			return l.World.Dial(ctx, network, addr)
		}})
	pool := sshexec.NewPool(sshexec.Options{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr != jump.Addr() {
			return nil, errors.New("no route to " + addr)
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}})
	t.Cleanup(func() { _ = pool.Close() })
	l.Manager = l.Process(func(c *vnflcm.Config) {
		c.Mgmt = map[string]vnflcm.MgmtDriver{driverName: kubeadm.New(kubeadm.Config{Pool: pool})}
	})
	l.registerJumpHost(`{"address":"` + jump.Addr() + `","username":"jumper","password":"overTheWall"}`)
	id := l.Instantiated("instantiate_sandbox.json")
	l.want(1, 1, 0)
	if led.Load() == 0 {
		t.Error("the jump host led nowhere")
	}
	vim, err := l.VIMs().Get(t.Context(), "", kubeadm.VIMID(id))
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := kubeaccess.Open(t.Context(), vim, kubeaccess.Options{SSH: pool, HostKeys: new(sshtest.HostKeyStore)})
	if err != nil {
		t.Fatalf("the cluster is not reached by its entry: %v", err)
	}
	cluster.Close()
}

func TestJumpHostFaults(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.registerJumpHost(`{"address":"jump","username":"jumper"}`)
	_, _, err := l.Begin("instantiate_sandbox.json", with(t, `{"master_node":{"username":null}}`))
	l.Refused(err)
	want := []string{"additionalParams." + param + ".master_node.username: is required", "vimConnectionInfo.extra.jump_host.password: is required, unless there is a private_key"}
	if diff := cmp.Diff(want, mgmttest.Faults(err)); diff != "" {
		t.Error(diff)
	}
}

// registerJumpHost puts a jump host into the entry of the sandbox in the registry of VIMs.
func (l *lab) registerJumpHost(jump string) {
	l.t.Helper()
	vim, err := l.VIMs().Get(l.t.Context(), "", "sandbox")
	if err == nil {
		vim.Extra, err = vnflcm.ParseParams([]byte(`{"jump_host":` + jump + `}`))
	}
	if err == nil {
		err = l.VIMs().Put(l.t.Context(), vim)
	}
	if err != nil {
		l.t.Fatal(err)
	}
}
