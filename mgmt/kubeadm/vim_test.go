package kubeadm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const (
	nodesPath  = "/api/v1/nodes"
	secretPath = "/api/v1/namespaces/default/secrets/none"
)

// TestRegistration checks that the entry leads to the cluster, after healing the whole VNF to the new cluster, and that
// terminating removes the entry.
func TestRegistration(t *testing.T) {
	t.Parallel()
	for _, flavour := range []string{"simple", "complex"} {
		for _, file := range []string{"instantiate_sandbox.json", "instantiate_script.json"} {
			t.Run(flavour+" "+file, func(t *testing.T) {
				t.Parallel()
				l := openLab(t, setup{})
				id := l.Instantiated(file, clustertest.Sized(flavour, 0))
				first, extra := l.Entry(kubeadm.VIMID(id))
				if diff := cmp.Diff(map[string]any{"vim_name": extra["vim_name"]}, extra); diff != "" {
					t.Error(diff)
				}
				if code, _, err := l.Ask(first, http.MethodDelete, secretPath, ""); code != http.StatusNotFound {
					t.Errorf("an administrator: %d, %v", code, err)
				}
				l.Must(l.Heal(t.Context(), id, wholeHeal))
				second, _ := l.Entry(kubeadm.VIMID(id))
				if code, _, err := l.Ask(second, http.MethodGet, nodesPath, ""); code != http.StatusOK {
					t.Errorf("the new cluster: %d, %v", code, err)
				}
				if second.Token.Equal(first.Token) || second.CA == first.CA {
					t.Error("the entry is still that of the old cluster")
				}
				l.Must(l.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
				if _, err := l.VIMs().Get(t.Context(), "", kubeadm.VIMID(id)); !errors.Is(err, vnflcm.ErrNotFound) {
					t.Errorf("the entry is left: %v", err)
				}
			})
		}
	}
}

// TestRegistrationParameters checks a role with few rights, and a token that expires.
func TestRegistrationParameters(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{})
	id := l.Instantiated("instantiate_sandbox.json", with(t, `{"vim_registration":{"cluster_role":"view","token":"request","token_expiration":"7200"}}`))
	access, extra := l.Entry(kubeadm.VIMID(id))
	if get, _, err := l.Ask(access, http.MethodGet, nodesPath, ""); get != http.StatusOK {
		t.Errorf("to look: %d, %v", get, err)
	}
	if del, _, err := l.Ask(access, http.MethodDelete, secretPath, ""); del != http.StatusForbidden {
		t.Errorf("to delete: %d, %v", del, err)
	}
	text, _ := extra["bearer_token_expires"].(string)
	if expires, err := time.Parse(time.RFC3339, text); err != nil || time.Until(expires) > 2*time.Hour || time.Until(expires) < time.Hour {
		t.Errorf("it ends at %q: %v", text, err)
	}
}

// TestRegistrationFails: if the cluster lacks the role, registering fails at once, and the error names the role.
func TestRegistrationFails(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{})
	_, opID, err := l.Begin("instantiate_sandbox.json", with(t, `{"vim_registration":{"cluster_role":"none"}}`))
	err = l.Fails(opID, err)
	if !strings.Contains(err.Error(), "there is no such ClusterRole: none") {
		t.Errorf("%v", err)
	}
}

// TestAccountEnds checks that the account is deleted before the machines, and that terminating succeeds if the cluster does
// not answer.
func TestAccountEnds(t *testing.T) {
	t.Parallel()
	for _, dead := range []bool{false, true} {
		t.Run(map[bool]string{false: "alive", true: "dead"}[dead], func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{})
			id := l.Instantiated("instantiate_sandbox.json")
			var mu sync.Mutex
			var deleted []string
			l.World.OnRequest(func(_, method, path string) {
				mu.Lock()
				defer mu.Unlock()
				if method == http.MethodDelete {
					deleted = append(deleted, path)
				}
			})
			if dead {
				if err := l.World.Stop("masterNode-0"); err != nil {
					t.Fatal(err)
				}
			}
			l.Must(l.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
			mu.Lock()
			defer mu.Unlock()
			if slices.Contains(deleted, "/api/v1/namespaces/kube-system/serviceaccounts/vnfkit-vim") == dead {
				t.Errorf("deleted: %q", deleted)
			}
			if strings.Contains(l.Log(), "the service account of the VIM could not be removed") != dead {
				t.Error("a warning too many, or none")
			}
		})
	}
}

