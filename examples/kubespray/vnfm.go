package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/vnfkit/vnfkit/examples/internal/samples"
	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/mgmt/kubespray"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/progress"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// vnfm is a VNF manager whose clusters an Ansible server makes.
type vnfm struct {
	*vnflcm.Manager
	world  *sandbox.World
	vnfdID string
	close  func()
}

// compose makes the manager on the sandbox, in which there is the Ansible server that the sample request names.
func compose(ctx context.Context, o options, screen *progress.Screen) (*vnfm, error) {
	packages := samples.Packages{}
	vnfdID, err := packages.Add(ctx, o.pkg)
	if err != nil {
		return nil, err
	}
	server := sandbox.AnsibleServer{Address: netip.MustParseAddr("10.9.0.1"), User: "ansible", Password: "ansible",
		Version: "2.14.18", Kubespray: "2.23.3", Sshpass: true}
	// Slow programs take a moment, so that there is something to see.
	world, err := sandbox.Open(sandbox.Config{Takes: 300 * time.Millisecond, Ansible: []sandbox.AnsibleServer{server}}) //nolint:contextcheck // a world is closed, not cancelled
	if err != nil {
		return nil, err
	}
	key := make([]byte, 32) // nothing of what it seals outlives the process
	_, _ = rand.Read(key)   // never fails
	pool := sshexec.NewPool(sshexec.Options{Dial: world.Dial})
	manager, err := vnflcm.New(ctx, vnflcm.Config{
		Store: store.NewMemory(), Key: key,
		Packages:  vnflcm.DirPackages(o.pkg),
		Infra:     map[string]vnflcm.InfraDriver{"sandbox": world},
		Mgmt:      map[string]vnflcm.MgmtDriver{"mgmt-drivers-kubespray": kubespray.New(kubespray.Config{Pool: pool})},
		KnownVIMs: vnflcm.VimConnections{{VimID: "sandbox", VimType: "sandbox"}},
		Observe:   screen.Observe,
	})
	if err != nil {
		return nil, errors.Join(err, pool.Close(), world.Close())
	}
	v := &vnfm{Manager: manager, world: world, vnfdID: vnfdID}
	v.close = func() {
		_ = errors.Join(manager.Close(context.WithoutCancel(ctx)), pool.Close(), world.Close())
	}
	return v, nil
}

// apiVersion asks the cluster for its version where its entry in the VIM registry says that it is.
func (v *vnfm) apiVersion(ctx context.Context, id string) (string, error) {
	vnf, err := v.Get(ctx, id)
	if err != nil {
		return "", err
	}
	var access struct {
		URL string `json:"auth_url"`
		CA  string `json:"ssl_ca_cert"`
	}
	vim, err := v.VIMs().Get(ctx, "", vnf.VimConnectionInfo[len(vnf.VimConnectionInfo)-1].VimID)
	if err != nil {
		return "", err
	}
	if err := json.Unmarshal(vim.AccessInfo.Reveal(), &access); err != nil {
		return "", err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(access.CA))
	transport := &http.Transport{DialContext: v.world.Dial, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, access.URL+"/version", http.NoBody)
	if err != nil {
		return "", err
	}
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	var version struct{ GitVersion string }
	if err := json.NewDecoder(answer.Body).Decode(&version); err != nil {
		return "", fmt.Errorf("%s: %s: %w", access.URL, answer.Status, err)
	}
	return version.GitVersion, nil
}
