package expiry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"
)

// chain is what a server shows: its certificate, and those of authorities between the certificate and a known authority.
type chain []*x509.Certificate

// shake makes a TLS handshake with the server at the other end of conn and returns what the server shows. The server has proven that it
// has the key of the certificate. name is for servers with several certificates (SNI).
func shake(ctx context.Context, conn net.Conn, name string) (shown chain, err error) {
	proven := false
	client := tls.Client(&bounded{Conn: conn, left: mostBytes}, &tls.Config{
		ServerName: name, MinVersion: tls.VersionTLS12, InsecureSkipVerify: true, //nolint:gosec // no secret is sent; chain.verify judges certificates that have ended, too
		VerifyConnection: func(s tls.ConnectionState) error {
			shown = s.PeerCertificates
			return nil
		},
		// etcd asks for a certificate of the client, after it has signed with its key, and ends the handshake if it gets none.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			proven = true
			return new(tls.Certificate), nil
		},
	})
	err = client.HandshakeContext(ctx)
	if err != nil && !proven {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	_ = client.Close() // nothing was sent
	return shown, nil
}

// verify returns an error unless one of the authorities has signed the certificate, directly or with the certificates that the server has
// shown beside it. Certificates may have ended: what counts is that they were valid when the certificate began or ended.
func (c chain) verify(authorities *x509.CertPool) error {
	between := x509.NewCertPool()
	for _, cert := range c[1:] {
		between.AddCert(cert)
	}
	var err error
	for _, at := range []time.Time{c[0].NotBefore, c[0].NotAfter} {
		if _, err = c[0].Verify(x509.VerifyOptions{Roots: authorities, Intermediates: between, CurrentTime: at}); err == nil {
			return nil
		}
	}
	return fmt.Errorf("it is a certificate of another authority: %w", err)
}

// mostBytes is how much a server may send.
const mostBytes = 64 << 10

var errTooMuch = errors.New("the server sends too much for a TLS handshake")

// bounded ends a connection whose other end sends too much.
type bounded struct {
	net.Conn
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooMuch
	}
	n, err := b.Conn.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
