package loadbalancer_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt/loadbalancer"
)

func TestDrain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ctx := t.Context()
	put := func() {
		t.Helper()
		if err := s.Put(ctx, "cluster/c", loadbalancer.Cluster(0, servers("m1"), servers("w1", "w10"))); err != nil {
			t.Fatal(err)
		}
	}
	put()
	if err := s.Put(ctx, "cnf/a", service("web", 30080)); err != nil {
		t.Fatal(err)
	}
	to := func(address, program string) string {
		return "ESTAB 0 0 10.0.0.1:41000 " + address + ` users:(("` + program + `",pid=1,fd=9))`
	}
	others := []string{to("10.10.1.10:30080", "haproxy"), to("10.10.1.1:22", "haproxy"), to("10.10.1.1:30080", "kubectl"), "TIME-WAIT 0 0 10.0.0.1:41000 10.10.1.1:30080"}
	// Its connections end one after the other.
	s.connections = append(slices.Clone(others), to("10.10.1.1:30080", "haproxy"), to("10.10.1.1:30080", "haproxy"))
	s.after = func() {
		if led := strings.Contains(s.file(loadbalancer.ConfigFile), "server w1 "); led {
			t.Error("it is counted before it is drained")
		}
		s.connections = s.connections[:max(len(s.connections)-1, len(others))]
	}
	if left, err := s.Drain(ctx, []string{"id-w1", "id-unknown"}, time.Hour); left != 0 || err != nil || s.counted != 3 {
		t.Errorf("%d left after %d looks, %v", left, s.counted, err)
	}
	drained := []string{"m1 10.10.0.1:30080", "w10 10.10.1.10:30080"}
	if diff := cmp.Diff(drained, s.servers(30080)); diff != "" {
		t.Error(diff)
	}
	// The drain stays in effect in spite of other writers, until the cluster puts its machines again.
	if err := s.Put(ctx, "cnf/a", service("other", 30080)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(drained, s.servers(30080)); diff != "" {
		t.Error(diff)
	}
	put()
	if n := len(s.servers(30080)); n != 3 {
		t.Errorf("%d servers", n)
	}
	// Those that never end are not waited for longer than said.
	s.connections, s.after = append(s.connections, to("10.10.0.1:6443", "haproxy"), to("10.10.0.1:30080", "haproxy")), nil
	if left, err := s.Drain(ctx, []string{"id-m1"}, 300*time.Millisecond); left != 2 || err != nil {
		t.Errorf("%d left, %v", left, err)
	}
	short, cancel := context.WithTimeoutCause(ctx, 500*time.Millisecond, errors.New("enough"))
	defer cancel()
	if _, err := s.Drain(short, []string{"id-m1"}, time.Hour); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Error(err)
	}
	// So many machines that a command line would not hold them.
	var many []loadbalancer.Server
	var ids []string
	for i := range 150 {
		many = append(many, loadbalancer.Server{ID: fmt.Sprint(i), Name: fmt.Sprint("n", i), Address: netip.AddrFrom4([4]byte{10, 10, 9, byte(i)})})
		ids = append(ids, fmt.Sprint(i))
	}
	if err := s.Put(ctx, "cluster/c", loadbalancer.Cluster(0, nil, many)); err != nil {
		t.Fatal(err)
	}
	s.connections = append(s.connections, to("10.10.9.149:30080", "haproxy"), to("10.10.9.200:30080", "haproxy"))
	if left, err := s.Drain(ctx, ids, 0); left != 1 || err != nil {
		t.Errorf("%d left, %v", left, err)
	}
	s.counted = 0
	if left, err := s.Drain(ctx, []string{"id-w"}, time.Hour); left != 0 || err != nil || s.counted != 0 {
		t.Errorf("%d left after %d looks, %v", left, s.counted, err)
	}
}
