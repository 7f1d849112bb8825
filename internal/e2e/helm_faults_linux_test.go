package e2e_test

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// faultLimit is the limit of the steps that have to fail.
const faultLimit = 20 * time.Second

// faultyCNF is a CNF of manifests that are changed, or of the chart if params name it.
func faultyCNF(t testing.TB, params string, change func(manifests string) string) *cnf {
	t.Helper()
	files := maps.Clone(cnfPackage)
	files["Files/web.tgz"] = string(chartOf(t, "web", "1.0.0", web))
	files["Files/web.yaml"] = change(files["Files/web.yaml"])
	site := cnfSite{Dir: t.TempDir(), Limit: faultLimit, Packages: map[string]string{cnfVNFD: writePackage(t, files)}}
	return newCNF(t, store.NewMemory(), site, cnfVIM(t, kubernetes.VimTypeV1, needCluster(t).Client(), nil), cnfVNFD, "simple", params)
}

func unchanged(text string) string { return text }

// fails waits for an operation that must fail with an error that has these parts.
func (c *cnf) fails(opID string, err error, parts ...string) {
	c.t.Helper()
	must(c.t, err)
	_, err = c.Wait(within(c.t, patience), opID)
	if err == nil {
		c.t.Fatal("the operation succeeded")
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			c.t.Errorf("the error does not have %q:\n%v", part, err)
		}
	}
}

// cluster-wide objects of the tests.
var (
	webhookResource    = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}
	apiServiceResource = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
)

// register creates a cluster-wide object. The function that is returned deletes the object, which otherwise ends with the test.
func (c *cnf) register(at schema.GroupVersionResource, name string, object map[string]any) (remove func()) {
	c.t.Helper()
	client, err := dynamic.NewForConfig(c.cluster.Client())
	must(c.t, err)
	object["metadata"] = map[string]any{"name": name}
	_, err = client.Resource(at).Create(c.t.Context(), &unstructured.Unstructured{Object: object}, meta.CreateOptions{})
	must(c.t, err)
	remove = func() { _ = client.Resource(at).Delete(context.Background(), name, meta.DeleteOptions{}) }
	c.t.Cleanup(remove)
	return remove
}

// deploymentOf is a Deployment that only has to be valid.
func deploymentOf(name string) *apps.Deployment {
	labels := map[string]string{"app": name}
	return &apps.Deployment{ObjectMeta: meta.ObjectMeta{Name: name}, Spec: apps.DeploymentSpec{Selector: &meta.LabelSelector{MatchLabels: labels},
		Template: core.PodTemplateSpec{ObjectMeta: meta.ObjectMeta{Labels: labels}, Spec: core.PodSpec{Containers: []core.Container{{Name: "c", Image: "registry.example/web:1"}}}}}}
}

// TestCNFWebhook: a webhook without a Service refuses the Deployment. The operation fails with the reason instead of waiting for
// ever, for charts and manifests, and a retry succeeds when the webhook is gone.
func TestCNFWebhook(t *testing.T) {
	for _, mode := range cnfModes[1:] { // in the process, and manifests
		t.Run(mode.name, func(t *testing.T) {
			c, ctx := faultyCNF(t, mode.params, unchanged), t.Context()
			remove := c.register(webhookResource, c.namespace, map[string]any{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
				"webhooks": []any{map[string]any{"name": "hook.example.com", "sideEffects": "None", "admissionReviewVersions": []any{"v1"}, "timeoutSeconds": int64(2),
					"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": c.namespace}},
					"clientConfig":      map[string]any{"service": map[string]any{"name": "none", "namespace": c.namespace}},
					"rules":             []any{map[string]any{"operations": []any{"CREATE"}, "apiGroups": []any{"apps"}, "apiVersions": []any{"v1"}, "resources": []any{"deployments"}}}}}})
			await(t, "the webhook to be called", func() bool {
				_, err := typed(t, c.cluster.Client()).AppsV1().Deployments(c.namespace).Create(ctx, deploymentOf("probe"), meta.CreateOptions{DryRun: []string{meta.DryRunAll}})
				return err != nil && strings.Contains(err.Error(), "failed calling webhook")
			})
			op, err := c.Instantiate(ctx, c.id, c.request)
			c.fails(op, err, `failed calling webhook "hook.example.com"`, `service "none" not found`)
			remove()
			await(t, "the webhook to be forgotten", func() bool {
				_, err := typed(t, c.cluster.Client()).AppsV1().Deployments(c.namespace).Create(ctx, deploymentOf("probe"), meta.CreateOptions{DryRun: []string{meta.DryRunAll}})
				return err == nil
			})
			c.must(op, c.Retry(ctx, op))
			c.must(c.Terminate(ctx, c.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
			c.wantNothing()
		})
	}
}

