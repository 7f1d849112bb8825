package loadbalancer_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/mgmt/loadbalancer"
	"github.com/vnfkit/vnfkit/sshexec"
)

// What haproxy would do can be looked at without a machine.
func ExampleConfig_Render() {
	controlPlaneNode := loadbalancer.Server{ID: "3f2a", Name: "master-10-10-0-4", Address: netip.MustParseAddr("10.10.0.4")}
	worker := loadbalancer.Server{ID: "77c1", Name: "worker-10-10-0-7", Address: netip.MustParseAddr("10.10.0.7")}
	config := loadbalancer.Config{Parts: map[string]loadbalancer.Part{
		loadbalancer.ClusterOwner("a"): loadbalancer.Cluster(0, []loadbalancer.Server{controlPlaneNode}, []loadbalancer.Server{worker}),
		loadbalancer.CNFOwner("b"): {Frontends: []loadbalancer.Frontend{
			{Name: "shop.web", Port: 30080, To: []string{loadbalancer.Workers}, Toward: 30080},
		}},
	}}
	text, err := config.Render()
	if err != nil {
		fmt.Println(err)
		return
	}
	_, services, _ := strings.Cut(string(text), "# cnf/b\n")
	fmt.Print(services)
	// Output:
	// frontend shop.web-30080
	//     bind 0.0.0.0:30080
	//     default_backend shop.web-30080
	//
	// backend shop.web-30080
	//     balance roundrobin
	//     default-server check inter 1s fall 3 rise 1 tcp-ut 30s
	//     server worker-10-10-0-7 10.10.0.7:30080
}

// A worker leaves the cluster: first it gets no new connection, then it is forgotten.
func ExampleBalancer_Drain() {
	leave := func(ctx context.Context, host *sshexec.Host, controlPlane, others []loadbalancer.Server, worker loadbalancer.Server) error {
		lb := loadbalancer.On(host)
		left, err := lb.Drain(ctx, []string{worker.ID}, time.Minute)
		if err != nil {
			return err
		}
		fmt.Printf("%d connections end with %s\n", left, worker.Name)
		return lb.Put(ctx, loadbalancer.ClusterOwner("a"), loadbalancer.Cluster(0, controlPlane, others))
	}
	_ = leave
}
