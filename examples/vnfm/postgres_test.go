package main

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"gopkg.in/yaml.v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/vnfkit/vnfkit/examples/internal/samples"
	"github.com/vnfkit/vnfkit/internal/cnftest"
	"github.com/vnfkit/vnfkit/internal/pgtest"
)

// TestOnPostgres runs the VNFM as processes with PostgreSQL and TLS, with clients that use tokens or certificates.
func TestOnPostgres(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	t.Run("identified clients", func(t *testing.T) {
		t.Parallel()
		identifiedClients(t, newDeployment(t, server.NewDatabase(t)))
	})
	t.Run("two processes", func(t *testing.T) {
		t.Parallel()
		twoProcesses(t, newDeployment(t, server.NewDatabase(t)))
	})
}

// identifiedClients concurrently runs all operations on one cluster with a token and on another cluster with a certificate. Each cluster
// belongs to a tenant, and the other tenant must not see it. Other clients must be refused.
func identifiedClients(t *testing.T, d *deployment) {
	t.Helper()
	p := d.start(t, "-sandbox")
	north, south, nfvo := d.as(p, client{token: d.token(nil)}), d.as(p, d.ca.client("south")), d.as(p, d.ca.client("nfvo"))
	d.refusals(p)
	if left := nfvo.list("vnf_instances"); len(left) != 0 {
		t.Errorf("refused clients have created %v", left)
	}
	d.as(p, client{}).send("GET", strings.TrimSuffix(p.api, "/vnflcm/v2")+"/readyz", nil, 200)
	t.Run("lives", func(t *testing.T) {
		for name, tenants := range map[string][2]*program{"token": {north, south}, "certificate": {south, north}} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				own, other, all := tenants[0].in(t), tenants[1].in(t), nfvo.in(t)
				instance := own.create(sampleVNFD)
				operation, _ := own.send("POST", instance+"/instantiate", request(t, "instantiate_sandbox.json"), 202)
				for _, uri := range []string{instance, operation} {
					other.send("GET", uri, nil, 404)
					all.send("GET", uri, nil, 200)
				}
				other.send("POST", instance+"/terminate", request(t, "terminate.json"), 404)
				other.send("POST", operation+"/cancel", map[string]string{"cancelMode": "FORCEFUL"}, 404)
				for _, kind := range []string{"vnf_instances", "vnf_lcm_op_occs"} {
					if list := own.list(kind); len(list) != 1 {
						t.Errorf("the tenant sees %v", list)
					}
				}
				own.await(operation, "COMPLETED")
				own.restOfLife(instance)
			})
		}
	})
	if !strings.Contains(p.log.String(), "TLS handshake error") {
		t.Errorf("the log has no failed handshake:\n%s", p.log)
	}
	for _, secret := range []string{north.token, d.password()} {
		if strings.Contains(p.log.String(), secret) {
			t.Errorf("a secret is in the log:\n%s", p.log)
		}
	}
}

// refusals sends requests of clients that must be refused.
func (d *deployment) refusals(p *program) {
	p.t.Helper()
	foreign := newAuthority(p.t)
	_, foreignKey, err := ed25519.GenerateKey(nil)
	must(p.t, err)
	with := func(claim string, value any) client {
		return client{token: d.token(func(c jwt.MapClaims) { c[claim] = value })}
	}
	for name, c := range map[string]struct {
		client
		want int // 0: the handshake fails
	}{
		"no credentials":                   {client{}, 401},
		"no token":                         {client{token: "x"}, 401},
		"token for another audience":       {with("aud", "other"), 401},
		"token of another issuer":          {with("iss", "https://other.example.com"), 401},
		"token that has expired":           {with("exp", time.Now().Add(-time.Hour).Unix()), 401},
		"token of another key":             {client{token: sign(p.t, foreignKey, d.claims())}, 401},
		"token without the scope":          {with("scope", "read"), 403},
		"token without a tenant":           {with("tenant", ""), 403},
		"certificate of another subject":   {d.ca.client("stranger"), 403},
		"certificate of another authority": {foreign.client("nfvo"), 0},
	} {
		as := d.as(p, c.client)
		for _, method := range []string{"GET", "POST"} {
			response, err := as.request(method, p.api+"/vnf_instances", map[string]any{"vnfdId": sampleVNFD})
			if c.want == 0 {
				if err == nil {
					_ = response.Body.Close()
					p.t.Errorf("%s, %s: %s", name, method, response.Status)
				}
				continue
			}
			must(p.t, err)
			var problem struct {
				Status int
				Detail string
			}
			err = json.NewDecoder(response.Body).Decode(&problem)
			_ = response.Body.Close()
			if response.StatusCode != c.want || problem.Status != c.want || problem.Detail == "" || err != nil ||
				response.Header.Get("Content-Type") != "application/problem+json" || (response.Header.Get("WWW-Authenticate") == "") == (c.want == 401) {
				p.t.Errorf("%s, %s: %s %v, %+v %v", name, method, response.Status, response.Header, problem, err)
			}
		}
	}
}