// TestCNFQuota: the error of pods that a quota refuses has the words of the quota, and the objects stay.
func TestCNFQuota(t *testing.T) {
	c, ctx := faultyCNF(t, cnfModes[2].params, unchanged), t.Context()
	api := typed(t, c.cluster.Client())
	_, err := api.CoreV1().ResourceQuotas(c.namespace).Create(ctx, &core.ResourceQuota{ObjectMeta: meta.ObjectMeta{Name: "few"},
		Spec: core.ResourceQuotaSpec{Hard: core.ResourceList{core.ResourcePods: resource.MustParse("0")}}}, meta.CreateOptions{})
	must(t, err)
	await(t, "the quota to be counted", func() bool {
		quota, err := api.CoreV1().ResourceQuotas(c.namespace).Get(ctx, "few", meta.GetOptions{})
		return err == nil && len(quota.Status.Hard) > 0
	})
	op, err := c.Instantiate(ctx, c.id, c.request)
	c.fails(op, err, "Deployment web", "ReplicaSet web-", "exceeded quota: few, requested: pods=1, used: pods=0, limited: pods=0")
	must(t, c.Rollback(ctx, op))
	if _, err := c.Wait(within(t, patience), op); err == nil {
		t.Error("the error of the operation is forgotten")
	}
	c.wantNothing()
}

// TestCNFAggregatedAPI: a CNF is terminated while an aggregated API is down. Its namespace stays.
func TestCNFAggregatedAPI(t *testing.T) {
	c, ctx := faultyCNF(t, cnfModes[2].params, unchanged), t.Context()
	api := typed(t, c.cluster.Client())
	own := c.namespace + "-own" // the driver makes this namespace
	var err error
	c.request.AdditionalParams, err = vnflcm.NewParams(map[string]any{"namespace": own, "lcm-kubernetes-def-files": []string{"Files/web.yaml"}})
	must(t, err)
	t.Cleanup(func() { _ = api.CoreV1().Namespaces().Delete(context.Background(), own, meta.DeleteOptions{}) })
	c.must(c.Instantiate(ctx, c.id, c.request))
	const group = "metrics.example.com"
	c.register(apiServiceResource, "v1beta1."+group, map[string]any{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "spec": map[string]any{
		"group": group, "version": "v1beta1", "groupPriorityMinimum": int64(100), "versionPriority": int64(100), "insecureSkipTLSVerify": true,
		"service": map[string]any{"name": "none", "namespace": c.namespace}}})
	await(t, "the aggregated API to be known", func() bool {
		groups, err := api.Discovery().ServerGroups()
		if err != nil {
			return false
		}
		for _, g := range groups.Groups {
			if g.Name == group {
				return true
			}
		}
		return false
	})
	c.must(c.Terminate(ctx, c.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	if _, err := api.CoreV1().Namespaces().Get(ctx, own, meta.GetOptions{}); err != nil {
		t.Error("the namespace does not stay: ", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !strings.Contains(c.log.String(), group) {
		t.Error("no warning names the API")
	}
}

// TestCNFEnds: a Job that Kubernetes deletes after its end is no failure. A finalizer holds the termination, which names the
// finalizer, and a retry succeeds without it.
func TestCNFEnds(t *testing.T) {
	c, ctx := faultyCNF(t, cnfModes[2].params, func(text string) string {
		return strings.Replace(text, "{name: web}", "{name: web, finalizers: [example.com/hold]}", 1) + `---
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
  ttlSecondsAfterFinished: 0
  template:
    spec: {restartPolicy: Never, containers: [{name: once, image: "registry.example/web:1"}]}
`
	}), t.Context()
	c.must(c.Instantiate(ctx, c.id, c.request))
	api := typed(t, c.cluster.Client())
	await(t, "the Job to be deleted", func() bool {
		jobs, err := api.BatchV1().Jobs(c.namespace).List(ctx, meta.ListOptions{})
		return err == nil && len(jobs.Items) == 0
	})
	c.must(c.Scale(ctx, c.id, webScale(vnflcm.ScaleOut, 1)))
	op, err := c.Terminate(ctx, c.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
	c.fails(op, err, "ConfigMap "+c.namespace+"/web", "held by the finalizers example.com/hold")
	_, err = api.CoreV1().ConfigMaps(c.namespace).Patch(ctx, "web", types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`), meta.PatchOptions{})
	must(t, err)
	c.must(op, c.Retry(ctx, op))
	c.wantNothing()
}
