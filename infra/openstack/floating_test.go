package openstack_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// withFloating returns the sample package with floating addresses in the nested templates: one that names its port, and one with an
// association to a port.
func withFloating(t *testing.T) string {
	t.Helper()
	files := map[string]string{}
	for name, resources := range map[string]string{
		"simple_nested_worker.yaml": `
  workerNode_FloatingIP:
    type: OS::Neutron::FloatingIP
    properties:
      floating_network: public
      port_id: { get_resource: workerNode_CP2 }
`,
		"simple_nested_master.yaml": `
  masterNode_CP1_floating_ip:
    type: OS::Neutron::FloatingIP
    properties:
      floating_network: public

  masterNode_association:
    type: OS::Neutron::FloatingIPAssociation
    properties:
      floatingip_id: { get_resource: masterNode_CP1_floating_ip }
      port_id: { get_resource: masterNode_CP1 }
`} {
		name = filepath.Join("BaseHOT/simple/nested", name)
		text, err := os.ReadFile(filepath.Join(samples, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = strings.TrimRight(string(text), "\n") + "\n" + resources
	}
	return mgmttest.Package(t, samples, files)
}

// validating calls a function before a management driver validates a request.
type validating struct {
	vnflcm.MgmtDriver
	before func(*vnflcm.Operation)
}

func (v validating) Validate(ctx context.Context, op *vnflcm.Operation) error {
	v.before(op)
	return v.MgmtDriver.Validate(ctx, op)
}

// TestFloatingConnectionPoints checks that the driver returns the floating addresses in the base HOT before the machines exist, so that a
// request for a cluster can use them for logins. Without the addresses in the base HOT the request is refused.
func TestFloatingConnectionPoints(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]map[string]string{
		samples:         {},
		withFloating(t): {"workerNode_FloatingIP": "workerNode_CP2", "masterNode_CP1_floating_ip": "masterNode_CP1"},
	} {
		l := newLabOf(t, openstack.VimTypeV1, vnflcm.DirPackages(dir))
		pool := sshexec.NewPool(sshexec.Options{})
		t.Cleanup(func() {
			if err := pool.Close(); err != nil {
				t.Error(err)
			}
		})
		asked := openstack.New(l.cfg)
		t.Cleanup(asked.Close)
		var got map[string]string
		manager := l.start(func(c *vnflcm.Config) {
			c.AcceptOnly = true
			c.Mgmt = map[string]vnflcm.MgmtDriver{"mgmt-drivers-kubernetes": validating{kubeadm.New(kubeadm.Config{Pool: pool}), func(op *vnflcm.Operation) {
				var err error
				if got, err = asked.ConnectionPoints(op); err != nil {
					t.Error(err)
				}
			}}}
		})
		request := l.request("")
		mgmttest.With(t, "k8s_cluster_installation_param", `{"master_node":{"ssh_cp_name":"masterNode_CP1_floating_ip"},"worker_node":{"ssh_cp_name":"workerNode_FloatingIP"}}`)(&request)
		_, err := manager.Instantiate(t.Context(), l.id, request)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if len(want) > 0 && err != nil {
			t.Errorf("names of the base HOT: %v", err)
		}
		if len(want) == 0 && (!errors.Is(err, vnflcm.ErrInvalidRequest) || !strings.Contains(err.Error(), "worker_node.ssh_cp_name") || !strings.Contains(err.Error(), "master_node.ssh_cp_name")) {
			t.Errorf("names that the base HOT does not have: %v", err)
		}
	}
}
