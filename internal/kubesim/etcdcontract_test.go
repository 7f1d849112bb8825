package kubesim_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/vnfkit/vnfkit/internal/etcdtest"
	"github.com/vnfkit/vnfkit/internal/kubesim"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/etcd"
)

// askedEtcd is a cluster of three members, of which the first leads: a client of each, and its end.
type askedEtcd struct {
	clients []*clientv3.Client
	kill    func(member int)
}

// simulatedEtcd is the etcd of three simulated control-plane nodes.
func simulatedEtcd(t *testing.T) askedEtcd {
	t.Helper()
	names := []string{"m1", "m2", "m3"}
	s := newSite(t, names...)
	s.controlPlane(names[1:]...)
	s.wantMembers(kubesim.Member{Name: "m1", Machine: "m1", Leader: true, Alive: true}, kubesim.Member{Name: "m2", Machine: "m2", Alive: true},
		kubesim.Member{Name: "m3", Machine: "m3", Alive: true})
	e := askedEtcd{kill: func(member int) { s.world.SetDown(names[member], true) }}
	for _, name := range names {
		e.clients = append(e.clients, s.clientOf(name, nil))
	}
	return e
}

// realEtcd are three members of a real etcd; the test is skipped without its program.
func realEtcd(t *testing.T) askedEtcd {
	t.Helper()
	ca, servers := etcdtest.Start(t, 3)
	clients := make([]*clientv3.Client, len(servers))
	for i, s := range servers {
		var err error
		if clients[i], err = clientv3.New(clientv3.Config{Endpoints: []string{s.Client}, TLS: ca.TLS(t), Logger: zap.NewNop(), MaxUnaryRetries: 1}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = clients[i].Close() })
	}
	var leader uint64
	eventually(t, "a leader", func(ctx context.Context) bool {
		status, err := clients[0].Status(ctx, clients[0].Endpoints()[0])
		if err == nil {
			leader = status.Leader
		}
		return err == nil && leader != 0
	})
	first := 0
	for i, client := range clients {
		if idAt(t, client) == leader {
			first = i
		}
	}
	clients[0], clients[first] = clients[first], clients[0]
	servers[0], servers[first] = servers[first], servers[0]
	return askedEtcd{clients, func(member int) { servers[member].Kill() }}
}

