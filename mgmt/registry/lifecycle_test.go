package registry_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/registry"
	"github.com/vnfkit/vnfkit/mgmt/registry/client"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestLife: the image from the package, HTTP, as in the specification.
func TestLife(t *testing.T) {
	t.Parallel()
	l := newLab(t, setup{})
	id := l.Instantiated("instantiate.json", with(t, `{"probe":true}`))
	c := l.connection(id)
	if diff := cmp.Diff(client.Connection{Type: client.HTTP, Server: "198.18.0.10:5000"}, c); diff != "" {
		t.Errorf("connection:\n%s", diff)
	}
	must(t, l.push(c, "team/web:1"))
	must(t, l.pull(c, "team/web:1"))
	if tags, err := remote.List(reference(t, c, "vnfkit/probe").Context(), l.options(c)...); err == nil && len(tags) > 0 {
		t.Errorf("the probe has left %q", tags)
	}

	l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{l.VNFCs(id)[0].ID}}))
	if err := l.pull(l.connection(id), "team/web:1"); err == nil {
		t.Error("the image has outlived the machine that it was on")
	}
	l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{}))
	must(t, l.push(l.connection(id), "team/web:1"))

	l.Must(l.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	if left := l.World.Hosts(); len(left) != 0 {
		t.Errorf("%d machines are left", len(left))
	}
}

// TestFloatingAddress: ssh_cp_name may be the name of a floating address that the VNFD does not declare.
func TestFloatingAddress(t *testing.T) {
	t.Parallel()
	l := newLab(t, setup{sandbox: sandbox.Config{Floating: map[string]string{"CP1_FloatingIP": "CP1"}}})
	id := l.Instantiated("instantiate.json", with(t, `{"ssh_cp_name":"CP1_FloatingIP"}`))
	must(t, l.push(l.connection(id), "team/web:1"))
	l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{}))
	must(t, l.push(l.connection(id), "team/web:2"))
}

// TestKeys: the machine accepts only a key, with and without a passphrase; the password is only for sudo.
func TestKeys(t *testing.T) {
	t.Parallel()
	key := sshtest.NewKey(t, ssh.KeyAlgoECDSA256)
	plain, locked := clustertest.Quoted(string(key.PEM)), clustertest.Quoted(clustertest.Protected(t, key, "phrase"))
	for name, c := range map[string]struct{ login, sudo string }{
		"key":                   {`{"ssh_password":null,"ssh_private_key":` + plain + `}`, ""},
		"key with passphrase":   {`{"ssh_password":null,"ssh_private_key":` + locked + `,"ssh_passphrase":"phrase"}`, ""},
		"key and sudo password": {`{"ssh_password":"become","ssh_private_key":` + plain + `}`, "become"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, setup{sandbox: sandbox.Config{AuthorizedKeys: []string{key.Public}, Password: "unknown", SudoPassword: c.sudo}})
			id := l.Instantiated("instantiate.json", with(t, c.login))
			must(t, l.push(l.connection(id), "team/web:1"))
			l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{l.VNFCs(id)[0].ID}}))
			must(t, l.push(l.connection(id), "team/web:2"))
		})
	}
}

func TestConnectionOfOthers(t *testing.T) {
	t.Parallel()
	if _, err := registry.ConnectionOf(vnflcm.VnfcResourceInfo{}); !errors.Is(err, registry.ErrNoRegistry) {
		t.Errorf("the error is %v", err)
	}
	broken := vnflcm.VnfcResourceInfo{ID: "e3c4", Name: "hub-0", Metadata: map[string]string{registry.MetadataKey: "{"}}
	if _, err := registry.ConnectionOf(broken); err == nil || !strings.Contains(err.Error(), "of VNFC hub-0 (e3c4): ") {
		t.Errorf("the error is %v", err)
	}
}

const secured = `{"server_name":"registry.example.org","tls":{},"users":[{"username":"robot","password":"canary-robot"},{"username":"dev","password":"canary-dev"}],"probe":true}`

// TestSecured: TLS with a CA of ours, that stays when the machine is healed, and users.
func TestSecured(t *testing.T) {
	t.Parallel()
	l := newLab(t, setup{})
	id := l.Instantiated("instantiate.json", with(t, secured))
	c := l.connection(id)
	want := client.Connection{Type: client.HTTPS, Server: "registry.example.org:5000", HostsString: "198.18.0.10 registry.example.org", CACertificate: c.CACertificate}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("connection:\n%s", diff)
	}
	c.Username, c.Password = "dev", vnflcm.NewSecret("canary-dev")
	must(t, client.Connections{c}.Validate("list", nil))
	must(t, l.push(c, "team/web:1"))
	for _, wrong := range []func(*client.Connection){
		func(c *client.Connection) { c.Username = "" },
		func(c *client.Connection) { c.Password = vnflcm.NewSecret("canary-robot") },
		func(c *client.Connection) { c.CACertificate = "" },
	} {
		stranger := c
		wrong(&stranger)
		if err := l.pull(stranger, "team/web:1"); err == nil {
			t.Errorf("%+v may pull", stranger)
		}
	}
	for _, name := range []string{"/etc/vnfkit/registry/tls.key", "/etc/vnfkit/registry/htpasswd"} {
		if info, err := l.machine().FS().Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}

	l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{l.VNFCs(id)[0].ID}}))
	must(t, l.push(c, "team/web:2")) // those who trusted the registry go on to do so
	l.noCanaries()
}

