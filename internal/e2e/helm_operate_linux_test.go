package e2e_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscaling "k8s.io/api/autoscaling/v2"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// nightly is a CronJob beside the Deployment.
const nightly = `---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec: {schedule: "0 3 1 1 *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "registry.example/job:1"}]}}}}}
`

// TestCNFOperate stops CNFs with an autoscaler and starts them again: the autoscaler pauses, the numbers are as before, and the VNFCs keep their ids.
func TestCNFOperate(t *testing.T) {
	cluster := needCluster(t)
	for _, mode := range cnfModes[1:] {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			files := maps.Clone(cnfPackage)
			files["Files/web.tgz"], files["Files/web.yaml"] = string(chartOf(t, "web", "1.0.0", web)), cnfPackage["Files/web.yaml"]+nightly
			c := newCNF(t, store.NewMemory(), cnfSite{Dir: t.TempDir(), Packages: map[string]string{cnfVNFD: writePackage(t, files)}},
				cnfVIM(t, kubernetes.VimTypeV1, cluster.Client(), nil), cnfVNFD, "simple", mode.params)
			c.must(c.Instantiate(ctx, c.id, c.request))
			c.must(c.Scale(ctx, c.id, webScale(vnflcm.ScaleOut, 1)))
			before := c.vnfcs(2)
			c.autoscale("web")

			c.must(c.Operate(ctx, c.id, vnflcm.OperateVnfRequest{ChangeStateTo: vnflcm.VnfStopped, StopType: vnflcm.StopGraceful, GracefulStopTimeout: 60}))
			c.awaitPaused("web")
			pods, err := typed(t, cluster.Client()).CoreV1().Pods(c.namespace).List(ctx, meta.ListOptions{})
			must(t, err)
			inst, err := c.Get(ctx, c.id)
			must(t, err)
			if info := inst.InstantiatedVnfInfo; len(pods.Items) > 0 || info.VnfState != vnflcm.VnfStopped || len(info.VnfcInfo) != 2 {
				t.Errorf("%d pods, %s with VNFCs %v", len(pods.Items), info.VnfState, info.VnfcInfo)
			}
			if found, err := c.Diagnose(ctx, c.id); len(found) > 0 || err != nil {
				t.Errorf("%+v %v", found, err)
			}
			c.must(c.Operate(ctx, c.id, vnflcm.OperateVnfRequest{ChangeStateTo: vnflcm.VnfStarted}))
			after := c.vnfcs(2)
			if diff := cmp.Diff(slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after))); diff != "" {
				t.Errorf("ids of VNFCs:\n%s", diff)
			}
			jobs, err := typed(t, cluster.Client()).BatchV1().CronJobs(c.namespace).List(ctx, meta.ListOptions{})
			must(t, err)
			for _, j := range jobs.Items {
				if j.Spec.Suspend == nil || *j.Spec.Suspend {
					t.Errorf("CronJob %s is suspended", j.Name)
				}
			}
			c.must(c.Operate(ctx, c.id, vnflcm.OperateVnfRequest{ChangeStateTo: vnflcm.VnfStopped}))
			c.must(c.Terminate(ctx, c.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
			c.wantNothing()
		})
	}
}

// autoscale makes an autoscaler for a Deployment, as another client.
func (c *cnf) autoscale(name string) {
	c.t.Helper()
	least := int32(2)
	_, err := typed(c.t, c.cluster.Client()).AutoscalingV2().HorizontalPodAutoscalers(c.namespace).Create(c.t.Context(), &autoscaling.HorizontalPodAutoscaler{
		ObjectMeta: meta.ObjectMeta{Name: name}, Spec: autoscaling.HorizontalPodAutoscalerSpec{MinReplicas: &least, MaxReplicas: 5,
			ScaleTargetRef: autoscaling.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name}}}, meta.CreateOptions{})
	must(c.t, err)
}

// awaitPaused waits until the controller has seen that the workload of an autoscaler has no pods.
func (c *cnf) awaitPaused(name string) {
	c.t.Helper()
	await(c.t, "the autoscaler to pause", func() bool {
		auto, err := typed(c.t, c.cluster.Client()).AutoscalingV2().HorizontalPodAutoscalers(c.namespace).Get(c.t.Context(), name, meta.GetOptions{})
		must(c.t, err)
		return slices.ContainsFunc(auto.Status.Conditions, func(condition autoscaling.HorizontalPodAutoscalerCondition) bool {
			return condition.Type == autoscaling.ScalingActive && condition.Reason == "ScalingDisabled"
		})
	})
}