// eventually asks until the answer is right: real members take a while to agree.
func eventually(t *testing.T, what string, right func(context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !right(ctx) {
		select {
		case <-ctx.Done():
			t.Fatalf("not within a minute: %s", what)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// idAt is the id of the member that answers a client.
func idAt(t *testing.T, client *clientv3.Client) (id uint64) {
	t.Helper()
	eventually(t, "an answer of a member", func(ctx context.Context) bool {
		answer, err := client.Status(ctx, client.Endpoints()[0])
		if err == nil {
			id = answer.Header.MemberId
		}
		return err == nil
	})
	return id
}

// TestEtcdContract asks and changes members as a driver does, with etcd's client: simulated members, and those of a real etcd if
// there is its program (etcdtest.Start).
func TestEtcdContract(t *testing.T) {
	t.Parallel()
	t.Run("simulated", func(t *testing.T) {
		t.Parallel()
		e := simulatedEtcd(t)
		e.ask(t)
		if _, err := e.clients[0].Get(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "is not simulated") {
			t.Errorf("%v", err)
		}
	})
	t.Run("real", func(t *testing.T) {
		t.Parallel()
		realEtcd(t).ask(t)
	})
}

func (e askedEtcd) ask(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	leads, second := e.clients[0], e.clients[1]
	m1, m2, m3 := idAt(t, leads), idAt(t, second), idAt(t, e.clients[2])
	fails := func(what string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", what, err, want)
		}
	}
	const unknown = 7
	_, err := second.MoveLeader(ctx, m3)
	fails("a follower moves leadership", err, rpctypes.ErrNotLeader)
	_, err = leads.MoveLeader(ctx, unknown)
	fails("leadership moves to an unknown member", err, rpctypes.ErrBadLeaderTransferee)
	_, err = leads.MemberRemove(ctx, unknown)
	fails("an unknown member is removed", err, rpctypes.ErrMemberNotFound)
	eventually(t, "the second member leads", func(ctx context.Context) bool {
		moving, cancel := context.WithTimeout(ctx, 5*time.Second) // etcd gives up a transfer to a member that lags, and never answers then
		defer cancel()
		if _, err := leads.MoveLeader(moving, m2); err != nil {
			t.Logf("moving leadership: %v", err)
		}
		status, err := leads.Status(ctx, leads.Endpoints()[0])
		return err == nil && status.Leader == m2 && status.Header.MemberId == m1 && !status.IsLearner && len(status.Errors) == 0
	})

	e.kill(2)
	_, err = leads.MemberRemove(ctx, m1)
	fails("a living member beside a dead one is removed", err, rpctypes.ErrUnhealthy)
	eventually(t, "the dead member is removed", func(ctx context.Context) bool {
		_, err := leads.MemberRemove(ctx, m3)
		return err == nil
	})
	_, err = leads.MemberRemove(ctx, m3)
	fails("it is removed again", err, rpctypes.ErrMemberNotFound)
	list, err := leads.MemberList(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var ids []uint64
	for _, m := range list.Members {
		ids = append(ids, m.ID)
		if m.Name == "" || m.IsLearner || len(m.PeerURLs) != 1 || len(m.ClientURLs) != 1 {
			t.Errorf("member %+v", m)
		}
	}
	want := []uint64{m1, m2}
	slices.Sort(ids)
	slices.Sort(want)
	if !slices.Equal(ids, want) {
		t.Errorf("members %d, want %d", ids, want)
	}

	e.kill(1)
	eventually(t, "no member leads", func(ctx context.Context) bool {
		status, err := leads.Status(ctx, leads.Endpoints()[0])
		return err == nil && status.Leader == 0 && slices.Equal(status.Errors, []string{rpctypes.ErrNoLeader.Error()})
	})
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err = leads.MemberRemove(short, m2)
	fails("a member is removed without a quorum", err, context.DeadlineExceeded)
	_, err = leads.MemberList(ctx)
	fails("members are listed without a quorum", err, rpctypes.ErrTimeout)
	if list, err = leads.MemberList(ctx, clientv3.WithSerializable()); err != nil || len(list.Members) != 2 {
		t.Errorf("members as the one member knows them: %v, %v", list, err)
	}
}

// controlPlane makes a cluster of these machines, m1 first; no other one is a node of it.
func (s *site) controlPlane(others ...string) (join string) {
	s.t.Helper()
	join = s.cluster() + " --control-plane --certificate-key " + s.certificateKey()
	for _, name := range others {
		s.must(name, prepare)
		s.must(name, joinAs(name, join))
	}
	return join
}

func joinAs(name, join string) string {
	return "sudo kubeadm join 10.0.0.1:6443 --node-name " + name + " --apiserver-advertise-address " + addressOf(name).String() + " " + join
}

// clientOf is the real client of etcd for the member of a machine, by way of the machine.
func (s *site) clientOf(name string, change func(*tls.Config)) *clientv3.Client {
	s.t.Helper()
	var files [3][]byte
	for i, file := range []string{etcd.CAFile, etcd.CertFile, etcd.KeyFile} {
		var err error
		if files[i], err = afero.ReadFile(s.hosts["m1"].FS(), file); err != nil {
			s.t.Fatal(err)
		}
	}
	config, err := etcd.TLS(files[0], files[1], files[2])
	if err != nil {
		s.t.Fatal(err)
	}
	if change != nil {
		change(config)
	}
	dial := s.world.Dialer(name)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"https://" + addressOf(name).String() + ":2379"}, TLS: config, Logger: zap.NewNop(),
		MaxUnaryRetries: 1, DialOptions: []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) { return dial(ctx, "tcp", addr) })}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = client.Close() })
	return client
}

func (s *site) wantMembers(want ...kubesim.Member) {
	s.t.Helper()
	for i := range want {
		want[i].Address, want[i].Version = addressOf(want[i].Machine), "3.6.8"
	}
	if diff := cmp.Diff(want, s.world.Members(), cmp.Comparer(func(a, b kubesim.Member) bool { return a == b })); diff != "" {
		s.t.Fatalf("members:\n%s", diff)
	}
}

// TestNodeWithoutMember: the kubelet of a control-plane node asks the API server of its machine only, which ends with the member
// of etcd there. So the node is no longer Ready, although its machine runs.
func TestNodeWithoutMember(t *testing.T) {
	t.Parallel()
	s := newSite(t, "m1", "m2", "m3")
	s.controlPlane("m2", "m3")
	m2 := s.clientOf("m2", nil)
	id := idAt(t, m2)
	if _, err := s.clientOf("m1", nil).MemberRemove(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, n := range s.world.Nodes() {
		got[n.Name] = n.Ready
	}
	if diff := cmp.Diff(map[string]bool{"m1": true, "m2": false, "m3": true}, got); diff != "" {
		t.Errorf("nodes that are Ready:\n%s", diff)
	}
}