// TestHelmInfo checks that one address is a text and several are a list, and that only a reader of the registry gets the
// password: all other readers get a mask.
func TestHelmInfo(t *testing.T) {
	t.Parallel()
	for flavour, controlPlane := range map[string]int{"simple": 1, "complex": 3} {
		t.Run(flavour, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{pkg: helmPackage(t, helmInstaller)})
			id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized(flavour, 0), with(t, helmParams))
			_, extra := l.Entry(kubeadm.VIMID(id))
			info, _ := extra["helm_info"].(map[string]any)
			list, isList := info["masternode_ip"].([]any)
			one, isText := info["masternode_ip"].(string)
			if isText != (controlPlane == 1) || isList != (controlPlane > 1) || isList && len(list) != controlPlane || isText && one == "" {
				t.Errorf("%+v", info["masternode_ip"])
			}
			if info["masternode_username"] != "ubuntu" || info["masternode_password"] != "ubuntu" {
				t.Errorf("%+v", info)
			}
			keys, _ := info["masternode_host_keys"].([]any)
			if len(keys) != controlPlane {
				t.Fatalf("%d host keys of %d nodes: %+v", len(keys), controlPlane, keys)
			}
			for i, line := range keys {
				address, key, _ := strings.Cut(fmt.Sprint(line), " ")
				if _, err := sshexec.PinnedHostKeys(key); err != nil || isText && address != one || isList && address != list[i] {
					t.Errorf("%q: %v", line, err)
				}
			}
		})
	}
}

// TestLoginInHelmInfo: the entry has the key that the request gives, and the password only if a login needs it.
func TestLoginInHelmInfo(t *testing.T) {
	t.Parallel()
	key := sshtest.NewKey(t, ssh.KeyAlgoECDSA256)
	plain, locked := string(key.PEM), clustertest.Protected(t, key, "phrase")
	for name, c := range map[string]struct {
		login         map[string]any // of the request; null removes an attribute
		sshPass, sudo string         // passwords of the machines
		want          map[string]any
	}{
		"password":                         {map[string]any{"password": "pw"}, "pw", "", map[string]any{"masternode_password": "pw"}},
		"password, sudo asks":              {map[string]any{"password": "pw"}, "pw", "pw", map[string]any{"masternode_password": "pw"}},
		"key":                              {map[string]any{"password": nil, "private_key": plain}, "unknown", "", map[string]any{"masternode_private_key": plain}},
		"key with passphrase":              {map[string]any{"password": nil, "private_key": locked, "passphrase": "phrase"}, "unknown", "", map[string]any{"masternode_private_key": locked, "masternode_passphrase": "phrase"}},
		"key and password that is needed":  {map[string]any{"password": "pw", "private_key": plain}, "unknown", "pw", map[string]any{"masternode_private_key": plain, "masternode_password": "pw"}},
		"key and password without purpose": {map[string]any{"password": "pw", "private_key": plain}, "unknown", "", map[string]any{"masternode_private_key": plain}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{pkg: helmPackage(t, helmInstaller), sandbox: sandbox.Config{AuthorizedKeys: []string{key.Public}, Password: c.sshPass, SudoPassword: c.sudo}})
			login, err := json.Marshal(c.login)
			if err != nil {
				t.Fatal(err)
			}
			id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 0), with(t, helmParams),
				with(t, fmt.Sprintf(`{"master_node":%s,"worker_node":%[1]s}`, login)))
			_, extra := l.Entry(kubeadm.VIMID(id))
			info, _ := extra["helm_info"].(map[string]any)
			delete(info, "masternode_ip")
			delete(info, "masternode_host_keys")
			c.want["masternode_username"] = "ubuntu"
			if diff := cmp.Diff(c.want, info); diff != "" {
				t.Error(diff)
			}
		})
	}
}
