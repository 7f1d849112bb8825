package cluster_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vnfkit/vnfkit/mgmt/cluster"
)

// control is a real control plane without nodes: etcd, kube-apiserver and kube-controller-manager of the folder
// that VNFKIT_KUBERNETES names.
type control struct {
	t        *testing.T
	dir      string // of this test
	programs string
	address  string // of the API server
	ca       *x509.Certificate
	key      *ecdsa.PrivateKey
	client   *http.Client
}

func newControl(t *testing.T) *control {
	t.Helper()
	c := &control{t: t, dir: t.TempDir(), programs: os.Getenv("VNFKIT_KUBERNETES")}
	if c.programs == "" {
		t.Skip("VNFKIT_KUBERNETES names no folder with etcd, kube-apiserver and kube-controller-manager")
	}
	c.ca, c.key = c.issue("ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	c.issue("server", &x509.Certificate{DNSNames: []string{"kubernetes"}, IPAddresses: []net.IP{net.IPv4(10, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	c.issue("accounts", &x509.Certificate{})
	c.issue("admin", &x509.Certificate{Subject: pkix.Name{Organization: []string{"system:masters"}}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	store, peer := c.port(), c.port()
	c.address = c.port()
	c.start("etcd", "--data-dir", filepath.Join(c.dir, "data"), "--unsafe-no-fsync", "--listen-client-urls", "http://"+store, "--advertise-client-urls", "http://"+store,
		"--listen-peer-urls", "http://"+peer, "--initial-advertise-peer-urls", "http://"+peer, "--initial-cluster", "default=http://"+peer)
	_, port, _ := net.SplitHostPort(c.address)
	c.start("kube-apiserver", "--etcd-servers", "http://"+store, "--bind-address=127.0.0.1", "--secure-port="+port, "--tls-cert-file", c.file("server.crt"),
		"--tls-private-key-file", c.file("server.key"), "--client-ca-file", c.file("ca.crt"), "--authorization-mode=Node,RBAC", "--service-cluster-ip-range=10.96.0.0/16",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file", c.file("accounts.key"), "--service-account-signing-key-file", c.file("accounts.key"),
		"--endpoint-reconciler-type=none", "--cert-dir", c.dir)
	if err := os.WriteFile(c.file("admin.conf"), []byte(c.kubeconfig("https://"+c.address)), 0o600); err != nil {
		t.Fatal(err)
	}
	c.start("kube-controller-manager", "--kubeconfig", c.file("admin.conf"), "--service-account-private-key-file", c.file("accounts.key"), "--root-ca-file", c.file("ca.crt"),
		"--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port=0", "--tls-private-key-file=", "--node-monitor-period=1s")
	c.connect()
	return c
}

func (c *control) file(name string) string { return filepath.Join(c.dir, name) }

// port finds one that is free.
func (c *control) port() string {
	c.t.Helper()
	l, err := new(net.ListenConfig).Listen(c.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		c.t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (c *control) start(name string, args ...string) {
	c.t.Helper()
	var log bytes.Buffer
	cmd := exec.CommandContext(context.WithoutCancel(c.t.Context()), filepath.Join(c.programs, name), args...) //nolint:gosec // the folder is the caller's choice
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if c.t.Failed() {
			c.t.Logf("%s: %s", name, log.String()[max(0, log.Len()-3000):])
		}
	})
}

// issue writes name.crt and name.key.
func (c *control) issue(name string, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	c.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		c.t.Fatal(err)
	}
	template.SerialNumber, template.Subject.CommonName = big.NewInt(time.Now().UnixNano()), name
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
	parent, signer := c.ca, c.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err1 := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	secret, err2 := x509.MarshalECPrivateKey(key)
	cert, err3 := x509.ParseCertificate(der)
	err4 := os.WriteFile(c.file(name+".crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)
	err5 := os.WriteFile(c.file(name+".key"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}), 0o600)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		c.t.Fatal(err)
	}
	return cert, key
}

func (c *control) kubeconfig(server string) string {
	c.t.Helper()
	read := func(name string) string {
		data, err := os.ReadFile(c.file(name))
		if err != nil {
			c.t.Fatal(err)
		}
		return base64.StdEncoding.EncodeToString(data)
	}
	return fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"+
		"clusters: [{name: c, cluster: {server: %q, tls-server-name: kubernetes, certificate-authority-data: %s}}]\nusers: [{name: u, user: {client-certificate-data: %s, client-key-data: %s}}]\n",
		server, read("ca.crt"), read("admin.crt"), read("admin.key"))
}

// ReadRoot and DialContext make it a cluster.ControlPlaneNode.
func (c *control) ReadRoot(context.Context, string) ([]byte, error) {
	return []byte(c.kubeconfig("https://elsewhere:6443")), nil
}

func (c *control) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, c.address)
}

