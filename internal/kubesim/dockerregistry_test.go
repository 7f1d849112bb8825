package kubesim_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/spf13/afero"
	"golang.org/x/crypto/bcrypt"
)

// client speaks to the registries of a site from a machine of it.
type client struct {
	s       *site
	on      string
	options []remote.Option
}

func (s *site) client(on string, cas string, options ...remote.Option) *client {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(cas))
	t := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return s.world.Dialer(on)(ctx, network, addr)
		}}
	once := remote.WithRetryPredicate(func(error) bool { return false }) // a retry would fail too
	return &client{s, on, append([]remote.Option{remote.WithTransport(t), remote.WithContext(s.t.Context()), once}, options...)}
}

func (c *client) ref(image string, options ...name.Option) name.Reference {
	c.s.t.Helper()
	ref, err := name.ParseReference(image, options...)
	if err != nil {
		c.s.t.Fatal(err)
	}
	return ref
}

// push pushes a new image and returns it.
func (c *client) push(ref name.Reference) (v1.Image, error) {
	c.s.t.Helper()
	img, err := random.Image(3000, 2)
	if err != nil {
		c.s.t.Fatal(err)
	}
	return img, remote.Write(ref, img, c.options...)
}

// pulls reports whether an image comes back whole.
func (c *client) pulls(ref name.Reference, want v1.Image) error {
	c.s.t.Helper()
	got, err := remote.Image(ref, c.options...)
	if err != nil {
		return err
	}
	if err := validate.Image(got); err != nil {
		return err
	}
	gotID, err1 := got.Digest()
	wantID, err2 := want.Digest()
	if gotID != wantID {
		return errors.Join(err1, err2, errors.New("another image"))
	}
	return nil
}

// code is the status that a registry has answered with, and the code of its error.
func code(err error) (int, string) {
	var failed *transport.Error
	if !errors.As(err, &failed) {
		return 0, ""
	}
	if len(failed.Errors) == 0 {
		return failed.StatusCode, ""
	}
	return failed.StatusCode, string(failed.Errors[0].Code)
}

// plainRegistry is a site whose m1 runs a registry without TLS.
func plainRegistry(t *testing.T, names ...string) *site {
	t.Helper()
	s := dockerSite(t, append(names, "m1")...)
	s.must("m1", "sudo docker pull --quiet registry:latest && "+registryRun())
	return s
}

const address = "10.0.0.1:5000"

func TestRegistryKeepsImages(t *testing.T) {
	t.Parallel()
	s := plainRegistry(t)
	c := s.client("m1", "")
	ref := c.ref(address + "/team/app:1")
	img, err := c.push(ref)
	if err != nil {
		t.Fatal(err)
	}
	for what, do := range map[string]string{
		"at once": "true", "with another container": "sudo docker container rm --force private_registry && " + registryRun(),
		"with another daemon": "sudo systemctl restart docker",
	} {
		s.must("m1", do)
		if err := c.pulls(ref, img); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := s.client("", "").pulls(ref, img); err != nil {
		t.Errorf("from without: %v", err)
	}
	if _, err := s.hosts["m1"].FS().Stat("/srv/registry/docker/registry/v2/repositories/team/app/_manifests/tags/1/current/link"); err != nil {
		t.Error(err)
	}
	s.must("m1", "sudo docker container rm --force private_registry && sudo rm -rf /srv/registry && "+registryRun())
	if status, kind := code(c.pulls(ref, img)); status != http.StatusNotFound || kind != "MANIFEST_UNKNOWN" {
		t.Errorf("%d %s of what is gone", status, kind)
	}
}

func TestRegistryListsAndDeletes(t *testing.T) {
	t.Parallel()
	s := plainRegistry(t)
	c := s.client("m1", "")
	img, err := c.push(c.ref(address + "/team/app:1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"/team/app:2", "/other:1"} { // its layers are there: they are mounted
		if err := remote.Write(c.ref(address+other), img, c.options...); err != nil {
			t.Fatal(err)
		}
	}
	registry, err := name.NewRegistry(address)
	if err != nil {
		t.Fatal(err)
	}
	catalog := func() []string {
		got, err := remote.Catalog(t.Context(), registry, c.options...)
		if err != nil {
			t.Error(err)
		}
		return got
	}
	if diff := cmp.Diff([]string{"other", "team/app"}, catalog()); diff != "" {
		t.Error(diff)
	}
	tags, err := remote.List(registry.Repo("team/app"), c.options...)
	if diff := cmp.Diff([]string{"1", "2"}, tags); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if status, _ := code(remote.Delete(c.ref(address+"/team/app:1"), c.options...)); status != http.StatusBadRequest {
		t.Errorf("%d: a tag is no digest", status)
	}
	digest, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Delete(c.ref(address+"/team/app@"+digest.String()), c.options...); err != nil {
		t.Error(err)
	}
	if status, _ := code(c.pulls(c.ref(address+"/team/app:2"), img)); status != http.StatusNotFound {
		t.Errorf("%d", status)
	}
	if diff := cmp.Diff([]string{"other", "team/app"}, catalog()); diff != "" {
		t.Error("the catalog does not forget: " + diff)
	}
	if got, want := s.ask("GET", "/v2/team/app/tags/list", ""), `200 OK {"name":"team/app","tags":null}`+"\n"; got != want {
		t.Errorf("%q", got)
	}
	if err := c.pulls(c.ref(address+"/other:1"), img); err != nil {
		t.Error(err)
	}
}

// TestRegistryRefuses: a client does not leave the store. What else it must not do is in the contract of package distribution.
func TestRegistryRefuses(t *testing.T) {
	t.Parallel()
	s := plainRegistry(t)
	if got := s.ask("GET", "/v2/../../etc/manifests/1", ""); !strings.HasPrefix(got, "404 Not Found 404 page not found") {
		t.Error(got)
	}
}

// ask sends a request to the registry of m1 and returns the status and the body of the answer.
func (s *site) ask(method, path, body string) string {
	s.t.Helper()
	response := s.do(method, path, body)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.Status + " " + string(text)
}

func (s *site) do(method, path, body string) *http.Response {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, "http://"+address+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: s.world.Dialer("m1")}}
	response, err := c.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	return response
}

