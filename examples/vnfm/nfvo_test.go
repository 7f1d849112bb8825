package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/internal/nfvotest"
)

// TestNFVO takes a cluster through a life with a package of an NFVO, which disables the package and then ends.
func TestNFVO(t *testing.T) {
	t.Parallel()
	orchestrator := nfvotest.Start(t).ServePackages()
	pkg := nfvotest.Package{ID: "package-of-the-nfvo", VnfdID: vnfdOf(1), Content: csarOf(t, "k8s-cluster", vnfdOf(1))}
	orchestrator.Put(pkg)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	address := listener.Addr().String()
	must(t, listener.Close())
	dir, data := t.TempDir(), t.TempDir()
	config, authority, password := filepath.Join(dir, "vnfm.yaml"), filepath.Join(dir, "ca.pem"), filepath.Join(dir, "secret")
	must(t, os.WriteFile(authority, orchestrator.Authority(), 0o600))
	must(t, os.WriteFile(password, []byte(nfvotest.Secret+"\n"), 0o600))
	must(t, os.WriteFile(config, fmt.Appendf(nil, "api_root: http://%s\nnfvo: {url: %q, ca: %q, token_url: %q, client_id: %s, client_secret: {file: %q}, packages: %q}\n",
		address, orchestrator.URL(), authority, orchestrator.TokenURL(), nfvotest.ClientID, password, filepath.Join(dir, "packages")), 0o600))

	p := start(t, data, "-config="+config, "-listen="+address)
	instance := p.create(vnfdOf(1))
	if _, document := p.send("GET", instance, nil, 200); document["vnfPkgId"] != pkg.ID {
		t.Errorf("the package of the instance: %v", document["vnfPkgId"])
	}
	p.do(instance+"/instantiate", request(t, "instantiate_sandbox.json"))
	p.send("DELETE", p.create(sampleVNFD), nil, 204) // of the folder

	eventually(t, func() bool { return orchestrator.Subscriptions() == 1 }, func() string { return "there is no subscription\n" + p.log.String() })
	pkg.Disabled = true
	orchestrator.Put(pkg)
	if statuses := orchestrator.Notify(pkg, "OP_STATE_CHANGE"); len(statuses) != 1 || statuses[0] != http.StatusNoContent {
		t.Errorf("the answers to the notification: %v\n%s", statuses, p.log)
	}
	p.send("POST", p.api+"/vnf_instances", map[string]any{"vnfdId": vnfdOf(1)}, 422)
	list := exec.CommandContext(t.Context(), os.Args[0], "admin", "-config="+config, "-sandbox", "-data="+data, "packages") //nolint:gosec // this test
	list.Env = append(os.Environ(), asProgram+"=1")
	if out, err := list.CombinedOutput(); err != nil || !strings.Contains(string(out), "NFVO, DISABLED") {
		t.Errorf("the list of packages: %v\n%s", err, out)
	}

	orchestrator.Close()
	p.send("POST", p.api+"/vnf_instances", map[string]any{"vnfdId": vnfdOf(1)}, 503)
	p.restOfLife(instance)
	if strings.Contains(p.log.String(), nfvotest.Secret) || strings.Contains(p.log.String(), "access-token-") {
		t.Errorf("a secret is in the log:\n%s", p.log)
	}
}
