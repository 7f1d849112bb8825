// Package expirytest reads the certificates of clusters in tests as drivers do without a login, also from hostile servers.
package expirytest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/internal/kubesim/pki"
	"github.com/vnfkit/vnfkit/internal/memconn"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// servedReader reads certificates without a login only.
type servedReader struct {
	vnflcm.MgmtDriver
	reader vnflcm.ServedCertificateReader
}

func (r servedReader) Certificates(ctx context.Context, op *vnflcm.Operation) ([]vnflcm.Certificate, error) {
	return r.reader.ServedCertificates(ctx, op)
}

// Served returns what drivers read with ServedCertificates, in a process whose connections dial makes. Connections to sshd fail the test.
func Served(l *clustertest.Lab, id string, dial mgmttest.Dial) ([]vnflcm.Certificate, error) {
	l.T().Helper()
	m := l.ProcessOver(func(ctx context.Context, network, addr string) (net.Conn, error) {
		if strings.HasSuffix(addr, ":22") {
			l.T().Errorf("connected to %s", addr)
		}
		return dial(ctx, network, addr)
	}, func(c *vnflcm.Config) {
		for name, driver := range c.Mgmt {
			if reader, is := driver.(vnflcm.ServedCertificateReader); is {
				c.Mgmt[name] = servedReader{driver, reader}
			}
		}
	})
	return m.Certificates(l.T().Context(), id)
}

// Instead returns dial with other servers at some addresses.
func Instead(dial mgmttest.Dial, servers map[string]func(net.Conn)) mgmttest.Dial {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		serve := servers[addr]
		if serve == nil {
			return dial(ctx, network, addr)
		}
		near, far := memconn.Pair(nil, nil)
		go func() {
			serve(far)
			_ = far.Close()
		}()
		return near, nil
	}
}

// Silent is a server that never answers.
func Silent(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// Flooding is a server that sends 10 MB.
func Flooding(conn net.Conn) { _, _ = conn.Write(make([]byte, 10<<20)) }

// Serving returns a server with a certificate of this authority until that time; nil: of an authority that no one knows.
func Serving(t testing.TB, ca *pki.Pair, until time.Time) func(net.Conn) {
	t.Helper()
	begin := until.AddDate(-1, 0, 0)
	if ca == nil {
		other, err := pki.NewCA("kubernetes", begin)
		check(t, err)
		ca = &other
	}
	pair, err := pki.Issue(ca, &x509.Certificate{Subject: pkix.Name{CommonName: "kube-apiserver"}, NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, begin)
	check(t, err)
	cert, err := tls.X509KeyPair([]byte(pair.Cert), []byte(pair.Key))
	check(t, err)
	return func(conn net.Conn) {
		_ = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}).HandshakeContext(t.Context())
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
