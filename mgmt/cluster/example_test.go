package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/vnfkit/vnfkit/mgmt/cluster"
)

// dead is a control-plane node that nothing reaches. mgmt.Nodes are control-plane nodes that SSH reaches.
type dead struct{}

func (dead) ReadRoot(context.Context, string) ([]byte, error) {
	return nil, errors.New("no route to host")
}

func (dead) DialContext(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("no route to host")
}

func Example() {
	kube := cluster.New([]cluster.ControlPlaneNode{dead{}, dead{}})
	defer kube.Close()
	ctx, cancel := context.WithTimeoutCause(context.Background(), 100*time.Millisecond, errors.New("no success within 100ms"))
	defer cancel()
	err := kube.WaitReady(ctx, map[netip.Addr]string{netip.MustParseAddr("10.10.0.7"): "workerNode-0"}, func(message string) { fmt.Println(message) })
	fmt.Println(errors.Is(err, cluster.ErrNoAPI))
	// Output: true
}