// twoProcesses kills a process during an operation on a cluster. Another process with the same database must finish the operation.
func twoProcesses(t *testing.T, d *deployment) {
	t.Helper()
	cluster := cnftest.Start(t, cnftest.Nodes(1))
	cluster.SetNodeDown("node-1", true) // so that no pod becomes ready
	d.config.VIMs = []vimConfig{{ID: "6a2d9c0e-4f1b-4c8e-9f52-0b7d3e8a1c64", Type: "kubernetes",
		InterfaceInfo: map[string]any{"endpoint": cluster.URL(), "ssl_ca_cert": cluster.CA()}, AccessInfo: map[string]any{"bearer_token": cluster.Token()}}}
	north, south := client{token: d.token(nil)}, d.ca.client("south")

	first := d.as(d.start(t), north)
	instance := first.create("5f0c2b7e-93d4-4a68-b1c5-7d2e9a4f6081")
	operation, _ := first.send("POST", instance+"/instantiate", sample(t, "cnf", "instantiate_manifests.json"), 202)
	made := workloadUID(t, cluster)
	second := d.as(d.start(t), north)
	moved := func(uri string, to *program) string {
		_, path, _ := strings.Cut(uri, "/vnflcm/v2")
		return to.api + path
	}
	second.await(moved(operation, second), "PROCESSING")
	d.as(second, south).send("GET", moved(operation, second), nil, 404)

	must(t, first.Process.Kill())
	_ = first.Wait()
	cluster.SetNodeDown("node-1", false)
	second.await(moved(operation, second), "COMPLETED")
	if now := workloadUID(t, cluster); now != made {
		t.Errorf("the Deployment %s was replaced by %s", made, now)
	}

	third := d.as(d.start(t), north)
	scale, _ := third.send("POST", moved(instance, third)+"/scale", sample(t, "cnf", "scale_out.json"), 202)
	second.await(moved(scale, second), "COMPLETED")
	second.do(moved(instance, second)+"/terminate", sample(t, "cnf", "terminate.json"))
	third.send("DELETE", moved(instance, third), nil, 204)
	second.send("GET", moved(instance, second), nil, 404)
}

// workloadUID waits for the Deployment of the sample package and returns its UID.
func workloadUID(t *testing.T, cluster *cnftest.Cluster) string {
	t.Helper()
	api, err := dynamic.NewForConfig(cluster.Config())
	must(t, err)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		found, err := api.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}).Namespace("shop").Get(t.Context(), "shop-web", metav1.GetOptions{})
		if err == nil {
			return string(found.GetUID())
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// deployment is the common part of the processes of one VNFM.
type deployment struct {
	config config
	dsn    string
	dir    string
	ca     *authority // authority of servers and clients
	key    ed25519.PrivateKey
	t      *testing.T
}

// newDeployment prepares a VNFM on a database. Its authorization server runs in the test.
func newDeployment(t *testing.T, dsn string) *deployment {
	t.Helper()
	d := &deployment{t: t, dsn: dsn, dir: t.TempDir(), ca: newAuthority(t)}
	public, key, err := ed25519.GenerateKey(nil)
	must(t, err)
	d.key = key
	login := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k1","alg":"EdDSA","use":"sig","x":%q}]}`, base64.RawURLEncoding.EncodeToString(public))
	}))
	login.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{d.ca.issue(&x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})}}
	login.StartTLS()
	t.Cleanup(login.Close)

	server := d.ca.issue(&x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	serverKey, err := x509.MarshalPKCS8PrivateKey(server.PrivateKey)
	must(t, err)
	d.config = config{Listen: "127.0.0.1:0", Packages: filepath.Dir(samples.Package("cnf")), Key: secret{File: d.file("key", []byte(strings.Repeat("k", 32)))},
		TLS: tlsConfig{Certificate: d.pem("tls.crt", "CERTIFICATE", server.Certificate[0]), Key: secret{File: d.pem("tls.key", "PRIVATE KEY", serverKey)},
			ClientCA: d.pem("ca.crt", "CERTIFICATE", d.ca.cert.Raw), Clients: map[string]clientConfig{"CN=nfvo,O=Example": {}, "CN=south,O=Example": {Tenant: "south"}}},
		Tokens: tokenConfig{KeySet: login.URL + "/keys", Issuer: "https://login.example.com", Audience: "vnfm", Scope: "lcm", TenantClaim: "tenant"}}
	return d
}

