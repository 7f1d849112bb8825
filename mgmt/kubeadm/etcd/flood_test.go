package etcd_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"github.com/vnfkit/vnfkit/mgmt/kubeadm/etcd"
)

// TestFlood: a member whose answer is too long, or that fails with a long text, is an error of a readable length.
func TestFlood(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 8<<20)
	for name, answer := range map[string]func(grpc.ServerStream) error{
		"a long answer": func(s grpc.ServerStream) error {
			return s.SendMsg(&pb.MemberListResponse{Members: []*pb.Member{{ID: 1, Name: long}}})
		},
		"a long error": func(grpc.ServerStream) error { return fmt.Errorf("no: %s", long[:1<<20]) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error { return answer(s) }))
			served := make(chan struct{})
			go func() {
				defer close(served)
				_ = server.Serve(listener)
			}()
			defer func() { server.Stop(); <-served }()
			client, err := etcd.Open(etcd.Config{Endpoint: "http://" + listener.Addr().String(), Dial: new(net.Dialer).DialContext, Timeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = client.Close() }()
			_, err = client.Members(t.Context(), nil)
			if n := len(fmt.Sprint(err)); err == nil || n > 8<<10 {
				t.Errorf("%.300v, %d bytes", err, n)
			}
		})
	}
}
