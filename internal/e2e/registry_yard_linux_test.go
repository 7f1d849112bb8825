package e2e_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/e2e/kube"
	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/registry"
	"github.com/vnfkit/vnfkit/mgmt/registry/client"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

const (
	registryDir    = "../../examples/packages/private-registry"
	registryVNFD   = "b3d9c1e4-7a52-4c0e-9f1b-2e6a8d4c5f71"
	registryVDU    = "PrivateRegistryVDU"
	registryDriver = "mgmt-drivers-private-registry"
	// registryImage is where a request of the package expects the image of the registry.
	registryImage = "Files/images/registry.tar"
)

// newRegistryYard makes machines of the registry VNF: Debian without Docker, whose packages come from a signed
// repository. The package has the image of the registry in it.
func newRegistryYard(t testing.TB, change func(*yard, *vmhost.Spec)) *yard {
	t.Helper()
	return registryYardOf(t, needParts(t, "registry"), change)
}

func registryYardOf(t testing.TB, parts kube.Parts, change func(*yard, *vmhost.Spec)) *yard {
	t.Helper()
	return yardOf(t, parts, func(y *yard, spec *vmhost.Spec) {
		spec.Data = nil
		bare(y.parts, serveRepositories(t, y.parts), read(t, y.parts.Key()), spec)
		y.others = map[string]string{registryVNFD: packageWith(t, registryDir, map[string][]byte{registryImage: read(t, y.parts.Image("registry"))})}
		if change != nil {
			change(y, spec)
		}
	})
}

// registry makes an instance and the request to make it a registry; each of more is laid over its parameters.
func (y *yard) registry(more ...string) (string, vnflcm.InstantiateVnfRequest) {
	y.t.Helper()
	id, r := y.createdOf(registryDir, registryVNFD, "instantiate.json", "simple")
	r.ExtVirtualLinks = nil
	r.AdditionalParams = y.laid(r.AdditionalParams, more...)
	return id, r
}

// machine is the one of a registry, as the instance shows it.
func (y *yard) machine(id string) vnflcm.VnfcResourceInfo {
	y.t.Helper()
	list := y.vnfcs(id, registryVDU)
	if len(list) != 1 {
		y.t.Fatalf("%d machines", len(list))
	}
	return list[0]
}

// there is the machine of a registry, also while that is being made.
func (y *yard) there(id string) *sshexec.Host {
	y.t.Helper()
	list, err := y.machines.Machines(y.t.Context(), id)
	if err != nil || len(list) != 1 {
		y.t.Fatalf("machines %v, %v", list, err)
	}
	return y.login(list[0].ID)
}

