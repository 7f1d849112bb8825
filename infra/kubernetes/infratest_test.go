package kubernetes_test

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/vnfkit/vnfkit/infra/infratest"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/internal/cnftest"
	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// foreignPod is a pod that no VNF owns.
const foreignPod = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "foreign"}, "spec": {"containers": [{"name": "c", "image": "example.org/c"}]}}`

// revision ends the name of the record of a release: its number is higher after an attempt that has failed.
var revision = regexp.MustCompile(`\.v\d+$`)

// openWorld starts a cluster for package infratest.
func openWorld(t testing.TB) infratest.World {
	t.Helper()
	l := &lab{t: t.(*testing.T), cluster: cnftest.Start(t), dir: t.TempDir(), kind: kubernetes.VimTypeHelm}
	var err error
	if l.dynamic, err = dynamic.NewForConfig(l.cluster.Config()); err != nil {
		t.Fatal(err)
	}
	l.createClass()
	l.create("default", "pods", foreignPod)
	return infratest.World{
		VIM: l.vim(), EndWithStop: true,
		Driver: func() vnflcm.InfraDriver { return kubernetes.New(l.config()) },
		Machines: func(ctx context.Context) (pods []string, err error) {
			list, err := l.dynamic.Resource(resources["pods"]).List(ctx, metav1.ListOptions{})
			if err != nil {
				return nil, err
			}
			for _, p := range list.Items {
				if p.GetDeletionTimestamp() == nil && !strings.Contains(p.GetName(), "-exporter") { // pods of no VDU
					pods = append(pods, p.GetName())
				}
			}
			return pods, nil
		},
		Others: func(context.Context) (out []string, err error) {
			for _, name := range l.objects("", "deployments", "statefulsets", "configmaps", "services", "secrets", "persistentvolumeclaims") { //nolint:contextcheck // the lab has the context of its test
				out = append(out, revision.ReplaceAllString(name, ""))
			}
			return slices.Compact(out), nil
		},
		OnChange: func(before func() error) {
			if before == nil {
				l.cluster.Observe(nil)
				l.cluster.Heal()
				return
			}
			l.cluster.Observe(func(method, path string) {
				isDry := strings.Contains(path, "dryRun=")
				if method != http.MethodGet && !isDry && before() != nil {
					l.cluster.Fail(cnftest.Fault{Drop: true, Times: -1})
				}
			})
		},
	}
}

// oneChart is a package with a Deployment.
func oneChart(t testing.TB) fstest.MapFS {
	t.Helper()
	return cnfd(podVDU("WEB", "name: Web server")+`    web:
      type: tosca.nodes.nfv.Mciop
      requirements: [associatedVdu: WEB]
      artifacts: {helm_chart: {type: tosca.artifacts.nfv.HelmChart, file: web.tgz}}
  policies:
    - aspects: {type: tosca.policies.nfv.ScalingAspects, properties: {aspects: {webs: {name: webs, description: webs, max_scale_level: 3, step_deltas: [one]}}}}
    - web_initial: {type: tosca.policies.nfv.VduInitialDelta, targets: [WEB], properties: {initial_delta: {number_of_instances: 1}}}
    - web_deltas: {type: tosca.policies.nfv.VduScalingAspectDeltas, targets: [WEB], properties: {aspect: webs, deltas: {one: {number_of_instances: 1}}}}
`, map[string][]byte{"web.tgz": chart("web", templateOf("Deployment", fullname, "app: web"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '"+fullname+"'}\n").pack(t)})
}

// TestInfraDriver: the driver follows the rules of infrastructure drivers.
func TestInfraDriver(t *testing.T) {
	t.Parallel()
	for name, setup := range map[string]infratest.Setup{
		"one chart": {Package: tosca.FS(oneChart(t)), Changed: tosca.FS(renewed(t, oneChart(t))), Request: vnflcm.InstantiateVnfRequest{AdditionalParams: parse(t, `{"namespace": "shop"}`)}},
		"a Deployment and a StatefulSet": {Package: tosca.FS(mciopPackage(t)), Changed: tosca.FS(renewed(t, mciopPackage(t))), Aspect: "webs",
			Request: vnflcm.InstantiateVnfRequest{AdditionalParams: parse(t, mciopParams)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "one chart" {
				fulltest.SkipVariant(t)
			}
			setup.Open, setup.Sample = openWorld, !fulltest.Enabled()
			infratest.Run(t, setup)
		})
	}
}
