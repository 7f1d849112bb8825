package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/internal/e2e/controlplane"
	"github.com/vnfkit/vnfkit/internal/e2e/kube"
	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/sshexec"
)

// master is a machine with helm, kubectl and a kubeconfig, as seen through SSH.
type master struct {
	*sshexec.Host
	machine *vmhost.Host
	login   map[string]any // as helm_info has it
}

// helm3Program is the real helm of version 3.
func helm3Program(t testing.TB) string {
	t.Helper()
	return filepath.Join(needParts(t, "helm").Programs(), "helm")
}

var helm4Built = sync.OnceValues(func() (string, error) { return kube.Helm4(context.Background()) })

// helm4Program is the real helm of version 4.
func helm4Program(t testing.TB) string {
	t.Helper()
	dir, err := helm4Built()
	must(t, err)
	return filepath.Join(dir, "helm")
}

// helmLayers have the programs of a master, by the helm among them. They are made once.
var helmLayers struct {
	sync.Mutex
	made map[string]string
}

func helmLayer(t testing.TB, helm string) string {
	t.Helper()
	helmLayers.Lock()
	defer helmLayers.Unlock()
	if layer := helmLayers.made[helm]; layer != "" {
		return layer
	}
	layer, err := os.MkdirTemp(site.network.Dir(), "helm-*") //nolint:usetesting // it outlives the test that makes it
	must(t, err)
	bin := filepath.Join(layer, "usr/local/bin")
	must(t, os.MkdirAll(bin, 0o755))
	for _, program := range []string{helm, filepath.Join(needParts(t, "helm").Programs(), "kubectl")} {
		content, err := os.ReadFile(program)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(bin, filepath.Base(program)), content, 0o755))
	}
	if helmLayers.made == nil {
		helmLayers.made = map[string]string{}
	}
	helmLayers.made[helm] = layer
	return layer
}

// helmDir is where helm on masters may keep files. It belongs to the user that logs in.
const helmDir = "/var/tacker/helm"

// newMasters makes machines with a program helm.
func newMasters(t testing.TB, config *rest.Config, n int, helm string) []*master {
	t.Helper()
	login := map[string]any{"masternode_username": user, "masternode_password": password}
	return mastersOf(t, config, n, vmhost.Spec{User: user, Password: password, Layer: helmLayer(t, helm)}, sshexec.Password(password), login)
}

// newKeyMasters makes machines with a program helm that let in an encrypted key only.
func newKeyMasters(t testing.TB, config *rest.Config, n int, helm string) []*master {
	t.Helper()
	const passphrase = "correct horse"
	file := keygen(t, t.TempDir(), "key", passphrase, "-t", "ed25519")
	auth, err := sshexec.PrivateKey(read(t, file), passphrase)
	must(t, err)
	spec := vmhost.Spec{User: user, Password: password, Layer: helmLayer(t, helm),
		Config: []string{"PasswordAuthentication no"}, AuthorizedKeys: []string{string(read(t, file+".pub"))}}
	login := map[string]any{"masternode_username": user, "masternode_private_key": string(read(t, file)), "masternode_passphrase": passphrase}
	return mastersOf(t, config, n, spec, auth, login)
}

// mastersOf makes machines that are logged in to in one way.
func mastersOf(t testing.TB, config *rest.Config, n int, spec vmhost.Spec, auth sshexec.Auth, login map[string]any) []*master {
	t.Helper()
	spec.Files = map[string]string{"/etc/kubernetes/admin.conf": string(controlplane.Kubeconfig(config))}
	pool := newPool(t, sshexec.Options{})
	out := make([]*master, n)
	for i := range out {
		spec.Name = fmt.Sprintf("master%d", i+1)
		machine, err := site.network.Create(t.Context(), spec)
		must(t, err)
		t.Cleanup(func() {
			if err := machine.Close(); err != nil {
				t.Error(err)
			}
		})
		_, err = machine.Exec(within(t, time.Minute), "install", "-d", "-o", user, helmDir)
		must(t, err)
		target := targetOf(t, machine)
		target.Auth = []sshexec.Auth{auth}
		out[i] = &master{pool.Host(target), machine, login}
		must(t, out[i].Wait(within(t, time.Minute)))
	}
	return out
}