// file writes a file and returns its path.
func (d *deployment) file(name string, content []byte) string {
	d.t.Helper()
	name = filepath.Join(d.dir, name)
	must(d.t, os.WriteFile(name, content, 0o600))
	return name
}

func (d *deployment) pem(name, kind string, der []byte) string {
	d.t.Helper()
	return d.file(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// password returns the password of the database.
func (d *deployment) password() string {
	_, after, _ := strings.Cut(d.dsn, ":")
	return regexp.MustCompile(`:([^:@]+)@`).FindStringSubmatch(after)[1]
}

// start starts a process.
func (d *deployment) start(t *testing.T, flags ...string) *program {
	t.Helper()
	text, err := yaml.Marshal(d.config)
	must(t, err)
	p := newProgram(t, append([]string{"-config=" + d.file("vnfm.yaml", text), "-data=" + t.TempDir()}, flags...)...)
	p.Env = append(p.Env, "VNFM_POSTGRES="+d.dsn, "SSL_CERT_FILE="+d.config.TLS.ClientCA) // SSL_CERT_FILE is for the server of the key set
	must(t, p.Start())
	address := regexp.MustCompile(`msg=serving address=(\S+)`)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if found := address.FindStringSubmatch(p.log.String()); found != nil {
			p.api = "https://" + found[1] + "/vnflcm/v2"
			return p
		}
		if time.Now().After(deadline) {
			t.Fatalf("the VNFM does not serve:\n%s", p.log)
		}
	}
}

// claims returns the claims of a valid token.
func (d *deployment) claims() jwt.MapClaims {
	return jwt.MapClaims{"iss": d.config.Tokens.Issuer, "aud": "vnfm", "sub": "oss", "scope": "read lcm", "tenant": "north", "exp": time.Now().Add(time.Hour).Unix()}
}

// token returns a token of the tenant north, which change may alter.
func (d *deployment) token(change func(jwt.MapClaims)) string {
	d.t.Helper()
	claims := d.claims()
	if change != nil {
		change(claims)
	}
	return sign(d.t, d.key, claims)
}

func sign(t *testing.T, key ed25519.PrivateKey, claims jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims)
	token.Header["kid"] = "k1"
	text, err := token.SignedString(key)
	must(t, err)
	return text
}

// client are the credentials of requests.
type client struct {
	token       string
	certificate *tls.Certificate
}

// as returns the program for requests of a client. A certificate is sent even if the server names other authorities.
func (d *deployment) as(p *program, c client) *program {
	roots := x509.NewCertPool()
	roots.AddCert(d.ca.cert)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return cmp.Or(c.certificate, &tls.Certificate{}), nil
	}}
	p.t.Cleanup(transport.CloseIdleConnections)
	own := *p
	own.http, own.token = &http.Client{Transport: transport}, c.token
	return &own
}

// in returns the program for requests of a subtest.
func (p *program) in(t *testing.T) *program {
	own := *p
	own.t = t
	return &own
}

// list returns all objects of a kind that the client sees.
func (p *program) list(kind string) (out []map[string]any) {
	p.t.Helper()
	response, err := p.request("GET", p.api+"/"+kind, nil)
	must(p.t, err)
	defer func() { _ = response.Body.Close() }()
	must(p.t, json.NewDecoder(response.Body).Decode(&out))
	return out
}

// authority issues certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	cert, err := x509.ParseCertificate(der)
	must(t, err)
	return &authority{t, cert, key}
}

// issue issues a certificate with a key.
func (a *authority) issue(template *x509.Certificate) tls.Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(a.t, err)
	template.SerialNumber, template.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(time.Hour)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	must(a.t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// client returns a client with a certificate.
func (a *authority) client(name string) client {
	a.t.Helper()
	certificate := a.issue(&x509.Certificate{Subject: pkix.Name{CommonName: name, Organization: []string{"Example"}}})
	return client{certificate: &certificate}
}
