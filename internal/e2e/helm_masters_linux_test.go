package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/internal/e2e/controlplane"
	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/sshexec"
)

// master is a machine with helm, kubectl and a kubeconfig, as seen through SSH.
type master struct {
	*sshexec.Host
	machine *vmhost.Host
}

// helmLayer has the programs of a master.
var helmLayer = sync.OnceValues(func() (string, error) {
	p, err := parts()
	if err != nil {
		return "", err
	}
	layer, err := os.MkdirTemp(site.network.Dir(), "helm-*")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(layer, "usr/local/bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return "", err
	}
	for _, program := range []string{"helm", "kubectl"} {
		content, err := os.ReadFile(filepath.Join(p.Programs(), program))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(bin, program), content, 0o755); err != nil {
			return "", err
		}
	}
	return layer, nil
})

// helmDir is where helm on masters may keep files. It belongs to the user that logs in.
const helmDir = "/var/tacker/helm"

// newMasters makes machines with helm.
func newMasters(t testing.TB, config *rest.Config, n int) []*master {
	t.Helper()
	layer, err := helmLayer()
	must(t, err)
	pool := newPool(t, sshexec.Options{})
	out := make([]*master, n)
	for i := range out {
		machine, err := site.network.Create(t.Context(), vmhost.Spec{Name: fmt.Sprintf("master%d", i+1), User: user, Password: password, Layer: layer,
			Files: map[string]string{"/etc/kubernetes/admin.conf": string(controlplane.Kubeconfig(config))}})
		must(t, err)
		t.Cleanup(func() {
			if err := machine.Close(); err != nil {
				t.Error(err)
			}
		})
		_, err = machine.Exec(within(t, 10*time.Second), "install", "-d", "-o", user, helmDir)
		must(t, err)
		out[i] = &master{pool.Host(targetOf(t, machine)), machine}
		must(t, out[i].Wait(within(t, 10*time.Second)))
	}
	return out
}
