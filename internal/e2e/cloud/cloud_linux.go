package cloud

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"

	"github.com/vnfkit/vnfkit/vnflcm"
)

//go:embed openstack.sh
var script []byte

// Packages are the Debian packages that Up needs.
const Packages = "mariadb-server rabbitmq-server uwsgi-core uwsgi-plugin-python3 python3-keystone python3-heat python3-nova " +
	"python3-neutron python3-placement python3-glance python3-pymysql python3-keystoneclient curl"

// Missing says why there can be no OpenStack on this machine, empty when there can.
func Missing(ctx context.Context) string {
	if os.Geteuid() != 0 {
		return "it takes root to start OpenStack's services"
	}
	query := exec.CommandContext(ctx, "dpkg-query", append([]string{"-W", "-f=${db:Status-Abbrev}\n"}, strings.Fields(Packages)...)...) //nolint:gosec // constants
	out, err := query.Output()
	if err != nil || strings.Count(string(out), "ii") != len(strings.Fields(Packages)) {
		return "OpenStack's Debian packages are not installed: " + Packages
	}
	return ""
}

// Cloud is a running OpenStack.
type Cloud struct {
	dir  string
	port int

	Compute, Network, Orchestration, Image *gophercloud.ServiceClient
}

// Up starts an OpenStack; that takes some 40 s. Close it.
func Up(ctx context.Context) (*Cloud, error) {
	dir, err := os.MkdirTemp("", "vnfkit-openstack-*")
	if err != nil {
		return nil, err
	}
	c := &Cloud{dir: dir}
	if c.port, err = freePorts(ctx); err == nil {
		err = os.WriteFile(c.script(), script, 0o600)
	}
	if err == nil {
		err = c.run(ctx, "up", c.state(), strconv.Itoa(c.port), strconv.Itoa(os.Getpid()))
	}
	if err == nil {
		err = c.login(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Cloud) script() string { return filepath.Join(c.dir, "openstack.sh") }
func (c *Cloud) state() string  { return filepath.Join(c.dir, "state") }

// freePorts finds a row of free ports.
func freePorts(ctx context.Context) (int, error) {
	const row = 9
next:
	for port := 21000; port < 30000; port += 2 * row {
		for i := range row {
			l, err := new(net.ListenConfig).Listen(ctx, "tcp", netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(port+i)).String())
			if err != nil {
				continue next
			}
			if err := l.Close(); err != nil {
				return 0, err
			}
		}
		return port, nil
	}
	return 0, errors.New("no free ports")
}

// run runs the script. The services that it starts outlive ctx: Close ends them.
func (c *Cloud) run(ctx context.Context, args ...string) error {
	var said bytes.Buffer
	log, err := os.Create(filepath.Join(c.dir, "log")) // not a pipe: services would keep it open
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, "bash", append([]string{c.script()}, args...)...) //nolint:gosec // our own script
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(log.Name())
		said.Write(text)
		return fmt.Errorf("openstack.sh %s: %w\n%s", args[0], err, said.String())
	}
	return nil
}

// Stop ends a service, such as heat, as a crash would: its clients get no answer any more.
func (c *Cloud) Stop(ctx context.Context, service string) error {
	return c.run(ctx, "stop", c.state(), service)
}

// Start starts what was stopped.
func (c *Cloud) Start(ctx context.Context) error {
	return c.run(ctx, "start", c.state(), strconv.Itoa(c.port))
}

// Close ends everything.
func (c *Cloud) Close() error {
	err := c.run(context.Background(), "down", c.state())
	return errors.Join(err, os.RemoveAll(c.dir))
}

// Logs are the last lines of each service, for a test that failed.
func (c *Cloud) Logs() string {
	var out strings.Builder
	files, _ := filepath.Glob(filepath.Join(c.state(), "logs", "*"))
	for _, name := range files {
		text, err := os.ReadFile(name) //nolint:gosec // our own
		if err != nil {
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		fmt.Fprintf(&out, "== %s\n%s\n", filepath.Base(name), strings.Join(lines[max(0, len(lines)-5):], "\n"))
	}
	return out.String()
}

const user, password, project, region = "admin", "secret", "admin", "RegionOne"

// AuthURL is the URL of Keystone.
func (c *Cloud) AuthURL() string { return fmt.Sprintf("http://127.0.0.1:%d/v3", c.port) }

// VIM is how the cloud is reached, as a VIM registry has it.
func (c *Cloud) VIM(id, vimType string) (vnflcm.VimConnectionInfo, error) {
	at, err1 := vnflcm.NewParams(map[string]string{"endpoint": c.AuthURL()})
	who, err2 := vnflcm.NewParams(map[string]string{"username": user, "password": password, "project": project, "region": region,
		"userDomain": "Default", "projectDomain": "Default"})
	return vnflcm.VimConnectionInfo{VimID: id, VimType: vimType, InterfaceInfo: at, AccessInfo: who}, errors.Join(err1, err2)
}

func (c *Cloud) login(ctx context.Context) error {
	provider, err := openstack.NewClient(c.AuthURL() + "/")
	if err != nil {
		return err
	}
	// A transport of its own, so that nothing of it is left when the tests look for leaks.
	provider.HTTPClient = http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	err = openstack.Authenticate(ctx, provider, gophercloud.AuthOptions{IdentityEndpoint: c.AuthURL() + "/", Username: user,
		Password: password, TenantName: project, DomainName: "Default", AllowReauth: true})
	if err != nil {
		return err
	}
	at := gophercloud.EndpointOpts{Region: region}
	var errs [4]error
	c.Compute, errs[0] = openstack.NewComputeV2(provider, at)
	c.Network, errs[1] = openstack.NewNetworkV2(provider, at)
	c.Orchestration, errs[2] = openstack.NewOrchestrationV1(provider, at)
	c.Image, errs[3] = openstack.NewImageV2(provider, at)
	return errors.Join(errs[:]...)
}
