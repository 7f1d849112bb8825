package cluster_test

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/vnfkit/vnfkit/mgmt/cluster"
)

func TestLeader(t *testing.T) {
	t.Parallel()
	s := newSite(t, "m2", "m3")
	for _, down := range []string{"", "m1"} {
		if down != "" {
			s.stop(down)
		}
		leader, err := s.Leader(t.Context())
		if err != nil || leader.name == down {
			t.Errorf("without %q: %s, %v", down, leader.name, err)
		}
		nodes, err := s.Nodes(t.Context())
		if err != nil || len(nodes) != 3 {
			t.Errorf("without %q: %d nodes, %v", down, len(nodes), err)
		}
	}
	s.stop("m2") // one of three members is no quorum
	if _, err := s.Leader(t.Context()); !errors.Is(err, cluster.ErrNoAPI) {
		t.Errorf("%v", err)
	}
	if _, err := cluster.New[cluster.ControlPlaneNode](nil).Leader(t.Context()); !errors.Is(err, cluster.ErrNoAPI) {
		t.Errorf("without nodes: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	errGone := errors.New("gone")
	cancel(errGone)
	if _, err := s.Leader(ctx); !errors.Is(err, errGone) || errors.Is(err, cluster.ErrNoAPI) {
		t.Errorf("after the end of the context: %v", err)
	}
}

// TestControlPlaneEndsMeanwhile: another one is asked when the first has answered that it is ready, but not what it was asked.
func TestControlPlaneEndsMeanwhile(t *testing.T) {
	t.Parallel()
	s := newSite(t, "m2", "m3", "w4")
	s.when(func(string, string) { s.when(nil); s.stop("m1") })
	if err := s.SetLabels(t.Context(), "w4", map[string]string{"zone": "a"}); err != nil {
		t.Fatal(err)
	}
	if n, _, err := s.NodeAt(t.Context(), addressOf("w4")); err != nil || n.Labels["zone"] != "a" {
		t.Errorf("%v, %v", n.Labels, err)
	}
}

// TestAnswerBreaksOff: another node is asked when the connection ends in the middle of an answer.
func TestAnswerBreaksOff(t *testing.T) {
	t.Parallel()
	serve := func(breaksOff bool) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"kind":"NodeList","apiVersion":"v1","items":[`)
			if breaksOff {
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
			_, _ = io.WriteString(w, `{"metadata":{"name":"n"}}]}`)
		}
	}
	k := cluster.New([]hostileControlPlane{newHostileControlPlane(t, serve(true)), newHostileControlPlane(t, serve(false))})
	t.Cleanup(k.Close)
	if nodes, err := k.Nodes(t.Context()); err != nil || len(nodes) != 1 {
		t.Errorf("%v, %v", nodes, err)
	}
}

// TestForbiddenMeanwhile: an API server that has just started again forbids everything until it has read the roles.
func TestForbiddenMeanwhile(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	k := cluster.New([]hostileControlPlane{newHostileControlPlane(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if n := requests.Add(1); n == 2 || n == 4 {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
			return
		}
		_, _ = io.WriteString(w, `{"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{"name":"n"},"status":{"addresses":[{"type":"InternalIP","address":"10.0.0.1"}],`+
			`"conditions":[{"type":"Ready","status":"True"}]}}]}`)
	})})
	t.Cleanup(k.Close)
	for range 2 {
		if nodes, err := k.Nodes(t.Context()); err != nil || len(nodes) != 1 {
			t.Errorf("%v, %v", nodes, err)
		}
	}
	if err := k.WaitKubelet(t.Context(), netip.MustParseAddr("10.0.0.1"), func(string) bool { return true }, func(string) {}); err != nil {
		t.Error(err)
	}
}

// TestMadeAnew: a cluster on the same machine is another one; nothing is remembered of the first.
func TestMadeAnew(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if err := s.SetLabels(t.Context(), "m1", map[string]string{"old": "1"}); err != nil {
		t.Fatal(err)
	}
	s.must("m1", "sudo kubeadm reset --force")
	if _, err := s.Nodes(t.Context()); !errors.Is(err, cluster.ErrNoAPI) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a cluster: %v", err)
	}
	s.initialise()
	nodes, err := s.Nodes(t.Context())
	if err != nil || len(nodes) != 1 || nodes[0].Labels["old"] != "" {
		t.Errorf("%+v, %v", nodes, err)
	}
}

// TestForeignServer: what the CA of the cluster has not signed is not spoken to.
func TestForeignServer(t *testing.T) {
	t.Parallel()
	one, other := newSite(t), newSite(t)
	leader, err := one.Leader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	other.asked()
	lured := elsewhere{leader, func(ctx context.Context) (net.Conn, error) {
		return other.world.Dialer("m1")(ctx, "tcp", "10.0.0.1:6443")
	}}
	err = cluster.Ready(t.Context(), lured)
	if err == nil || !strings.Contains(err.Error(), "certificate signed by unknown authority") {
		t.Errorf("%v", err)
	}
}

