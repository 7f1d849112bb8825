package e2e_test

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/internal/e2e/kube"
	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/sshexec"
)

// imageSettings are what an image for these hosts says to cloud-init: its data is in a folder, and the network, the host name, the
// host keys and the locale are there.
const imageSettings = `datasource_list: [NoCloud]
locale: false
network: {config: disabled}
preserve_hostname: true
ssh_deletekeys: false
`

// cloudImage has cloud-init set a host up. The login of the tests comes from the user data only.
func cloudImage(parts kube.Parts, spec *vmhost.Spec, userData, vendorData string) {
	const seed = "/var/lib/cloud/seed/nocloud/"
	spec.Tree, spec.User = parts.CloudTree(), "console"
	if spec.Files == nil {
		spec.Files = map[string]string{}
	}
	maps.Copy(spec.Files, map[string]string{
		"/etc/cloud/cloud.cfg.d/99-image.cfg": imageSettings,
		seed + "meta-data":                    "instance-id: node\n",
		seed + "user-data":                    "#cloud-config\n" + userData,
		seed + "vendor-data":                  "#cloud-config\n" + vendorData,
	})
}

// sampleUserData is what Heat makes of the resource machine_setup of the sample package when the request has a login.
func sampleUserData(t *testing.T) string {
	t.Helper()
	var template struct {
		Resources map[string]struct {
			Properties struct {
				CloudConfig any `yaml:"cloud_config"`
			}
		}
	}
	must(t, yaml.Unmarshal(read(t, filepath.Join(packageDir, "BaseHOT/complex/complex_hot_top.yaml")), &template))
	hash := strings.TrimSpace(run(t, "openssl", "passwd", "-6", password))
	config := resolved(template.Resources["machine_setup"].Properties.CloudConfig,
		map[string]string{"login_user": user, "login_password_hash": hash})
	text, err := yaml.Marshal(config)
	must(t, err)
	return string(text)
}

// resolved evaluates the functions get_param and if of a Heat template; every condition is true.
func resolved(value any, params map[string]string) any {
	switch value := value.(type) {
	case []any:
		for i := range value {
			value[i] = resolved(value[i], params)
		}
	case map[string]any:
		if name, ok := value["get_param"].(string); ok {
			return params[name]
		}
		if choice, ok := value["if"].([]any); ok {
			return resolved(choice[1], params)
		}
		for key := range value {
			value[key] = resolved(value[key], params)
		}
	}
	return value
}

// TestCloudInit boots machines with cloud-init: the user data of the sample package makes the login, AwaitBoot waits until cloud-init
// has finished, and HostsTemplate knows who writes /etc/hosts.
func TestCloudInit(t *testing.T) {
	parts := needParts(t, "kubeadm")
	sample := sampleUserData(t)
	const slow = "runcmd: ['sleep 5; touch /var/lib/finished']\n"
	for name, c := range map[string]struct{ user, vendor, template, complaint string }{
		"the sample, in an image that manages hosts": {user: sample + slow, vendor: "manage_etc_hosts: true\n"},
		"user data that manages hosts": {user: strings.ReplaceAll(sample, "manage_etc_hosts: false", "manage_etc_hosts: true") + slow,
			template: "/etc/cloud/templates/hosts.debian.tmpl"},
		"an early module fails": {user: sample + slow, vendor: "locale: unknown\n", complaint: "update-locale"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := vmhost.Spec{Name: "node", Password: password}
			cloudImage(parts, &spec, c.user, c.vendor)
			host, err := site.network.Create(t.Context(), spec)
			must(t, err)
			t.Cleanup(func() { must(t, host.Close()) })
			target := targetOf(t, host)
			machine := linux.AsRoot(newPool(t, sshexec.Options{}).Host(target))
			complaints, err := machine.AwaitBoot(within(t, 5*time.Minute))
			must(t, err)
			if !strings.Contains(complaints, c.complaint) || c.complaint == "" && complaints != "" {
				t.Errorf("complaints %q, want %q", complaints, c.complaint)
			}
			if done, err := machine.Succeeds(t.Context(), "test", "-f", "/var/lib/finished"); err != nil || !done {
				t.Errorf("AwaitBoot returned before cloud-init had finished (%v)", err)
			}
			if template, err := machine.HostsTemplate(t.Context()); err != nil || template != c.template {
				t.Errorf("the template of /etc/hosts is %q, %v", template, err)
			}
		})
	}
}
