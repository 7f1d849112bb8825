package expiry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/vnfkit/vnfkit/internal/kubesim/pki"
	"github.com/vnfkit/vnfkit/internal/memconn"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
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

// nameServer answers queries for the IPv4 addresses of any name with these addresses.
func nameServer(conn net.Conn, addresses ...[4]byte) {
	defer func() { _ = conn.Close() }()
	length := make([]byte, 2)
	if _, err := io.ReadFull(conn, length); err != nil {
		return
	}
	text := make([]byte, binary.BigEndian.Uint16(length))
	var m dnsmessage.Message
	if _, err := io.ReadFull(conn, text); err != nil || m.Unpack(text) != nil {
		return
	}
	m.Response, m.Additionals = true, nil
	if question := m.Questions[0]; question.Type == dnsmessage.TypeA {
		for _, a := range addresses {
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: question.Name, Class: question.Class}, Body: &dnsmessage.AResource{A: a}})
		}
	}
	if answer, err := m.Pack(); err == nil {
		_, _ = conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)) //nolint:gosec // a short message
	}
}

// TestDialNames: without a jump host the policy judges the addresses of a name, also if the dialer of the pool judges none.
//
//nolint:paralleltest // it replaces the resolver
func TestDialNames(t *testing.T) {
	local, metadata, outside := [4]byte{127, 0, 0, 1}, [4]byte{169, 254, 169, 254}, [4]byte{203, 0, 113, 7}
	resolver := net.DefaultResolver
	t.Cleanup(func() { net.DefaultResolver = resolver })
	for name, c := range map[string]struct {
		addresses [][4]byte
		want      []string
		fault     error
	}{
		"this machine":       {[][4]byte{local}, nil, outbound.ErrAddress},
		"a metadata service": {[][4]byte{metadata}, nil, outbound.ErrAddress},
		"an allowed address": {[][4]byte{outside}, []string{"203.0.113.7:6443"}, nil},
		"several addresses":  {[][4]byte{local, outside}, []string{"203.0.113.7:6443"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var servers sync.WaitGroup
			defer servers.Wait()
			net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
				near, far := memconn.Pair(nil, nil)
				servers.Go(func() { nameServer(far, c.addresses...) })
				return near, nil
			}}
			var dialled []string
			pool := sshexec.NewPool(sshexec.Options{Dial: func(_ context.Context, _, addr string) (net.Conn, error) {
				dialled = append(dialled, addr)
				near, _ := memconn.Pair(nil, nil)
				return near, nil
			}})
			defer func() { _ = pool.Close() }()
			host, conn, err := Cluster{Pool: pool}.dial(t.Context(), nil, "api.example.org:6443")
			if conn != nil {
				_ = conn.Close()
			}
			if diff := cmp.Diff(c.want, dialled); diff != "" || host != "api.example.org" || !errors.Is(err, c.fault) {
				t.Errorf("host %s, error %v, connected to:\n%s", host, err, diff)
			}
		})
	}
}
