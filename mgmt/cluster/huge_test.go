package cluster_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// hostileControlPlane is a control-plane node whose API server answers with what serve writes.
type hostileControlPlane struct {
	kubeconfig string
	address    string
}

func (m hostileControlPlane) ReadRoot(context.Context, string) ([]byte, error) {
	return []byte(m.kubeconfig), nil
}

func (m hostileControlPlane) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, m.address)
}

func newHostileControlPlane(t *testing.T, serve http.HandlerFunc) hostileControlPlane {
	t.Helper()
	key, err1 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"kubernetes"}, NotBefore: time.Now().Add(-time.Minute),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err2 := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	secret, err3 := x509.MarshalECPrivateKey(key)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			serve(w, r)
		}
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}
	server.EnableHTTP2 = true // as in Kubernetes
	server.StartTLS()
	t.Cleanup(server.Close)
	encoded := func(kind string, data []byte) string {
		return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}))
	}
	ca := encoded("CERTIFICATE", der)
	return hostileControlPlane{fmt.Sprintf("clusters: [{cluster: {certificate-authority-data: %s}}]\nusers: [{user: {client-certificate-data: %s, client-key-data: %s}}]\n",
		ca, ca, encoded("EC PRIVATE KEY", secret)), server.Listener.Addr().String()}
}

// TestHugeAnswers: the bodies of answers, and the messages in errors and reports, are bounded.
func TestHugeAnswers(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<19)
	for name, c := range map[string]struct {
		status int
		text   string
		fill   string // without end; empty: none
		want   string
	}{
		"endless list":   {http.StatusOK, `{"kind":"NodeList","apiVersion":"v1","items":[{}`, ",{},{},{}", "the answer is longer than 64 MiB"},
		"a long refusal": {http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"` + long + `"}`, "", "xxx"},
		"a long condition": {http.StatusOK, `{"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{"name":"n"},"status":{"addresses":[{"type":"InternalIP","address":"10.0.0.1"}],` +
			`"conditions":[{"type":"Ready","status":"False","message":"` + long + `"}]}}]}`, "", "worker is not Ready: xxx"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent atomic.Int64
			k := cluster.New([]hostileControlPlane{newHostileControlPlane(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.status)
				_, err := w.Write([]byte(c.text))
				filler := []byte(strings.Repeat(c.fill, 1<<13))
				for c.fill != "" && err == nil && sent.Load() < 256<<20 {
					_, err = w.Write(filler)
					sent.Add(int64(len(filler)))
				}
			})})
			defer k.Close()
			_, err := k.Nodes(t.Context())
			if name == "a long condition" {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				err = k.WaitReady(ctx, map[netip.Addr]string{netip.MustParseAddr("10.0.0.1"): "worker"}, func(message string) {
					cancel()
					if len(message) > 4<<10 {
						t.Errorf("the report has %d bytes", len(message))
					}
				})
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 8<<10 {
				t.Errorf("%.300v, %d bytes", err, len(fmt.Sprint(err)))
			}
			if n := sent.Load(); n > 80<<20 {
				t.Errorf("%d MiB were read", n>>20)
			}
		})
	}
}

// TestKubeconfigFlood: a node whose kubeconfig does not end is an error that names the bound.
func TestKubeconfigFlood(t *testing.T) {
	t.Parallel()
	host := sshtest.Start(t, sshtest.Config{Commands: map[string]sshtest.Command{"cat": func(ctx context.Context, p *sshtest.Process) int {
		for block := make([]byte, 32<<10); ctx.Err() == nil; {
			if _, err := p.Stdout.Write(block); err != nil {
				break
			}
		}
		return 1
	}}})
	if err := errors.Join(host.FS().MkdirAll("/etc/kubernetes", 0o755), afero.WriteFile(host.FS(), "/etc/kubernetes/admin.conf", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	keys, err1 := sshexec.PinnedHostKeys(host.PublicKey())
	pool := sshexec.NewPool(sshexec.Options{})
	defer func() { _ = pool.Close() }()
	m := controlPlaneNode{pool.Host(sshexec.Target{Addr: host.Addr(), User: "ubuntu", Auth: []sshexec.Auth{sshexec.Password("ubuntu")}, HostKeys: keys}), "m1"}
	k := cluster.New([]controlPlaneNode{m})
	defer k.Close()
	_, err2 := k.Nodes(t.Context())
	if err1 != nil || !errors.Is(err2, sshexec.ErrTooLarge) || len(err2.Error()) > 1<<10 {
		t.Errorf("%v, %.300v", err1, err2)
	}
}
