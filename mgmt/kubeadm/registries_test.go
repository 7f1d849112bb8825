package kubeadm_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/mgmt/registry/client"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const registryPassword = "canary-registry-1"

// registryParams have one registry without TLS, and one with TLS, a CA of the package and a login.
const registryParams = `{"private_registry_connection_info":[
	{"connection_type":"0","server":"198.18.9.8:5000","probe_image":"team/pause:3.10"},
	{"connection_type":"1","server":"registry.example.com","username":"user","password":"` + registryPassword + `","certificate_path":"Files/registries/ca.crt",
	 "hosts_string":"198.18.9.9 registry.example.com","probe_image":"team/pause:3.10"}]}`

// mirrorParams have a mirror, which the sample with a script may not have.
const mirrorParams = `{"registry_mirrors":[{"registry":"quay.io","server":"198.18.9.8:5000"}]}`

// registriesFor returns the registries of a request, and the mirrors if it may have them.
func registriesFor(t testing.TB, sample string) []mgmttest.Change {
	t.Helper()
	if sample == "instantiate_script.json" {
		return []mgmttest.Change{with(t, registryParams)}
	}
	return []mgmttest.Change{with(t, registryParams), with(t, mirrorParams)}
}

func registryCA(t testing.TB) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "registry CA"}, NotBefore: time.Now(),
		NotAfter: time.Now().AddDate(1, 0, 0), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// registrySetup returns a setup whose machines reach the registries of registryParams.
func registrySetup(t testing.TB) setup {
	t.Helper()
	ca := registryCA(t)
	return setup{pkg: mgmttest.Package(t, packageDir, map[string]string{"Files/registries/ca.crt": ca}), sandbox: sandbox.Config{Registries: []sandbox.Registry{
		{Address: netip.MustParseAddrPort("198.18.9.8:5000"), Images: []string{"team/pause:3.10"}},
		{Address: netip.MustParseAddrPort("198.18.9.9:443"), CA: ca, Username: "user", Password: registryPassword, Images: []string{"team/pause:3.10"}},
	}}}
}

// connected checks that every machine has the connections, and that only root can read the credentials. Each machine has
// pulled the probe images, because otherwise the operation would have failed.
func (l *lab) connected() {
	l.t.Helper()
	for _, h := range l.World.Hosts() {
		for name, parts := range map[string][]string{
			"/etc/hosts": {" registry.example.com\n# END vnfkit\n"},
			"/etc/containerd/certs.d/198.18.9.8:5000/hosts.toml":      {"http://198.18.9.8:5000"},
			"/etc/containerd/certs.d/registry.example.com/hosts.toml": {"https://registry.example.com", "vnfkit-ca.crt"},
			"/var/lib/kubelet/config.json":                            {base64.StdEncoding.EncodeToString([]byte("user:" + registryPassword))},
		} {
			data, err := afero.ReadFile(h.FS(), name)
			if err != nil {
				l.t.Errorf("%s: %v", h.Name(), err)
			}
			for _, part := range parts {
				if !strings.Contains(string(data), part) {
					l.t.Errorf("%s: no %q in %s: %s", h.Name(), part, name, data)
				}
			}
		}
		info, err := h.FS().Stat("/var/lib/kubelet/config.json")
		if err != nil || info.Mode().Perm() != 0o600 {
			l.t.Errorf("%s: %v, %v", h.Name(), info, err)
		}
	}
}

// mirrored checks the mirror of quay.io on every machine; "" for none.
func (l *lab) mirrored(url string) {
	l.t.Helper()
	for _, h := range l.World.Hosts() {
		text, err := afero.ReadFile(h.FS(), "/etc/containerd/certs.d/quay.io/hosts.toml")
		if url == "" && !errors.Is(err, fs.ErrNotExist) || url != "" && (!strings.Contains(string(text), "server = '"+url+"'") || !strings.Contains(string(text), "[host.'"+url+"']")) {
			l.t.Errorf("%s: the mirror of quay.io is not %q: %s, %v", h.Name(), url, text, err)
		}
	}
}

