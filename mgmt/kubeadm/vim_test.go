package kubeadm_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// registration is what the entry of a cluster holds.
type registration struct {
	AuthURL string        `json:"auth_url"`
	Token   vnflcm.Secret `json:"bearer_token"`
	CA      string        `json:"ssl_ca_cert"`
}

// registered reads the entry of the cluster.
func (l *lab) registered(id string) (access registration, extra map[string]any) {
	l.t.Helper()
	vim, err := l.VIMs().Get(l.t.Context(), kubeadm.VIMID(id))
	if err != nil {
		l.t.Fatal(err)
	}
	extra = map[string]any{}
	unknown, err1 := vim.AccessInfo.Decode(&access)
	_, err2 := vim.Extra.Decode(&extra)
	if err := errors.Join(err1, err2); err != nil || len(unknown) > 0 {
		l.t.Fatalf("%v; also %q", err, unknown)
	}
	return access, extra
}

// ask asks the API as the entry says, from outside: TLS is verified. It returns the code of the answer.
func (l *lab) ask(r registration, method, path string) (int, error) {
	l.t.Helper()
	code, _, err := l.fetch(r, method, path, "")
	return code, err
}

func (l *lab) fetch(r registration, method, path, send string) (code int, body []byte, err error) {
	l.t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(r.CA)) {
		l.t.Fatalf("no CA: %q", r.CA)
	}
	transport := &http.Transport{DialContext: l.world.Dial, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(l.t.Context(), method, r.AuthURL+path, strings.NewReader(send))
	if err != nil {
		l.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+r.Token.Reveal())
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return 0, nil, err
	}
	body, err = io.ReadAll(answer.Body)
	return answer.StatusCode, body, errors.Join(err, answer.Body.Close())
}

const (
	nodesPath  = "/api/v1/nodes"
	secretPath = "/api/v1/namespaces/default/secrets/none"
)

// TestRegistration: the entry leads to the cluster, to the new one after a whole heal, and nowhere after terminate.
func TestRegistration(t *testing.T) {
	t.Parallel()
	for _, flavour := range []string{"simple", "complex"} {
		for _, file := range []string{"instantiate_sandbox.json", "instantiate_script.json"} {
			t.Run(flavour+" "+file, func(t *testing.T) {
				t.Parallel()
				l := openLab(t, setup{})
				id := l.cluster(file, sized(flavour, 0))
				first, extra := l.registered(id)
				if diff := cmp.Diff(map[string]any{"vim_name": extra["vim_name"]}, extra); diff != "" {
					t.Error(diff)
				}
				if code, err := l.ask(first, http.MethodDelete, secretPath); code != http.StatusNotFound {
					t.Errorf("an administrator: %d, %v", code, err)
				}
				l.must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{}))
				second, _ := l.registered(id)
				if code, err := l.ask(second, http.MethodGet, nodesPath); code != http.StatusOK {
					t.Errorf("the new cluster: %d, %v", code, err)
				}
				if second.Token.Equal(first.Token) || second.CA == first.CA {
					t.Error("the entry is still that of the old cluster")
				}
				l.must(l.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
				if _, err := l.VIMs().Get(t.Context(), kubeadm.VIMID(id)); !errors.Is(err, vnflcm.ErrNotFound) {
					t.Errorf("the entry is left: %v", err)
				}
			})
		}
	}
}

// TestRegistrationParameters: a narrow role, and a token that ends.
func TestRegistrationParameters(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{})
	id := l.cluster("instantiate_sandbox.json", with(t, `{"vim_registration":{"cluster_role":"view","token":"request","token_expiration":"7200"}}`))
	access, extra := l.registered(id)
	if get, err := l.ask(access, http.MethodGet, nodesPath); get != http.StatusOK {
		t.Errorf("to look: %d, %v", get, err)
	}
	if del, err := l.ask(access, http.MethodDelete, secretPath); del != http.StatusForbidden {
		t.Errorf("to delete: %d, %v", del, err)
	}
	text, _ := extra["bearer_token_expires"].(string)
	if expires, err := time.Parse(time.RFC3339, text); err != nil || time.Until(expires) > 2*time.Hour || time.Until(expires) < time.Hour {
		t.Errorf("it ends at %q: %v", text, err)
	}
}

// TestRegistrationFails: a role that the cluster does not have is found at once, and named.
func TestRegistrationFails(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{})
	_, opID, err := l.instantiate("instantiate_sandbox.json", with(t, `{"vim_registration":{"cluster_role":"none"}}`))
	err = l.fails(opID, err)
	if !strings.Contains(err.Error(), "there is no such ClusterRole: none") {
		t.Errorf("%v", err)
	}
}

// TestAccountEnds: the account goes before the machines do; a cluster that does not answer is no obstacle.
func TestAccountEnds(t *testing.T) {
	t.Parallel()
	for _, dead := range []bool{false, true} {
		t.Run(map[bool]string{false: "alive", true: "dead"}[dead], func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{})
			id := l.cluster("instantiate_sandbox.json")
			var mu sync.Mutex
			var deleted []string
			l.world.OnRequest(func(_, method, path string) {
				mu.Lock()
				defer mu.Unlock()
				if method == http.MethodDelete {
					deleted = append(deleted, path)
				}
			})
			if dead {
				if err := l.world.Stop("masterNode-0"); err != nil {
					t.Fatal(err)
				}
			}
			l.must(l.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
			mu.Lock()
			defer mu.Unlock()
			if slices.Contains(deleted, "/api/v1/namespaces/kube-system/serviceaccounts/vnfkit-vim") == dead {
				t.Errorf("deleted: %q", deleted)
			}
			if strings.Contains(l.log.String(), "the service account of the VIM could not be removed") != dead {
				t.Error("a warning too many, or none")
			}
		})
	}
}

// TestHelmInfo: one address as text, several as a list; the password is there for who asks the registry, and
// masked for all others.
func TestHelmInfo(t *testing.T) {
	t.Parallel()
	for flavour, masters := range map[string]int{"simple": 1, "complex": 3} {
		t.Run(flavour, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{pkg: helmPackage(t, helmInstaller)})
			id := l.cluster("instantiate_sandbox.json", sized(flavour, 0), with(t, helmParams))
			_, extra := l.registered(id)
			info, _ := extra["helm_info"].(map[string]any)
			list, isList := info["masternode_ip"].([]any)
			one, isText := info["masternode_ip"].(string)
			if isText != (masters == 1) || isList != (masters > 1) || isList && len(list) != masters || isText && one == "" {
				t.Errorf("%+v", info["masternode_ip"])
			}
			if info["masternode_username"] != "ubuntu" || info["masternode_password"] != "ubuntu" {
				t.Errorf("%+v", info)
			}
			keys, _ := info["masternode_host_keys"].([]any)
			if len(keys) != masters {
				t.Fatalf("%d host keys of %d nodes: %+v", len(keys), masters, keys)
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
