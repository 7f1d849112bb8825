package e2e_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// onNode is a pod on a control-plane node, and a volume that nothing detaches from the node.
const onNode = `
apiVersion: v1
kind: Pod
metadata: {name: live, namespace: default}
spec:
  nodeName: %[1]s
  terminationGracePeriodSeconds: 30
  containers: [{name: pause, image: "registry.k8s.io/pause:tests"}]
---
apiVersion: storage.k8s.io/v1
kind: VolumeAttachment
metadata: {name: live}
spec: {attacher: vnfkit.example, nodeName: %[1]s, source: {persistentVolumeName: live}}
`

// TestKubeadmLiveNode heals a control-plane node that works and holds the virtual address. Its pod ends while the kubelet still reports
// and the member of etcd is there, and the machine is kept until the volume is detached.
func TestKubeadmLiveNode(t *testing.T) {
	var virtual netip.Addr
	y := newYard(t, func(y *yard, _ *vmhost.Spec) {
		virtual = site.network.Reserve()
		y.infra.Shared = map[string]netip.Addr{"vip_CP": virtual}
	})
	ctx := t.Context()
	id, request := y.cluster("complex", highlyAvailable)
	y.must(y.Instantiate(ctx, id, request))
	victim := y.holder(id, virtual.String())
	masters := y.vnfcs(id, masterVDU)
	stays := masters[slices.IndexFunc(masters, func(m vnflcm.VnfcResourceInfo) bool { return m.ID != victim.ID })]
	address := y.machines.Host(victim.ComputeResource.ResourceID).Address.String()
	node := strings.TrimSpace(y.kubectl(id, "get", "nodes", "-o", `jsonpath={.items[?(@.status.addresses[0].address=="`+address+`")].metadata.name}`))
	y.apply(id, fmt.Sprintf(onNode, node))
	y.kubectl(id, "wait", "pod/live", "--for=condition=Ready", "--timeout=50s")

	longest := y.watchAPI(id)
	begin := time.Now()
	op, err := y.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{victim.ID}})
	must(t, err)
	y.awaitProgress("detach", "volumes are attached to node "+node)
	const admin = "--kubeconfig=/etc/kubernetes/admin.conf"
	pods, err1 := y.on(stays, "kubectl", admin, "get", "pods", "-n", "default", "-o", "name")
	ready, err2 := y.on(stays, "kubectl", admin, "get", "node", node, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`)
	_, err3 := y.on(stays, "kubectl", admin, "delete", "volumeattachment", "live")
	if err1 != nil || err2 != nil || err3 != nil || pods != "" || ready != "True" {
		t.Errorf("while a volume is attached: pods %q, Ready %q, %v %v %v", pods, ready, err1, err2, err3)
	}
	y.must(op, nil)
	t.Logf("longest gap of the API while the living holder of its address was healed (%s): %s", time.Since(begin).Round(time.Second), longest().Round(10*time.Millisecond))
	y.wantNodes(id, 3, 1)
	y.wantMembers(id)
	y.must(y.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	y.gone(id)
}

// awaitProgress waits until a step reports a text.
func (y *yard) awaitProgress(step, text string) {
	y.t.Helper()
	for until := time.Now().Add(2 * time.Minute); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		y.mu.Lock()
		found := slices.ContainsFunc(y.events, func(e vnflcm.Event) bool { return e.Name == step && strings.Contains(e.Message, text) })
		y.mu.Unlock()
		if found {
			return
		}
	}
	y.t.Fatalf("step %s does not report %q", step, text)
}
