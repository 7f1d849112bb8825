package registry_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/spf13/afero"
	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/mgmt/registry"
	"github.com/vnfkit/vnfkit/mgmt/registry/client"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestMain has mgmttest.Crash run its sample unless VNFKIT_FULL is set: the kit asks testing.Short.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.short", strconv.FormatBool(!fulltest.Enabled())); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

const (
	sample     = "../../examples/packages/private-registry"
	driverName = "mgmt-drivers-private-registry"
	imageFile  = "Files/images/registry.tar"
)

// lab is the lab of the registry driver.
type lab struct {
	*mgmttest.Lab
	t testing.TB
}

// setup says how a lab differs from the usual one.
type setup struct {
	sandbox sandbox.Config
	driver  registry.Config   // without its Pool
	files   map[string]string // of the package, beside those of the sample
}

// newLab has the sample package with an image.
func newLab(t testing.TB, s setup) *lab {
	t.Helper()
	return &lab{Lab: mgmttest.Open(t, s.lab(t)), t: t}
}

func (s setup) lab(t testing.TB) mgmttest.Setup {
	t.Helper()
	s.sandbox.Unexpected = func(host string, argv []string) {
		if argv[0] != "docker" { // that is asked for where it may not be
			t.Errorf("%s: unexpected command %q", host, argv)
		}
	}
	files := map[string]string{imageFile: archive(t, "registry:latest")}
	maps.Copy(files, s.files)
	return mgmttest.Setup{Sandbox: s.sandbox, Package: mgmttest.Package(t, sample, files), Drivers: s.drivers}
}

func (s setup) drivers(pool *sshexec.Pool) map[string]vnflcm.MgmtDriver {
	s.driver.Pool = pool
	return map[string]vnflcm.MgmtDriver{driverName: registry.New(s.driver)}
}

// with changes the parameters by a JSON merge patch.
func with(t testing.TB, patch string) mgmttest.Change {
	return mgmttest.With(t, "private_registry_installation_param", patch)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// archive is what "docker save" makes of images without layers.
func archive(t testing.TB, names ...string) string {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	file := func(name string, content []byte) {
		must(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}))
		_, err := w.Write(content)
		must(t, err)
	}
	type entry struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	var list []entry
	for i, name := range names {
		config := fmt.Appendf(nil, `{"architecture":"amd64","os":"linux","config":{"Entrypoint":["/bin/registry","serve"],"Labels":{"n":"%d"}},"rootfs":{"type":"layers","diff_ids":[]}}`, i)
		digest := fmt.Sprintf("%x.json", sha256.Sum256(config))
		file(digest, config)
		e := entry{Config: digest, Layers: []string{}}
		if name != "" {
			e.RepoTags = []string{name}
		}
		list = append(list, e)
	}
	manifest, err := json.Marshal(list)
	must(t, err)
	file("manifest.json", manifest)
	must(t, w.Close())
	return out.String()
}

// machine is the only one.
func (l *lab) machine() *sshtest.Host {
	l.t.Helper()
	hosts := l.World.Hosts()
	if len(hosts) != 1 {
		l.t.Fatalf("%d machines", len(hosts))
	}
	return hosts[0]
}

// file is the content of a file, "" when there is none.
func (l *lab) file(name string) string {
	l.t.Helper()
	text, err := afero.ReadFile(l.machine().FS(), name)
	if err != nil {
		return ""
	}
	return string(text)
}

// on runs a program on a machine, and returns what it prints.
func (l *lab) on(argv ...string) string {
	l.t.Helper()
	out, err := mgmttest.Run(l.t.Context(), l.machine(), sshexec.Command{Argv: argv, Root: true})
	must(l.t, err)
	return strings.TrimSpace(out)
}

// container is the id of the registry's container.
func (l *lab) container() string {
	l.t.Helper()
	var c struct{ ID string }
	must(l.t, json.Unmarshal([]byte(l.on("docker", "container", "inspect", "--format", "{{json .}}", "private_registry")), &c))
	return c.ID
}

// runs counts how often docker was told to do that on a machine.
func (l *lab) runs(verb ...string) (n int) {
	l.t.Helper()
	for _, r := range l.machine().Commands() {
		if len(r.Argv) > len(verb) && r.Argv[0] == "docker" && slices.Equal(r.Argv[1:len(verb)+1], verb) {
			n++
		}
	}
	return n
}

// connection is what the instance tells of its registry.
func (l *lab) connection(id string) client.Connection {
	l.t.Helper()
	c, err := registry.ConnectionOf(l.VNFCs(id)[0])
	must(l.t, err)
	return c
}

// options let go-containerregistry reach a registry as a machine beside it does.
func (l *lab) options(c client.Connection) []remote.Option {
	l.t.Helper()
	address := c.Server
	if ip, name, found := strings.Cut(c.HostsString, " "); found {
		address = strings.Replace(address, name, ip, 1)
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return l.World.Dial(ctx, network, address)
	}}
	if c.CACertificate != "" {
		transport.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
		transport.TLSClientConfig.RootCAs.AppendCertsFromPEM([]byte(c.CACertificate))
	}
	options := []remote.Option{remote.WithTransport(transport), remote.WithContext(l.t.Context())}
	if c.Username != "" {
		options = append(options, remote.WithAuth(&authn.Basic{Username: c.Username, Password: c.Password.Reveal()}))
	}
	return options
}

func reference(t testing.TB, c client.Connection, image string) name.Reference {
	t.Helper()
	var options []name.Option
	if c.Type == client.HTTP {
		options = append(options, name.Insecure)
	}
	at, err := name.ParseReference(c.Server+"/"+image, options...)
	must(t, err)
	return at
}

// push puts an image into the registry.
func (l *lab) push(c client.Connection, image string) error {
	l.t.Helper()
	made, err := random.Image(100, 1)
	must(l.t, err)
	return remote.Write(reference(l.t, c, image), made, l.options(c)...)
}

// pull asks the registry for an image.
func (l *lab) pull(c client.Connection, image string) error {
	l.t.Helper()
	_, err := remote.Image(reference(l.t, c, image), l.options(c)...)
	return err
}

// impatient gives up soon, but not before a registry that works is ready on a busy machine.
var impatient = registry.Config{Timeouts: registry.Timeouts{Ready: 4 * time.Second}}

// put writes a file on the machine.
func (l *lab) put(name, content string) {
	l.t.Helper()
	must(l.t, afero.WriteFile(l.machine().FS(), name, []byte(content), 0o600))
}

// issued is a certificate for a name, its key and its CA.
func issued(t testing.TB, name string) (certificate, key, ca string) {
	t.Helper()
	c, k, ca, err := registry.Issue(name)
	must(t, err)
	return string(c), string(k), ca
}
