package etcd_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/vnfkit/vnfkit/mgmt/kubeadm/etcd"
)

// program returns the path of the real etcd: VNFKIT_ETCD, or etcd in PATH.
func program(t *testing.T) string {
	t.Helper()
	if name := os.Getenv("VNFKIT_ETCD"); name != "" {
		return name
	}
	name, err := exec.LookPath("etcd")
	if err != nil {
		t.Skip("no etcd to test with: VNFKIT_ETCD names none, and there is none in PATH")
	}
	return name
}

// authority is a CA that issues certificates as kubeadm does.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir()}
	a.cert, a.key = a.issue(t, "ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// issue issues a certificate and writes it to name.crt, its key to name.key.
func (a *authority) issue(t *testing.T, name string, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: name}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	a.write(t, name+".crt", "CERTIFICATE", der)
	a.write(t, name+".key", "PRIVATE KEY", secret)
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

func (a *authority) write(t *testing.T, name, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(a.file(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

func (a *authority) read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(a.file(name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (a *authority) client(t *testing.T) *tls.Config {
	t.Helper()
	config, err := etcd.TLS(a.read(t, "ca.crt"), a.read(t, "client.crt"), a.read(t, "client.key"))
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// server is a running etcd.
type server struct {
	name, addr   string
	client, peer string // URLs
	process      *exec.Cmd
}

func (s *server) kill() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
}

// freePort returns a port of the address on which no process listens.
func freePort(t *testing.T, addr string) string {
	t.Helper()
	l, err := net.Listen("tcp", addr+":0") //nolint:noctx // a port of this machine, at once
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// startCluster starts etcd members, each at a separate address, as kubeadm sets them up.
func startCluster(t *testing.T, n int) (*authority, []*server) {
	t.Helper()
	bin, ca := program(t), newAuthority(t)
	ca.issue(t, "client", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	var servers []*server
	var initial []string
	for i := range n {
		s := &server{name: fmt.Sprintf("master-%d", i+1), addr: fmt.Sprintf("127.0.0.%d", i+11)}
		s.client, s.peer = "https://"+freePort(t, s.addr), "https://"+freePort(t, s.addr)
		servers, initial = append(servers, s), append(initial, s.name+"="+s.peer)
	}
	for _, s := range servers {
		// A member checks that a peer has a certificate for the address that it connects from: here always 127.0.0.1.
		ca.issue(t, s.name, &x509.Certificate{IPAddresses: []net.IP{net.ParseIP(s.addr), net.ParseIP("127.0.0.1")},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}})
		s.process = exec.CommandContext(t.Context(), bin, "--name", s.name, "--data-dir", t.TempDir(), "--log-level", "error",
			"--initial-cluster", strings.Join(initial, ","), "--initial-advertise-peer-urls", s.peer, "--listen-peer-urls", s.peer,
			"--advertise-client-urls", s.client, "--listen-client-urls", s.client,
			"--client-cert-auth", "--trusted-ca-file", ca.file("ca.crt"), "--cert-file", ca.file(s.name+".crt"), "--key-file", ca.file(s.name+".key"),
			"--peer-client-cert-auth", "--peer-trusted-ca-file", ca.file("ca.crt"), "--peer-cert-file", ca.file(s.name+".crt"), "--peer-key-file", ca.file(s.name+".key"))
		if err := s.process.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.kill)
	}
	return ca, servers
}

func open(t *testing.T, endpoint string, config *tls.Config) *etcd.Client {
	t.Helper()
	client, err := etcd.Open(etcd.Config{Endpoint: endpoint, TLS: config, Dial: new(net.Dialer).DialContext, Timeout: time.Second})
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
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
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
	ca, servers := startCluster(t, 4)
	client := open(t, servers[0].client, ca.client(t))
	members := until(t, client, "four healthy members", healthy(4))
	for _, s := range servers {
		m := memberAt(t, members, s.addr)
		if diff := cmp.Diff(etcd.Member{ID: m.ID, Name: s.name, PeerURLs: []string{s.peer}, ClientURLs: []string{s.client}, Healthy: true, Leader: m.Leader}, m); diff != "" {
			t.Error(diff)
		}
	}
	first, second, third := memberAt(t, members, servers[0].addr), memberAt(t, members, servers[1].addr), memberAt(t, members, servers[2].addr)

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
	fourth := memberAt(t, members, servers[3].addr)
	if leader.ID != fourth.ID {
		if err := client.MoveLeader(ctx, leader, fourth.ID); err != nil {
			t.Fatal(err)
		}
	}
	members = until(t, client, "the fourth leads", func(now []etcd.Member) bool { return memberAt(t, now, servers[3].addr).Leader })
	if err := client.MoveLeader(ctx, memberAt(t, members, servers[3].addr), third.ID); err != nil {
		t.Fatal(err)
	}
	remove(t, client, members, fourth)
	until(t, client, "three members", func(now []etcd.Member) bool { return len(now) == 3 && healthy(3)(now) })

	// A member that was added and has never started has no name, only an address.
	raw := rawClient(t, servers[0].client, ca.client(t))
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
	servers[2].kill()
	members = until(t, client, "two healthy members", healthy(2))
	if _, err := etcd.PlanRemoval(members, second.ID); !errors.Is(err, etcd.ErrQuorum) {
		t.Errorf("a healthy member may go beside a dead one: %v", err)
	}
	skipped, err := client.Members(ctx, func(m etcd.Member) bool { return m.ID == second.ID })
	if err != nil || memberAt(t, skipped, servers[1].addr).Healthy {
		t.Errorf("it was asked: %+v, %v", skipped, err)
	}
	remove(t, client, members, third)
	remove(t, client, members, third)
	until(t, client, "two members", func(now []etcd.Member) bool { return len(now) == 2 && healthy(2)(now) })

	// Without a quorum no member can be removed: PlanRemoval reports Lost, and Remove returns when ctx ends.
	servers[1].kill()
	members = until(t, client, "one healthy member without a leader", func(now []etcd.Member) bool {
		return len(now) == 2 && memberAt(t, now, servers[0].addr).Healthy && !memberAt(t, now, servers[0].addr).Leader
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
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
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
	ca, servers := startCluster(t, 1)
	good := ca.client(t)
	until(t, open(t, servers[0].client, good), "the member", healthy(1))
	other := newAuthority(t)
	other.issue(t, "client", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	stranger, anonymous, elsewhere := other.client(t), good.Clone(), good.Clone()
	stranger.RootCAs, anonymous.Certificates = good.RootCAs, nil
	elsewhere.RootCAs = other.client(t).RootCAs
	for name, config := range map[string]*tls.Config{"a stranger's certificate": stranger, "no certificate": anonymous, "another CA": elsewhere} {
		if members, err := open(t, servers[0].client, config).Members(t.Context(), nil); err == nil {
			t.Errorf("%s: %+v", name, members)
		}
	}
	// The member's certificate is for 127.0.0.11 only.
	moved := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, strings.TrimPrefix(servers[0].client, "https://"))
	}
	client, err := etcd.Open(etcd.Config{Endpoint: "https://127.0.0.99:2379", TLS: good, Dial: moved, Timeout: time.Second})
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
	client, err := etcd.Open(etcd.Config{Endpoint: "http://10.0.0.1:2379", Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := client.Members(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if err := client.Remove(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
}

func TestTLSNeedsItsFiles(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	ca.issue(t, "client", &x509.Certificate{})
	cert, key := ca.read(t, "client.crt"), ca.read(t, "client.key")
	if _, err := etcd.TLS([]byte("?"), cert, key); err == nil {
		t.Error("no CA")
	}
	if _, err := etcd.TLS(ca.read(t, "ca.crt"), cert, ca.read(t, "ca.key")); err == nil {
		t.Error("another's key")
	}
}
