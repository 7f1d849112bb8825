package nfvo_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/nfvotest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/nfvo"
)

// certificate returns a client certificate that is its own authority.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "vnfm"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	text, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	leaf, err := x509.ParseCertificate(text)
	must(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{text}, PrivateKey: key}, pool
}

// TestMutualTLS identifies the VNFM by its certificate, at the token endpoint and without tokens.
func TestMutualTLS(t *testing.T) {
	t.Parallel()
	own, authorities := certificate(t)
	for name, c := range map[string]struct {
		change func(*nfvotest.NFVO, *nfvo.Config)
		want   string
		issued int
	}{
		"token": {func(_ *nfvotest.NFVO, c *nfvo.Config) {
			c.TLS.Certificates, c.ClientSecret = []tls.Certificate{own}, nil
		}, "granted grant-1", 1},
		"no token": {func(n *nfvotest.NFVO, c *nfvo.Config) {
			n.WithoutTokens = true
			c.TLS.Certificates, c.TokenURL, c.ClientID = []tls.Certificate{own}, "", ""
		}, "granted grant-1", 0},
		"no certificate": {func(n *nfvotest.NFVO, c *nfvo.Config) {
			n.WithoutTokens = true
			c.TokenURL, c.ClientID = "", ""
		}, "unreachable", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := nfvotest.StartMutual(t, authorities)
			orchestrator := client(t, n, func(config *nfvo.Config) { c.change(n, config) })
			answer, err := orchestrator.Ask(t.Context(), vnflcm.GrantRequest{VnfInstanceID: "i", VnfLcmOpOccID: "o", VnfdID: "d", Operation: vnflcm.OpHeal})
			if got := outcome(answer, err); got[:len(c.want)] != c.want || n.Issued() != c.issued {
				t.Errorf("%s, %d tokens; want %s, %d", got, n.Issued(), c.want, c.issued)
			}
		})
	}
}
