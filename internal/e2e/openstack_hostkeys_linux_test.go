package e2e_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"golang.org/x/crypto/ssh"
	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

// keyedPackage returns the sample package with the template of docs/host-keys.md: each worker is a separate resource with a
// separate host key, and the control-plane nodes are members of a group that share one host key.
func keyedPackage(t *testing.T) string {
	t.Helper()
	pkg := variant(t, "BaseHOT/simple/simple_hot_top.yaml", "parameters:\n", "parameters:\n  ssh_host_keys: { type: json, hidden: true }\n")
	top := filepath.Join(pkg, "BaseHOT/simple/simple_hot_top.yaml")
	text := string(read(t, top))
	text, _, _ = strings.Cut(text, "  worker_instance:\n")
	text = strings.Replace(text, "      cloud_config:\n", "      cloud_config:\n        ssh_keys: { get_param: [ ssh_host_keys, masterNode ] }\n", 1)
	must(t, os.WriteFile(top, []byte(text+`  workerNode:
    type: simple_nested_worker.yaml
    properties:
      flavor: { get_param: [ nfv, VDU, workerNode, computeFlavourId ] }
      image: { get_param: [ nfv, VDU, workerNode, vcImageId ] }
      network: { get_param: [ nfv, CP, workerNode_CP2, network ] }
      host_key: { get_param: [ ssh_host_keys, workerNode ] }
      security_groups: [ { get_resource: node_ports } ]
`), 0o600))
	worker := filepath.Join(pkg, "BaseHOT/simple/nested/simple_nested_worker.yaml")
	must(t, os.WriteFile(worker, []byte(strings.NewReplacer("  user_data:\n    type: string\n", "  host_key: { type: json, hidden: true }\n",
		"resources:\n", "resources:\n  setup:\n    type: OS::Heat::CloudConfig\n    properties:\n      cloud_config:\n        ssh_keys: { get_param: host_key }\n",
		"user_data: { get_param: user_data }", "user_data: { get_resource: setup }").Replace(string(read(t, worker)))), 0o600))
	return pkg
}

// keysInUserData are the public keys that belong to the private keys in the user data of servers, in authorized_keys form.
func (l *stackLab) keysInUserData(vnfcs map[string]vnflcm.VnfcResourceInfo) map[string]string {
	l.t.Helper()
	out := map[string]string{}
	nova := *l.operator.Compute
	nova.Microversion = "2.3" // the first that shows user data, to an administrator
	for _, v := range vnfcs {
		machine, err := servers.Get(l.t.Context(), &nova, server(v)).Extract()
		must(l.t, err)
		text, err := base64.StdEncoding.DecodeString(*machine.Userdata)
		must(l.t, err)
		var config struct {
			Keys map[string]string `yaml:"ssh_keys"`
		}
		must(l.t, yaml.Unmarshal(text, &config))
		key, err := ssh.ParsePrivateKey([]byte(config.Keys["ed25519_private"]))
		must(l.t, err)
		out[server(v)] = strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key.PublicKey()))) + " made by the VNFM"
		if config.Keys["ed25519_public"] != out[server(v)] {
			l.t.Errorf("the public key is %s, not %s", config.Keys["ed25519_public"], out[server(v)])
		}
	}
	return out
}

