package etcd_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/vnfkit/vnfkit/internal/etcdtest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/etcd"
)

func open(t *testing.T, endpoint string, config *tls.Config) *etcd.Client {
	t.Helper()
	client, err := etcd.Open(etcd.Config{Endpoint: endpoint, TLS: config, Dial: new(net.Dialer).DialContext, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

// until lists the members until ok returns true.
func until(t *testing.T, client *etcd.Client, what string, ok func([]etcd.Member) bool) []etcd.Member {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for {
		members, err := client.Members(ctx, nil)
		if err == nil && ok(members) {
			return members
		}
		if ctx.Err() != nil {
			t.Fatalf("%s: %+v, %v", what, members, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func healthy(n int) func([]etcd.Member) bool {
	return func(members []etcd.Member) bool {
		have, leaders := 0, 0
		for _, m := range members {
			if m.Healthy {
				have++
			}
			if m.Leader {
				leaders++
			}
		}
		return have == n && leaders == 1
	}
}

func memberAt(t *testing.T, members []etcd.Member, addr string) etcd.Member {
	t.Helper()
	i := slices.IndexFunc(members, func(m etcd.Member) bool { return m.At(netip.MustParseAddr(addr)) })
	if i < 0 {
		t.Fatalf("no member at %s: %+v", addr, members)
	}
	return members[i]
}

// TestRealEtcd removes members of a real cluster until the cluster has no quorum.
func TestRealEtcd(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	ca, servers := etcdtest.Start(t, 4)
	client := open(t, servers[0].Client, ca.TLS(t))
	members := until(t, client, "four healthy members", healthy(4))
	for _, s := range servers {
		m := memberAt(t, members, s.Addr)
		if diff := cmp.Diff(etcd.Member{ID: m.ID, Name: s.Name, PeerURLs: []string{s.Peer}, ClientURLs: []string{s.Client}, Healthy: true, Leader: m.Leader, Version: m.Version}, m); diff != "" || m.Version == "" {
			t.Errorf("version %q:\n%s", m.Version, diff)
		}
	}
	first, second, third := memberAt(t, members, servers[0].Addr), memberAt(t, members, servers[1].Addr), memberAt(t, members, servers[2].Addr)

	// Leadership moves to the given member. Moving it from a member that is not the leader changes nothing.
	leader := members[slices.IndexFunc(members, func(m etcd.Member) bool { return m.Leader })]
	for _, to := range []etcd.Member{second, third} {
		if to.ID == leader.ID {
			continue
		}
		if err := client.MoveLeader(ctx, leader, to.ID); err != nil {
			t.Fatal(err)
		}
		until(t, client, "the new leader", func(now []etcd.Member) bool { return memberAt(t, now, hostOf(to)).Leader })
		if err := client.MoveLeader(ctx, leader, to.ID); err != nil {
			t.Errorf("leadership has moved already: %v", err)
		}
		leader = to
	}

	// Remove a healthy member. etcd refuses until its members have been connected for five seconds; Remove retries.
	fourth := memberAt(t, members, servers[3].Addr)
	if leader.ID != fourth.ID {
		if err := client.MoveLeader(ctx, leader, fourth.ID); err != nil {
			t.Fatal(err)
		}
	}
	members = until(t, client, "the fourth leads", func(now []etcd.Member) bool { return memberAt(t, now, servers[3].Addr).Leader })
	if err := client.MoveLeader(ctx, memberAt(t, members, servers[3].Addr), third.ID); err != nil {
		t.Fatal(err)
	}
	remove(t, client, members, fourth)
	until(t, client, "three members", func(now []etcd.Member) bool { return len(now) == 3 && healthy(3)(now) })

	// A member that was added and has never started has no name, only an address.
	raw := rawClient(t, servers[0].Client, ca.TLS(t))
	for {
		_, err := raw.MemberAddAsLearner(ctx, []string{"https://127.0.0.77:2380"})
		if err == nil {
			break
		}
		if !errors.Is(err, rpctypes.ErrUnhealthy) { // the members have not been connected for 5 s yet
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond)
	}
	members = until(t, client, "the learner", func(now []etcd.Member) bool { return len(now) == 4 })
	learner := memberAt(t, members, "127.0.0.77")
	if learner.Name != "" || !learner.Learner || learner.Healthy || learner.String() != "https://127.0.0.77:2380" {
		t.Errorf("%+v", learner)
	}
	remove(t, client, members, learner)

	// Remove a dead leader: the remaining members continue. Removing it again changes nothing.
	servers[2].Kill()
	members = until(t, client, "two healthy members", healthy(2))
	if _, err := etcd.PlanRemoval(members, second.ID); !errors.Is(err, etcd.ErrQuorum) {
		t.Errorf("a healthy member may go beside a dead one: %v", err)
	}
	skipped, err := client.Members(ctx, func(m etcd.Member) bool { return m.ID == second.ID })
	if err != nil || memberAt(t, skipped, servers[1].Addr).Healthy {
		t.Errorf("it was asked: %+v, %v", skipped, err)
	}
	remove(t, client, members, third)
	remove(t, client, members, third)
	until(t, client, "two members", func(now []etcd.Member) bool { return len(now) == 2 && healthy(2)(now) })

	// Without a quorum no member can be removed: PlanRemoval reports Lost, and Remove returns when ctx ends.
	servers[1].Kill()
	members = until(t, client, "one healthy member without a leader", func(now []etcd.Member) bool {
		return len(now) == 2 && memberAt(t, now, servers[0].Addr).Healthy && !memberAt(t, now, servers[0].Addr).Leader
	})
	_, err = etcd.PlanRemoval(members, second.ID)
	if e, ok := errors.AsType[*etcd.QuorumError](err); !ok || !e.Lost || e.Healthy != 1 || e.Voters != 2 {
		t.Errorf("%v", err)
	}
	short, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if err := client.Remove(short, second.ID); err == nil {
		t.Error("a member was removed without a quorum")
	}
	if first.ID == second.ID {
		t.Error("two members are one")
	}
}

func hostOf(m etcd.Member) string {
	host, _, _ := net.SplitHostPort(strings.TrimPrefix(m.PeerURLs[0], "https://"))
	return host
}

// remove removes a member as callers must: after PlanRemoval has allowed it.
func remove(t *testing.T, client *etcd.Client, members []etcd.Member, m etcd.Member) {
	t.Helper()
	order, err := etcd.PlanRemoval(members, m.ID)
	if err != nil || !slices.Equal(order, []uint64{m.ID}) {
		t.Fatalf("%v, %v", order, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if err := client.Remove(ctx, m.ID); err != nil {
		t.Fatal(err)
	}
}

func rawClient(t *testing.T, endpoint string, config *tls.Config) *clientv3.Client {
	t.Helper()
	raw, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, TLS: config, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = raw.Close() })
	return raw
}

// TestRealEtcdTLS checks that client and member both refuse a peer without a certificate of the right CA.
func TestRealEtcdTLS(t *testing.T) {
	t.Parallel()
	ca, servers := etcdtest.Start(t, 1)
	good := ca.TLS(t)
	until(t, open(t, servers[0].Client, good), "the member", healthy(1))
	other := etcdtest.NewAuthority(t)
	stranger, anonymous, elsewhere := other.TLS(t), good.Clone(), good.Clone()
	stranger.RootCAs, anonymous.Certificates = good.RootCAs, nil
	elsewhere.RootCAs = other.TLS(t).RootCAs
	for name, config := range map[string]*tls.Config{"a stranger's certificate": stranger, "no certificate": anonymous, "another CA": elsewhere} {
		if members, err := open(t, servers[0].Client, config).Members(t.Context(), nil); err == nil {
			t.Errorf("%s: %+v", name, members)
		}
	}
	// The member's certificate is for 127.0.0.11 only.
	moved := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, strings.TrimPrefix(servers[0].Client, "https://"))
	}
	client, err := etcd.Open(etcd.Config{Endpoint: "https://127.0.0.99:2379", TLS: good, Dial: moved, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Members(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "127.0.0.99") {
		t.Errorf("a member was believed under another address: %v", err)
	}
}

// TestUnreachable: requests on a connection that hangs return when their context ends, and Close returns.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, unreachable)
}

func unreachable(t *testing.T) {
	client, err := etcd.Open(etcd.Config{Endpoint: "http://10.0.0.1:2379", Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	if err != nil {
		t.Fatal(err)
	}
	const limit = time.Second
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	begin := time.Now()
	if _, err := client.Members(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if err := client.Remove(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if took := time.Since(begin); took != limit {
		t.Errorf("it took %v", took)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
}

func TestTLSNeedsItsFiles(t *testing.T) {
	t.Parallel()
	ca := etcdtest.NewAuthority(t)
	authority, cert, key := []byte(ca.CA.Cert), []byte(ca.Client.Cert), []byte(ca.Client.Key)
	if _, err := etcd.TLS([]byte("?"), cert, key); err == nil {
		t.Error("no CA")
	}
	if _, err := etcd.TLS(authority, cert, []byte(ca.CA.Key)); err == nil {
		t.Error("another's key")
	}
}