// secureRegistry is a site whose m1 runs a registry with TLS and a login. It returns the CA.
func secureRegistry(t *testing.T, names ...string) (s *site, ca string) {
	t.Helper()
	s = dockerSite(t, append(names, "m1")...)
	ca, certificate, key := certificates(t, net.IPv4(10, 0, 0, 1))
	hash, err := bcrypt.GenerateFromPassword([]byte("right"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string]string{"tls.crt": certificate, "tls.key": key, "htpasswd": "other:x\nuser:" + string(hash) + "\n"} {
		s.put("m1", "/etc/vnfkit/registry/"+file, content)
	}
	s.must("m1", "sudo docker pull --quiet registry:latest && "+registryRun("--env REGISTRY_HTTP_TLS_CERTIFICATE=/etc/vnfkit/registry/tls.crt",
		"--env REGISTRY_HTTP_TLS_KEY=/etc/vnfkit/registry/tls.key", "--env REGISTRY_AUTH=htpasswd", "--env REGISTRY_AUTH_HTPASSWD_REALM=registry",
		"--env REGISTRY_AUTH_HTPASSWD_PATH=/etc/vnfkit/registry/htpasswd"))
	return s, ca
}

func (s *site) put(on, file, content string) {
	s.t.Helper()
	if err := errors.Join(s.hosts[on].FS().MkdirAll(path.Dir(file), 0o755), afero.WriteFile(s.hosts[on].FS(), file, []byte(content), 0o600)); err != nil {
		s.t.Fatal(err)
	}
}

// certificates are a CA and what it has signed for an address, PEM.
func certificates(t *testing.T, ip net.IP) (ca, certificate, key string) {
	t.Helper()
	issue := func(template, parent *x509.Certificate, public *ecdsa.PublicKey, signer *ecdsa.PrivateKey) string {
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
		if err != nil {
			t.Fatal(err)
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	keys := make([]*ecdsa.PrivateKey, 2)
	for i := range keys {
		var err error
		if keys[i], err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			t.Fatal(err)
		}
	}
	authority := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "registry CA"}, IsCA: true, BasicConstraintsValid: true}
	ca = issue(authority, authority, &keys[0].PublicKey, keys[0])
	certificate = issue(&x509.Certificate{SerialNumber: big.NewInt(2), IPAddresses: []net.IP{ip}}, authority, &keys[1].PublicKey, keys[0])
	der, err := x509.MarshalECPrivateKey(keys[1])
	if err != nil {
		t.Fatal(err)
	}
	return ca, certificate, string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
}