// TestHostileKubeconfig: nothing that it names is read or run, and its text is in no error.
func TestHostileKubeconfig(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"none": "hunter2", "empty": "", "files": "clusters: [{cluster: {certificate-authority: /etc/passwd}}]\nusers: [{user: {tokenFile: /etc/passwd}}]\n",
		"a program": "clusters: [{cluster: {insecure-skip-tls-verify: true}}]\nusers: [{user: {exec: {command: hunter2}}}]\n",
		"no base64": "clusters: [{cluster: {certificate-authority-data: hunter2!}}]\nusers: [{user: {}}]\n",
		"no key":    "clusters: [{cluster: {certificate-authority-data: aHVudGVyMg==}}]\nusers: [{user: {client-key-data: aHVudGVyMg==}}]\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := cluster.Ready(t.Context(), file(text))
			if err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v", err)
			}
		})
	}
}

// file is a control-plane node with that kubeconfig, which must not be connected to.
type file string

func (f file) ReadRoot(context.Context, string) ([]byte, error) { return []byte(f), nil }
func (f file) DialContext(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("it was connected to")
}

func TestNodes(t *testing.T) {
	t.Parallel()
	s := newSite(t, "w2")
	s.must("w2", "sudo systemctl stop containerd")
	nodes, err := s.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	type summary struct {
		Name         string
		Address      string
		ControlPlane bool
		Ready        bool
		Reason       string
	}
	var got []summary
	for _, n := range nodes {
		got = append(got, summary{n.Name, n.Address.String(), n.ControlPlane, n.Ready, n.Reason})
	}
	want := []summary{{"m1", "10.0.0.1", true, true, "kubelet is posting ready status"},
		{"w2", "10.0.0.2", false, false, "container runtime network not ready: cni plugin not initialized"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n, found, err := s.NodeAt(t.Context(), addressOf("w2")); err != nil || !found || n.Name != "w2" {
		t.Errorf("%+v, %v, %v", n, found, err)
	}
	for _, nobody := range []netip.Addr{netip.MustParseAddr("10.0.0.9"), {}} {
		if _, found, err := s.NodeAt(t.Context(), nobody); found || err != nil {
			t.Errorf("%v: %v, %v", nobody, found, err)
		}
	}
}

func TestLabelsAndTaints(t *testing.T) {
	t.Parallel()
	s := newSite(t, "w2")
	ctx := t.Context()
	taint := func(key, value string) corev1.Taint {
		return corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffectNoSchedule}
	}
	for range 2 {
		if err := s.SetLabels(ctx, "w2", map[string]string{"CIS-node": "compute1", "kubernetes.io/zone": "z1"}); err != nil {
			t.Fatal(err)
		}
		if err := s.SetTaints(ctx, "w2", []corev1.Taint{taint("a", "1"), taint("b", "1")}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.SetLabels(ctx, "w2", map[string]string{"CIS-node": "compute2"}); err != nil {
		t.Fatal(err)
	}
	if err := s.SetTaints(ctx, "w2", []corev1.Taint{taint("b", "2")}); err != nil {
		t.Fatal(err)
	}
	n, _, err := s.NodeAt(ctx, addressOf("w2"))
	if err != nil || n.Labels["CIS-node"] != "compute2" || n.Labels["kubernetes.io/zone"] != "z1" || n.Labels["kubernetes.io/hostname"] != "w2" {
		t.Errorf("%v, %v", n.Labels, err)
	}
	if diff := cmp.Diff([]corev1.Taint{taint("a", "1"), taint("b", "2")}, n.Spec.Taints); diff != "" {
		t.Error(diff)
	}
	for name, err := range map[string]error{
		"a label that is none": s.SetLabels(ctx, "w2", map[string]string{"a b": "c"}),
		"a taint that is none": s.SetTaints(ctx, "w2", []corev1.Taint{{Key: "a", Effect: "No"}}),
		"labels of no node":    s.SetLabels(ctx, "w9", map[string]string{"a": "b"}),
		"taints of no node":    s.SetTaints(ctx, "w9", []corev1.Taint{taint("a", "1")}),
		"a name that is none":  s.SetLabels(ctx, "w2/status", map[string]string{"a": "b"}),
	} {
		if err == nil {
			t.Errorf("%s is no error", name)
		}
	}
	s.asked()
	if err := errors.Join(s.SetLabels(ctx, "w2", nil), s.SetTaints(ctx, "w2", nil)); err != nil || len(s.asked()) > 0 {
		t.Errorf("nothing to set: %v", err)
	}
}

func TestWaitReady(t *testing.T) {
	t.Parallel()
	s := newSite(t, "w2")
	s.must("w2", "sudo systemctl stop containerd")
	var told []string
	machines := map[netip.Addr]string{addressOf("m1"): "m1", addressOf("w2"): "worker (w2)"}
	err := s.WaitReady(t.Context(), machines, func(message string) {
		told = append(told, message)
		s.must("w2", "sudo systemctl start containerd")
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1 of 2 nodes are Ready; worker (w2) is not Ready: container runtime network not ready: cni plugin not initialized"}, told); diff != "" {
		t.Error(diff)
	}
}

// TestWaitReadyTimesOut: the error has the state of the nodes, which is reported once.
func TestWaitReadyTimesOut(t *testing.T) {
	t.Parallel()
	s := newSite(t, "w2")
	s.stop("w2")
	errLate := errors.New("too late")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	rounds := 0
	s.when(func(_, path string) {
		if path == "/api/v1/nodes" {
			if rounds++; rounds == 5 {
				cancel(errLate)
			}
		}
	})
	told := 0
	err := s.WaitReady(ctx, map[netip.Addr]string{addressOf("m1"): "m1", addressOf("w2"): "w2", addressOf("w3"): "worker-3"}, func(string) { told++ })
	if !errors.Is(err, errLate) || told != 1 {
		t.Fatalf("told %d times: %v", told, err)
	}
	for _, want := range []string{"waiting for all nodes to be Ready", "worker-3 has not joined: no node has the address 10.0.0.3", "w2 is not Ready: Kubelet stopped posting"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}

// counted counts the connections through a control-plane node.
type counted struct {
	controlPlaneNode
	made, open *atomic.Int64
}

func (c counted) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := c.controlPlaneNode.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	c.made.Add(1)
	c.open.Add(1)
	return &countedConn{Conn: conn, open: c.open}, nil
}

type countedConn struct {
	net.Conn
	open *atomic.Int64
	once sync.Once
}

func (c *countedConn) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}

// newCounted is the cluster through a control-plane node whose connections are counted.
func (s *site) newCounted() (k *cluster.Cluster[counted], m counted) {
	s.t.Helper()
	leader, err := s.Leader(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	m = counted{leader, new(atomic.Int64), new(atomic.Int64)}
	k = cluster.New([]counted{m})
	s.t.Cleanup(k.Close)
	return k, m
}

// TestConnections: one is kept between calls, also by one that failed, and none when the cluster is closed.
func TestConnections(t *testing.T) {
	t.Parallel()
	s := newSite(t, "w2")
	k, m := s.newCounted()
	late, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	for _, call := range []struct {
		name string
		keep int64 // connections that may be open afterwards
		do   func() error
	}{
		{"ready", 0, func() error { return cluster.Ready(t.Context(), m) }},
		{"name", 1, func() error { return k.CheckName(t.Context(), "10.0.0.1") }},
		{"another name", 1, func() error {
			if _, ok := errors.AsType[x509.HostnameError](k.CheckName(t.Context(), "10.0.0.9")); !ok {
				return errors.New("the certificate names it")
			}
			return nil
		}},
		{"drain", 1, func() error { return k.Drain(t.Context(), "w2", cluster.DrainOptions{Timeout: time.Minute}) }},
		{"late", 1, func() error {
			if err := k.WaitReady(late, map[netip.Addr]string{addressOf("w9"): "w9"}, func(string) {}); err == nil {
				return errors.New("w9 is ready")
			}
			return nil
		}},
	} {
		if err := call.do(); err != nil {
			t.Errorf("%s: %v", call.name, err)
		}
		if n := m.open.Load(); n > call.keep {
			t.Errorf("%s leaves %d connections open", call.name, n)
		}
	}
	before := m.made.Load()
	for range 3 {
		if _, err := k.Nodes(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := k.Leader(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if n := m.made.Load() - before; n > 1 {
		t.Errorf("%d connections were made for calls one after the other", n)
	}
	k.Close()
	if n := m.open.Load(); n != 0 {
		t.Errorf("%d connections are open after Close", n)
	}
	if _, err := k.Nodes(t.Context()); err != nil {
		t.Errorf("after Close: %v", err)
	}
}

// TestConnectionCut: a call connects again if its connection has ended since the last call, also if several calls
// notice that at once. The node is not considered dead.
func TestConnectionCut(t *testing.T) {
	t.Parallel()
	s := newSite(t, "w2")
	k, _ := s.newCounted()
	for range 3 {
		if _, err := k.Nodes(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.hosts["m1"].CutConnections()
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				if err := k.SetLabels(t.Context(), "w2", map[string]string{"zone": "a"}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
}
