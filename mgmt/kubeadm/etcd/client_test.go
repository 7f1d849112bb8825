package etcd_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/mgmt/kubeadm/etcd"
)

// TestClose: a client is closed while it connects. No connection is opened or being opened when Close has returned.
func TestClose(t *testing.T) {
	t.Parallel()
	for i := range 300 {
		var closed, late atomic.Bool
		dial := func(context.Context, string, string) (net.Conn, error) {
			if closed.Load() {
				late.Store(true)
			}
			time.Sleep(time.Millisecond)
			return nil, errors.New("refused")
		}
		client, err := etcd.Open(etcd.Config{Endpoint: "http://198.18.0.1:2379", Dial: dial})
		if err != nil {
			t.Fatal(err)
		}
		var asking sync.WaitGroup
		asking.Go(func() {
			if _, err := client.Members(t.Context(), nil); err == nil {
				t.Error("no member can be asked, and there is no error")
			}
		})
		time.Sleep(time.Duration(i) * 3 * time.Microsecond) // the moment differs
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		closed.Store(true)
		asking.Wait()
		if late.Load() {
			t.Error("a connection was opened after Close")
		}
	}
}
