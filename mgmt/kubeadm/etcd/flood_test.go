package etcd_test

import (
	"fmt"
	"io"
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
			client := served(t, answer)
			_, err := client.Members(t.Context(), nil)
			if n := len(fmt.Sprint(err)); err == nil || n > 8<<10 {
				t.Errorf("%.300v, %d bytes", err, n)
			}
		})
	}
}

// served returns a client of a member that answers every request so.
func served(t *testing.T, answer func(grpc.ServerStream) error) *etcd.Client {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error { return answer(s) }))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() { server.Stop(); <-ended })
	client, err := etcd.Open(etcd.Config{Endpoint: "http://" + listener.Addr().String(), Dial: new(net.Dialer).DialContext, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// TestSnapshotWithoutEnd: a member that announces more data than it can have, or sends parts without data, ends the snapshot.
func TestSnapshotWithoutEnd(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string][]*pb.SnapshotResponse{
		"too much":    {{RemainingBytes: 1 << 40, Blob: []byte("x")}},
		"overflow":    {{RemainingBytes: 1 << 63, Blob: []byte("x")}},
		"empty parts": {{RemainingBytes: 10, Blob: []byte("x")}, {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := served(t, func(s grpc.ServerStream) error {
				if method, _ := grpc.MethodFromServerStream(s); method == pb.Maintenance_Status_FullMethodName {
					return s.SendMsg(&pb.StatusResponse{})
				}
				for _, p := range parts {
					if err := s.SendMsg(p); err != nil {
						return err
					}
				}
				<-s.Context().Done()
				return nil
			})
			data, err := client.Snapshot(t.Context())
			if err == nil {
				_, err = io.Copy(io.Discard, data)
				_ = data.Close()
			}
			if err == nil {
				t.Error("no error")
			}
		})
	}
}
