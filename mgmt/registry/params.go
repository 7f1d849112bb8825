package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/vnfkit/vnfkit/internal/login"
	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// parameters are the additionalParams that the driver reads. docs/registry.md lists them for users.
type parameters struct {
	Registry installParam `json:"private_registry_installation_param"`

	// For infra drivers; named here so that they do not count as unknown.
	UserData      string   `json:"lcm-operation-user-data"`
	UserDataClass string   `json:"lcm-operation-user-data-class"`
	VIMPassOver   []string `json:"vim_pass_over"`
}

// installParam has the attributes of the specification first, then Tacker's, then ours.
type installParam struct {
	SSHCPName string `json:"ssh_cp_name"`
	login.SSH
	HostKeys  mgmt.HostKeys `json:"ssh_host_keys"`
	ImagePath string        `json:"image_path"`
	Port      int           `json:"port_no"`

	Proxy proxyParam `json:"proxy"`

	Image      string        `json:"image"`
	Packages   packagesParam `json:"packages"`
	ServerName string        `json:"server_name"`
	TLS        *tlsParam     `json:"tls"`
	Users      []userParam   `json:"users"`
	Volume     volumeParam   `json:"volume"`
	Probe      bool          `json:"probe"`
}

// proxyParam is mgmt.Proxy without the attributes for clusters.
type proxyParam struct {
	HTTPProxy  vnflcm.Secret `json:"http_proxy"`
	HTTPSProxy vnflcm.Secret `json:"https_proxy"`
	NoProxy    string        `json:"no_proxy"`
}

func (p proxyParam) proxy() mgmt.Proxy {
	return mgmt.Proxy{HTTPProxy: p.HTTPProxy, HTTPSProxy: p.HTTPSProxy, NoProxy: p.NoProxy}
}

// paramPath is where most parameters are.
const paramPath = "additionalParams.private_registry_installation_param"

// The defaults of the specification and, of the volume, of Tacker.
const (
	defaultPort   = 5000
	defaultImage  = "registry:latest"
	defaultVolume = "/private_registry"
)

// SecretParams implements vnflcm.SecretParams.
func (d *Driver) SecretParams() []string { return vnflcm.SecretPaths(parameters{}) }

// PublicParams implements vnflcm.PublicParams.
func (d *Driver) PublicParams() []string { return vnflcm.PublicPaths(parameters{}) }

// read decodes the parameters and fills in defaults. A wrong type does not hide other faults.
func read(op *vnflcm.Operation) (*parameters, error) {
	p := &parameters{Registry: installParam{Port: defaultPort}}
	_, err := op.Params.Decode(p)
	r := &p.Registry
	r.Image = cmp.Or(r.Image, defaultImage)
	r.Volume.Path = cmp.Or(r.Volume.Path, defaultVolume)
	return p, vnflcm.AtPath("additionalParams", err)
}

// warn logs attributes that are accepted and have no effect, or a limited one.
func (p *parameters) warn(ctx context.Context, op *vnflcm.Operation) {
	unknown, _ := op.Params.Decode(&parameters{}) // read has reported the error
	for _, name := range unknown {
		op.Log.WarnContext(ctx, "unknown attribute has no effect", "attribute", "additionalParams."+name)
	}
	r := &p.Registry
	warn := func(message, name string) { op.Log.WarnContext(ctx, message, "attribute", paramPath+"."+name) }
	if proxy := r.Proxy.proxy(); !proxy.Used() && (!proxy.HTTPProxy.IsZero() || !proxy.HTTPSProxy.IsZero()) {
		warn("the proxy is not used: it takes both http_proxy and https_proxy", "proxy")
	}
	if len(r.Users) > 0 && r.TLS == nil {
		warn("passwords are sent in the clear without tls", "users")
	}
	if !r.Volume.outlives() {
		warn("the images are on the machine's own disk: they are lost when it is healed", "volume")
	}
}

// checker collects the faults of the parameters against the package.
type checker struct {
	op     *vnflcm.Operation
	faults []error
}

func (c *checker) fault(path, value, reason string) {
	c.faults = append(c.faults, &vnflcm.ParamError{Path: path, Value: value, Reason: reason})
}

