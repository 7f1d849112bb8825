package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/mgmt/registry"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// vnfcs returns the ids of the VNFCs of a VDU.
func (l *lab) vnfcs(vdu string) (ids []string) {
	l.t.Helper()
	inst, err := l.Get(l.t.Context(), l.id)
	must(l.t, err)
	for _, v := range inst.InstantiatedVnfInfo.VnfcResourceInfo {
		if v.VduID == vdu {
			ids = append(ids, v.ID)
		}
	}
	return ids
}

var (
	kubespraySetup = setup{driver: "kubespray", pkg: "k8s-cluster-kubespray", name: "mgmt-drivers-kubespray", sandbox: sandbox.Config{Ansible: []sandbox.AnsibleServer{
		{Address: netip.MustParseAddr("10.9.0.1"), User: "ansible", Password: "ansible", Version: "2.14.18", Kubespray: "2.23.3", Sshpass: true}}}}
	registrySetup = setup{driver: "registry", pkg: "private-registry", name: "mgmt-drivers-private-registry", sandbox: sandbox.Config{PublicImages: []string{"registry:latest"}}}
)

// TestRollback rolls back an instantiation of every driver, and a scaling of drivers that scale, after the hook that sets up the machines
// has failed.
func TestRollback(t *testing.T) {
	t.Parallel()
	for s, file := range map[*setup]string{&kubeadmSetup: "instantiate_sandbox.json", &kubespraySetup: "instantiate_sandbox.json", &registrySetup: "instantiate_pull.json"} {
		t.Run(s.driver, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, *s)
			rollBack := func(failing vnflcm.Hook, opID string, err error) {
				t.Helper()
				must(t, err)
				if _, err := l.Wait(t.Context(), opID); err == nil {
					t.Fatalf("%s has not failed", failing)
				}
				must(t, l.Rollback(t.Context(), opID))
				if occ, err := l.Wait(t.Context(), opID); occ == nil || occ.OperationState != vnflcm.RolledBack {
					t.Fatalf("rolling back after %s: %v", failing, err)
				}
			}
			stopAt := func(hook vnflcm.Hook) {
				l.limit = func(ctx context.Context, phase string) context.Context {
					if phase != string(hook) {
						return ctx
					}
					ctx, stop := context.WithCancelCause(ctx)
					stop(errors.New("the conductor is stopped"))
					return ctx
				}
			}
			stopAt(vnflcm.InstantiateEnd)
			opID, err := l.Instantiate(t.Context(), l.id, l.request(file))
			rollBack(vnflcm.InstantiateEnd, opID, err)
			if left := l.world.Hosts(); len(left) != 0 {
				t.Errorf("%d machines are left", len(left))
			}
			if s == &registrySetup {
				return
			}
			l.limit = nil
			l.must(l.Instantiate(t.Context(), l.id, l.request(file)))
			before := l.nodes()
			stopAt(vnflcm.ScaleEnd)
			opID, err = l.Scale(t.Context(), l.id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"})
			rollBack(vnflcm.ScaleEnd, opID, err)
			if diff := cmp.Diff(before, l.nodes()); diff != "" {
				t.Errorf("nodes:\n%s", diff)
			}
		})
	}
}

// TestKubespray runs the hooks of a cluster behind a load balancer, as Tacker does.
func TestKubespray(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubespraySetup)
	want := func(nodes int, after string) {
		t.Helper()
		if got := l.nodes(); len(got) != nodes {
			t.Errorf("nodes %v after %s", got, after)
		}
	}
	l.must(l.Instantiate(t.Context(), l.id, l.request("instantiate_sandbox.json")))
	first := len(l.nodes())
	l.showsVIM()
	scale := func(kind vnflcm.ScaleType, aspect string) {
		t.Helper()
		l.must(l.Scale(t.Context(), l.id, vnflcm.ScaleVnfRequest{Type: kind, AspectID: aspect}))
	}
	scale(vnflcm.ScaleOut, "worker_instance")
	want(first+1, "scaling out")
	for _, vdu := range []string{"workerNode", "masterNode", "externalLB"} {
		if vdu == "masterNode" && len(l.vnfcs(vdu)) < 2 {
			continue // only this machine has the data of the cluster
		}
		l.must(l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(vdu)[:1]}))
		want(first+1, "healing a VNFC of "+vdu)
	}
	scale(vnflcm.ScaleIn, "worker_instance")
	want(first, "scaling in")
	withoutData, err := vnflcm.ParseParams([]byte(`{"restore": "none"}`)) // of kubeadm
	must(t, err)
	l.must(l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{AdditionalParams: withoutData}))
	want(first, "healing the VNF")
	l.must(l.Terminate(t.Context(), l.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	if err := run(t.Context(), l.data, "", []string{"vim", l.id}, nil, &bytes.Buffer{}); !errors.Is(err, vnflcm.ErrNotFound) {
		t.Errorf("the VIM of a terminated cluster: error %v", err)
	}
}

// TestRegistry runs the hooks of a private registry, as Tacker does. Their results contain the data for connections to the registry.
func TestRegistry(t *testing.T) {
	t.Parallel()
	l := newLab(t, registrySetup)
	offered := func(hook vnflcm.Hook) {
		t.Helper()
		var result struct {
			Published map[string]map[string]string `json:"published"`
		}
		must(t, json.Unmarshal([]byte(l.results[string(hook)]), &result))
		inst, err := l.Get(t.Context(), l.id)
		must(t, err)
		machine := inst.InstantiatedVnfInfo.VnfcResourceInfo[0]
		machine.Metadata = result.Published[machine.ComputeResource.ResourceID]
		connection, err := registry.ConnectionOf(machine)
		if err != nil || connection.Server == "" {
			t.Errorf("%s offers %s: %v", hook, l.results[string(hook)], err)
		}
	}
	l.must(l.Instantiate(t.Context(), l.id, l.request("instantiate_pull.json")))
	offered(vnflcm.InstantiateEnd)
	for _, heal := range []vnflcm.HealVnfRequest{{VnfcInstanceID: l.vnfcs("PrivateRegistryVDU")}, {}} {
		delete(l.results, string(vnflcm.HealEnd))
		l.must(l.Heal(t.Context(), l.id, heal))
		offered(vnflcm.HealEnd)
	}
	l.must(l.Terminate(t.Context(), l.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	if left := l.world.Hosts(); len(left) != 0 {
		t.Errorf("%d machines are left", len(left))
	}
}