// connect makes a client of the test's own.
func (c *control) connect() {
	c.t.Helper()
	pair, err := tls.LoadX509KeyPair(c.file("admin.crt"), c.file("admin.key"))
	if err != nil {
		c.t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(c.ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "kubernetes", Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}}
	c.t.Cleanup(transport.CloseIdleConnections)
	c.client = &http.Client{Transport: transport}
}

// status says of an object what its kubelet would.
func (c *control) status(ctx context.Context, path, patch string) {
	c.t.Helper()
	c.ask(ctx, http.MethodPatch, path+"/status", patch)
}

func (c *control) ask(ctx context.Context, method, path, body string) []byte {
	c.t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, "https://"+c.address+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/strategic-merge-patch+json")
	answer, err := c.client.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		c.t.Fatalf("%s: %v, %s", path, err, text)
	}
	return text
}

const realNode = "apiVersion: v1\nkind: Node\nmetadata: {name: w2}\n"

// realPod is of a controller that exists (the garbage collector would remove it otherwise), and protected.
const realPod = `apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: keep, namespace: shop}
spec: {minAvailable: 1, selector: {matchLabels: {app: a}}}
---
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: shop, labels: {app: a}, ownerReferences: [{apiVersion: example.com/v1, kind: Widget, name: w, uid: $UID, controller: true}]}
spec: {nodeName: w2, automountServiceAccountToken: false, containers: [{name: c, image: i}]}
`

// TestReal: the same against the API server of Kubernetes itself.
func TestReal(t *testing.T) {
	t.Parallel()
	real := newControl(t)
	c := cluster.New([]cluster.ControlPlaneNode{dead{}, real})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	if err := c.WaitReady(ctx, nil, func(string) {}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.Apply(ctx, []byte(strings.ReplaceAll(widgets, "versions: [{name: v1, served: true, storage: true}]",
			"versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]"))); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("nodes", func(t *testing.T) { real.nodes(ctx, t, c) })
	t.Run("account", func(t *testing.T) { real.accounts(ctx, t, c) })
	t.Run("drain", func(t *testing.T) { real.drain(ctx, t, c) })
	t.Run("volumes", func(t *testing.T) { real.volumes(ctx, t, c) })
	t.Run("names", func(t *testing.T) {
		if err := c.CheckName(ctx, "10.0.0.1"); err != nil {
			t.Error(err)
		}
		if _, ok := errors.AsType[x509.HostnameError](c.CheckName(ctx, "10.0.0.2")); !ok {
			t.Error("an address that the certificate does not name")
		}
	})
	for name, manifest := range map[string]string{
		"invalid":      "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: d}\nspec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: c}}}}\n",
		"not a label":  "apiVersion: v1\nkind: Secret\nmetadata: {name: s, labels: {a b: c}}\n",
		"unknown type": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: [1]\n",
	} {
		if err := c.Apply(ctx, []byte(manifest)); err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "/") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func (c *control) nodes(ctx context.Context, t *testing.T, k *cluster.Cluster[cluster.ControlPlaneNode]) {
	t.Helper()
	if err := k.Apply(ctx, []byte(realNode)); err != nil {
		t.Fatal(err)
	}
	ready := func() {
		c.status(ctx, "/api/v1/nodes/w2", fmt.Sprintf(`{"status":{"addresses":[{"type":"InternalIP","address":"10.0.0.2"}],"conditions":[{"type":"Ready","status":"True","reason":"KubeletReady","lastHeartbeatTime":%q}]}}`, time.Now().UTC().Format(time.RFC3339)))
	}
	ready()
	if err := k.WaitReady(ctx, map[netip.Addr]string{addressOf("w2"): "w2"}, func(string) { ready() }); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		err1 := k.SetLabels(ctx, "w2", map[string]string{"CIS-node": "compute1"})
		err2 := k.SetTaints(ctx, "w2", []corev1.Taint{{Key: "a", Value: "b", Effect: corev1.TaintEffectNoSchedule}})
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
	}
	n, found, err := k.NodeAt(ctx, addressOf("w2"))
	tainted := 0
	for _, taint := range n.Spec.Taints {
		if taint.Key == "a" && taint.Value == "b" {
			tainted++
		}
	}
	if err != nil || !found || n.Labels["CIS-node"] != "compute1" || tainted != 1 {
		t.Errorf("%+v, %v", n, err)
	}
}

func (c *control) accounts(ctx context.Context, t *testing.T, k *cluster.Cluster[cluster.ControlPlaneNode]) {
	t.Helper()
	a := cluster.Account{Namespace: "kube-system", Name: "vnfkit-vim", ClusterRole: "cluster-admin"}
	first, err1 := k.EnsureAccount(ctx, a)
	again, err2 := k.EnsureAccount(ctx, a)
	if err := errors.Join(err1, err2); err != nil || first.Token != again.Token || strings.Count(first.Token, ".") != 2 {
		t.Fatalf("%v", err)
	}
	a.ClusterRole, a.TokenLife = "view", time.Hour
	request, err := k.EnsureAccount(ctx, a)
	if err != nil || request.Token == first.Token || request.Expires.IsZero() {
		t.Fatalf("%v", err)
	}
	a.TokenLife = time.Minute
	if _, err := k.EnsureAccount(ctx, a); err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "10 minutes") {
		t.Errorf("%v", err)
	}
	a.ClusterRole = "none"
	if _, err := k.EnsureAccount(ctx, a); !errors.Is(err, cluster.ErrNoClusterRole) {
		t.Errorf("%v", err)
	}
	for range 2 {
		if err := k.RemoveAccount(ctx, a); err != nil {
			t.Error(err)
		}
	}
	if found, err := k.Exists(ctx, "kube-system", "serviceaccount", a.Name); found || err != nil {
		t.Errorf("%v, %v", found, err)
	}
}