// rebooted reboots a machine as a power cut does, and waits until one can log in again.
func (y *yard) rebooted(v vnflcm.VnfcResourceInfo) {
	y.t.Helper()
	started := []string{"stat", "--format=%.9Y", "/proc/1"}
	old, err := y.on(v, started...)
	must(y.t, err)
	host := y.machines.Host(v.ComputeResource.ResourceID)
	must(y.t, host.Reboot())
	ctx := within(y.t, 5*time.Minute) // on a busy machine; two seconds else
	for {
		now, err := y.on(v, started...)
		if err == nil && now != old {
			return
		}
		select {
		case <-ctx.Done():
			y.t.Fatalf("the machine does not come back: %v\n%s\n%s", err, host.Console(), host.Log())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// container is the id of a registry's container.
func (y *yard) container(id string) string {
	y.t.Helper()
	out, err := asRoot(y.there(id), "docker", "container", "inspect", "--format", "{{.Id}}", "private_registry")
	must(y.t, err)
	return out
}

// connection is what the instance tells of its registry, with a login for those who need one.
func (y *yard) connection(id, username, password string) client.Connection {
	y.t.Helper()
	c, err := registry.ConnectionOf(y.machine(id))
	must(y.t, err)
	if username != "" {
		c.Username, c.Password = username, vnflcm.NewSecret(password)
	}
	return c
}

// outside is a client of a registry that uses only the connection that the instance publishes, and no code of this project.
type outside struct {
	connection client.Connection
	transport  *http.Transport
}

// from returns a client of a registry with the connection c. The client runs in this process, outside of the registry's VNF.
func (y *yard) from(c client.Connection) outside {
	y.t.Helper()
	addresses := map[string]string{}
	for _, e := range (client.Connections{c}).HostEntries() {
		addresses[e.Name] = e.IP.String()
	}
	roots := x509.NewCertPool() // of the machine that the tests run on: none
	if c.CACertificate != "" && !roots.AppendCertsFromPEM([]byte(c.CACertificate)) {
		y.t.Fatalf("no certificate: %q", c.CACertificate)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			host, port, err := net.SplitHostPort(addr)
			if known, ok := addresses[host]; ok {
				host = known
			}
			if err != nil {
				return nil, err
			}
			return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(host, port))
		}}
	y.t.Cleanup(transport.CloseIdleConnections)
	return outside{c, transport}
}

// reference names an image of the registry.
func (o outside) reference(image string) (name.Reference, error) {
	var options []name.Option
	if o.connection.Type == client.HTTP {
		options = append(options, name.Insecure)
	}
	return name.ParseReference(o.connection.Server+"/"+image, options...)
}

func (o outside) options(ctx context.Context) []remote.Option {
	auth := authn.Anonymous
	if o.connection.Username != "" {
		auth = &authn.Basic{Username: o.connection.Username, Password: o.connection.Password.Reveal()}
	}
	// Tried once: what is to be seen is what the registry says now.
	return []remote.Option{remote.WithContext(ctx), remote.WithAuth(auth), remote.WithTransport(o.transport), remote.WithRetryBackoff(remote.Backoff{Steps: 1})}
}

// push puts an image in docker-archive form into the registry.
func (o outside) push(ctx context.Context, archive, image string) error {
	ref, err := o.reference(image)
	if err != nil {
		return err
	}
	content, err := tarball.ImageFromPath(archive, nil)
	if err != nil {
		return err
	}
	return remote.Write(ref, content, o.options(ctx)...)
}

// pull reads an image whole, and checks every digest.
func (o outside) pull(ctx context.Context, image string) (v1.Hash, error) {
	ref, err := o.reference(image)
	if err != nil {
		return v1.Hash{}, err
	}
	content, err := remote.Image(ref, o.options(ctx)...)
	if err != nil {
		return v1.Hash{}, err
	}
	if err := validate.Image(content); err != nil {
		return v1.Hash{}, err
	}
	return content.Digest()
}

// ask is the status of the registry's root.
func (o outside) ask(ctx context.Context) (int, error) {
	scheme := "https"
	if o.connection.Type == client.HTTP {
		scheme = "http"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+o.connection.Server+"/v2/", nil)
	if err != nil {
		return 0, err
	}
	if o.connection.Username != "" {
		request.SetBasicAuth(o.connection.Username, o.connection.Password.Reveal())
	}
	answer, err := o.transport.RoundTrip(request)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

// answers waits until the registry answers.
func (y *yard) answers(o outside) {
	y.t.Helper()
	ctx := within(y.t, 5*time.Minute) // on a busy machine; two seconds else
	for {
		one, cancel := context.WithTimeout(ctx, 10*time.Second)
		code, err := o.ask(one)
		cancel()
		if err == nil && code == http.StatusOK {
			return
		}
		select {
		case <-ctx.Done():
			y.t.Fatalf("the registry does not answer: %d, %v", code, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// holds checks that the registry has an image, or does not.
func (y *yard) holds(o outside, image string, want bool) {
	y.t.Helper()
	_, err := o.pull(y.t.Context(), image)
	if got := err == nil; got != want || !want && !strings.Contains(err.Error(), "UNKNOWN") {
		y.t.Errorf("the registry has %s: %t, want %t: %v", image, got, want, err)
	}
}

// forget drops the journal of an operation, as if it had begun in a store that was lost.
func (y *yard) forget(op string) {
	y.t.Helper()
	list, err := y.store.List(y.t.Context(), store.Query{Kind: "step", Prefix: op + "/"})
	must(y.t, err)
	if len(list) == 0 {
		y.t.Fatal("the journal is empty")
	}
	for _, record := range list {
		must(y.t, y.store.Apply(y.t.Context(), store.Batch{Delete: []store.Record{record}}))
	}
}

// failure waits for the end of an operation that must fail.
func (y *yard) failure(op string, err error) error {
	y.t.Helper()
	if err == nil {
		_, err = y.Wait(within(y.t, patience), op)
	}
	if err == nil {
		y.t.Fatal("the operation has not failed")
	}
	return err
}

// errTest is why a step fails that has done its work.
var errTest = errors.New("the test")

// fails has one step fail after it has done its work, so many times.
func fails(step string, times int) vnflcm.Interceptor {
	failed := make(chan struct{}, times)
	return func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
		err := next(ctx)
		if s.Name == step && err == nil {
			select {
			case failed <- struct{}{}:
				return errTest
			default:
			}
		}
		return err
	}
}

// introduce lets a machine know the registries by their names.
func introduce(t testing.TB, host *vmhost.Host, connections client.Connections) {
	t.Helper()
	const file = "/etc/hosts"
	old, err := afero.ReadFile(host.FS(), file)
	must(t, err)
	must(t, afero.WriteFile(host.FS(), file, mgmt.HostsFile(old, nil, connections.HostEntries()...), 0o644))
}
