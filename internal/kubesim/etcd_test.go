package kubesim_test

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/vnfkit/vnfkit/internal/kubesim"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/etcd"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

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

// idOf is the id of the member on a machine.
func idOf(t *testing.T, client *clientv3.Client, name string) uint64 {
	t.Helper()
	answer, err := client.MemberList(t.Context(), clientv3.WithSerializable())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range answer.Members {
		if m.PeerURLs[0] == "https://"+addressOf(name).String()+":2380" {
			return m.ID
		}
	}
	t.Fatalf("%s has no member: %v", name, answer.Members)
	return 0
}

func (s *site) wantMembers(want ...kubesim.Member) {
	s.t.Helper()
	for i := range want {
		want[i].Address = addressOf(want[i].Machine)
	}
	if diff := cmp.Diff(want, s.world.Members(), cmp.Comparer(func(a, b kubesim.Member) bool { return a == b })); diff != "" {
		s.t.Fatalf("members:\n%s", diff)
	}
}

// TestEtcdTLS: members and their clients believe only whom their CA vouches for.
func TestEtcdTLS(t *testing.T) {
	t.Parallel()
	s := newSite(t, "m1", "m2")
	s.controlPlane("m2")
	other := newSite(t, "m1")
	other.cluster()
	var stranger tls.Certificate
	other.clientOf("m1", func(c *tls.Config) { stranger = c.Certificates[0] })
	for name, change := range map[string]func(*tls.Config){
		"no certificate":        func(c *tls.Config) { c.Certificates = nil },
		"another's certificate": func(c *tls.Config) { c.Certificates = []tls.Certificate{stranger} },
		"no CA":                 func(c *tls.Config) { c.RootCAs = nil },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		if _, err := s.clientOf("m1", change).MemberList(ctx); err == nil {
			t.Errorf("%s was believed", name)
		}
		cancel()
	}
	if _, err := s.clientOf("m2", nil).MemberList(t.Context()); err != nil { // m1's client certificate is good for all
		t.Error(err)
	}
}

// TestControlPlaneJoins: what is in etcd decides whether kubeadm lets a machine join, and what a join leaves.
func TestControlPlaneJoins(t *testing.T) {
	t.Parallel()
	refused := func(s *site, name, join, want string) {
		s.t.Helper()
		if out, err := s.run(name, joinAs(name, join)+" 2>&1"); err == nil || !strings.Contains(out, want) {
			s.t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	t.Run("beside a dead member", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, "m1", "m2", "m3", "m4")
		join := s.controlPlane("m2", "m3")
		s.must("m4", prepare)
		s.world.Remove("m3")
		refused(s, "m4", join, "etcd cluster is not healthy")
		client := s.clientOf("m1", nil)
		if _, err := client.MemberRemove(t.Context(), idOf(t, client, "m3")); err != nil {
			t.Fatal(err)
		}
		s.must("m4", joinAs("m4", join))
	})
	t.Run("under the address of a dead member", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, "m1", "m2", "m3")
		join := s.controlPlane("m2", "m3")
		s.world.Remove("m3")
		s.start("m3")
		s.must("m3", prepare)
		refused(s, "m3", join, "timeout waiting for etcd cluster to be available")
	})
	t.Run("cut short", func(t *testing.T) {
		t.Parallel()
		s := slowSite(t, 500*time.Millisecond, "m1", "m2", "m3")
		join := s.cluster() + " --control-plane --certificate-key " + s.certificateKey()
		s.must("m2", prepare)
		s.must("m3", prepare)
		ended := make(chan error, 1)
		go func() {
			_, err := s.run("m2", joinAs("m2", join))
			ended <- err
		}()
		for len(s.world.Members()) < 2 && len(ended) == 0 {
			time.Sleep(time.Millisecond)
		}
		s.hosts["m2"].CutConnections()
		if err := <-ended; err == nil {
			t.Fatal("it was not cut")
		}
		s.wantMembers(kubesim.Member{Name: "m1", Machine: "m1", Leader: true, Alive: true}, kubesim.Member{Machine: "m2", Learner: true})
		refused(s, "m3", join, "too many learner members in cluster")
		s.world.Remove("m2")
		s.start("m2")
		s.must("m2", prepare)
		s.must("m2", joinAs("m2", join)) // the member that is there has never run
		s.must("m3", joinAs("m3", join))
	})
	t.Run("a disk is full", func(t *testing.T) {
		t.Parallel()
		for left, joined := int64(0), false; !joined; left += 500 {
			s := newSite(t, "m1", "m2")
			join := joinAs("m2", s.cluster()+" --control-plane --certificate-key "+s.certificateKey())
			s.must("m2", prepare)
			s.hosts["m2"].SetFaults(sshtest.Faults{DiskFull: true, DiskLeft: left})
			_, err := s.run("m2", join)
			joined = err == nil
			for _, m := range s.world.Members() {
				if !m.Learner && !m.Alive {
					t.Errorf("with %d bytes left the member on %s votes and does not run", left, m.Machine)
				}
			}
			s.hosts["m2"].SetFaults(sshtest.Faults{})
			s.must("m2", "sudo kubeadm reset --force")
			s.must("m2", join)
		}
	})
	t.Run("reset", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, "m1", "m2", "m3")
		s.controlPlane("m2", "m3")
		s.must("m3", "sudo kubeadm reset --force")
		s.wantMembers(kubesim.Member{Name: "m1", Machine: "m1", Leader: true, Alive: true}, kubesim.Member{Name: "m2", Machine: "m2", Alive: true})
		s.world.SetDown("m1", true)
		s.must("m2", "sudo kubeadm reset --force") // no quorum: it is taken from nowhere
		s.world.SetDown("m1", false)
		s.wantMembers(kubesim.Member{Name: "m1", Machine: "m1", Alive: true}, kubesim.Member{Name: "m2", Machine: "m2"})
	})
}
