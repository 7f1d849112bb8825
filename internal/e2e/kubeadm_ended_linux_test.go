package e2e_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const tenMinutes = `{"k8s_cluster_installation_param": {"certificate_validity": "10m"}}`

// staying is a Deployment whose pod is not evicted from a node that is not Ready.
const staying = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: staying, namespace: default}
spec:
  replicas: 1
  selector: {matchLabels: {app: staying}}
  template:
    metadata: {labels: {app: staying}}
    spec:
      terminationGracePeriodSeconds: 1
      tolerations: [{operator: Exists, effect: NoExecute}]
      containers: [{name: pause, image: "registry.k8s.io/pause:tests"}]
`

// TestKubeadmCertificatesEnd waits until certificates of ten minutes have ended, on two nodes also those of the kubelets, and renews them:
// the pods run on, and the cluster can be scaled.
func TestKubeadmCertificatesEnd(t *testing.T) {
	y := yardOf(t, needParts(t, "kubeadm-full"), func(y *yard, _ *vmhost.Spec) {
		y.infra.Shared = map[string]netip.Addr{"vip_CP": site.network.Reserve()}
	})
	ctx := t.Context()
	id, request := y.cluster("complex", highlyAvailable, tenMinutes)
	y.must(y.Instantiate(ctx, id, request))
	y.apply(id, staying)
	y.kubectl(id, "rollout", "status", "deployment/staying", "--timeout=50s")

	first, last := y.certificatesEnd(id)
	if time.Until(first) < 0 || time.Until(last) > 10*time.Minute {
		t.Errorf("the certificates end from %s to %s", first, last)
	}

	awaitFor(t, 15*time.Minute, "the last minutes of the certificates", func() bool { return time.Until(first) < 90*time.Second })
	off := []vnflcm.VnfcResourceInfo{y.vnfcs(id, masterVDU)[0], y.vnfcs(id, workerVDU)[0]}
	for _, v := range off {
		y.endKubelet(id, v)
	}
	container := y.stayingContainer(id)
	awaitFor(t, 15*time.Minute, "the end of the certificates", func() bool { return time.Now().After(last.Add(5 * time.Second)) })
	for _, v := range off {
		if _, err := y.on(v, "systemctl", "start", "kubelet"); err != nil {
			t.Error(err)
		}
	}
	if code, err := y.viaVIM(id, "/readyz"); err == nil && code == http.StatusOK {
		t.Error("the API answers although its certificates have ended")
	}

	begin := time.Now()
	op, err := y.Maintain(ctx, id, vnflcm.MaintainVnfRequest{Task: vnflcm.RenewCertificates})
	must(t, err)
	occ, err := y.Wait(within(t, 20*time.Minute), op)
	must(t, err)
	t.Logf("the cluster was back after %s, with the warnings %q", time.Since(begin).Round(time.Second), occ.Warnings) // a kubelet may be about to renew its certificate
	y.wantNodes(id, 3, 1)
	y.wantMembers(id)
	if now := y.stayingContainer(id); now != container {
		t.Errorf("the container of the pod was %q and is %q", container, now)
	}
	if code, err := y.viaVIM(id, "/readyz"); err != nil || code != http.StatusOK {
		t.Errorf("the API answers clients of the VIM with %d, %v", code, err)
	}
	y.must(y.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}))
	y.wantNodes(id, 3, 2)
	y.must(y.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	y.gone(id)
}

// TestKubeadmCertificatesWindow: certificates of nine minutes are renewed without an order while the maintenance window is open.
func TestKubeadmCertificatesWindow(t *testing.T) {
	y := yardOf(t, needParts(t, "kubeadm-full"), func(y *yard, _ *vmhost.Spec) { y.maintenance = vnflcm.MaintenanceWindow{To: 24 * time.Hour} })
	ctx := t.Context()
	id, request := y.cluster("simple", `{"k8s_cluster_installation_param": {"certificate_validity": "9m"}}`)
	y.must(y.Instantiate(ctx, id, request))
	_, before := y.certificatesEnd(id)
	var renewal []*vnflcm.VnfLcmOpOcc
	awaitFor(t, 15*time.Minute, "a renewal by itself", func() bool {
		page, err := y.Operations(ctx, vnflcm.OperationQuery{InstanceID: id, Operations: []vnflcm.LcmOperation{vnflcm.OpModifyInfo}})
		must(t, err)
		renewal = page.Items
		return len(renewal) > 0
	})
	occ, err := y.Wait(within(t, 15*time.Minute), renewal[0].ID)
	must(t, err)
	if !occ.IsAutomaticInvocation {
		t.Errorf("the operation is %+v", occ)
	}
	t.Logf("the renewal began %s before the first end and took %s", before.Sub(occ.StartTime).Round(time.Second), occ.StateEnteredTime.Sub(occ.StartTime).Round(time.Second))
	if first, _ := y.certificatesEnd(id); !first.After(before) {
		t.Errorf("the certificates ended at %s and end at %s", before, first)
	}
	y.wantNodes(id, 1, 1)
	y.must(y.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	y.gone(id)
}

// certificatesEnd returns when the first and the last certificate of the control plane end, without those of CAs and kubelets.
func (y *yard) certificatesEnd(id string) (first, last time.Time) {
	y.t.Helper()
	list, err := y.Certificates(y.t.Context(), id)
	must(y.t, err)
	for _, c := range list {
		if c.IsCA || c.Name == "kubelet" {
			continue
		}
		if first.IsZero() || c.NotAfter.Before(first) {
			first = c.NotAfter
		}
		if c.NotAfter.After(last) {
			last = c.NotAfter
		}
	}
	return first, last
}

// stayingContainer returns the running container of the pod of staying.
func (y *yard) stayingContainer(id string) string {
	y.t.Helper()
	return y.kubectl(id, "get", "pods", "-n", "default", "-l", "app=staying", "-o",
		`jsonpath={range .items[*]}{.metadata.uid} {.status.containerStatuses[0].containerID} {.status.containerStatuses[0].restartCount}{end}`)
}

// signKubelet prints a client certificate of a minute for a kubelet, and its key.
const signKubelet = `set -e
export KUBECONFIG=/etc/kubernetes/admin.conf
kubectl get configmap -n kube-system kubeadm-config -o 'jsonpath={.data.ClusterConfiguration}' > /root/cluster.yaml
kubeadm kubeconfig user --config /root/cluster.yaml --org system:nodes --client-name "system:node:$1" --validity-period 1m > /root/kubelet.conf
for data in client-certificate-data client-key-data; do
	kubectl config view --raw --kubeconfig /root/kubelet.conf -o "jsonpath={.users[0].user.$data}" | base64 -d
done
rm /root/cluster.yaml /root/kubelet.conf`

// endKubelet stops the kubelet of a node and gives it a certificate that ends after a minute, as if the machine had been off past the end.
func (y *yard) endKubelet(id string, v vnflcm.VnfcResourceInfo) {
	y.t.Helper()
	address := y.machines.Host(v.ComputeResource.ResourceID).Address.String()
	node := strings.TrimSpace(y.kubectl(id, "get", "nodes", "-o", `jsonpath={.items[?(@.status.addresses[0].address=="`+address+`")].metadata.name}`))
	pair, err := y.on(y.vnfcs(id, masterVDU)[0], "sh", "-c", signKubelet, "sh", node)
	must(y.t, err)
	_, err = y.on(v, "systemctl", "stop", "kubelet")
	must(y.t, err)
	const directory = "/var/lib/kubelet/pki/"
	must(y.t, y.host(v).Upload(y.t.Context(), strings.NewReader(pair), sshexec.File{Path: directory + "kubelet-client-old.pem", Mode: 0o600, Root: true}))
	_, err = y.on(v, "ln", "-sfT", directory+"kubelet-client-old.pem", directory+"kubelet-client-current.pem")
	must(y.t, err)
}