// noCanaries: passwords are in no log, record, command line or file but that of the hashes.
func (l *lab) noCanaries() {
	l.t.Helper()
	where := map[string]string{"the log": l.Log(), "the command lines": "", "the file of users": l.file("/etc/vnfkit/registry/htpasswd")}
	for _, r := range l.machine().Commands() {
		where["the command lines"] += strings.Join(r.Argv, " ") + "\n"
	}
	for _, r := range l.Records("instance", "operation", "step", "state") {
		where[r.Kind+" "+r.ID] = string(r.Body)
	}
	for place, text := range where {
		if strings.Contains(text, "canary-") || strings.Contains(text, "PRIVATE KEY") {
			l.t.Errorf("a secret is in %s", place)
		}
	}
}

// TestCertificateOfThePackage: clients are told its CA.
func TestCertificateOfThePackage(t *testing.T) {
	t.Parallel()
	certificate, key, ca := issued(t, "registry.example.org")
	l := newLab(t, setup{files: map[string]string{"Files/tls.crt": certificate, "Files/tls.key": key, "Files/ca.crt": ca}})
	id := l.Instantiated("instantiate.json", with(t, `{"port_no":"443","server_name":"registry.example.org","probe":true,
		"tls":{"certificate_path":"Files/tls.crt","key_path":"Files/tls.key","ca_path":"Files/ca.crt"}}`))
	c := l.connection(id)
	want := client.Connection{Type: client.HTTPS, Server: "registry.example.org:443", HostsString: "198.18.0.10 registry.example.org", CACertificate: strings.TrimSpace(ca)}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("connection:\n%s", diff)
	}
	must(t, l.push(c, "team/web:1"))
}

// TestPulled: an image of a public registry, through a proxy.
func TestPulled(t *testing.T) {
	t.Parallel()
	l := newLab(t, setup{sandbox: sandbox.Config{PublicImages: []string{"registry:2"}}})
	id := l.Instantiated("instantiate.json", with(t, `{"image_path":null,"image":"registry:2","proxy":{"http_proxy":"http://u:canary-proxy@p:3128","https_proxy":"http://p:3128","no_proxy":"example.org"}}`))
	must(t, l.push(l.connection(id), "team/web:1"))
	const dropIn = `[Service]
Environment="HTTP_PROXY=http://u:canary-proxy@p:3128"
Environment="HTTPS_PROXY=http://p:3128"
Environment="NO_PROXY=example.org,127.0.0.1,localhost,198.18.0.10"
`
	if diff := cmp.Diff(dropIn, l.file("/etc/systemd/system/docker.service.d/50-vnfkit-proxy.conf")); diff != "" {
		t.Error(diff)
	}
	l.noCanaries()
}

// TestVolume: what is on a volume of the VNF outlives the machine.
func TestVolume(t *testing.T) {
	t.Parallel()
	const flavour = "Definitions/private_registry_df_simple.yaml"
	text, err := os.ReadFile(filepath.Join(sample, flavour))
	must(t, err)
	storing := strings.NewReplacer("      type: tosca.nodes.nfv.Vdu.Compute\n", "      type: tosca.nodes.nfv.Vdu.Compute\n      requirements:\n        - virtual_storage: images\n",
		"    CP1:\n", "    images:\n      type: tosca.nodes.nfv.Vdu.VirtualBlockStorage\n      properties:\n        virtual_block_storage_data:\n          size_of_storage: 10 GB\n          rdma_enabled: false\n\n    CP1:\n")
	l := newLab(t, setup{files: map[string]string{flavour: storing.Replace(string(text))}})
	id := l.Instantiated("instantiate.json", with(t, `{"volume":{"volume_resource_id":"images","path":"/srv/images"}}`))
	must(t, l.push(l.connection(id), "team/web:1"))
	if v := l.World.Volumes(); len(v) != 1 || v[0].MountedAt != "/srv/images" {
		t.Fatalf("%+v", v)
	}
	for _, request := range []vnflcm.HealVnfRequest{{VnfcInstanceID: []string{l.VNFCs(id)[0].ID}}, {}} {
		l.Must(l.Heal(t.Context(), id, request))
		if err := l.pull(l.connection(id), "team/web:1"); err != nil {
			t.Errorf("%+v: %v", request, err)
		}
	}

	_, opID, err := l.Begin("instantiate.json", with(t, `{"volume":{"volume_resource_id":"others"}}`))
	if err := l.Fails(opID, err); !strings.Contains(err.Error(), `volume.volume_resource_id: "others": the VNF has no volume of that name`) {
		t.Errorf("the error is %v", err)
	}
}
