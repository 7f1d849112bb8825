package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/examples/internal/cli"
	"github.com/vnfkit/vnfkit/examples/internal/samples"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

// config are the settings of the program: a YAML file, and flags that override it.
type config struct {
	Listen   string `yaml:"listen"`   // address and port
	APIRoot  string `yaml:"api_root"` // of URIs in answers and notifications, such as https://vnfm.example.com:9890
	Packages string `yaml:"packages"` // folder of CSARs, or of folders with the layout of one
	// Onboarding is the folder of packages that are onboarded at run time; default: none are.
	Onboarding string         `yaml:"onboarding"`
	Data       string         `yaml:"data"`     // folder of the database, the key and what Helm keeps
	Helm       string         `yaml:"helm"`     // who runs Helm for CNFs: auto, cli or sdk. Default auto; with -sandbox sdk
	Key        secret         `yaml:"key"`      // that seals the database: a file, or base64 in the environment; default: the file key in Data, made if missing
	Postgres   secret         `yaml:"postgres"` // DSN of a PostgreSQL instead of SQLite; the environment variable VNFM_POSTGRES overrides it
	Temporal   temporalConfig `yaml:"temporal"`
	TLS        tlsConfig      `yaml:"tls"`
	Tokens     tokenConfig    `yaml:"tokens"`
	Keystone   keystoneConfig `yaml:"keystone"`
	NFVO       nfvoConfig     `yaml:"nfvo"`    // default: none
	Grant      *grantConfig   `yaml:"grant"`   // default: operations need no grant
	Audit      string         `yaml:"audit"`   // file of audit records, or "log"; default: none
	Scripts    []string       `yaml:"scripts"` // names of drivers in VNFDs that are scripts of the package
	// CoordinationScripts allows scripts of packages that requests to change a package name.
	CoordinationScripts bool          `yaml:"coordination_scripts"`
	Allow               []string      `yaml:"allow"`   // networks (CIDR) of loopback, link-local and metadata addresses that requests may name
	VIMs                []vimConfig   `yaml:"vims"`    // requests that name no VIM use the first one that their tenant may use
	Metrics             string        `yaml:"metrics"` // address and port at which Prometheus reads /metrics, without TLS; default: none
	Sandbox             sandboxConfig `yaml:"sandbox"` // with -sandbox
	// Maintenance is when certificates are renewed without an order; default: never.
	Maintenance maintenanceConfig `yaml:"maintenance"`
	OldKeys     []secret          `yaml:"old_keys"` // that records may still be sealed under; "vnfm admin reseal" makes them superfluous
	// Snapshots is where snapshots of VNFs are kept; default: nowhere, and none are taken.
	Snapshots snapshotConfig `yaml:"snapshots"`
	// Retention is how long operations that have ended are kept; default: for ever.
	Retention retentionConfig `yaml:"retention"`

	source        string // for people: where the VIMs are configured
	onSandbox     bool
	migrates      bool // instead of serving
	planMigration bool
	secretFiles   []string // files that have secrets, besides the keys
}

// helmModes are the values of the setting helm.
var helmModes = map[string]kubernetes.HelmMode{"": kubernetes.Auto, "auto": kubernetes.Auto, "cli": kubernetes.CLI, "sdk": kubernetes.SDK}

// helmBy returns who runs Helm. Machines of the sandbox have no Helm that knows charts.
func (c *config) helmBy() kubernetes.HelmMode {
	if c.onSandbox {
		return kubernetes.SDK
	}
	return helmModes[c.Helm]
}

type tlsConfig struct {
	Certificate string                  `yaml:"certificate"` // PEM file
	Key         secret                  `yaml:"key"`         // PEM, in a file or in the environment
	ClientCA    string                  `yaml:"client_ca"`   // authorities of client certificates
	Clients     map[string]clientConfig `yaml:"clients"`     // by the subject of the certificate
}

// vimConfig is a VIM. With id and share alone it shares a cluster that an operation has registered.
type vimConfig struct {
	ID            string       `yaml:"id"`
	Type          string       `yaml:"type"`
	InterfaceInfo vimInfo      `yaml:"interface_info"`
	AccessInfo    vimInfo      `yaml:"access_info"`
	Share         *shareConfig `yaml:"share"` // default: all
}

// shareConfig says which tenants may use a VIM: "all", or a list of them.
type shareConfig vnflcm.Share

// UnmarshalYAML implements yaml.Unmarshaler.
func (s *shareConfig) UnmarshalYAML(node *yaml.Node) error {
	if s.All = node.Kind == yaml.ScalarNode && node.Value == "all"; s.All {
		return nil
	}
	if err := node.Decode(&s.Tenants); err != nil {
		return fmt.Errorf("line %d: share must be all, or a list of tenants", node.Line)
	}
	return nil
}