// check finds every fault; the paths are relative to private_registry_installation_param.
func (p *parameters) check(op *vnflcm.Operation) error {
	c := &checker{op: op}
	r := &p.Registry
	c.login(r)
	c.image(r)
	if r.Port < 1 || r.Port > 65535 {
		c.fault("port_no", strconv.Itoa(r.Port), "must be a number from 1 to 65535")
	}
	if r.Port == 22 {
		c.fault("port_no", "22", "is the one of SSH")
	}
	c.faults = append(c.faults, vnflcm.AtPath("proxy", r.Proxy.proxy().Validate()))
	c.packages(r.Packages)
	_, notName := netip.ParseAddr(r.ServerName) // nil for an address, which is known without
	if r.ServerName != "" && (notName == nil || len(r.ServerName) > 253 || !hostNameForm.MatchString(r.ServerName)) {
		c.fault("server_name", r.ServerName, "must be a host name, such as registry.example.com")
	}
	c.tls(r)
	c.users(r.Users)
	c.volume(r.Volume)
	return vnflcm.AtPath(paramPath, errors.Join(c.faults...))
}

// hostNameForm excludes upper case: image names have none.
var hostNameForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$`)

func (c *checker) login(p *installParam) {
	c.faults = append(c.faults, mgmt.Login(p.SSH).Validate("ssh_"), p.HostKeys.Validate("ssh_host_keys"))
	if p.SSHCPName == "" {
		c.fault("ssh_cp_name", "", "is required")
	} else if err := c.op.CheckConnectionPoint(p.SSHCPName); err != nil {
		c.fault("ssh_cp_name", p.SSHCPName, err.Error())
	}
}

// image checks the name of the image, or that its file is an archive. The content of the archive is checked when it is
// loaded.
func (c *checker) image(p *installParam) {
	if _, err := name.ParseReference(p.Image); err != nil {
		c.fault("image", p.Image, "must be the name of an image, such as registry:2")
	}
	if p.ImagePath == "" {
		return
	}
	f, err := mgmt.Artifacts(c.op)(p.ImagePath)
	if err != nil {
		c.fault("image_path", p.ImagePath, fileFault(err))
		return
	}
	defer f.Close()
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		c.fault("image_path", p.ImagePath, err.Error())
	} else if !isArchive(head[:n]) {
		c.fault("image_path", p.ImagePath, `is no archive: "docker save" makes one`)
	}
}

// isArchive recognizes the formats that Docker reads: tar (POSIX.1-1988 and later), also compressed.
func isArchive(head []byte) bool {
	for _, magic := range []string{"\x1f\x8b", "BZh", "\xfd7zXZ\x00", "\x28\xb5\x2f\xfd"} {
		if strings.HasPrefix(string(head), magic) {
			return true
		}
	}
	const ustar = 257
	return len(head) > ustar+5 && string(head[ustar:ustar+5]) == "ustar"
}

func fileFault(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "the package has no such file"
	}
	return err.Error()
}

// packagesParam says where Docker comes from.
type packagesParam struct {
	Source           string `json:"source"` // fromImage, fromRepository or fromNowhere; default fromImage
	linux.Repository        // of Docker
	DockerPackage    string `json:"docker_package"` // docker.io (default) or docker-ce
	DockerVersion    string `json:"docker_version"` // as apt takes it after "="; default: the installed version, or the newest
}

// Where packages come from.
const (
	fromImage      = "image"      // the package sources that the image of the machine is set up with
	fromRepository = "repository" // those, and a repository for Docker
	fromNowhere    = "installed"  // the image holds everything
)

func (p packagesParam) source() string { return cmp.Or(p.Source, fromImage) }

func (c *checker) packages(p packagesParam) {
	switch p.source() {
	case fromImage, fromNowhere:
		for _, name := range p.Present() {
			c.fault("packages."+name, "", "has no effect with packages.source "+p.source())
		}
	case fromRepository:
		c.faults = append(c.faults, vnflcm.AtPath("packages", p.Validate(mgmt.Artifacts(c.op))))
	default:
		c.fault("packages.source", p.Source, "must be image, repository or installed")
	}
	if p.DockerPackage != "" && p.DockerPackage != dockerDebian && p.DockerPackage != dockerCE {
		c.fault("packages.docker_package", p.DockerPackage, fmt.Sprintf("must be %s or %s", dockerDebian, dockerCE))
	}
	if p.DockerVersion != "" && !linux.IsVersion(p.DockerVersion) {
		c.fault("packages.docker_version", p.DockerVersion, "must be a version of the package, such as 20.10.24* or 5:27.3.1-1~debian.12~bookworm")
	}
	if p.source() == fromNowhere && p.DockerPackage+p.DockerVersion != "" {
		c.fault("packages.docker_version", p.DockerVersion, "neither it nor docker_package has an effect with packages.source installed")
	}
}
