package helmtest

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/vnfkit/vnfkit/helmclient"
)

// What servers of charts ask for.
const (
	user     = "chartreader"
	password = "pass,w{o}rd\"' $x" //nolint:gosec // of a server of a test
)

// serve serves by HTTP, or by TLS with a certificate of a new authority, which it returns.
func (s *suite) serve(t *testing.T, handler http.Handler, secure bool) (host string, ca []byte) {
	t.Helper()
	l := s.Listen(t)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: patience, ErrorLog: log.New(io.Discard, "", 0)}
	host = l.Addr().String()
	if secure {
		var certificate tls.Certificate
		certificate, ca = authority(t, l.Addr())
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(l) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return host, ca
}

// authority makes a certificate for an address that is signed by itself.
func authority(t *testing.T, addr net.Addr) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	host, _, err := net.SplitHostPort(addr.String())
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IPAddresses: []net.IP{net.ParseIP(host)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// guarded asks for the password.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, word, ok := r.BasicAuth(); !ok || name != user || word != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="charts"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func access() helmclient.Access {
	return helmclient.Access{Username: user, Password: helmclient.NewPassword(password)}
}

// repository serves a chart called small in some versions, and an index of them.
func repository(t *testing.T, versions ...string) http.Handler {
	t.Helper()
	mux := http.NewServeMux()
	index := "apiVersion: v1\nentries:\n  small:\n"
	for _, version := range versions {
		text := pack(t, "small", version, small())
		path := "charts/small-" + version + ".tgz"
		index += fmt.Sprintf("  - {apiVersion: v2, name: small, version: %s, urls: [%s]}\n", version, path)
		mux.HandleFunc("/base/"+path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(text) })
	}
	mux.HandleFunc("/base/index.yaml", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, index) })
	return mux
}

// push puts charts called small into a registry, as Helm does.
func push(ctx context.Context, t *testing.T, host string, transport http.RoundTripper, versions ...string) {
	t.Helper()
	for _, version := range versions {
		config := fmt.Sprintf(`{"apiVersion":"v2","name":"small","version":%q}`, version)
		image, err := mutate.Append(empty.Image, mutate.Addendum{
			Layer: static.NewLayer(pack(t, "small", version, small()), "application/vnd.cncf.helm.chart.content.v1.tar+gzip"),
		})
		if err != nil {
			t.Fatal(err)
		}
		ref, err := name.NewTag(host+"/charts/small:"+strings.ReplaceAll(version, "+", "_"), name.Insecure)
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.Write(ref, &chartImage{image, []byte(config)}, remote.WithContext(ctx), remote.WithTransport(transport)); err != nil {
			t.Fatal(err)
		}
	}
}

// chartImage is an image with the configuration of a chart.
type chartImage struct {
	v1.Image

	config []byte
}

func (c *chartImage) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }
func (c *chartImage) RawConfigFile() ([]byte, error)      { return c.config, nil }

func (c *chartImage) ConfigName() (v1.Hash, error) {
	h, _, err := v1.SHA256(bytes.NewReader(c.config))
	return h, err
}

func (c *chartImage) Manifest() (*v1.Manifest, error) {
	m, err := c.Image.Manifest()
	if err != nil {
		return nil, err
	}
	out := m.DeepCopy()
	out.MediaType = types.OCIManifestSchema1
	digest, err := c.ConfigName()
	out.Config = v1.Descriptor{MediaType: "application/vnd.cncf.helm.config.v1+json", Size: int64(len(c.config)), Digest: digest}
	return out, err
}

func (c *chartImage) RawManifest() ([]byte, error) {
	m, err := c.Manifest()
	if err != nil {
		return nil, err
	}
	return json.Marshal(m)
}

func (c *chartImage) Digest() (v1.Hash, error) {
	text, err := c.RawManifest()
	if err != nil {
		return v1.Hash{}, err
	}
	h, _, err := v1.SHA256(bytes.NewReader(text))
	return h, err
}

func (c *chartImage) Size() (int64, error) {
	text, err := c.RawManifest()
	return int64(len(text)), err
}

// images is a registry that stores images in memory.
func images() http.Handler { return registry.New(registry.Logger(log.New(io.Discard, "", 0))) }