func (c *control) drain(ctx context.Context, t *testing.T, k *cluster.Cluster[cluster.ControlPlaneNode]) {
	t.Helper()
	owner := c.ask(ctx, http.MethodGet, "/apis/example.com/v1/namespaces/shop/widgets/w", "")
	_, uid, _ := bytes.Cut(owner, []byte(`"uid":"`))
	uid, _, _ = bytes.Cut(uid, []byte(`"`))
	if err := k.Apply(ctx, []byte(strings.ReplaceAll(realPod, "$UID", string(uid)))); err != nil {
		t.Fatal(err)
	}
	c.status(ctx, "/api/v1/namespaces/shop/pods/a", `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`)
	err := k.Drain(ctx, "w2", cluster.DrainOptions{Timeout: 5 * time.Second})
	left, _ := errors.AsType[*cluster.DrainError](err)
	if left == nil || len(left.Pods) != 1 || !strings.Contains(left.Pods[0].Reason, "disruption budget keep needs 1 healthy pods and has 1 currently") {
		t.Fatalf("%v", err)
	}
	// Nothing ends the pod, since its kubelet does not report: Drain does not wait for it.
	c.status(ctx, "/api/v1/nodes/w2", `{"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}`)
	if err := k.Drain(ctx, "w2", cluster.DrainOptions{Timeout: 5 * time.Second, Policy: cluster.DrainDelete}); err != nil {
		t.Fatal(err)
	}
	node, _, err := k.NodeAt(ctx, addressOf("w2"))
	if err != nil {
		t.Fatal(err)
	}
	if err := k.DeleteNode(ctx, "w2", "of-an-earlier-node"); err != nil {
		t.Error(err)
	}
	if _, found, err := k.NodeAt(ctx, addressOf("w2")); !found || err != nil {
		t.Errorf("a node with another UID was deleted: %v", err)
	}
	if err := errors.Join(k.DeleteNode(ctx, "w2", node.UID), k.DeleteNode(ctx, "w2", node.UID)); err != nil {
		t.Error(err)
	}
}
