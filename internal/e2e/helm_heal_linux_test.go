package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admission "k8s.io/api/admissionregistration/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// disk is a claim of a volume that the test makes.
const disk = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: disk}
spec: {storageClassName: "", accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`

// secretOfChart has a password that chance decides, mounted with the claim.
const secretOfChart = `apiVersion: v1
kind: Secret
metadata: {name: password}
stringData: {password: {{ randAlphaNum 20 | quote }}}
`

// mounted is a Deployment with the claim in its pod. next separates the fields of the pod's specification.
func mounted(deployment, next string) string {
	return strings.Replace(deployment, "containers: [{name: web,",
		"volumes: [{name: disk, persistentVolumeClaim: {claimName: disk}}]"+next+"containers: [{volumeMounts: [{name: disk, mountPath: /disk}], name: web,", 1)
}

// volume makes a volume for the claim of a namespace.
func volume(t testing.TB, c *cnf) {
	t.Helper()
	api := typed(t, c.cluster.Client()).CoreV1().PersistentVolumes()
	v := &core.PersistentVolume{ObjectMeta: meta.ObjectMeta{Name: c.namespace}, Spec: core.PersistentVolumeSpec{
		Capacity: core.ResourceList{core.ResourceStorage: resource.MustParse("1Gi")}, AccessModes: []core.PersistentVolumeAccessMode{core.ReadWriteOnce},
		PersistentVolumeReclaimPolicy: core.PersistentVolumeReclaimRetain, ClaimRef: &core.ObjectReference{Namespace: c.namespace, Name: "disk"},
		PersistentVolumeSource: core.PersistentVolumeSource{HostPath: &core.HostPathVolumeSource{Path: "/none"}}}}
	_, err := api.Create(t.Context(), v, meta.CreateOptions{})
	must(t, err)
	t.Cleanup(func() {
		if err := api.Delete(context.Background(), v.Name, meta.DeleteOptions{}); err != nil { // that of the test has ended
			t.Error(err)
		}
	})
}

// data is the claim, and the Secrets and ConfigMaps with their UIDs and contents.
func (c *cnf) data() map[string]string {
	c.t.Helper()
	api, ctx, out := typed(c.t, c.cluster.Client()).CoreV1(), c.t.Context(), map[string]string{}
	claim, err := api.PersistentVolumeClaims(c.namespace).Get(ctx, "disk", meta.GetOptions{})
	must(c.t, err)
	out["claim"] = fmt.Sprint(claim.UID, claim.Spec.VolumeName, claim.Status.Phase, claim.DeletionTimestamp)
	secrets, err := api.Secrets(c.namespace).List(ctx, meta.ListOptions{LabelSelector: "owner!=helm"})
	must(c.t, err)
	for _, s := range secrets.Items {
		out["Secret "+s.Name] = fmt.Sprint(s.UID, s.Data)
	}
	configs, err := api.ConfigMaps(c.namespace).List(ctx, meta.ListOptions{})
	must(c.t, err)
	for _, m := range configs.Items {
		out["ConfigMap "+m.Name] = fmt.Sprint(m.UID, m.Data)
	}
	return out
}

// refusing makes a webhook without a Service that all Deployments of the namespace need, and waits until the API server calls it.
// remove ends it.
func (c *cnf) refusing() (remove func()) {
	c.t.Helper()
	client, ctx := typed(c.t, c.cluster.Client()), c.t.Context()
	api := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	none := admission.SideEffectClassNone
	_, err := api.Create(ctx, &admission.ValidatingWebhookConfiguration{ObjectMeta: meta.ObjectMeta{Name: c.namespace}, Webhooks: []admission.ValidatingWebhook{{
		Name: "policy.example.com", SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
		ClientConfig:      admission.WebhookClientConfig{Service: &admission.ServiceReference{Namespace: c.namespace, Name: "none"}},
		NamespaceSelector: &meta.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": c.namespace}},
		Rules: []admission.RuleWithOperations{{Operations: []admission.OperationType{admission.Create},
			Rule: admission.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}}}}}}}, meta.CreateOptions{})
	must(c.t, err)
	remove = func() {
		if err := api.Delete(within(c.t, time.Minute), c.namespace, meta.DeleteOptions{}); err != nil {
			c.t.Error(err)
		}
	}
	deployment, err := client.AppsV1().Deployments(c.namespace).Get(ctx, "web", meta.GetOptions{})
	must(c.t, err)
	deployment.ObjectMeta = meta.ObjectMeta{Name: "early", Namespace: c.namespace}
	for ctx := within(c.t, time.Minute); ; time.Sleep(100 * time.Millisecond) {
		_, err := client.AppsV1().Deployments(c.namespace).Create(ctx, deployment, meta.CreateOptions{DryRun: []string{meta.DryRunAll}})
		if err != nil && strings.Contains(err.Error(), "policy.example.com") {
			return remove
		}
		must(c.t, ctx.Err())
	}
}

// TestCNFHealKeepsData heals a CNF with a claim and a password that its chart has generated: pods are new, the data are the old
// ones. A heal that the cluster would refuse removes nothing. The claim stays on the cluster when the CNF is terminated.
func TestCNFHealKeepsData(t *testing.T) {
	cluster := needCluster(t)
	files, chart := maps.Clone(cnfPackage), maps.Clone(web)
	chart["templates/disk.yaml"], chart["templates/password.yaml"] = disk, secretOfChart
	chart["templates/web.yaml"] = mounted(chart["templates/web.yaml"], "\n      ")
	files["Files/web.tgz"] = string(chartOf(t, "web", "1.0.0", chart))
	files["Files/web.yaml"] = mounted(files["Files/web.yaml"], ", ") + "---\n" + disk
	dir := writePackage(t, files)
	for _, mode := range slices.Concat(cnfModes, helm4Modes) {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			vimType, ctx := kubernetes.VimTypeV1, t.Context()
			var masters []*master
			if mode.masters {
				masters = newMasters(t, cluster.Client(), 1, mode.program(t))
			}
			c := newCNF(t, store.NewMemory(), cnfSite{Dir: t.TempDir(), Helm4: mode.helm4, Packages: map[string]string{cnfVNFD: dir}},
				cnfVIM(t, vimType, cluster.Client(), masters), cnfVNFD, "simple", mode.params)
			volume(t, c)
			c.must(c.Instantiate(ctx, c.id, c.request))
			data, pods := c.data(), c.vnfcs(1)

			remove := c.refusing()
			op, err := c.Heal(ctx, c.id, vnflcm.HealVnfRequest{})
			must(t, err)
			if _, err := c.Wait(within(t, patience), op); err == nil || !strings.Contains(err.Error(), "policy.example.com") {
				t.Errorf("with a webhook that does not answer: %v", err)
			}
			remove()
			if diff := cmp.Diff(pods, c.vnfcs(1)); diff != "" {
				t.Errorf("the refused heal has changed the pods:\n%s", diff)
			}
			for until := within(t, time.Minute); ; { // the API server takes a moment to forget the webhook
				must(t, c.Retry(ctx, op))
				if _, err := c.Wait(until, op); err == nil {
					break
				}
				must(t, until.Err())
			}
			healed := c.vnfcs(1)
			for id, pod := range pods {
				if healed[id] == "" || healed[id] == pod {
					t.Errorf("pods were %v and are %v", pods, healed)
				}
			}
			if diff := cmp.Diff(data, c.data()); diff != "" {
				t.Errorf("the data after the heal:\n%s", diff)
			}

			op, err = c.Terminate(ctx, c.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
			c.must(op, err)
			c.wantNothing()
			occ, err := c.Operation(ctx, op)
			must(t, err)
			if want := []string{"left on the cluster: PersistentVolumeClaim " + c.namespace + "/disk"}; !slices.Equal(occ.Warnings, want) {
				t.Errorf("warnings %v, want %v", occ.Warnings, want)
			}
			claim, err := typed(t, cluster.Client()).CoreV1().PersistentVolumeClaims(c.namespace).Get(ctx, "disk", meta.GetOptions{})
			must(t, err)
			if now := fmt.Sprint(claim.UID, claim.Spec.VolumeName, claim.Status.Phase, claim.DeletionTimestamp); now != data["claim"] {
				t.Errorf("the claim was %s and is %s", data["claim"], now)
			}
		})
	}
}