// share returns which tenants may use the VIM.
func (v vimConfig) share() vnflcm.Share {
	if v.Share == nil {
		return vnflcm.Share{All: true}
	}
	return vnflcm.Share(*v.Share)
}

// tenants are those that VIMs are shared with by name.
func (c *config) tenants() (names []string) {
	for _, vim := range c.VIMs {
		names = append(names, vim.share().Tenants...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// isCluster reports whether the VIM is one that an operation has registered.
func (v vimConfig) isCluster() bool {
	return v.Type == "" && v.Share != nil && len(v.InterfaceInfo)+len(v.AccessInfo) == 0
}

// sandboxConfig makes the sandbox like the OpenStack that requests were written for.
type sandboxConfig struct {
	VIMs     map[string]string       `yaml:"vims"`     // ids by which requests name the sandbox, and the vimType of each
	Floating map[string]string       `yaml:"floating"` // sandbox.Config.Floating
	Ansible  []sandbox.AnsibleServer `yaml:"ansible"`  // sandbox.Config.Ansible
}

const help = `Vnfm is a VNF manager that serves SOL003 over HTTP.

	vnfm -sandbox            machines inside the process, no cloud
	vnfm -config vnfm.yaml   a real one; README.md has every setting
	vnfm -config vnfm.yaml -temporal temporal.example.com:7233
	                         one of several processes, to which Temporal gives the operations
	vnfm admin -h            commands for its operator
`

// flags are the values of flags that override the file.
type flags struct {
	config
	file string
}

// common adds the flags of all command lines of the program.
func (f *flags) common(set *flag.FlagSet) {
	set.StringVar(&f.file, "config", "", "YAML file with settings; README.md has them")
	set.BoolVar(&f.onSandbox, "sandbox", false, "serve machines inside this process, with the sample packages; anyone on this machine may use it")
	set.StringVar(&f.Packages, "packages", "", "folder of VNF packages")
	set.StringVar(&f.Data, "data", "", "folder that keeps all state (with -sandbox by default a temporary one)")
}

// readConfig reads the flags and the file that they name.
func readConfig(args []string) (*config, error) {
	var f flags
	program := cli.New("vnfm", help)
	set := program.Flags
	f.common(set)
	set.StringVar(&f.Listen, "listen", "", "address and port (default 127.0.0.1:9890)")
	set.StringVar(&f.Temporal.Address, "temporal", "", "address and port of a Temporal server that shares operations out between processes; needs VNFM_POSTGRES or the setting postgres")
	set.BoolVar(&f.migrates, "migrate", false, "bring the database to the format of this version and end, when all processes have this version; docs/scaling.md has the steps")
	set.BoolVar(&f.planMigration, "plan-migration", false, "log what -migrate would change and end")
	if _, err := program.Parse(args, os.Stdout); err != nil {
		return nil, err
	}
	return f.settings()
}

// settings reads the file. Flags override it.
func (f *flags) settings() (*config, error) {
	c := &config{Listen: "127.0.0.1:9890", onSandbox: f.onSandbox, migrates: f.migrates, planMigration: f.planMigration}
	if c.onSandbox {
		c.Packages = filepath.Dir(samples.Package("k8s-cluster"))
	}
	c.source = "the configuration of the program"
	if f.file != "" {
		c.source = "the configuration file " + f.file
		if err := c.readFile(f.file); err != nil {
			return nil, err
		}
	}
	for setting, value := range map[*string]string{&c.Listen: f.Listen, &c.Packages: f.Packages, &c.Data: f.Data, &c.Temporal.Address: f.Temporal.Address} {
		if value != "" {
			*setting = value
		}
	}
	if dsn := os.Getenv("VNFM_POSTGRES"); dsn != "" {
		c.Postgres = secret{text: vnflcm.NewSecret(dsn)}
	}
	return c, c.check()
}

func (c *config) readFile(name string) error {
	text, err := os.ReadFile(name) //nolint:gosec // the user's own file
	if err != nil {
		return err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(c); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	c.Key.isFile()
	c.TLS.Key.isFile()
	c.NFVO.Key.isFile()
	for i := range c.OldKeys {
		c.OldKeys[i].isFile()
	}
	return nil
}

// check returns every fault of the settings.
func (c *config) check() error {
	var faults []error
	wrong := func(is bool, setting, reason string) {
		if is {
			faults = append(faults, fmt.Errorf("%s: %s", setting, reason))
		}
	}
	host, _, badListen := net.SplitHostPort(c.Listen)
	wrong(badListen != nil, "listen", "must be an address and a port, such as 127.0.0.1:9890")
	_, _, badMetrics := net.SplitHostPort(c.Metrics)
	wrong(c.Metrics != "" && badMetrics != nil, "metrics", "must be an address and a port, such as 127.0.0.1:9464")
	_, _, badTemporal := net.SplitHostPort(c.Temporal.Address)
	wrong(c.Temporal.Address != "" && badTemporal != nil, "temporal.address", "must be an address and a port, such as temporal.example:7233")
	wrong(c.Temporal.Address != "" && !c.Postgres.given(), "temporal", "needs postgres: Temporal runs operations in any process")
	wrong(c.Packages == "" && c.Onboarding == "" && c.NFVO.Packages == "", "packages", "is required: a folder of VNF packages, onboarding, or nfvo.packages")
	wrong(c.Data == "" && !c.onSandbox, "data", "is required: a folder for the state")
	wrong((c.TLS.Certificate == "") == c.TLS.Key.given(), "tls", "needs both certificate and key")
	_, knownHelm := helmModes[c.Helm]
	wrong(!knownHelm, "helm", "must be auto, cli or sdk")
	wrong(c.onSandbox && c.Helm == "cli", "helm", "cli needs the program helm on machines, which those of the sandbox lack")
	c.checkSenders(wrong)
	c.checkSecrets(wrong)
	c.NFVO.check(wrong)
	c.checkGrant(wrong)
	address, err := netip.ParseAddr(host)
	local := host == "localhost" || err == nil && address.IsLoopback()
	wrong(badListen == nil && !local && (c.TLS.Certificate == "" || !c.identifies()), "listen",
		c.Listen+" can be reached from other machines: that needs tls.certificate, and tokens, keystone or tls.client_ca to identify clients")
	for i, text := range c.Allow {
		_, err := netip.ParsePrefix(text)
		wrong(err != nil, fmt.Sprintf("allow[%d]", i), fmt.Sprintf("%q must be a network, such as 127.0.0.0/8 or fd00::/8", text))
	}
	for i, v := range c.VIMs {
		wrong(v.ID == "" || v.Type == "" && !v.isCluster(), fmt.Sprintf("vims[%d]", i), "needs id and type, or id and share for a cluster that an operation has registered")
		isSandbox := slices.ContainsFunc(slices.Collect(maps.Values(c.Sandbox.VIMs)), func(kind string) bool { return slices.Contains(vnflcm.VIMTypeNames(kind), v.Type) })
		wrong(isSandbox, fmt.Sprintf("vims[%d]", i), "has a type that sandbox.vims gives to the sandbox")
	}
	if _, err := c.Maintenance.window(); err != nil {
		wrong(true, "maintenance", err.Error())
	}
	c.Snapshots.check(wrong)
	if err := c.Retention.times().Check(); err != nil {
		wrong(true, "retention", "operations and failures must be times such as 90d or 2160h, and failures not less than operations")
	}
	wrong(!c.onSandbox && len(c.Sandbox.VIMs)+len(c.Sandbox.Floating)+len(c.Sandbox.Ansible) > 0, "sandbox", "needs the flag -sandbox")
	for _, id := range slices.Sorted(maps.Keys(c.Sandbox.VIMs)) {
		names := vnflcm.VIMTypeNames(openstack.VimTypeV1)
		wrong(!slices.Contains(names, c.Sandbox.VIMs[id]), "sandbox.vims."+id, "must be "+strings.Join(names, " or "))
	}
	return errors.Join(faults...)
}

// policy decides which addresses of requests the program connects to. Subscribers and repositories for the sandbox are on this
// machine.
func (c *config) policy() outbound.Policy {
	networks := c.Allow
	if c.onSandbox {
		networks = append(slices.Clone(networks), "127.0.0.0/8", "::1/128")
	}
	var allowed []netip.Prefix
	for _, text := range networks {
		allowed = append(allowed, netip.MustParsePrefix(text)) // check has parsed it
	}
	return outbound.Except(allowed...)
}

func (v vimConfig) connection() (vnflcm.VimConnectionInfo, error) {
	at, err1 := vnflcm.NewParams(v.InterfaceInfo)
	access, err2 := vnflcm.NewParams(v.AccessInfo)
	share := v.share()
	return vnflcm.VimConnectionInfo{VimID: v.ID, VimType: v.Type, InterfaceInfo: at, AccessInfo: access, Share: &share}, errors.Join(err1, err2)
}