// TestRegistries checks that every node can pull from the registries after every operation, and that the password is only
// in files of root.
func TestRegistries(t *testing.T) {
	t.Parallel()
	for _, sample := range []string{"instantiate_sandbox.json", "instantiate_script.json"} {
		t.Run(sample, func(t *testing.T) {
			t.Parallel()
			if sample == "instantiate_script.json" {
				fulltest.SkipVariant(t)
			}
			ctx := t.Context()
			l := openLab(t, registrySetup(t))
			id := l.Instantiated(sample, clustertest.Sized("complex", 0), with(t, registryParams))
			l.want(3, 1, 0)
			l.connected()
			l.Must(l.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}))
			l.connected()
			l.Must(l.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{l.worker(id).ID}}))
			l.connected()
			l.Must(l.Heal(ctx, id, wholeHeal))
			l.want(3, 2, 0)
			l.connected()
			inst, err := l.Get(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			public, err := json.Marshal(inst)
			if err != nil {
				t.Fatal(err)
			}
			encoded := base64.StdEncoding.EncodeToString([]byte("user:" + registryPassword))
			for where, text := range map[string]string{"log": l.Log(), "events": fmt.Sprintf("%+v", l.Events()), "store": l.Stored(), "public JSON": string(public)} {
				if strings.Contains(text, "canary") || strings.Contains(text, encoded) {
					t.Errorf("the password is in the %s", where)
				}
			}
			l.notOnMachines([]string{"canary", encoded}, true)
		})
	}
}

// TestRegistryTrouble checks that problems with a registry are found when the first node is prepared, and that the error
// names the parameter and not the password.
func TestRegistryTrouble(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		patch string
		is    error
	}{
		"another CA":   {`"certificate_path":"Files/registries/other.crt"`, client.ErrUnknownAuthority},
		"no CA":        {`"x":1`, client.ErrUnknownAuthority},
		"password":     {`"certificate_path":"Files/registries/ca.crt","password":"canary-wrong"`, client.ErrLogin},
		"no such name": {`"hosts_string":"198.18.9.9 other.example.com"`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := registrySetup(t)
			if err := os.WriteFile(filepath.Join(s.pkg, "Files/registries/other.crt"), []byte(registryCA(t)), 0o600); err != nil {
				t.Fatal(err)
			}
			l := openLab(t, s)
			entry := `{"connection_type":"1","server":"registry.example.com","username":"user","password":"` + registryPassword +
				`","hosts_string":"198.18.9.9 registry.example.com","probe_image":"team/pause:3.10",` + c.patch + `}`
			_, opID, err := l.Begin("instantiate_sandbox.json", with(t, `{"private_registry_connection_info":[`+entry+`]}`))
			err = l.Fails(opID, err)
			if c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), "registry.example.com") {
				t.Errorf("the error is %v", err)
			}
			if text := fmt.Sprintf("%+v", err) + l.Log(); strings.Contains(text, "canary") {
				t.Errorf("a password is told: %s", text)
			}
		})
	}
}

// TestRegistryWarnings checks that parameters without effect are logged.
func TestRegistryWarnings(t *testing.T) {
	t.Parallel()
	l := openLab(t, registrySetup(t))
	l.Instantiated("instantiate_sandbox.json", with(t, `{"private_registry_connection_info":[
		{"connection_type":"0","server":"a","password":"p","certificate_path":"Files/registries/ca.crt"},{"connection_type":"0","server":"b","username":"u","password":"p"}]}`))
	for _, wanted := range []string{"certificate has no effect", "sent in the clear", "no effect without a username"} {
		if !strings.Contains(l.Log(), wanted) {
			t.Errorf("no warning %q", wanted)
		}
	}
}

// TestRegistriesCrash kills the process at every point of the steps that configure registries, also if a later reset of the
// machine deletes the credentials.
func TestRegistriesCrash(t *testing.T) {
	t.Parallel()
	var cases []crashCase
	for _, sample := range []string{"instantiate_sandbox.json", "instantiate_script.json"} {
		if sample == "instantiate_script.json" && fulltest.SkipsVariant(t, sample) {
			continue
		}
		s := scenario{name: sample, begin: func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error) {
			return m.Instantiate(ctx, id, l.Request(sample, registriesFor(l.t, sample)...))
		}}
		labSetup := registrySetup(t)
		labSetup.sandbox.Takes = takes
		p := prepared{setup: &labSetup, check: (*lab).connected}
		if sample != "instantiate_script.json" {
			p.check = func(l *lab) {
				l.connected()
				l.mirrored("http://198.18.9.8:5000")
			}
		}
		steps, want := s.undisturbed(t, p)
		if !slices.ContainsFunc(steps, func(step string) bool { return strings.Contains(step, "/registries/") }) {
			t.Fatalf("no step of registries in %q", steps)
		}
		var cuts []cut
		for _, step := range steps {
			if slices.Contains([]string{"registries", "init", "join"}, strings.Split(step, "/")[1]) {
				cuts = append(cuts, cutsAt(step, cutPointsOf(step))...)
			}
		}
		cases = append(cases, s.dying(p, cuts, want)...)
	}
	crash(t, cases)
}
