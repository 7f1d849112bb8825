package kubespray_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/spf13/afero"
	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestKeys checks logins with keys: from this process to machines and to the Ansible server, and from the Ansible server to
// nodes, also with a passphrase. sudo gets a separate password.
func TestKeys(t *testing.T) {
	t.Parallel()
	nodes, server := sshtest.NewKey(t, ssh.KeyAlgoECDSA256), sshtest.NewKey(t, ssh.KeyAlgoED25519)
	l := openLab(t, setup{
		sandbox: sandbox.Config{AuthorizedKeys: []string{nodes.Public}, Password: "unknown", SudoPassword: "become"},
		server: func(s *sandbox.AnsibleServer) {
			s.AuthorizedKeys, s.Password, s.Sshpass = []string{server.Public}, "unknown", false
		},
	})
	secret := clustertest.Protected(t, nodes, "phrase")
	id := l.Instantiated(sample, clustertest.Sized("simple", 0), with(t, `{
		"ansible":{"password":null,"private_key":`+clustertest.Quoted(string(server.PEM))+`,"host_key":`+clustertest.Quoted(l.server().PublicKey())+`},
		"master_node":{"password":null,"private_key":`+clustertest.Quoted(string(nodes.PEM))+`,"become_password":"become"},
		"worker_node":{"password":null,"private_key":`+clustertest.Quoted(secret)+`,"passphrase":"phrase","become_password":"become"},
		"external_lb_param":null}`))
	l.WantNodes(1, 1, 0)
	l.scaleOut(id)
	l.WantNodes(1, 2, 0)
	for _, name := range []string{"master", "worker"} {
		info, err := l.server().FS().Stat(inventory + "/keys/" + name)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// TestCanaries plants secrets in every credential field, and looks for them in everything that is logged, stored or
// visible.
func TestCanaries(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{
		sandbox: sandbox.Config{Password: "canary-node"},
		server:  func(s *sandbox.AnsibleServer) { s.Password = "canary-server" },
	})
	id := l.Instantiated(sample, clustertest.Sized("simple", 1), with(t, `{"ansible":{"password":"canary-server"},
		"master_node":{"password":"canary-node","become_password":"canary-node"},"worker_node":{"password":"canary-node"},
		"external_lb_param":{"ssh_password":"canary-node"},
		"proxy":{"http_proxy":"http://user:canary-proxy-1@proxy:3128","https_proxy":"http://user:canary-proxy-2@proxy:3128"}}`))
	l.scaleOut(id)
	// This operation fails, because errors are where secrets leak most often.
	l.driver.Timeouts.Login = time.Second
	m := l.Process()
	opID, err := m.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance",
		AdditionalParams: params(t, `{"worker_node":{"password":"canary-wrong"},"ansible":{"vault_password":"canary-vault"}}`)})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.World.Stop("masterNode-0"); err != nil {
		t.Fatal(err)
	}
	occ, failure := m.Wait(t.Context(), opID)
	if failure == nil {
		t.Fatal("it did not fail")
	}
	inst, err := l.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	public, err := json.Marshal([]any{occ, inst})
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]string{"log": l.Log(), "events": fmt.Sprintf("%+v", l.Events()), "public JSON": string(public), "store": l.Stored(),
		"error": fmt.Sprintf("%v %+v %#v", failure, failure, failure)}
	for where, text := range told {
		if i := strings.Index(text, "canary"); i >= 0 {
			t.Errorf("%s: %.200s", where, text[max(0, i-80):])
		}
	}
	for _, h := range append(l.World.Hosts(), l.server()) {
		for _, r := range h.Commands() {
			for _, arg := range r.Argv {
				// Ansible puts the environment of tasks, with the proxy, on command lines of the nodes.
				if strings.Contains(arg, "canary") && (h == l.server() || !strings.Contains(arg, "_proxy=http://user:canary-proxy-")) {
					t.Errorf("%s: on the command line %q", h.Name(), r.Argv)
				}
			}
		}
	}
	l.privately(l.server().FS())
}

// privately checks that only the owner can read files with secrets on the Ansible server.
func (l *lab) privately(files afero.Fs) {
	l.t.Helper()
	found := 0
	err := afero.Walk(files, "/home/ansible", func(name string, info fs.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		data, err := afero.ReadFile(files, name)
		if strings.Contains(string(data), "canary") {
			found++
			if info.Mode().Perm() != 0o600 {
				l.t.Errorf("%s has a secret and mode %v", name, info.Mode())
			}
		}
		return err
	})
	if err != nil {
		l.t.Fatal(err)
	}
	if found == 0 {
		l.t.Error("no file has a secret: the test has lost its way")
	}
}
