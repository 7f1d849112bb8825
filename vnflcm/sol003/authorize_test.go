package sol003_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm/sol003"
)

// authority issues certificates.
type authority struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, cert: &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotAfter: time.Now().Add(time.Hour)}}
	var err error
	a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, a.key.Public(), a.key)
	must(t, err)
	a.cert, err = x509.ParseCertificate(der)
	must(t, err)
	return a
}

// client returns a certificate for a client.
func (a *authority) client(name string, until time.Time) tls.Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(a.t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name, Organization: []string{"Example"}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	must(a.t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// TestClientCertificates connects clients with different certificates to a server with TLS.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	handler, err := sol003.NewHandler(&failing{}, sol003.Options{
		Authorize: sol003.ClientCertificates(map[string]sol003.Principal{"CN=nfvo,O=Example": {Name: "nfvo"}})})
	must(t, err)
	trusted, foreign := newAuthority(t), newAuthority(t)
	hour := time.Now().Add(time.Hour)
	for _, mode := range []tls.ClientAuthType{tls.RequestClientCert, tls.VerifyClientCertIfGiven, tls.RequireAndVerifyClientCert} {
		server := httptest.NewUnstartedServer(handler)
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.TLS = &tls.Config{MinVersion: tls.VersionTLS13, ClientAuth: mode, ClientCAs: x509.NewCertPool()}
		server.TLS.ClientCAs.AddCert(trusted.cert)
		server.StartTLS()
		for name, c := range map[string]struct {
			certificate []tls.Certificate
			want        int // status if the server verifies certificates
		}{
			"known":   {[]tls.Certificate{trusted.client("nfvo", hour)}, 200},
			"other":   {[]tls.Certificate{trusted.client("other", hour)}, 403},
			"none":    {nil, 401},
			"foreign": {[]tls.Certificate{foreign.client("nfvo", hour)}, 0},
			"expired": {[]tls.Certificate{trusted.client("nfvo", time.Now().Add(-time.Minute))}, 0},
		} {
			transport := server.Client().Transport.(*http.Transport).Clone()
			transport.TLSClientConfig.Certificates = c.certificate
			r, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/vnflcm/v2/vnf_instances", nil)
			must(t, err)
			status := 0 // the handshake fails
			if response, err := (&http.Client{Transport: transport}).Do(r); err == nil {
				status = response.StatusCode
				_ = response.Body.Close()
			}
			transport.CloseIdleConnections()
			want := c.want
			switch {
			case mode == tls.RequestClientCert:
				want = 401 // the certificate was not verified
			case mode == tls.RequireAndVerifyClientCert && c.certificate == nil:
				want = 0
			}
			if status != want {
				t.Errorf("mode %v, %s: status %d, want %d", mode, name, status, want)
			}
		}
		server.Close()
	}
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
	if _, err := sol003.ClientCertificates(nil)(r); err == nil || errors.Is(err, sol003.ErrForbidden) {
		t.Errorf("without TLS: %v", err)
	}
}
