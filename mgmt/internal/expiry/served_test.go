package expiry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/internal/kubesim/pki"
	"github.com/vnfkit/vnfkit/internal/memconn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hierarchy has an authority, an authority below it, and another authority of the same name.
type hierarchy struct {
	t                    *testing.T
	root, below, another pki.Pair
}

func newHierarchy(t *testing.T, now time.Time) hierarchy {
	h := hierarchy{t: t}
	var err1, err2, err3 error
	h.root, err1 = pki.NewCA("kubernetes", now)
	h.another, err2 = pki.NewCA("kubernetes", now)
	h.below, err3 = pki.Issue(&h.root, &x509.Certificate{Subject: pkix.Name{CommonName: "below"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, now)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	return h
}

// leaf issues a certificate that begins an hour before now.
func (h hierarchy) leaf(issuer pki.Pair, now, until time.Time, usage x509.ExtKeyUsage) tls.Certificate {
	h.t.Helper()
	pair, err := pki.Issue(&issuer, &x509.Certificate{Subject: pkix.Name{CommonName: "kube-apiserver"}, NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{usage}}, now)
	if err != nil {
		h.t.Fatal(err)
	}
	cert, err := tls.X509KeyPair([]byte(pair.Cert), []byte(pair.Key))
	if err != nil {
		h.t.Fatal(err)
	}
	return cert
}

// served is a server with this version of TLS.
func served(version uint16, clients tls.ClientAuthType, cert tls.Certificate) func(net.Conn) {
	return func(conn net.Conn) {
		config := &tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: clients, MinVersion: version, MaxVersion: version}
		_ = tls.Server(conn, config).HandshakeContext(context.Background()) // it ends with the connection
	}
}

// answers reads the beginning of a handshake and writes a text.
func answers(text string) func(net.Conn) {
	return func(conn net.Conn) {
		_, _ = io.ReadFull(conn, make([]byte, 5))
		_, _ = io.WriteString(conn, text)
	}
}

// flood sends a message of 16 MB in records of TLS.
func flood(conn net.Conn) {
	record := append([]byte{22, 3, 3, 0x40, 0, 2, 0xff, 0xff, 0xff}, make([]byte, 0x4000-4)...)
	for range 640 {
		if _, err := conn.Write(record); err != nil {
			return
		}
	}
}

// TestShake reads the end of certificates from handshakes with servers of all kinds.
func TestShake(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second).UTC()
	year := now.AddDate(1, 0, 0)
	old := now.AddDate(-9, 0, 0)
	h := newHierarchy(t, now.AddDate(-10, -1, 0)) // the authorities have ended, too
	const server = x509.ExtKeyUsageServerAuth
	good := h.leaf(h.root, old, year, server)
	between := h.leaf(h.below, old, year, server)
	parent, err := pki.Parse([]byte(h.below.Cert))
	if err != nil {
		t.Fatal(err)
	}
	between.Certificate = append(between.Certificate, parent.Raw)
	long := between
	long.Certificate = append(slices.Clone(between.Certificate), slices.Repeat([][]byte{parent.Raw}, 300)...)
	stolen := good
	stolen.PrivateKey = h.leaf(h.root, now, year, server).PrivateKey
	for name, c := range map[string]struct {
		serve func(net.Conn)
		until time.Time
		fault string
	}{
		"an API server":         {serve: served(tls.VersionTLS13, tls.RequestClientCert, h.leaf(h.root, old, old.AddDate(1, 0, 0), server)), until: old.AddDate(1, 0, 0)},
		"TLS 1.2":               {serve: served(tls.VersionTLS12, tls.NoClientCert, h.leaf(h.root, old, year, server)), until: year},
		"etcd":                  {serve: served(tls.VersionTLS13, tls.RequireAndVerifyClientCert, h.leaf(h.root, old, year, server)), until: year},
		"etcd, TLS 1.2":         {serve: served(tls.VersionTLS12, tls.RequireAndVerifyClientCert, h.leaf(h.root, old, year, server)), until: year},
		"an authority between":  {serve: served(tls.VersionTLS13, tls.NoClientCert, between), until: year},
		"another authority":     {serve: served(tls.VersionTLS13, tls.NoClientCert, h.leaf(h.another, old, year, server)), fault: "another authority"},
		"a client":              {serve: served(tls.VersionTLS13, tls.NoClientCert, h.leaf(h.root, old, year, x509.ExtKeyUsageClientAuth)), fault: "another authority"},
		"a stolen certificate":  {serve: served(tls.VersionTLS13, tls.RequireAnyClientCert, stolen), fault: "invalid signature"},
		"stolen, TLS 1.2":       {serve: served(tls.VersionTLS12, tls.RequireAnyClientCert, stolen), fault: "invalid signature"},
		"an old version of TLS": {serve: served(tls.VersionTLS10, tls.NoClientCert, good), fault: "protocol version"},
		"silence":               {serve: func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }, fault: "too slow"},
		"closed":                {serve: answers(""), fault: "EOF"},
		"not TLS":               {serve: answers("HTTP/1.1 400 Bad Request\r\n\r\n"), fault: "does not look like a TLS handshake"},
		"10 MB":                 {serve: answers(strings.Repeat("\x00", 10<<20)), fault: "does not look like a TLS handshake"},
		"10 MB of handshake":    {serve: flood, fault: "tls:"},
		"100 KB of authorities": {serve: served(tls.VersionTLS13, tls.NoClientCert, long), fault: errTooMuch.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if name == "silence" {
				ctx, cancel = context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("too slow"))
				defer cancel()
			}
			near, far := memconn.Pair(nil, nil)
			done := make(chan struct{})
			go func() { defer close(done); c.serve(far); _ = far.Close() }()
			shown, err := shake(ctx, near, "")
			_ = near.Close()
			<-done
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM([]byte(h.root.Cert))
			if err == nil {
				err = shown.verify(roots)
			}
			if c.fault != "" {
				if err == nil || !strings.Contains(err.Error(), c.fault) {
					t.Errorf("the error is %v", err)
				}
				return
			}
			if err != nil || !shown[0].NotAfter.Equal(c.until) {
				t.Errorf("%v, %v", shown, err)
			}
		})
	}
}