// TestHostKeysInUserData: Heat and Nova give each server the host key that management drivers are told, and Heat does not show it.
func TestHostKeysInUserData(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	l := newStackLab(t, openstack.VimTypeV2, keyedPackage(t))
	request, err := stackRequest("instantiate_complex.json", "simple", l.networks[1], 2)
	must(t, err)
	class, err := vnflcm.ParseParams([]byte(`{"lcm-operation-user-data": "./UserData/userdata_standard.py", "lcm-operation-user-data-class": "StandardUserData"}`))
	must(t, err)
	request.AdditionalParams, err = request.AdditionalParams.Merge(class)
	must(t, err)

	check := func(vnfcs map[string]vnflcm.VnfcResourceInfo) map[string]vnflcm.VnfcResourceInfo {
		t.Helper()
		keys := l.keysInUserData(vnfcs)
		if diff := cmp.Diff(keys, l.driver.hostKeys()); diff != "" {
			t.Error(diff)
		}
		seen := map[string]bool{}
		for _, key := range keys {
			if seen[key] {
				t.Errorf("two servers have the key %s", key)
			}
			seen[key] = true
		}
		return vnfcs
	}
	two := check(l.must(l.Instantiate(ctx, l.id, request)))
	var shown struct {
		Stack struct {
			Parameters map[string]string
		}
	}
	l.heat(http.MethodGet, nil, &shown, "stacks", openstack.StackName(l.id))
	if got := shown.Stack.Parameters["ssh_host_keys"]; got != "******" {
		t.Errorf("Heat shows %s", got)
	}
	three := check(l.must(l.Scale(ctx, l.id, scale(vnflcm.ScaleOut, 1))))
	l.wantUnchanged(two, three)
	former := l.driver.hostKeys()
	sick := workers(three)[0]
	healed := check(l.must(l.Heal(ctx, l.id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{sick}})))
	l.wantUnchanged(three, healed, sick)
	if server(healed[sick]) == server(three[sick]) || l.driver.hostKeys()[server(healed[sick])] == former[server(three[sick])] {
		t.Errorf("server %s with the key %s was not replaced by one with another key", server(three[sick]), former[server(three[sick])])
	}
	check(l.must(l.Scale(ctx, l.id, scale(vnflcm.ScaleIn, 1))))
	l.terminate(vnflcm.TerminateForceful)
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.IndexFunc(l.events, func(e vnflcm.Event) bool { return strings.Contains(e.Message, "PRIVATE KEY") }); i >= 0 {
		t.Errorf("a private key is in the event %+v", l.events[i])
	}
}

// consoleRecorder answers for the console logs of Nova, whose fake driver has none that a machine could have written.
type consoleRecorder struct {
	http.RoundTripper
	log string
}

func (r consoleRecorder) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodPost || !strings.HasSuffix(request.URL.Path, "/action") {
		return r.RoundTripper.RoundTrip(request)
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	answer, err := r.RoundTripper.RoundTrip(request)
	if err != nil || !bytes.Contains(body, []byte("os-getConsoleOutput")) || answer.StatusCode != http.StatusOK {
		return answer, err
	}
	text, err := io.ReadAll(answer.Body)
	answer.Body = io.NopCloser(bytes.NewReader(bytes.Replace(text, []byte("FAKE CONSOLE OUTPUT"), []byte(r.log), 1)))
	answer.ContentLength = -1
	return answer, err
}

// TestHostKeysOfConsole asks the real Nova for console logs: those of its fake driver, which show no key, and then with a key put into
// its answers.
func TestHostKeysOfConsole(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	l := newStackLab(t, openstack.VimTypeV2, packageDir)
	vim, err := l.cloud.VIM("cloud", openstack.VimTypeV2)
	must(t, err)
	vim.Extra, err = vnflcm.NewParams(map[string]string{"host_keys": "console"})
	must(t, err)
	must(t, l.VIMs().Put(ctx, vim))
	use := func(transport http.RoundTripper) {
		l.driver.Close()
		l.driver.Driver = openstack.New(openstack.Config{Allow: outbound.AllowAny, Poll: 300 * time.Millisecond, ConsoleTimeout: 3 * time.Second, Transport: transport})
	}
	use(nil)
	opID, err := l.instantiate("simple", 1)
	must(t, err)
	_, err = l.Wait(ctx, opID)
	if !errors.Is(err, openstack.ErrNoHostKey) || !strings.Contains(err.Error(), "read-host-key") {
		t.Fatalf("got %v", err)
	}
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGj3jr2QLzKEJIZyYO5KufttCylrA0l8gaWHl0mHGAWM"
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	use(consoleRecorder{transport, `-----BEGIN SSH HOST KEY KEYS-----\r\n` + key + ` root@worker\r\n-----END SSH HOST KEY KEYS-----\r\n`})
	must(t, l.Retry(ctx, opID))
	_, err = l.Wait(ctx, opID)
	must(t, err)
	want := map[string]string{}
	for _, v := range l.vnfcs() {
		want[server(v)] = key + " console log"
	}
	if diff := cmp.Diff(want, l.driver.hostKeys()); diff != "" || len(want) != 2 {
		t.Error(diff)
	}
	healed := l.must(l.Heal(ctx, l.id, vnflcm.HealVnfRequest{VnfcInstanceID: workers(l.vnfcs())[:1]}))
	for _, v := range healed {
		if got := l.driver.hostKeys()[server(v)]; got != key+" console log" {
			t.Errorf("server %s has the key %q after the heal", server(v), got)
		}
	}
	l.terminate(vnflcm.TerminateForceful)
}