func TestRegistryWithTLSAndLogin(t *testing.T) {
	t.Parallel()
	s, ca := secureRegistry(t)
	login := func(user, password string) remote.Option {
		return remote.WithAuth(&authn.Basic{Username: user, Password: password})
	}
	right := s.client("m1", ca, login("user", "right"))
	ref := right.ref(address + "/team/app:1")
	img, err := right.push(ref)
	if err != nil {
		t.Fatal(err)
	}
	if err := right.pulls(ref, img); err != nil {
		t.Error(err)
	}
	for what, c := range map[string]*client{"wrong": s.client("m1", ca, login("user", "wrong")), "none": s.client("m1", ca), "no bcrypt": s.client("m1", ca, login("other", "x"))} {
		if status, kind := code(c.pulls(ref, img)); status != http.StatusUnauthorized || kind != "UNAUTHORIZED" {
			t.Errorf("%s: %d %s", what, status, kind)
		}
	}
	foreign, _, _ := certificates(t, nil)
	c := s.client("m1", foreign, login("user", "right"))
	if err := c.pulls(c.ref(address+"/team/app:1"), img); err == nil || !strings.Contains(err.Error(), "signed by unknown authority") {
		t.Error(err)
	}
	if got := s.ask("GET", "/v2/", ""); !strings.HasPrefix(got, "400") || !strings.Contains(got, "HTTP request to an HTTPS server") {
		t.Error(got)
	}
	// It reads its certificate when it starts, and its users always.
	_, certificate, key := certificates(t, net.IPv4(10, 0, 0, 1))
	s.put("m1", "/etc/vnfkit/registry/tls.crt", certificate)
	s.put("m1", "/etc/vnfkit/registry/tls.key", key)
	if err := right.pulls(ref, img); err != nil {
		t.Error(err)
	}
	s.put("m1", "/etc/vnfkit/registry/htpasswd", "")
	if status, _ := code(right.pulls(ref, img)); status != http.StatusUnauthorized {
		t.Errorf("%d of a user that is gone", status)
	}
}

// TestOthersPull: the runtimes of other machines reach the registry, with their configured protocol.
func TestOthersPull(t *testing.T) {
	t.Parallel()
	s := plainRegistry(t, "m2", "m3")
	c := s.client("m1", "")
	img, err := c.push(c.ref(address + "/team/app:1"))
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	s.fails("m2", "sudo docker pull --quiet "+address+"/team/app:1", "server gave HTTP response to HTTPS client")
	s.put("m2", "/etc/docker/daemon.json", `{"insecure-registries": ["`+address+`"]}`)
	s.must("m2", "sudo systemctl restart docker && sudo docker pull --quiet "+address+"/team/app:1")
	if got := s.must("m2", "sudo docker image inspect --format {{.Id}} "+address+"/team/app:1"); strings.TrimSpace(got) != config.String() {
		t.Errorf("%s, not %s", got, config)
	}
	s.fails("m2", "sudo docker pull --quiet "+address+"/team/app:2", "not found")
	s.must("m3", "sudo apt-get install -y containerd kubeadm")
	s.put("m3", "/etc/containerd/certs.d/"+address+"/hosts.toml", "[host.\"http://"+address+"\"]\ncapabilities = [\"pull\", \"resolve\"]\n")
	s.must("m3", "sudo ctr --namespace k8s.io images pull --hosts-dir /etc/containerd/certs.d "+address+"/team/app:1")
	s.must("m1", "sudo systemctl stop docker")
	s.fails("m2", "sudo docker pull --quiet "+address+"/team/app:1", "connection refused")
	s.world.SetDown("m1", true)
	s.fails("m2", "sudo docker pull --quiet "+address+"/team/app:1", "connect")
}

// TestOthersLogin: by TLS and with a password.
func TestOthersLogin(t *testing.T) {
	t.Parallel()
	s, ca := secureRegistry(t, "m2")
	const login = "printf wrong | sudo docker login --username user --password-stdin " + address
	s.fails("m2", login, "signed by unknown authority")
	s.put("m2", "/etc/docker/certs.d/"+address+"/ca.crt", ca)
	s.fails("m2", login, "401 Unauthorized")
	s.fails("m2", "sudo docker pull --quiet "+address+"/app:1", "no basic auth credentials")
	s.must("m2", strings.Replace(login, "wrong", "right", 1))
	s.fails("m2", "sudo docker pull --quiet "+address+"/app:1", "not found")
}

// fails runs shell text that must fail and say why.
func (s *site) fails(on, text, want string) {
	s.t.Helper()
	if out, err := s.run(on, text+" 2>&1"); err == nil || !strings.Contains(out, want) {
		s.t.Errorf("%s: %v: %s", text, err, out)
	}
}
