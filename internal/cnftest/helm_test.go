package cnftest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/internal/cnftest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// helm is what Helm's actions need to work on a cluster.
func helm(t *testing.T, c *cnftest.Cluster) *action.Configuration {
	t.Helper()
	flags := genericclioptions.NewConfigFlags(false)
	config, namespace := c.Config(), "default"
	flags.WrapConfigFn = func(*rest.Config) *rest.Config { return config }
	flags.Namespace = &namespace
	cfg := new(action.Configuration)
	if err := cfg.Init(flags, namespace, "secret", t.Logf); err != nil {
		t.Fatal(err)
	}
	return cfg
}

func chartOf(templates map[string]string) *chart.Chart {
	ch := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "web", Version: "1.0.0"}, Values: map[string]any{"replicas": 2, "image": "web:1"}}
	for name, text := range templates {
		ch.Templates = append(ch.Templates, &chart.File{Name: "templates/" + name, Data: []byte(text)})
	}
	return ch
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{.Release.Name}}-web, labels: {app: web}}
spec:
  replicas: {{.Values.replicas}}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: {{.Values.image}}
        ports: [{containerPort: 80}]
        env: [{name: A, value: "1"}]
`

const service = `
apiVersion: v1
kind: Service
metadata: {name: {{.Release.Name}}-web}
spec: {selector: {app: web}, ports: [{port: 80}]}
`

var deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
var pods = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

func client(t *testing.T, c *cnftest.Cluster) *dynamic.DynamicClient {
	t.Helper()
	d, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// images returns the images of the running pods.
func images(t *testing.T, c *cnftest.Cluster) string {
	t.Helper()
	l, err := client(t, c).Resource(pods).Namespace("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range l.Items {
		spec, _ := p.Object["spec"].(map[string]any)
		containers, _ := spec["containers"].([]any)
		first, _ := containers[0].(map[string]any)
		out = append(out, fmt.Sprint(first["image"]))
	}
	return strings.Join(out, " ")
}

func TestHelmLife(t *testing.T) {
	c := cnftest.Start(t)
	cfg := helm(t, c)
	install := action.NewInstall(cfg)
	install.ReleaseName, install.Namespace, install.Wait, install.Timeout = "r", "default", true, 20*time.Second
	ch := chartOf(map[string]string{"d.yaml": deployment, "s.yaml": service})
	rel, err := install.RunWithContext(t.Context(), ch, map[string]any{})
	if err != nil {
		t.Fatal(err)
	}
	if rel.Info.Status != release.StatusDeployed {
		t.Fatal(rel.Info.Status)
	}
	running(t, c, "web:1 web:1")

	upgrade := action.NewUpgrade(cfg)
	upgrade.Namespace, upgrade.Wait, upgrade.Timeout, upgrade.ReuseValues = "default", true, 20*time.Second, true
	if _, err := upgrade.RunWithContext(t.Context(), "r", ch, map[string]any{"image": "web:2", "replicas": 3}); err != nil {
		t.Fatal(err)
	}
	running(t, c, "web:2 web:2 web:2")

	rollback := action.NewRollback(cfg)
	rollback.Wait, rollback.Timeout, rollback.Version = true, 20*time.Second, 1
	if err := rollback.Run("r"); err != nil {
		t.Fatal(err)
	}
	running(t, c, "web:1 web:1")

	uninstall := action.NewUninstall(cfg)
	uninstall.Wait, uninstall.Timeout = true, 20*time.Second
	if _, err := uninstall.Run("r"); err != nil {
		t.Fatal(err)
	}
	running(t, c, "")
}

// running waits until exactly pods of these images exist: Helm waits for the new ones only.
func running(t *testing.T, c *cnftest.Cluster, want string) {
	t.Helper()
	eventually(t, func() bool { return images(t, c) == want })
}

// eventually waits for something that the cluster does by itself.
func eventually(t *testing.T, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			t.Fatal("it did not happen")
		case <-tick.C:
		}
	}
}

func TestHelmAtomicGoesBack(t *testing.T) {
	c := cnftest.Start(t)
	cfg := helm(t, c)
	install := action.NewInstall(cfg)
	install.ReleaseName, install.Namespace, install.Wait, install.Timeout = "r", "default", true, 20*time.Second
	ch := chartOf(map[string]string{"d.yaml": deployment})
	if _, err := install.RunWithContext(t.Context(), ch, map[string]any{}); err != nil {
		t.Fatal(err)
	}
	upgrade := action.NewUpgrade(cfg)
	upgrade.Namespace, upgrade.Wait, upgrade.Atomic, upgrade.Timeout = "default", true, true, 3*time.Second
	if _, err := upgrade.RunWithContext(t.Context(), "r", ch, map[string]any{"image": "missing.example.net/web:2"}); err == nil {
		t.Fatal("an upgrade to an image that there is not succeeded")
	}
	running(t, c, "web:1 web:1")
}
