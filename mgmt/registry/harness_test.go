package registry_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/spf13/afero"
	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/mgmt/registry"
	"github.com/vnfkit/vnfkit/mgmt/registry/client"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	sample     = "../../examples/packages/private-registry"
	driverName = "mgmt-drivers-private-registry"
	vnfdID     = "any"
	vdu        = "PrivateRegistryVDU"
	imageFile  = "Files/images/registry.tar"
)

// lab is a sandbox with a Manager on it.
type lab struct {
	*vnflcm.Manager
	t      testing.TB
	world  *sandbox.World
	store  vnflcm.Store
	driver registry.Config // without its Pool
	pkg    string          // folder of the VNF package
	log    logBuffer
}

// logBuffer is what several Managers may log to.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// setup says how a lab differs from the usual one.
type setup struct {
	sandbox sandbox.Config
	driver  registry.Config
	files   map[string]string // of the package, beside those of the sample
}

// newLab has the sample package with an image.
func newLab(t testing.TB, s setup) *lab {
	t.Helper()
	s.sandbox.Unexpected = func(host string, argv []string) {
		if argv[0] != "docker" { // that is asked for where it may not be
			t.Errorf("%s: unexpected command %q", host, argv)
		}
	}
	world, err := sandbox.Open(s.sandbox)
	must(t, err)
	t.Cleanup(func() { must(t, world.Close()) })
	files := map[string]string{imageFile: archive(t, "registry:latest")}
	maps.Copy(files, s.files)
	l := &lab{t: t, world: world, store: vnflcm.NewMemoryStore(), driver: s.driver, pkg: packageWith(t, files)}
	l.Manager = l.manager()
	must(t, l.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "sandbox", VimType: "sandbox"}))
	return l
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// packageWith copies the sample package and puts files into it.
func packageWith(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(sample)))
	for path, content := range files {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, path), []byte(content), 0o600))
	}
	return dir
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

var key = bytes.Repeat([]byte{7}, 32)

// manager returns a new Manager on the world and the store: the next process.
func (l *lab) manager(change ...func(*vnflcm.Config)) *vnflcm.Manager {
	l.t.Helper()
	pool := sshexec.NewPool(sshexec.Options{Dial: l.world.Dial})
	driver := l.driver
	driver.Pool = pool
	config := vnflcm.Config{
		Store: l.store, Key: key, Owner: "test",
		Packages: vnflcm.PackagesFunc(func(ctx context.Context, _ string) (*tosca.Package, error) { return tosca.Open(ctx, l.pkg) }),
		Infra:    map[string]vnflcm.InfraDriver{"sandbox": l.world},
		Mgmt:     map[string]vnflcm.MgmtDriver{driverName: registry.New(driver)},
		Logger:   slog.New(slog.NewJSONHandler(&l.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, c := range change {
		c(&config)
	}
	m, err := vnflcm.New(config)
	must(l.t, err)
	l.t.Cleanup(func() {
		must(l.t, m.Close(context.WithoutCancel(l.t.Context())))
		must(l.t, pool.Close())
	})
	return m
}

// request is a sample request with a JSON merge patch over its parameters.
func request(t testing.TB, file, patch string) vnflcm.InstantiateVnfRequest {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(sample, "requests", file))
	must(t, err)
	var r vnflcm.InstantiateVnfRequest
	must(t, json.Unmarshal(data, &r))
	r.VimConnectionInfo = vnflcm.VimConnections{{ID: "1", VimID: "sandbox", VimType: "sandbox"}}
	over, err := vnflcm.ParseParams([]byte(`{"private_registry_installation_param":` + patch + `}`))
	must(t, err)
	r.AdditionalParams, err = r.AdditionalParams.Merge(over)
	must(t, err)
	return r
}

func (l *lab) created() string {
	l.t.Helper()
	inst, err := l.Create(l.t.Context(), vnflcm.CreateVnfRequest{VnfdID: vnfdID})
	must(l.t, err)
	return inst.ID
}

// begin creates an instance and begins to instantiate it with the image of the package.
func (l *lab) begin(patch string) (id, opID string, err error) {
	l.t.Helper()
	id = l.created()
	opID, err = l.Instantiate(l.t.Context(), id, request(l.t, "instantiate.json", patch))
	return id, opID, err
}

// instantiated is an instance that is.
func (l *lab) instantiated(patch string) string {
	l.t.Helper()
	id, opID, err := l.begin(patch)
	l.must(opID, err)
	return id
}

func (l *lab) wait(m *vnflcm.Manager, opID string, err error) (*vnflcm.VnfLcmOpOcc, error) {
	l.t.Helper()
	must(l.t, err)
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
	defer cancel()
	return m.Wait(ctx, opID)
}

// must waits for an operation that must succeed.
func (l *lab) must(opID string, err error) {
	l.t.Helper()
	if _, err := l.wait(l.Manager, opID, err); err != nil {
		l.t.Fatalf("%v\n%s", err, l.log.String())
	}
}

// fails waits for an operation that must end in FAILED_TEMP, and returns why.
func (l *lab) fails(opID string, err error) error {
	l.t.Helper()
	occ, err := l.wait(l.Manager, opID, err)
	if err == nil || occ == nil || occ.OperationState != vnflcm.FailedTemp {
		l.t.Fatalf("it should be FAILED_TEMP: %+v, %v", occ, err)
	}
	return err
}

// vnfc is the machine of an instance.
func (l *lab) vnfc(id string) vnflcm.VnfcResourceInfo {
	l.t.Helper()
	inst, err := l.Get(l.t.Context(), id)
	must(l.t, err)
	return inst.InstantiatedVnfInfo.VnfcResourceInfo[0]
}

// machine is the only one.
func (l *lab) machine() *sshtest.Host {
	l.t.Helper()
	hosts := l.world.Hosts()
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
	pool := sshexec.NewPool(sshexec.Options{Dial: l.world.Dial})
	defer pool.Close()
	host := pool.Host(sshexec.Target{ID: "m", Name: "m", Addr: "10.10.0.10:22", User: "ubuntu",
		Auth: []sshexec.Auth{sshexec.Password("ubuntu")}, HostKeys: sshexec.InsecureIgnoreHostKeys()})
	out, err := host.Output(l.t.Context(), sshexec.Command{Argv: argv, Root: true})
	must(l.t, err)
	return strings.TrimSpace(string(out))
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
	c, err := registry.ConnectionOf(l.vnfc(id))
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
		return l.world.Dial(ctx, network, address)
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

// impatient soon gives up.
var impatient = registry.Config{Timeouts: registry.Timeouts{Ready: time.Second}}

// put writes a file on the machine.
func (l *lab) put(name, content string) {
	l.t.Helper()
	must(l.t, afero.WriteFile(l.machine().FS(), name, []byte(content), 0o600))
}

// dropJournal has the next process know of nothing that was done.
func (l *lab) dropJournal() {
	l.t.Helper()
	records, err := l.store.List(l.t.Context(), "step", "")
	must(l.t, err)
	for _, r := range records {
		must(l.t, l.store.Delete(l.t.Context(), r.Kind, r.ID, r.Version))
	}
}

// issued is a certificate for a name, its key and its CA.
func issued(t testing.TB, name string) (certificate, key, ca string) {
	t.Helper()
	c, k, ca, err := registry.Issue(name)
	must(t, err)
	return string(c), string(k), ca
}
