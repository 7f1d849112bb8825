package cloud

import (
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
	"syscall"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/vnfkit/vnfkit/vnflcm"
)

//go:embed openstack.sh
var script []byte

//go:embed packages.txt
var packages string

// Missing returns the reason why this machine cannot run OpenStack, or "".
func Missing(ctx context.Context) string {
	if os.Geteuid() != 0 {
		return "it takes root to start OpenStack's services"
	}
	var missing []string
	for _, name := range strings.Fields(packages) {
		state, err := exec.CommandContext(ctx, "dpkg-query", "-W", "-f=${db:Status-Abbrev}", name).Output() //nolint:gosec // from the list
		if err != nil || !strings.HasPrefix(string(state), "ii") {
			missing = append(missing, name)
		}
	}
	if len(missing) != 0 {
		return "packages of Debian 12 that OpenStack needs are missing: " + strings.Join(missing, " ")
	}
	return ""
}

// Cloud is a running OpenStack.
type Cloud struct {
	dir  string
	kept bool
	port int

	user, project string
	projectID     string // from Keystone

	Identity, Compute, Network, Orchestration, Image, Volume *gophercloud.ServiceClient
}

// Up starts an OpenStack in a new folder, which takes about 40 s. The OpenStack ends with Close, or when this process dies.
//
// If dir is not empty, Up uses that folder, and the OpenStack continues to run after Close. The next Up with the same dir
// then uses the running OpenStack, which takes a second, or starts it again. In both cases Up deletes all stacks of its project.
//
// The requests of the Cloud are those of an administrator.
func Up(ctx context.Context, dir string) (*Cloud, error) {
	c := &Cloud{dir: dir, kept: dir != "", user: admin, project: admin}
	var err error
	if c.kept {
		err = os.MkdirAll(dir, 0o700)
	} else {
		c.dir, err = os.MkdirTemp("", "vnfkit-openstack-*")
	}
	if err != nil {
		return nil, err
	}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if c.kept {
		return c, c.Clear(ctx)
	}
	return c, nil
}

func (c *Cloud) start(ctx context.Context) (err error) {
	if c.port, err = c.choosePort(ctx); err != nil {
		return err
	}
	if err := os.WriteFile(c.script(), script, 0o600); err != nil {
		return err
	}
	args := []string{"up", c.dir, strconv.Itoa(c.port)}
	if !c.kept {
		args = append(args, strconv.Itoa(os.Getpid()))
	}
	if err := c.run(ctx, args...); err != nil {
		return err
	}
	return c.login(ctx)
}

func (c *Cloud) script() string { return filepath.Join(c.dir, "openstack.sh") }

// choosePort returns the first port of a row of free ports. If the folder has an OpenStack of an earlier run, it returns the
// port of that run, because Keystone's catalog contains the port.
func (c *Cloud) choosePort(ctx context.Context) (int, error) {
	file := filepath.Join(c.dir, "port")
	text, err := os.ReadFile(file) //nolint:gosec // our own
	if err == nil {
		return strconv.Atoi(string(text))
	}
	port, err := freePorts(ctx)
	return port, errors.Join(err, os.WriteFile(file, []byte(strconv.Itoa(port)), 0o600))
}

// freePorts finds a row of free ports, below the ports that the kernel gives to outgoing connections. Different processes
// begin the search at different ports, because a service listens on its port only some time after the search.
func freePorts(ctx context.Context) (int, error) {
	const row = 10
	first := 21000 + os.Getpid()%100*row
next:
	for port := first; port < 32000; port += row {
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

// run runs the script. The services that the script starts continue after the end of ctx: Close ends them.
func (c *Cloud) run(ctx context.Context, args ...string) error {
	said, err := os.Create(filepath.Join(c.dir, "log")) // a file, because services would keep a pipe open
	if err != nil {
		return err
	}
	defer said.Close()
	cmd := exec.CommandContext(ctx, "bash", append([]string{c.script()}, args...)...) //nolint:gosec // our own script
	cmd.Stdout, cmd.Stderr = said, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the child processes of the script end with it
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(said.Name())
		return fmt.Errorf("openstack.sh %s: %w\n%s", args[0], err, text)
	}
	return nil
}

// Stop stops a service, for example heat. Clients of the service then get no answer.
func (c *Cloud) Stop(ctx context.Context, service string) error {
	return c.run(ctx, "stop", c.dir, service)
}

// Start starts all stopped services.
func (c *Cloud) Start(ctx context.Context) error {
	return c.run(ctx, "up", c.dir, strconv.Itoa(c.port))
}

// Close ends the OpenStack and deletes its folder, unless Up was called with a dir.
func (c *Cloud) Close() error {
	if c.kept {
		return nil
	}
	return errors.Join(c.run(context.Background(), "down", c.dir), os.RemoveAll(c.dir))
}

// Logs returns the last lines of the log of each service, for a test that failed.
func (c *Cloud) Logs() string {
	var out strings.Builder
	files, _ := filepath.Glob(filepath.Join(c.dir, "logs", "*"))
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

const (
	admin    = "admin"  // name of the administrator and of their project
	password = "secret" // of every user
	region   = "RegionOne"
)

// AuthURL returns the URL of Keystone.
func (c *Cloud) AuthURL() string { return fmt.Sprintf("http://127.0.0.1:%d/v3", c.port) }

// VIM returns the address and the credentials of the cloud, as an entry of a VIM registry.
func (c *Cloud) VIM(id, vimType string) (vnflcm.VimConnectionInfo, error) {
	at, err1 := vnflcm.NewParams(map[string]string{"endpoint": c.AuthURL()})
	who, err2 := vnflcm.NewParams(map[string]string{"username": c.user, "password": password, "project": c.project, "region": region,
		"userDomain": "Default", "projectDomain": "Default"})
	return vnflcm.VimConnectionInfo{VimID: id, VimType: vimType, InterfaceInfo: at, AccessInfo: who}, errors.Join(err1, err2)
}

func (c *Cloud) login(ctx context.Context) error {
	provider, err := openstack.NewClient(c.AuthURL() + "/")
	if err != nil {
		return err
	}
	// A separate transport without idle connections, so that the tests find no leaked goroutines.
	provider.HTTPClient = http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	err = openstack.Authenticate(ctx, provider, gophercloud.AuthOptions{IdentityEndpoint: c.AuthURL() + "/", Username: c.user,
		Password: password, TenantName: c.project, DomainName: "Default", AllowReauth: true})
	if err != nil {
		return err
	}
	token, ok := provider.GetAuthResult().(tokens.CreateResult)
	if !ok {
		return errors.New("keystone has not said for which project the token is")
	}
	scope, err := token.ExtractProject()
	if err != nil {
		return err
	}
	c.projectID = scope.ID
	at := gophercloud.EndpointOpts{Region: region}
	var errs [6]error
	c.Compute, errs[0] = openstack.NewComputeV2(provider, at)
	c.Network, errs[1] = openstack.NewNetworkV2(provider, at)
	c.Orchestration, errs[2] = openstack.NewOrchestrationV1(provider, at)
	c.Image, errs[3] = openstack.NewImageV2(provider, at)
	c.Volume, errs[4] = openstack.NewBlockStorageV3(provider, at)
	c.Identity, errs[5] = openstack.NewIdentityV3(provider, at)
	return errors.Join(errs[:]...)
}
